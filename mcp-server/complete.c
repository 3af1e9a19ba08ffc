// SPDX-License-Identifier: Apache-2.0
/* Completion of arguments: processes, operations and ids that the caller's recording has. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "ingero/answers.h"
#include "mcp-server/method.h"
#include "mcp-server/offer.h"
#include "mcp-server/prompt.h"

#define VALUES_MOST 100 /* of the protocol */
#define CALL_ID_BYTES_MOST 64

struct completion {
	const char *beginning; /* of the values, in any case */
	struct writer *result;
	uint64_t n; /* that begin so */
};

static void value_offer(struct completion *c, const char *value)
{
	if (!offer_is_word(value) || strncasecmp(value, c->beginning, strlen(c->beginning)) != 0)
		return;
	if (c->n++ < VALUES_MOST)
		writer_text(c->result, NULL, value);
}

static void id_offer(struct completion *c, const char *id)
{
	if (offer_is_id(id))
		value_offer(c, id);
}

static int values_take(const ProtobufCMessage *message, void *data)
{
	const Ingero__V1__SqlReply *reply = (const Ingero__V1__SqlReply *)message;
	char number[32];

	for (size_t i = 0; i < reply->n_rows; i++) {
		const Ingero__V1__SqlValue *value = reply->rows[i]->n_values ? reply->rows[i]->values[0] : NULL;

		if (value && value->value_case == INGERO__V1__SQL_VALUE__VALUE_TEXT)
			value_offer(data, value->text);
		if (!value || value->value_case != INGERO__V1__SQL_VALUE__VALUE_INTEGER)
			continue;
		(void)snprintf(number, sizeof(number), "%" PRId64, value->integer);
		value_offer(data, number);
	}
	return 0;
}

static void sql_offer(struct rpc_call *call, struct ingero *ingero, const char *sql, struct completion *c)
{
	Ingero__V1__SqlRequest request = INGERO__V1__SQL_REQUEST__INIT;

	request.sql = (char *)(uintptr_t)sql; /* the message borrows it */
	request.time_limit_ns = NSEC_PER_SEC;
	(void)asker_read(ingero, "ingero.v1.Query.Sql", &request.base, values_take, c, &call->is_cancelled);
}

static void findings_offer(struct ingero *ingero, bool is_calls, struct completion *c)
{
	CLEANUP(ingero_explanation_done) struct ingero_explanation explanation = { .reply = NULL };
	const struct ingero_explain_wish wish = { .is_whole = true, .without_kept = true };

	if (ingero_explain(ingero, &wish, &explanation) < 0)
		return;
	for (size_t i = 0; i < explanation.reply->n_findings; i++) {
		const Ingero__V1__Finding *finding = explanation.reply->findings[i];

		if (!is_calls)
			id_offer(c, finding->id);
		for (size_t k = 0; is_calls && k < finding->n_examples; k++)
			id_offer(c, finding->examples[k]->id);
	}
}

/* Recorded calls, the longest first: where no finding has examples, or none begins so. */
static void calls_offer(struct rpc_call *call, struct ingero *ingero, struct completion *c)
{
	CLEANUP(buf_done) struct buf sql = BUF_INIT;
	size_t n = strlen(c->beginning);

	if (strspn(c->beginning, "0123456789abcdef.") != n || n > CALL_ID_BYTES_MOST)
		return; /* no id of a call here begins so */
	(void)buf_printf(&sql, "SELECT id FROM events WHERE substr(id, 1, %zu) = '%s' ORDER BY duration DESC LIMIT %d",
			 n, c->beginning, VALUES_MOST);
	sql_offer(call, ingero, buf_text(&sql), c);
}

/* What is offered for an argument depends on its name, and for an id on the template. */
static void argument_offer(struct rpc_call *call, const char *name, const char *uri, struct completion *c)
{
	char error[ASKER_ERROR_BYTES];
	struct ingero *ingero;

	if (asker_connect(call->asker, "explain", error, &ingero) < 0)
		return; /* without a recording there is nothing to offer */
	if (strcmp(name, "pid") == 0)
		sql_offer(call, ingero, "SELECT pid FROM operations GROUP BY pid ORDER BY sum(sum_dur) DESC", c);
	else if (strcmp(name, "op") == 0)
		sql_offer(call, ingero, "SELECT DISTINCT op_name FROM operations WHERE op_name IS NOT NULL ORDER BY 1",
			  c);
	else if (strcmp(name, "id") == 0)
		findings_offer(ingero, strstr(uri, "/call/"), c);
	if (strcmp(name, "id") == 0 && strstr(uri, "/call/") && !c->n)
		calls_offer(call, ingero, c);
}

int method_complete(struct rpc_call *call, struct writer *result)
{
	const json_t *params = call->message->params, *argument = json_object_get(params, "argument");
	const json_t *ref = json_object_get(params, "ref");
	const char *name = json_string_value(json_object_get(argument, "name"));
	const char *value = json_string_value(json_object_get(argument, "value"));
	const char *type = json_string_value(json_object_get(ref, "type"));
	const char *uri = json_string_value(json_object_get(ref, "uri"));
	const char *prompt = json_string_value(json_object_get(ref, "name"));
	struct completion completion = { .beginning = value, .result = result };

	if (!type || (strcmp(type, "ref/prompt") != 0 && strcmp(type, "ref/resource") != 0))
		return rpc_fail(call, RPC_BAD_PARAMS, "'ref.type' is not \"ref/prompt\" or \"ref/resource\"");
	if (strcmp(type, "ref/prompt") == 0 && (!prompt || !prompt_find(prompt)))
		return rpc_fail(call, RPC_BAD_PARAMS, "'ref.name' is no prompt; prompts/list has the names");
	if (!name || !value)
		return rpc_fail(call, RPC_BAD_PARAMS, "'argument' needs 'name' and 'value', both strings");
	writer_open(result, "completion", '{');
	writer_open(result, "values", '[');
	argument_offer(call, name, uri ? uri : "", &completion);
	writer_close(result, ']');
	writer_integer(result, "total", (int64_t)completion.n);
	writer_boolean(result, "hasMore", completion.n > VALUES_MOST);
	writer_close(result, '}');
	return 0;
}
