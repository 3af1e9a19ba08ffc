// SPDX-License-Identifier: Apache-2.0
/* What `ingero io` shows at its end. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "libingero/answers/io/report.h"
#include "tests/support/check.h"

#define FILES_MAX 8

static char none[] = "", op[] = "openat", process_name[] = "cat";

/* @pathless: so many of the files have no path; the last one failed twice of three calls */
static void report_of(size_t files, size_t pathless, size_t rows, struct buf *out)
{
	static char paths[FILES_MAX][32];
	struct text_style style = { .is_utf8 = true, .columns = 80 };
	Ingero__V1__IoFigures figures = INGERO__V1__IO_FIGURES__INIT;
	Ingero__V1__IoOperation operation = INGERO__V1__IO_OPERATION__INIT, *operations[] = { &operation };
	Ingero__V1__IoFile file[FILES_MAX], *list[FILES_MAX];

	operation.op = op;
	operation.process_name = process_name;
	operation.count = 3;
	operation.errors = 2;
	figures.operations = operations;
	figures.n_operations = 1;
	figures.processes = 1;
	figures.window_ns = 1800000;
	for (size_t i = 0; i < files; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "/data/%zu", i);
		file[i] = (Ingero__V1__IoFile)INGERO__V1__IO_FILE__INIT;
		file[i].path = i < pathless ? none : paths[i];
		file[i].op = op;
		file[i].process_name = process_name;
		file[i].count = 3;
		file[i].errors = i + 1 == files ? 2 : 0;
		list[i] = &file[i];
	}
	figures.files = list;
	figures.n_files = files;
	CHECK_INT_EQ("report",
		     io_report_append(&figures, "of '/a/program/with/quite/some/long/name/of/it' and all", rows, &style,
				      out),
		     0);
}

/* The same of all: the table of calls, and the titles of that of files. */
#define HEAD                                                                                                           \
	"3 system calls on files, 2 failed, in 1.8 ms by 1 process of '/a/program/with/q…\n"                         \
	"process   call    calls  failed  bytes  p50  p99  max  time\n"                                                \
	"cat 0     openat      3       2         0ns  0ns  0ns   0ns\n"                                                \
	"\n"                                                                                                           \
	"file                  call    calls  bytes  p99  time  failed\n"

static void report_test(void)
{
	static const struct {
		const char *name;
		size_t files, pathless, rows;
		const char *want;
	} cases[] = {
		{ "all", 2, 0, 0,
		  HEAD "/data/0               openat      3         0ns   0ns\n"
		       "/data/1               openat      3         0ns   0ns       2\n" },
		{ "one is left out", 3, 0, 9,
		  HEAD "/data/0               openat      3         0ns   0ns\n"
		       "and 2 further rows\n" },
		{ "several are", 6, 0, 9,
		  HEAD "/data/0               openat      3         0ns   0ns\n"
		       "and 5 further rows\n" },
		{ "what has no path is no row", 4, 3, 9,
		  HEAD "/data/3               openat      3         0ns   0ns       2\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		report_of(cases[i].files, cases[i].pathless, cases[i].rows, &out);
		CHECK_STR_EQ(cases[i].name, buf_text(&out), cases[i].want);
	}
}

int main(void)
{
	report_test();
	return check_result();
}
