// SPDX-License-Identifier: Apache-2.0
/*
 * Messages of both eras: what is answered, with which error, and what is not answered at all. Whatever else a message
 * holds, its era is its own.
 */
#include "mcp-server/rpc.h"

#include <errno.h>

#include "mcp-server/method.h"
#include "tests/support/check.h"

#define MODERN(version)                                                                                                \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version                                            \
	"\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define NOW MODERN("2026-07-28")
#define CALL(id, method, params) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"

static const struct {
	const char *name, *text;
	int code;	 /* of the error; 0: a result; 1: no answer */
	const char *has; /* what the answer has; NULL: anything */
} cases[] = {
	/* no request at all */
	{ "nothing", "", -32700, NULL },
	{ "no JSON", "{\"jsonrpc\":", -32700, "{\"jsonrpc\":\"2.0\",\"error\"" },
	{ "two objects", "{} {}", -32700, NULL },
	{ "not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\xff\"}", -32700, NULL },
	{ "a key twice", "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", -32700, NULL },
	{ "too large a number", CALL("99999999999999999999", "ping", ""), -32700, NULL },
	{ "a number", "5", -32600, NULL },
	{ "a batch", "[" CALL("1", "ping", "") "]", -32600, "batches" },
	{ "no version", "{\"id\":1,\"method\":\"ping\"}", -32600, "\"id\":1," },
	{ "another version", "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600, NULL },
	{ "version of another type", "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}", -32600, NULL },
	{ "id null", CALL("null", "ping", ""), -32600, "{\"jsonrpc\":\"2.0\",\"error\"" },
	{ "id with a fraction", CALL("1.5", "ping", ""), -32600, NULL },
	{ "id an object", CALL("{}", "ping", ""), -32600, NULL },
	{ "no method", "{\"jsonrpc\":\"2.0\",\"id\":1}", -32600, "\"id\":1," },
	{ "method a number", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600, NULL },
	{ "params an array", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", -32602, NULL },
	/* no answer */
	{ "a notification", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", 1, NULL },
	{ "an unknown one", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nobody\",\"params\":{}}", 1, NULL },
	{ "a request without id", "{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\"}", 1, NULL },
	{ "a notification with bad params", "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":3}", 1, NULL },
	{ "an answer", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 1, NULL },
	{ "an error of theirs", "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"\"}}", 1, NULL },
	/* legacy */
	{ "initialize", CALL("1", "initialize", "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}"), 0,
	  "\"protocolVersion\":\"2025-11-25\"" },
	{ "the older revision", CALL("1", "initialize", "\"protocolVersion\":\"2025-06-18\""), 0,
	  "\"protocolVersion\":\"2025-06-18\"" },
	{ "an old revision", CALL("1", "initialize", "\"protocolVersion\":\"2024-11-05\""), 0,
	  "\"protocolVersion\":\"2025-11-25\"" },
	{ "the modern one by handshake", CALL("1", "initialize", "\"protocolVersion\":\"2026-07-28\""), 0,
	  "\"protocolVersion\":\"2025-11-25\"" },
	{ "initialize without revision", CALL("1", "initialize", ""), -32602, NULL },
	{ "ping", CALL("\"a\\\"b\"", "ping", ""), 0, "\"id\":\"a\\\"b\",\"result\":{}" },
	{ "ping without params", "{\"jsonrpc\":\"2.0\",\"id\":-1,\"method\":\"ping\"}", 0, "\"id\":-1,\"result\":{}" },
	{ "tools/list", CALL("1", "tools/list", ""), 0, "\"result\":{\"tools\":[{\"name\":\"explain\"" },
	{ "tools/list, empty cursor", CALL("1", "tools/list", "\"cursor\":\"\""), 0, NULL },
	{ "tools/list, bad cursor", CALL("1", "tools/list", "\"cursor\":\"x\""), -32602, NULL },
	{ "unknown method", CALL("1", "tools/lst", ""), -32601, "'tools/lst'" },
	{ "what is not served", CALL("1", "logging/setLevel", "\"level\":\"info\""), -32601, NULL },
	{ "no tool", CALL("1", "tools/call", ""), -32602, NULL },
	{ "tool of another type", CALL("1", "tools/call", "\"name\":7"), -32602, NULL },
	{ "unknown tool", CALL("1", "tools/call", "\"name\":\"explian\""), -32602, "did you mean 'explain'?" },
	{ "arguments an array", CALL("1", "tools/call", "\"name\":\"explain\",\"arguments\":[]"), -32602, NULL },
	{ "a wrong argument is the tool's matter",
	  CALL("1", "tools/call", "\"name\":\"explain\",\"arguments\":{\"since\":5}"), 0, "\"isError\":true" },
	{ "prompts/list", CALL("1", "prompts/list", ""), 0, "\"name\":\"investigate\"" },
	{ "prompts/list, bad cursor", CALL("1", "prompts/list", "\"cursor\":\"x\""), -32602, NULL },
	{ "a prompt", CALL("1", "prompts/get", "\"name\":\"slow_step\",\"arguments\":{\"pid\":\"4711\"}"), 0,
	  "Use pid: 4711" },
	{ "no prompt", CALL("1", "prompts/get", ""), -32602, NULL },
	{ "unknown prompt", CALL("1", "prompts/get", "\"name\":\"x\""), -32602, NULL },
	{ "an argument is missing", CALL("1", "prompts/get", "\"name\":\"slow_step\""), -32602,
	  "slow_step needs 'pid'" },
	{ "an argument of another type", CALL("1", "prompts/get", "\"name\":\"oom\",\"arguments\":{\"pid\":4711}"),
	  -32602, NULL },
	{ "resources/list", CALL("1", "resources/list", ""), 0, "\"uri\":\"ingero://docs/sql\"" },
	{ "templates", CALL("1", "resources/templates/list", ""), 0, "ingero://finding/{id}" },
	{ "a page", CALL("1", "resources/read", "\"uri\":\"ingero://docs/detectors/starved\""), 0,
	  "\"mimeType\":\"text/markdown\"" },
	{ "no page", CALL("1", "resources/read", "\"uri\":\"ingero://docs/\""), -32002, NULL },
	{ "no URI", CALL("1", "resources/read", ""), -32602, NULL },
	{ "completion of nothing", CALL("1", "completion/complete", ""), -32602, NULL },
	{ "completion without a value",
	  CALL("1", "completion/complete", "\"ref\":{\"type\":\"ref/prompt\"},\"argument\":{\"name\":\"x\"}"), -32602,
	  NULL },
	/* modern */
	{ "modern, no page", CALL("1", "resources/read", "\"uri\":\"ingero://docs/\"," NOW), -32602, NULL },
	{ "data holds for no time", CALL("1", "resources/read", "\"uri\":\"ingero://docs/sql\"," NOW), 0,
	  "\"ttlMs\":0,\"cacheScope\":\"private\"" },
	{ "discover", CALL("1", "server/discover", NOW), 0,
	  "\"supportedVersions\":[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\"]" },
	{ "discover says how long it holds", CALL("1", "server/discover", NOW), 0,
	  "\"ttlMs\":300000,\"cacheScope\":\"public\"" },
	{ "discover without meta", CALL("1", "server/discover", ""), -32602, NULL },
	{ "modern list", CALL("1", "tools/list", NOW), 0, "\"result\":{\"resultType\":\"complete\",\"_meta\":{" },
	{ "modern call", CALL("1", "tools/call", "\"name\":\"explain\",\"arguments\":{\"x\":1}," NOW), 0,
	  "\"resultType\":\"complete\"" },
	{ "no ping", CALL("1", "ping", NOW), -32601, NULL },
	{ "no initialize", CALL("1", "initialize", "\"protocolVersion\":\"2025-11-25\"," NOW), -32601, NULL },
	{ "a revision to come", CALL("1", "tools/list", MODERN("2030-01-01")), -32022,
	  "\"data\":{\"supported\":[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\"],\"requested\":\"2030-01-01\"}" },
	{ "a legacy one in the meta", CALL("1", "tools/list", MODERN("2025-11-25")), -32022, NULL },
	{ "no capabilities",
	  CALL("1", "tools/list", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"), -32602,
	  "clientCapabilities" },
	{ "revision a number", CALL("1", "tools/list", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":1}"),
	  -32602, NULL },
	{ "meta without a revision is legacy", CALL("1", "ping", "\"_meta\":{\"progressToken\":1}"), 0, NULL },
};

/* What a transport does. Return: code of the error, 0: a result, 1: no answer */
static int answer_of(const char *text, size_t n, struct buf *out)
{
	static const struct server server;
	struct asker asker = { .server = &server };
	struct rpc_message message = RPC_MESSAGE_INIT;
	struct rpc_call call = { .asker = &asker, .message = &message };
	json_t *answer, *error;
	int code;

	if (rpc_read(text, n, &message, out) == RPC_REQUEST)
		rpc_run(&call, out);
	buf_done(&call.error_data);
	rpc_message_done(&message);
	if (!out->n)
		return 1;
	answer = json_loadb(buf_text(out), out->n, JSON_REJECT_DUPLICATES, NULL);
	if (!answer)
		return 2;
	error = json_object_get(answer, "error");
	code = error ? (int)json_integer_value(json_object_get(error, "code")) : 0;
	if (!error == !json_object_get(answer, "result"))
		code = 3;
	json_decref(answer);
	return code;
}

static void deep_test(void)
{
	static const size_t depths[] = { 100, 2000, 10000, 100000 };

	for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
		CLEANUP(buf_done) struct buf text = BUF_INIT, out = BUF_INIT;
		int code;

		(void)buf_append_text(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":");
		for (size_t k = 0; k < depths[i]; k++)
			(void)buf_append_text(&text, "[");
		for (size_t k = 0; k < depths[i]; k++)
			(void)buf_append_text(&text, "]");
		(void)buf_append_text(&text, "}}");
		code = answer_of(buf_text(&text), text.n, &out);
		CHECK_INT_EQ("depth", code, depths[i] < 2040 ? 0 : -32700);
	}
}

static void long_test(void)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT, out = BUF_INIT;

	(void)buf_append_text(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"");
	while (text.n < RPC_MESSAGE_BYTES_MAX - 3)
		(void)buf_append_text(&text, "x");
	(void)buf_append_text(&text, "\"}}");
	CHECK_INT_EQ("the longest", answer_of(buf_text(&text), text.n, &out), 0);
	(void)buf_append_text(&text, " ");
	out.n = 0;
	CHECK_INT_EQ("longer", answer_of(buf_text(&text), text.n, &out), -32600);
}

static void id_test(void)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT, out = BUF_INIT;

	(void)buf_append_text(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":\"");
	for (int i = 0; i <= RPC_ID_BYTES_MAX; i++)
		(void)buf_append_text(&text, "x");
	(void)buf_append_text(&text, "\"}");
	CHECK_INT_EQ("a long id", answer_of(buf_text(&text), text.n, &out), -32600);
	CHECK("is not repeated", !strstr(buf_text(&out), "xxx"));
}

static int protocol_fail(struct rpc_call *call, struct writer *result)
{
	(void)call;
	(void)result;
	return -EPROTO;
}

/* A method that fails without a sentence, as where an answer cannot be read: an error of the protocol has one, and a
 * code. */
static void bare_test(void)
{
	static const struct method bare = { .name = "bare", .run = protocol_fail };
	struct rpc_message message = { .method = &bare, .id = "7" };
	struct rpc_call call = { .message = &message };
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	rpc_run(&call, &out);
	buf_done(&call.error_data);
	CHECK("its code", strstr(buf_text(&out), "\"id\":7,\"error\":{\"code\":-32603,\"message\":\"") != NULL);
	CHECK("its sentence", strstr(buf_text(&out), "\"message\":\"\"") == NULL);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		CHECK_INT_EQ(cases[i].name, answer_of(cases[i].text, strlen(cases[i].text), &out), cases[i].code);
		CHECK(cases[i].has ? cases[i].has : "", !cases[i].has || strstr(buf_text(&out), cases[i].has));
		CHECK(cases[i].name, !memchr(out.n ? (const char *)out.data : "", '\n', out.n));
	}
	deep_test();
	long_test();
	id_test();
	bare_test();
	return check_result();
}
