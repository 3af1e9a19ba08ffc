// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/prompt.h"

#include <string.h>

#include "base/nearest.h"
#include "base/option.h"
#include "base/parse.h"
#include "libingero/answers/window.h"
#include "mcp-server/method.h"
#include "mcp-server/untrusted.h"

#define PROMPT(name) extern const struct prompt prompt_##name;
#include "mcp-server/prompts/list.h"

static const struct prompt *const prompts[] = {
#define PROMPT(name) &prompt_##name,
#include "mcp-server/prompts/list.h"
};

const struct prompt *prompt_get(size_t i)
{
	return i < ARRAY_SIZE(prompts) ? prompts[i] : NULL;
}

const struct prompt *prompt_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(prompts); i++)
		if (strcmp(prompts[i]->name, name) == 0)
			return prompts[i];
	return NULL;
}

static void prompt_write(const struct prompt *prompt, struct writer *w)
{
	writer_open(w, NULL, '{');
	writer_text(w, "name", prompt->name);
	writer_text(w, "title", prompt->title);
	writer_text(w, "description", prompt->description);
	writer_open(w, "arguments", '[');
	for (size_t i = 0; i < prompt->n_arguments; i++) {
		writer_open(w, NULL, '{');
		writer_text(w, "name", prompt->arguments[i].name);
		writer_text(w, "description", prompt->arguments[i].help);
		writer_boolean(w, "required", prompt->arguments[i].is_required);
		writer_close(w, '}');
	}
	writer_close(w, ']');
	writer_close(w, '}');
}

int method_prompts_list(struct rpc_call *call, struct writer *result)
{
	int r = rpc_cursor_refuse(call);

	if (r < 0)
		return r;
	writer_open(result, "prompts", '[');
	for (size_t i = 0; i < ARRAY_SIZE(prompts); i++)
		prompt_write(prompts[i], result);
	writer_close(result, ']');
	return 0;
}

bool prompt_since_is_right(const char *text)
{
	uint64_t ns;

	return window_since_parse(text, &ns) == 0;
}

bool prompt_pid_is_right(const char *text)
{
	uint64_t pid;

	return parse_u64(text, PARSE_PID_MAX, &pid) == 0 && pid;
}

static int unknown_argument_refuse(struct rpc_call *call, const struct prompt *prompt, const json_t *given)
{
	const char *names[16] = { NULL }, *nearest, *name;
	size_t n = 0;
	json_t *value;

	for (; n < MIN(prompt->n_arguments, ARRAY_SIZE(names)); n++)
		names[n] = prompt->arguments[n].name;
	json_object_foreach((json_t *)(uintptr_t)given, name, value)
	{
		size_t i = 0;

		while (i < n && strcmp(names[i], name) != 0)
			i++;
		if (i < n)
			continue;
		nearest = name_nearest(name, names, n);
		if (nearest)
			return rpc_fail(call, RPC_BAD_PARAMS, "%s has no argument %s; did you mean '%s'?", prompt->name,
					option_quote(name).text, nearest);
		return rpc_fail(call, RPC_BAD_PARAMS, "%s has no argument %s; prompts/list has those that it takes",
				prompt->name, option_quote(name).text);
	}
	return 0;
}

/* Each argument that was given, in a line of its own behind the text. */
static int prompt_arguments_append(struct rpc_call *call, const struct prompt *prompt, const json_t *given,
				   struct buf *text)
{
	for (size_t i = 0; i < prompt->n_arguments; i++) {
		const struct prompt_argument *argument = &prompt->arguments[i];
		const json_t *value = json_object_get(given, argument->name);

		if (!value && argument->is_required)
			return rpc_fail(call, RPC_BAD_PARAMS, "%s needs '%s': %s", prompt->name, argument->name,
					argument->help);
		if (!value)
			continue;
		if (!json_is_string(value))
			return rpc_fail(call, RPC_BAD_PARAMS, "'%s' takes a string", argument->name);
		if (argument->is_right && !argument->is_right(json_string_value(value)))
			return rpc_fail(call, RPC_BAD_PARAMS, "'%s' takes %s, not %s", argument->name, argument->takes,
					option_quote(json_string_value(value)).text);
		(void)buf_printf(text, "\nUse %s: ", argument->name);
		untrusted_append(text, json_string_value(value), json_string_length(value));
	}
	return 0;
}

void prompt_message_open(struct writer *messages)
{
	writer_open(messages, NULL, '{');
	writer_text(messages, "role", "user");
}

void prompt_message_close(struct writer *messages)
{
	writer_close(messages, '}');
}

int method_prompts_get(struct rpc_call *call, struct writer *result)
{
	const json_t *params = call->message->params, *given = json_object_get(params, "arguments");
	const char *name = json_string_value(json_object_get(params, "name"));
	const struct prompt *prompt = name ? prompt_find(name) : NULL;
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	int r;

	if (!name)
		return rpc_fail(call, RPC_BAD_PARAMS, "'name' is missing or not a string");
	if (!prompt)
		return rpc_fail(call, RPC_BAD_PARAMS, "unknown prompt %s; prompts/list has the names",
				option_quote(name).text);
	if (given && !json_is_object(given))
		return rpc_fail(call, RPC_BAD_PARAMS, "'arguments' is not an object");
	(void)buf_append_text(&text, prompt->text ? prompt->text : "");
	r = unknown_argument_refuse(call, prompt, given);
	if (r < 0)
		return r;
	r = prompt_arguments_append(call, prompt, given, &text);
	if (r < 0)
		return r;
	writer_text(result, "description", prompt->description);
	writer_open(result, "messages", '[');
	if (prompt->write) {
		prompt->write(given, result);
	} else {
		prompt_message_open(result);
		writer_open(result, "content", '{');
		writer_text(result, "type", "text");
		writer_text(result, "text", buf_text(&text));
		writer_close(result, '}');
		prompt_message_close(result);
	}
	writer_close(result, ']');
	return 0;
}
