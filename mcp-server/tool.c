// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/option.h"
#include "mcp-server/method.h"

#define TOOL(name) extern const struct tool tool_##name;
#include "mcp-server/tools/list.h"

static const struct tool *const tools[] = {
#define TOOL(name) &tool_##name,
#include "mcp-server/tools/list.h"
};

#define CURSOR_DIGITS_MAX 9

/* Arguments that every tool takes. */
struct common {
	uint64_t tokens_max;
	const char *cursor;
	bool has_details;
	bool is_short;
};

#define ARGUMENTS struct common
static const struct param common_params[] = {
	PARAM_ROW(NUMBER, "max_tokens", tokens_max, "Budget of the answer, about; what does not fit is named",
		  .min = TOOL_TOKENS_MIN, .max = TOOL_TOKENS_MAX),
	PARAM_ROW(FLAG, "tsc", is_short,
		  "false: the text of the answer has full names and no tables; default: telegraphic, in fewer tokens"),
	PARAM_ROW(TEXT, "cursor", cursor,
		  "From left_out of an answer: the rest of that list, with the same other arguments"),
	PARAM_ROW(FLAG, "details", has_details, "With the members that are left out of short answers"),
};
#undef ARGUMENTS

const struct tool *tool_get(size_t i)
{
	return i < ARRAY_SIZE(tools) ? tools[i] : NULL;
}

const struct tool *tool_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (strcmp(tools[i]->name, name) == 0)
			return tools[i];
	return NULL;
}

/* Whether this tool takes a row of those that are common. */
static bool takes_common(const struct tool *tool, const struct param *param)
{
	if (strcmp(param->name, "details") == 0)
		return tool->shape && tool->shape->details;
	/* What starts work would do it again. */
	return strcmp(param->name, "cursor") != 0 || (tool->shape && tool->shape->n_lists && !tool->starts_work);
}

/* ---- schemas ---- */

static void input_schema_write(const struct tool *tool, struct writer *w)
{
	bool has_required = false;

	writer_open(w, "inputSchema", '{');
	writer_text(w, "type", "object");
	writer_open(w, "properties", '{');
	for (size_t i = 0; i < tool->n_params; i++)
		param_schema_write(&tool->params[i], w);
	for (size_t i = 0; i < ARRAY_SIZE(common_params); i++)
		if (takes_common(tool, &common_params[i]))
			param_schema_write(&common_params[i], w);
	writer_close(w, '}');
	for (size_t i = 0; i < tool->n_params; i++)
		has_required |= tool->params[i].is_required;
	if (has_required) {
		writer_open(w, "required", '[');
		for (size_t i = 0; i < tool->n_params; i++)
			if (tool->params[i].is_required)
				writer_text(w, NULL, tool->params[i].name);
		writer_close(w, ']');
	}
	writer_boolean(w, "additionalProperties", false);
	writer_close(w, '}');
}

/* @fourth: NULL: none */
static void array_of_objects_write(struct writer *w, const char *name, const char *first, const char *second,
				   const char *third, const char *fourth)
{
	const char *const names[] = { first, second, third, fourth };

	writer_open(w, name, '{');
	writer_text(w, "type", "array");
	writer_open(w, "items", '{');
	writer_text(w, "type", "object");
	writer_open(w, "properties", '{');
	for (size_t i = 0; i < ARRAY_SIZE(names) && names[i]; i++) {
		bool is_object = strcmp(names[i], "arguments") == 0, is_number = strcmp(names[i], "count") == 0;

		writer_open(w, names[i], '{');
		writer_text(w, "type", is_object ? "object" : is_number ? "integer" : "string");
		writer_close(w, '}');
	}
	writer_close(w, '}');
	writer_close(w, '}');
	writer_close(w, '}');
}

static void output_schema_write(const struct tool *tool, struct writer *w)
{
	writer_open(w, "outputSchema", '{');
	writer_text(w, "type", "object");
	writer_open(w, "properties", '{');
	writer_open(w, "answer", '{');
	writer_text(w, "type", "object");
	writer_open(w, "properties", '{');
	for (size_t i = 0; i < tool->n_members; i++) {
		writer_open(w, tool->members[i].name, '{');
		writer_text(w, "type", tool->members[i].type);
		writer_text(w, "description", tool->members[i].help);
		writer_close(w, '}');
	}
	writer_close(w, '}');
	writer_close(w, '}');
	array_of_objects_write(w, "left_out", "what", "count", "how", "cursor");
	array_of_objects_write(w, "next", "tool", "arguments", "why", NULL);
	writer_close(w, '}');
	writer_raw(w, "required", "[\"answer\"]", strlen("[\"answer\"]"));
	writer_close(w, '}');
}

void tool_write(const struct tool *tool, struct writer *w)
{
	writer_open(w, NULL, '{');
	writer_text(w, "name", tool->name);
	writer_text(w, "title", tool->title);
	writer_text(w, "description", tool->description);
	if (tool->input_schema)
		writer_raw(w, "inputSchema", tool->input_schema, strlen(tool->input_schema));
	else
		input_schema_write(tool, w);
	if (tool->run)
		output_schema_write(tool, w);
	writer_open(w, "annotations", '{');
	writer_boolean(w, "readOnlyHint", !tool->starts_work);
	writer_boolean(w, "destructiveHint", false);
	writer_boolean(w, "idempotentHint", !tool->starts_work);
	writer_boolean(w, "openWorldHint", false);
	writer_close(w, '}');
	writer_close(w, '}');
}

/* ---- arguments ---- */

static const struct param *param_find(const struct param *params, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(params[i].name, name) == 0)
			return &params[i];
	return NULL;
}

static int argument_refuse(const struct tool *tool, const char *name, struct answer *answer)
{
	const char *names[32], *nearest;
	char list[512] = "";
	size_t n = 0;

	for (size_t i = 0; i < tool->n_params && n < ARRAY_SIZE(names); i++)
		names[n++] = tool->params[i].name;
	for (size_t i = 0; i < ARRAY_SIZE(common_params) && n < ARRAY_SIZE(names); i++)
		if (takes_common(tool, &common_params[i]))
			names[n++] = common_params[i].name;
	for (size_t i = 0; i < n; i++)
		(void)snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "", names[i]);
	nearest = name_nearest(name, names, n);
	if (nearest)
		return answer_fail(answer, "%s has no argument %s; did you mean '%s'?", tool->name,
				   option_quote(name).text, nearest);
	return answer_fail(answer, "%s has no argument %s; it takes %s", tool->name, option_quote(name).text, list);
}

/* "LIST.N": the list goes on with element N. */
static int cursor_read(const struct tool *tool, const char *cursor, struct answer *ret)
{
	const char *point = strrchr(cursor, '.');
	size_t n = point ? (size_t)(point - cursor) : 0, digits = point ? strspn(point + 1, "0123456789") : 0;

	for (size_t i = 0; point && i < tool->shape->n_lists; i++) {
		const char *name = tool->shape->lists[i].name;

		if (strlen(name) != n || memcmp(name, cursor, n) != 0 || !digits || digits > CURSOR_DIGITS_MAX ||
		    point[1 + digits])
			continue;
		ret->has_cursor = true;
		ret->cursor_list = i;
		ret->cursor_at = (uint32_t)strtoul(point + 1, NULL, 10);
		return 0;
	}
	return answer_fail(ret, "unknown 'cursor' %s; take one from 'left_out' of an answer of %s",
			   option_quote(cursor).text, tool->name);
}

/* Two arguments of one field: the second would take the place of the first, or be added to it. */
static int arguments_exclude(const struct tool *tool, const json_t *json, struct answer *answer)
{
	for (size_t i = 0; i < tool->n_params; i++)
		for (size_t k = i + 1; k < tool->n_params; k++)
			if (tool->params[i].field == tool->params[k].field &&
			    json_object_get(json, tool->params[i].name) && json_object_get(json, tool->params[k].name))
				return answer_fail(answer, "'%s' and '%s' exclude each other: take one",
						   tool->params[i].name, tool->params[k].name);
	return 0;
}

int tool_arguments_read(const struct tool *tool, const json_t *json, void *fields, struct answer *ret)
{
	struct common common = { .tokens_max = tool->tokens ? tool->tokens : TOOL_TOKENS_DEFAULT, .is_short = true };
	char error[PARAM_ERROR_BYTES];
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)json, name, value)
	{
		const struct param *param = param_find(tool->params, tool->n_params, name);
		const struct param *shared = param_find(common_params, ARRAY_SIZE(common_params), name);

		if (shared && !takes_common(tool, shared))
			shared = NULL;
		if (!param && !shared)
			return argument_refuse(tool, name, ret);
		if (param_read(param ? param : shared, value, param ? fields : &common, error) < 0)
			return answer_fail(ret, "%s", error);
	}
	if (arguments_exclude(tool, json, ret) < 0)
		return -EINVAL;
	for (size_t i = 0; i < tool->n_params; i++)
		if (tool->params[i].is_required && !json_object_get(json, tool->params[i].name))
			return answer_fail(ret, "%s needs '%s': %s", tool->name, tool->params[i].name,
					   tool->params[i].help);
	if (common.cursor && cursor_read(tool, common.cursor, ret) < 0)
		return -EINVAL;
	ret->takes_cursor = takes_common(tool, param_find(common_params, ARRAY_SIZE(common_params), "cursor"));
	ret->tokens_max = common.tokens_max;
	ret->has_details = common.has_details;
	ret->is_verbose = !common.is_short;
	return 0;
}

/* ---- methods ---- */

int method_tools_list(struct rpc_call *call, struct writer *result)
{
	int r = rpc_cursor_refuse(call);

	if (r < 0)
		return r;
	writer_open(result, "tools", '[');
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		tool_write(tools[i], result);
	writer_close(result, ']');
	return 0;
}

static int unknown_tool(struct rpc_call *call, const char *name)
{
	const char *names[ARRAY_SIZE(tools)], *nearest;

	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		names[i] = tools[i]->name;
	nearest = name_nearest(name, names, ARRAY_SIZE(names));
	if (nearest)
		return rpc_fail(call, RPC_BAD_PARAMS, "unknown tool %s; did you mean '%s'?", option_quote(name).text,
				nearest);
	return rpc_fail(call, RPC_BAD_PARAMS, "unknown tool %s; tools/list has the names", option_quote(name).text);
}

int method_tools_call(struct rpc_call *call, struct writer *result)
{
	const json_t *params = call->message->params, *arguments = json_object_get(params, "arguments");
	const char *name = json_string_value(json_object_get(params, "name"));
	const struct tool *tool = name ? tool_find(name) : NULL;
	CLEANUP(answer_done) struct answer answer = ANSWER_INIT;
	CLEANUP(freep) void *fields = NULL;
	struct tool_call tool_call = { .rpc = call };
	int r;

	if (!name)
		return rpc_fail(call, RPC_BAD_PARAMS, "'name' is missing or not a string");
	if (!tool)
		return unknown_tool(call, name);
	if (arguments && !json_is_object(arguments))
		return rpc_fail(call, RPC_BAD_PARAMS, "'arguments' is not an object");
	if (tool->write)
		return tool->write(call, result);
	fields = calloc(1, tool->arguments_bytes + 1);
	if (!fields)
		return -ENOMEM;
	tool_call.arguments = fields;
	r = tool_arguments_read(tool, arguments, fields, &answer);
	if (r == 0)
		r = tool->run(&tool_call, &answer);
	if (r < 0 && !answer.error.n)
		return r;
	return answer_write(&answer, tool->shape, result);
}

/* ---- what tools share ---- */

int tool_delegate(const struct tool_call *call, const char *name, const json_t *arguments, struct answer *answer)
{
	const struct tool *tool = tool_find(name);
	struct answer asked = { .tokens_max = answer->tokens_max };
	CLEANUP(freep) void *fields = NULL;
	struct tool_call other = { .rpc = call->rpc };
	int r;

	if (!tool)
		return -ENOENT;
	fields = calloc(1, tool->arguments_bytes + 1);
	if (!fields)
		return -ENOMEM;
	other.arguments = fields;
	r = tool_arguments_read(tool, arguments, fields, &asked);
	if (r < 0)
		r = answer_fail(answer, "%s", buf_text(&asked.error));
	answer_done(&asked);
	return r < 0 ? r : tool->run(&other, answer);
}

int tool_delegate_sql(const struct tool_call *call, const char *sql, uint64_t limit, struct answer *answer)
{
	json_t *arguments = json_pack("{s:s, s:I}", "query", sql, "limit", (json_int_t)limit);
	int r = arguments ? tool_delegate(call, "run_sql", arguments, answer) : -ENOMEM;

	json_decref(arguments);
	return r;
}

struct ingero *tool_connect(const struct tool_call *call, struct answer *answer)
{
	char error[ASKER_ERROR_BYTES] = "";
	struct ingero *ingero;

	if (asker_connect(call->rpc->asker, "explain", error, &ingero) == 0)
		return ingero;
	(void)answer_fail(answer, "%s", *error ? error : "no daemon is running");
	return NULL;
}

int tool_asked(struct ingero *ingero, int r, struct answer *answer)
{
	return r < 0 ? answer_fail(answer, "%s", ingero_why(ingero, r)) : 0;
}
