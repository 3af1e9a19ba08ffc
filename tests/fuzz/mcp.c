// SPDX-License-Identifier: Apache-2.0
/*
 * Messages of a client: whatever comes, the answer is one line of JSON with a result or an error, and arguments of
 * tools are read or refused with a sentence.
 */
#include "mcp-server/rpc.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "mcp-server/tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

/* As a call does, but nobody is asked. */
static void arguments_check(const struct rpc_message *message)
{
	const json_t *arguments = json_object_get(message->params, "arguments");
	const char *name = json_string_value(json_object_get(message->params, "name"));
	const struct tool *tool = name ? tool_find(name) : NULL;
	CLEANUP(answer_done) struct answer answer = ANSWER_INIT;
	CLEANUP(freep) void *fields = NULL;

	if (!tool || (arguments && !json_is_object(arguments)))
		return;
	fields = calloc(1, tool->arguments_bytes + 1);
	if (tool_arguments_read(tool, arguments, fields, &answer) < 0)
		REQUIRE(answer.error.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct server server;
	struct asker asker = { .server = &server };
	struct rpc_message message = RPC_MESSAGE_INIT;
	struct rpc_call call = { .asker = &asker, .message = &message };
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	enum rpc_kind kind = rpc_read((const char *)data, n, &message, &out);
	json_t *answer;

	if (kind == RPC_REQUEST && rpc_is_slow(&message))
		arguments_check(&message);
	else if (kind == RPC_REQUEST)
		rpc_run(&call, &out);
	REQUIRE(!out.n ==
		(kind == RPC_IGNORED || kind == RPC_NOTIFICATION || (kind == RPC_REQUEST && rpc_is_slow(&message))));
	if (out.n) {
		REQUIRE(!memchr(out.data, '\n', out.n));
		answer = json_loadb(buf_text(&out), out.n, JSON_REJECT_DUPLICATES, NULL);
		REQUIRE(answer && !json_object_get(answer, "result") == !!json_object_get(answer, "error"));
		json_decref(answer);
	}
	buf_done(&call.error_data);
	rpc_message_done(&message);
	return 0;
}
