// SPDX-License-Identifier: Apache-2.0
/* `ingero compare`: what got slower between two times, processes or files, and which part of it. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "libingero/answers/compare/ask.h"
#include "libingero/answers/compare/json.h"
#include "libingero/answers/compare/report.h"

/* Exit statuses beside those of every command. */
enum compare_exit { COMPARE_SLOWER = 3, COMPARE_UNKNOWN = 4 };

struct compare_fields {
	const char *per;
	double fail_over; /* ratio; negative: not given */
	const char *db;
	bool is_all;
	bool is_json;
	bool no_color;
};

static const struct compare_fields compare_defaults = { .fail_over = -1 };

/* "5%", "2.5 %", "5" */
static int fail_over_parse(const struct option *row, const char *text, void *field, char *error)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || strspn(end, " %") != strlen(end) || !isfinite(percent) || percent < 0 || percent > 100000)
		return option_refuse(error, "'--%s' takes a percentage such as 5%%, not %s", row->name,
				     option_quote(text).text);
	*(double *)field = percent / 100;
	return 0;
}

#define FIELDS struct compare_fields
static const struct option compare_options[] = {
	OPTION_ROW(TEXT, "per", per,
		   "Unit of work: an operation, such as cudaStreamSynchronize; or call, each call; default: the "
		   "synchronising operation with most time, else call",
		   .value = "OPERATION"),
	OPTION_ROW(TIME, "fail-over", fail_over,
		   "Exit with 3 only if the change is more than P percent, and with 4 if it is not known so exactly",
		   .value = "P%", .parse = fail_over_parse),
	JSON_OPTION(is_json, "Print one JSON object (docs/schema/compare.schema.json)"),
	ALL_OPTION(is_all),
	OPTION_ROW(TEXT, "db", db,
		   "Read times and processes from this database. Default: INGERO_DB, else the service's, else "
		   "~/.ingero/ingero.db",
		   .letter = 'd', .value = "FILE"),
	NO_COLOR_OPTION(no_color),
};

static int verdict_exit(const struct compare_fields *f, const Ingero__V1__Compared *c)
{
	double limit = f->fail_over < 0 ? 0 : f->fail_over;

	if (strcmp(c->verdict, "unknown") == 0)
		return COMPARE_UNKNOWN;
	if (strcmp(c->verdict, "slower") == 0 && c->change_ratio > limit)
		return COMPARE_SLOWER;
	/* A change above the limit may be there, unseen. */
	if (f->fail_over >= 0 && strcmp(c->verdict, "same") == 0 && c->change_ratio + c->error_ratio > MAX(limit, 0.01))
		return COMPARE_UNKNOWN;
	return COMMAND_OK;
}

static int compare_write(const struct compare_fields *f, const Ingero__V1__CompareReply *reply, uint64_t now_unix_ns)
{
	struct text_style style = output_style(STDOUT_FILENO, f->no_color);
	CLEANUP(output_done) struct output out = OUTPUT_INIT(STDOUT_FILENO);
	int r = f->is_json ? compare_json_line(reply, &out.buf)
			   : compare_report_append(reply, now_unix_ns, &style, &out.buf);

	if (r < 0 || output_flush(&out) < 0)
		return COMMAND_FAILED;
	return verdict_exit(f, reply->compared);
}

/* Return: COMMAND_OK, or the exit status after the error was printed */
static int sides_parse(const struct options_rest *rest, uint64_t now_unix_ns, struct compare_side *a,
		       struct compare_side *b)
{
	struct compare_side *const sides[] = { a, b };
	char error[COMPARE_SIDE_ERROR_BYTES];
	const char *fault;

	for (size_t i = 0; i < rest->argc; i++)
		if (compare_side_parse(rest->argv[i], access(rest->argv[i], F_OK) == 0, now_unix_ns, sides[i], error) <
		    0)
			return command_refuse(error);
	if (rest->argc < ARRAY_SIZE(sides))
		return command_refuse(
			"compare takes two times, processes or files, before and after: 'ingero compare "
			"10m..5m 5m', 'ingero compare run:train.py~1 run:train.py', 'ingero compare before.db "
			"after.db'");
	fault = compare_sides_fault(a, b);
	return fault ? command_refuse(fault) : COMMAND_OK;
}

static int compare_run(const void *fields, const struct options_rest *rest)
{
	const struct compare_fields *f = fields;
	struct ingero_connect_wish wish = { .command = "compare", .is_all = f->is_all, .db_path = f->db };
	const char *more[2] = { NULL };
	uint64_t now_unix_ns = clock_now_unix_ns();
	Ingero__V1__CompareReply *reply = NULL;
	struct compare_side a, b;
	struct ingero *ingero;
	int status = sides_parse(rest, now_unix_ns, &a, &b);
	int r;

	if (status != COMMAND_OK)
		return status;
	if (a.kind == COMPARE_FILE && f->db)
		return command_refuse("'--db' is for times and processes of one file; leave it out");
	if (a.kind == COMPARE_FILE) {
		wish.db_path = a.path;
		more[0] = b.path;
		wish.more_db_paths = more;
	}
	if (connect_open(&wish, &ingero, NULL) < 0)
		return COMMAND_FAILED; /* it has printed the error */
	r = compare_ask(ingero, &a, &b, f->per, &reply);
	if (r < 0)
		output_error("%s", ingero_why(ingero, r));
	else
		status = compare_write(f, reply, now_unix_ns);
	if (reply)
		ingero__v1__compare_reply__free_unpacked(reply, NULL);
	ingero_close(ingero);
	return r < 0 ? COMMAND_FAILED : status;
}

static const char *const compare_paragraphs[] = {
	"A and B are each a time, as 10m..5m (from 10 to 5 minutes ago), 5m (until now) or 14:00..14:10; the last run "
	"of a "
	"program, as run:train.py, or the one before, run:train.py~1; the last process of an id, as pid:4711, or "
	"several, "
	"pid:4711,4712; or a database file. Programs of one name are compared: the wall clock of the thread that "
	"drives each "
	"process, part by part, per unit of work.",
	"A change is told if it exceeds what A and B vary within themselves: each is cut into up to 12 pieces, which "
	"are "
	"compared by ranks. The share after ± holds in 99 of 100 cases. Changes below 1 % are never told.",
	"Exit status: 0 not slower, 3 slower, 4 it cannot be judged, 1 a file or the service is missing, 2 misuse.",
	NULL,
};

const struct command command_compare = {
	.name = "compare",
	.summary = "show what got slower between two times, runs or files",
	.usage = "[options] A B",
	.paragraphs = compare_paragraphs,
	.options = { .command = "compare",
		     .rows = compare_options,
		     .n = ARRAY_SIZE(compare_options),
		     .takes = "A and B",
		     .takes_most = 2 },
	.fields_bytes = sizeof(struct compare_fields),
	.defaults = &compare_defaults,
	.run = compare_run,
};
