// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/rpc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/option.h"
#include "mcp-server/method.h"
#include "mcp-server/server.h"
#include "mcp-server/untrusted.h"

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_SERVER "io.modelcontextprotocol/serverInfo"
#define CACHE_MS 300000 /* of lists, which change with the version of the server alone */

void rpc_message_done(struct rpc_message *message)
{
	json_decref(message->root);
	message->root = NULL;
}

int rpc_fail(struct rpc_call *call, enum rpc_code code, const char *fmt, ...)
{
	CLEANUP(buf_done) struct buf clean = BUF_INIT;
	char sentence[RPC_ERROR_BYTES];

	call->code = code;
	FORMAT_INTO(sentence, sizeof(sentence), fmt);
	untrusted_append(&clean, sentence, strlen(sentence)); /* it may quote arguments */
	(void)snprintf(call->error, sizeof(call->error), "%s", buf_text(&clean));
	return -EPROTO;
}

int rpc_cursor_refuse(struct rpc_call *call)
{
	const json_t *cursor = json_object_get(call->message->params, "cursor");

	if (!cursor || (json_is_string(cursor) && json_string_length(cursor) == 0))
		return 0;
	return rpc_fail(call, RPC_BAD_PARAMS, "unknown 'cursor': this list has one page");
}

void rpc_error_append(struct buf *out, const char *id, enum rpc_code code, const char *sentence, const char *data)
{
	(void)buf_append_text(out, "{\"jsonrpc\":\"2.0\",");
	if (*id)
		(void)buf_printf(out, "\"id\":%s,", id);
	(void)buf_printf(out, "\"error\":{\"code\":%d,\"message\":", (int)code);
	json_text_add(out, sentence);
	if (*data)
		(void)buf_printf(out, ",\"data\":%s", data);
	(void)buf_append_text(out, "}}");
}

/* ---- reading ---- */

static enum rpc_kind read_refuse(struct rpc_message *message, struct buf *out, enum rpc_code code, const char *sentence,
				 const char *data)
{
	message->code = code;
	rpc_error_append(out, message->id, code, sentence, data);
	return RPC_REFUSED;
}

/* An id is a string or an integer. Return: 0, -ENOENT without one, -EINVAL */
static int id_read(struct rpc_message *message)
{
	const json_t *id = json_object_get(message->root, "id");
	CLEANUP(freep) char *text = NULL;

	if (!id)
		return -ENOENT;
	if (!json_is_integer(id) && (!json_is_string(id) || json_string_length(id) > RPC_ID_BYTES_MAX))
		return -EINVAL;
	text = json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT);
	if (!text || strlen(text) >= sizeof(message->id))
		return -EINVAL;
	memcpy(message->id, text, strlen(text) + 1);
	return 0;
}

/* What a modern request must say of itself. Return: NULL, or the sentence */
static const char *meta_check(const json_t *meta, const char **ret_revision)
{
	*ret_revision = json_string_value(json_object_get(meta, META_VERSION));
	if (!json_is_object(meta))
		return "'params._meta' is missing; it names the revision of the protocol";
	if (!*ret_revision)
		return "'params._meta." META_VERSION "' is missing or not a string";
	if (!json_is_object(json_object_get(meta, META_CAPABILITIES)))
		return "'params._meta." META_CAPABILITIES "' is missing or not an object";
	return NULL;
}

static enum rpc_kind version_refuse(struct rpc_message *message, const char *requested, struct buf *out)
{
	CLEANUP(buf_done) struct buf data = BUF_INIT;

	(void)buf_append_text(&data, "{\"supported\":[");
	for (size_t i = 0; revisions[i]; i++)
		(void)buf_printf(&data, "%s\"%s\"", i ? "," : "", revisions[i]);
	(void)buf_append_text(&data, "],\"requested\":");
	json_text_add_n(&data, requested, MIN(strlen(requested), RPC_ID_BYTES_MAX));
	(void)buf_append_text(&data, "}");
	return read_refuse(message, out, RPC_NO_VERSION, "unsupported revision of the protocol", buf_text(&data));
}

/* Which era a message belongs to, whatever came before it. */
static enum rpc_era era_of(const struct rpc_message *message)
{
	const json_t *meta = json_object_get(message->params, "_meta");

	return json_object_get(meta, META_VERSION) || strcmp(message->name, "server/discover") == 0 ? RPC_MODERN
												    : RPC_LEGACY;
}

static enum rpc_kind request_check(struct rpc_message *message, struct buf *out)
{
	const char *sentence;
	char text[RPC_ERROR_BYTES];

	if (message->era == RPC_MODERN) {
		sentence = meta_check(json_object_get(message->params, "_meta"), &message->revision);
		if (sentence)
			return read_refuse(message, out, RPC_BAD_PARAMS, sentence, "");
		if (!revision_is(revisions_modern, message->revision))
			return version_refuse(message, message->revision, out);
	}
	message->method = method_find(message->name);
	if (!message->method || !(message->method->eras & message->era)) {
		(void)snprintf(text, sizeof(text), "unknown method %s", option_quote(message->name).text);
		return read_refuse(message, out, RPC_NO_METHOD, text, "");
	}
	return RPC_REQUEST;
}

static enum rpc_kind object_read(struct rpc_message *message, struct buf *out)
{
	const char *version = json_string_value(json_object_get(message->root, "jsonrpc"));
	const json_t *name = json_object_get(message->root, "method"),
		     *params = json_object_get(message->root, "params");
	int id = id_read(message);

	if (!version || strcmp(version, "2.0") != 0)
		return read_refuse(message, out, RPC_INVALID, "'jsonrpc' is not \"2.0\"", "");
	if (!name && (json_object_get(message->root, "result") || json_object_get(message->root, "error")))
		return RPC_IGNORED; /* an answer, and nothing was asked */
	if (id == -EINVAL)
		return read_refuse(message, out, RPC_INVALID, "'id' is not an integer or a string of at most 256 bytes",
				   "");
	if (!json_is_string(name))
		return read_refuse(message, out, RPC_INVALID, "'method' is missing or not a string", "");
	message->name = json_string_value(name);
	if (params && !json_is_object(params))
		return id < 0 ? RPC_IGNORED
			      : read_refuse(message, out, RPC_BAD_PARAMS, "'params' is not an object", "");
	message->params = params;
	if (id < 0)
		return RPC_NOTIFICATION;
	message->era = era_of(message);
	return request_check(message, out);
}

enum rpc_kind rpc_read(const char *text, size_t n, struct rpc_message *ret, struct buf *out)
{
	json_error_t error;

	if (n > RPC_MESSAGE_BYTES_MAX)
		return read_refuse(ret, out, RPC_INVALID, "the message is longer than 262144 bytes", "");
	ret->root = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (!ret->root)
		return read_refuse(ret, out, RPC_NOT_JSON, "the message is not JSON", "");
	if (json_is_array(ret->root))
		return read_refuse(ret, out, RPC_INVALID, "batches are not supported; send one object per message", "");
	if (!json_is_object(ret->root))
		return read_refuse(ret, out, RPC_INVALID, "the message is not an object", "");
	return object_read(ret, out);
}

/* ---- answering ---- */

/* What a modern result says of itself. */
static void result_begin(const struct rpc_message *message, struct writer *w)
{
	const struct method *method = message->method;

	if (message->era != RPC_MODERN)
		return;
	writer_text(w, "resultType", "complete");
	writer_open(w, "_meta", '{');
	writer_open(w, META_SERVER, '{');
	writer_text(w, "name", SERVER_NAME);
	writer_text(w, "version", INGERO_VERSION);
	writer_close(w, '}');
	writer_close(w, '}');
	if (method->is_cacheable) {
		writer_integer(w, "ttlMs", method->is_live ? 0 : CACHE_MS);
		writer_text(w, "cacheScope", method->is_public ? "public" : "private");
	}
}

void rpc_run(struct rpc_call *call, struct buf *out)
{
	struct writer w = { .out = out };
	size_t start = out->n;
	int r;

	writer_open(&w, NULL, '{');
	writer_text(&w, "jsonrpc", "2.0");
	writer_raw(&w, "id", call->message->id, strlen(call->message->id));
	writer_open(&w, "result", '{');
	result_begin(call->message, &w);
	r = call->message->method->run(call, &w);
	writer_close(&w, '}');
	writer_close(&w, '}');
	if (r == 0 && !out->failed)
		return;
	if (!*call->error || out->failed) /* no rpc_fail(): -EPROTO has other causes, too */
		(void)rpc_fail(call, RPC_INTERNAL, "%s", out->failed ? "no memory for the answer" : strerror(-r));
	out->n = start;
	out->failed = false;
	rpc_error_append(out, call->message->id, call->code, call->error, buf_text(&call->error_data));
}

void rpc_progress(struct rpc_call *call, double progress, double total, const char *text)
{
	const json_t *token = json_object_get(json_object_get(call->message->params, "_meta"), "progressToken");
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	if (!call->notify || !(json_is_integer(token) || json_is_string(token)))
		return;
	(void)buf_append_text(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
				    "\"progressToken\":");
	if (json_is_integer(token))
		(void)buf_printf(&out, "%lld", (long long)json_integer_value(token));
	else
		json_text_add_n(&out, json_string_value(token), json_string_length(token));
	(void)buf_printf(&out, ",\"progress\":%g,\"total\":%g,\"message\":", progress, total);
	json_text_add(&out, text);
	(void)buf_append_text(&out, "}}");
	if (!out.failed)
		call->notify(call, buf_text(&out), out.n);
}

bool rpc_is_slow(const struct rpc_message *message)
{
	return message->method->is_slow;
}
