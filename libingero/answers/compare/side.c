// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/compare/side.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/option.h"
#include "base/parse.h"
#include "libingero/answers/window.h"

#define SIDE_WORDS                                                                                                     \
	"a time such as 10m..5m or 14:00..14:10, processes such as pid:4711, a run such as run:train.py~1, or a "      \
	"database file"
#define SIDE_END_BYTES 64

static int compare_refuse(char *error, const char *text, const char *why)
{
	(void)snprintf(error, COMPARE_SIDE_ERROR_BYTES, "%s %s", option_quote(text).text, why);
	return -EINVAL;
}

/* An end of a time: how long ago, or a clock time; "": open. Return: 0 or -EINVAL */
static int side_end_parse(const char *text, uint64_t now_unix_ns, struct clock_time *ret)
{
	uint64_t ago_ns;

	if (!*text)
		return 0;
	if (parse_duration(text, &ago_ns) == 0) {
		*ret = (struct clock_time){ .unix_ns = now_unix_ns > ago_ns ? now_unix_ns - ago_ns : 1 };
		return 0;
	}
	return clock_parse(text, now_unix_ns, ret) < 0 ? -EINVAL : 0;
}

static int side_time_parse(const char *text, const char *dots, uint64_t now_unix_ns, struct compare_side *ret,
			   char *error)
{
	struct window_wish wish = { .since_ns = 0 };
	char from[SIDE_END_BYTES] = "";
	Ingero__V1__Span span;

	if ((size_t)(dots - text) >= sizeof(from))
		return compare_refuse(error, text, "is neither " SIDE_WORDS);
	memcpy(from, text, (size_t)(dots - text));
	if (side_end_parse(from, now_unix_ns, &wish.from) < 0 ||
	    side_end_parse(*dots ? dots + 2 : "", now_unix_ns, &wish.to) < 0)
		return compare_refuse(error, text, "is neither " SIDE_WORDS);
	if (window_fault(&wish) != WINDOW_FAULT_NONE)
		return compare_refuse(error, text, "ends before it begins: the longer ago comes first, as in 10m..5m");
	span = window_span(&wish, 0, now_unix_ns);
	ret->from_unix_ns = span.from_unix_ns;
	ret->to_unix_ns = span.to_unix_ns;
	return 0;
}

static int side_pids_parse(const char *text, struct compare_side *ret, char *error)
{
	const char *p = text + strlen("pid:");

	for (size_t n; ret->n_pids < ARRAY_SIZE(ret->pids); p += n + 1) {
		char number[16];
		uint64_t pid;

		n = strcspn(p, ",");
		(void)snprintf(number, sizeof(number), "%.*s", (int)MIN(n, sizeof(number) - 1), p);
		if (parse_u64(number, INT32_MAX, &pid) < 0 || !pid)
			return compare_refuse(error, text, "names no process; take pid:4711, or pid:4711,4712");
		ret->pids[ret->n_pids++] = (uint32_t)pid;
		if (!p[n])
			return 0;
	}
	return compare_refuse(error, text, "names too many processes; take 64 at most");
}

/* "train.py", "train.py~1" */
static int side_run_parse(const char *text, struct compare_side *ret, char *error)
{
	const char *name = text + strlen("run:"), *back = strrchr(name, '~');
	size_t n = strlen(name);
	uint64_t runs_back = 0;

	if (back && parse_u64(back + 1, UINT32_MAX, &runs_back) == 0)
		n = (size_t)(back - name);
	if (!n || n >= sizeof(ret->run))
		return compare_refuse(error, text,
				      "names no program; take run:train.py, or run:train.py~1 for the run before");
	memcpy(ret->run, name, n);
	ret->runs_back = (uint32_t)runs_back;
	return 0;
}

static bool looks_like_file(const char *text)
{
	size_t n = strlen(text);

	return strchr(text, '/') || (n > 3 && strcmp(text + n - 3, ".db") == 0);
}

int compare_side_parse(const char *text, bool is_file, uint64_t now_unix_ns, struct compare_side *ret, char *error)
{
	const char *dots = strstr(text, "..");

	*ret = (struct compare_side){ .kind = COMPARE_TIME };
	if (strncmp(text, "pid:", strlen("pid:")) == 0) {
		ret->kind = COMPARE_PIDS;
		return side_pids_parse(text, ret, error);
	}
	if (strncmp(text, "run:", strlen("run:")) == 0) {
		ret->kind = COMPARE_RUN;
		return side_run_parse(text, ret, error);
	}
	if (is_file || looks_like_file(text)) {
		ret->kind = COMPARE_FILE;
		ret->path = text;
		return 0;
	}
	if (!*text)
		return compare_refuse(error, text, "is neither " SIDE_WORDS);
	return side_time_parse(text, dots ? dots : text + strlen(text), now_unix_ns, ret, error);
}

const char *compare_sides_fault(const struct compare_side *a, const struct compare_side *b)
{
	if ((a->kind == COMPARE_FILE) != (b->kind == COMPARE_FILE))
		return "a file is compared with a file; for times and processes of one file name it with '--db'";
	if (a->kind == COMPARE_TIME && b->kind == COMPARE_TIME &&
	    (!a->to_unix_ns || !b->from_unix_ns || b->from_unix_ns < a->to_unix_ns) &&
	    (!b->to_unix_ns || !a->from_unix_ns || a->from_unix_ns < b->to_unix_ns))
		return "the two times overlap: a time such as 10m..5m ends before the other, 5m, begins";
	return NULL;
}
