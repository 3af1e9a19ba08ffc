// SPDX-License-Identifier: Apache-2.0
/* What an argument becomes, and the sentence when it becomes nothing. */
#include "mcp-server/param.h"

#include <errno.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

struct fields {
	const char *text, *choice;
	bool flag;
	uint64_t number, since_ns;
	struct clock_time from;
	struct param_pids pids;
};

#define ARGUMENTS struct fields
static const struct param params[] = {
	PARAM_ROW(TEXT, "text", text, "A text"),
	PARAM_ROW(TEXT, "needed", text, "A text that is needed", .is_required = true),
	PARAM_ROW(TEXT, "choice", choice, "One of two", .choices = (const char *const[]){ "one", "two", NULL }),
	PARAM_ROW(FLAG, "flag", flag, "A flag"),
	PARAM_ROW(NUMBER, "number", number, "A number", .min = 1, .max = 100),
	PARAM_ROW(DURATION, "since", since_ns, "A duration"),
	PARAM_ROW(TIME, "from", from, "A time"),
	PARAM_ROW(PID, "pid", pids, "A process"),
	PARAM_ROW(PIDS, "pids", pids, "Processes"),
};

static const struct {
	const char *name, *json;
	const char *sentence; /* NULL: fine */
} cases[] = {
	{ "text", "\"a\"", NULL },
	{ "text", "\"\"", "'text' is empty; leave it out, or give a value" },
	{ "text", "7", "'text' takes a string, not an integer" },
	{ "text", "null", "'text' takes a string, not null" },
	{ "choice", "\"two\"", NULL },
	{ "choice", "\"three\"", "'choice' takes one of one, two, not 'three'" },
	{ "flag", "true", NULL },
	{ "flag", "\"true\"", "'flag' takes true or false, not a string" },
	{ "flag", "1", "'flag' takes true or false, not an integer" },
	{ "number", "100", NULL },
	{ "number", "0", "'number' takes a number from 1 to 100, not 0" },
	{ "number", "101", "'number' takes a number from 1 to 100, not 101" },
	{ "number", "-9223372036854775808", "'number' takes a number from 1 to 100, not -9223372036854775808" },
	{ "number", "1.5", "'number' takes an integer, not a number with a fraction" },
	{ "number", "[]", "'number' takes an integer, not an array" },
	{ "since", "\"5m\"", NULL },
	{ "since", "\"5\"",
	  "'since' takes a duration as a string, such as \"90s\", \"5m\", \"1h30m\" or \"2d\", not '5'" },
	{ "since", "\"last 5 minutes\"",
	  "'since' takes a duration as a string, such as \"90s\", \"5m\", \"1h30m\" or \"2d\", not 'last 5 minutes'" },
	{ "since", "\"0\"", "'since' '0' covers no time; take a duration such as \"5m\", or leave it out" },
	{ "since", "\"0s\"", "'since' '0s' covers no time; take a duration such as \"5m\", or leave it out" },
	{ "since", "5",
	  "'since' takes a duration as a string, such as \"90s\", \"5m\", \"1h30m\" or \"2d\", not an integer" },
	{ "from", "\"2026-01-31T14:03:21Z\"", NULL },
	{ "pid", "4711", NULL },
	{ "from", "\"noon\"",
	  "'from' takes a clock time as a string, such as \"14:03\", \"2026-01-31 14:03:21\" or "
	  "\"2026-01-31T14:03:21Z\", not 'noon'" },
	{ "pid", "4711.0", NULL },
	{ "pid", "4711.5", "'pid' takes the number of a process, not a number with a fraction" },
	{ "pids", "[1.0,2]", NULL },
	{ "number", "100.0", NULL },
	{ "number", "1e300", "'number' takes an integer, not a number with a fraction" },
	{ "needed", "\"\"", "'needed' is empty; give a value" },
	{ "pid", "0", "'pid' takes a number from 1 to 2147483647, not 0" },
	{ "pid", "{}", "'pid' takes the number of a process, not an object" },
	{ "pids", "[1,2,3]", NULL },
	{ "pids", "[]", NULL },
	{ "pids", "[1,\"2\"]", "'pids' takes an array of numbers of processes; one of them is a string" },
	{ "pids", "4711", "'pids' takes an array of numbers of processes, not an integer" },
};

static const struct param *param_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(params); i++)
		if (strcmp(params[i].name, name) == 0)
			return &params[i];
	return NULL;
}

static void fields_test(void)
{
	struct fields fields = { .number = 0 };
	char error[PARAM_ERROR_BYTES];
	json_t *pids = json_pack("[iii]", 7, 8, 9), *since = json_string("1m30s");

	CHECK_INT_EQ("pids", param_read(param_of("pids"), pids, &fields, error), 0);
	CHECK_INT_EQ("as many", fields.pids.n, 3);
	CHECK_INT_EQ("the last", fields.pids.items[2], 9);
	CHECK_INT_EQ("since", param_read(param_of("since"), since, &fields, error), 0);
	CHECK_INT_EQ("in ns", fields.since_ns, 90 * NSEC_PER_SEC);
	json_decref(pids);
	json_decref(since);

	pids = json_array();
	for (int i = 0; i <= PARAM_PIDS_MAX; i++)
		(void)json_array_append_new(pids, json_integer(1 + i));
	fields.pids.n = 0;
	CHECK_INT_EQ("too many", param_read(param_of("pids"), pids, &fields, error), -EINVAL);
	CHECK_STR_EQ("too many", error, "at most 64 processes can be asked for at once");
	json_decref(pids);
}

static void schema_test(void)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct writer w = { .out = &out };
	json_t *schema;

	writer_open(&w, NULL, '{');
	for (size_t i = 0; i < ARRAY_SIZE(params); i++)
		param_schema_write(&params[i], &w);
	writer_close(&w, '}');
	schema = json_loadb(buf_text(&out), out.n, JSON_REJECT_DUPLICATES, NULL);
	CHECK_INT_EQ("a property each", json_object_size(schema), ARRAY_SIZE(params));
	json_decref(schema);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fields fields = { .number = 0 };
		char error[PARAM_ERROR_BYTES] = "";
		json_t *json = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);
		int r = param_read(param_of(cases[i].name), json, &fields, error);

		CHECK_INT_EQ(cases[i].json, r, cases[i].sentence ? -EINVAL : 0);
		CHECK_STR_EQ(cases[i].name, error, cases[i].sentence ? cases[i].sentence : "");
		json_decref(json);
	}
	fields_test();
	schema_test();
	return check_result();
}
