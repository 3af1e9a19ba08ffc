// SPDX-License-Identifier: Apache-2.0
/* The table of tools: each row whole, no two alike, and what arguments each refuses. */
#include "mcp-server/tool.h"

#include <errno.h>

#include "tests/support/check.h"

/* What the protocol allows in a name. */
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

static void row_test(const struct tool *tool)
{
	CHECK(tool->name, *tool->name && strspn(tool->name, NAME_CHARACTERS) == strlen(tool->name));
	CHECK(tool->name, tool->run && tool->title && tool->description && tool->n_members);
	CHECK(tool->name, tool_find(tool->name) == tool);
	for (size_t i = 0; i < tool->n_params; i++) {
		const struct param *param = &tool->params[i];

		CHECK(param->name, param->field < tool->arguments_bytes);
		CHECK(param->name, param->help[strlen(param->help) - 1] != '.');
		for (size_t k = 0; k < i; k++)
			CHECK(param->name, strcmp(param->name, tool->params[k].name) != 0);
	}
	for (size_t i = 0; tool->shape && i < tool->shape->n_lists; i++)
		CHECK(tool->name, *tool->shape->lists[i].how);
	CHECK(tool->name, !tool->shape || !tool->shape->details || tool->shape->details_how);
	CHECK(tool->name, !tool->shape || tool->shape->n_lists <= ANSWER_LISTS_MAX);
}

/* What every client does with a schema: reads it, and finds an object. */
static void schema_test(const struct tool *tool)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct writer w = { .out = &out };
	json_t *row, *annotations;

	tool_write(tool, &w);
	row = json_loadb(buf_text(&out), out.n, JSON_REJECT_DUPLICATES, NULL);
	CHECK(tool->name, row);
	for (size_t i = 0; i < 2; i++) {
		const json_t *schema = json_object_get(row, i ? "outputSchema" : "inputSchema");

		CHECK_STR_EQ(tool->name, json_string_value(json_object_get(schema, "type")), "object");
		CHECK(tool->name, json_is_object(json_object_get(schema, "properties")));
	}
	annotations = json_object_get(row, "annotations");
	CHECK_INT_EQ(tool->name, json_object_size(annotations), 4);
	json_decref(row);
}

static const struct {
	const char *tool, *arguments;
	const char *sentence; /* NULL: fine */
} cases[] = {
	{ "explain", "{}", NULL },
	{ "explain", "{\"since\":\"5m\",\"pid\":1,\"max_tokens\":500,\"details\":true}", NULL },
	{ "explain", "{\"sinse\":\"5m\"}", "explain has no argument 'sinse'; did you mean 'since'?" },
	{ "explain_call", "{}",
	  "explain_call needs 'id': Id of a call, from 'examples' of a finding or the column id of events" },
	{ "explain_call", "{\"id\":\"1.2.3\",\"details\":true}",
	  "explain_call has no argument 'details'; it takes id, max_tokens, tsc, cursor" },
	{ "explain", "{\"cursor\":\"operations.18\"}", NULL },
	{ "explain", "{\"cursor\":\"operations.999999999\"}", NULL },
	{ "explain", "{\"cursor\":\"operations.9999999999\"}",
	  "unknown 'cursor' 'operations.9999999999'; take one from 'left_out' of an answer of explain" },
	{ "explain", "{\"cursor\":\"operations.\"}",
	  "unknown 'cursor' 'operations.'; take one from 'left_out' of an answer of explain" },
	{ "explain", "{\"cursor\":\"operations.1x\"}",
	  "unknown 'cursor' 'operations.1x'; take one from 'left_out' of an answer of explain" },
	{ "explain", "{\"cursor\":\"summary.1\"}",
	  "unknown 'cursor' 'summary.1'; take one from 'left_out' of an answer of explain" },
	{ "explain", "{\"cursor\":\"x\"}", "unknown 'cursor' 'x'; take one from 'left_out' of an answer of explain" },
	{ "run_sql", "{\"query\":\"SELECT 1\",\"limit\":10001}", "'limit' takes a number from 1 to 10000, not 10001" },
	{ "watch", "{\"cursor\":\"findings.1\"}",
	  "watch has no argument 'cursor'; it takes seconds, pid, pids, max_tokens, tsc, details" },
	{ "explain", "{\"pid\":1,\"pids\":[2]}", "'pid' and 'pids' exclude each other: take one" },
	{ "query_fleet", "{\"action\":\"sql\",\"query\":\"SELECT 1\",\"sql\":\"SELECT 2\"}",
	  "'query' and 'sql' exclude each other: take one" },
	{ "get_check", "{\"max_tokens\":1}", "'max_tokens' takes a number from 200 to 50000, not 1" },
};

int main(void)
{
	for (size_t i = 0; tool_get(i); i++) {
		row_test(tool_get(i));
		schema_test(tool_get(i));
		for (size_t k = 0; k < i; k++)
			CHECK(tool_get(i)->name, strcmp(tool_get(i)->name, tool_get(k)->name) != 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct tool *tool = tool_find(cases[i].tool);
		CLEANUP(answer_done) struct answer answer = ANSWER_INIT;
		CLEANUP(freep) void *fields = calloc(1, tool->arguments_bytes + 1);
		json_t *arguments = json_loads(cases[i].arguments, 0, NULL);

		CHECK_INT_EQ(cases[i].arguments, tool_arguments_read(tool, arguments, fields, &answer),
			     cases[i].sentence ? -EINVAL : 0);
		CHECK_STR_EQ(cases[i].tool, buf_text(&answer.error), cases[i].sentence ? cases[i].sentence : "");
		json_decref(arguments);
	}
	CHECK("no such tool", !tool_find("explain "));
	return check_result();
}
