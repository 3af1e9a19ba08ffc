// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers of the methods that the reader child answers (rows of archive/reader.def).
 */
#include <errno.h>
#include <unistd.h>

#include "archive/reader.h"
#include "base/arena.h"
#include "capture.h"
#include "clock.h"
#include "rpc/answer.h"
#include "rpc/call.h"
#include "rpc/context.h"
#include "rpc/cost.h"
#include "rpc/handlers.h"
#include "rpc/read.h"
#include "rpc/scope.h"

static int question_pack(struct read_question *question, const struct rpc_context *context, enum method_id method,
			 const ProtobufCMessage *request, bool has_stacks)
{
	const struct call_identity *identity = call_identity(question->call);
	struct reader_question q = {
		.limit_ns = question->limit_ns,
		.now_unix_ns = clock_to_unix_ns(clock_now_ns()),
		.method = method,
		.uid = identity->uid,
		.all = identity->can_read_all || (context->is_private && identity->uid == getuid()),
		.names_hidden = answer_hides_names(identity),
		.has_cost = context->capture->source != NULL,
		.has_stacks = has_stacks,
	};
	size_t n = protobuf_c_message_get_packed_size(request);
	uint8_t *p;

	if (n > READER_REQUEST_MAX)
		return -EMSGSIZE;
	if (buf_append(&question->packed, &q, sizeof(q)) < 0 || !(p = buf_reserve(&question->packed, n + 1)))
		return -ENOMEM;
	question->packed.n += protobuf_c_message_pack(request, p);
	return 0;
}

/*
 * Appends the cost of the daemon, which the reader does not know. Concatenated packed messages of one type are their
 * union.
 */
static int question_cost_append(struct read_question *question, const struct rpc_context *context,
				const ProtobufCMessageDescriptor *reply)
{
	const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field_by_name(reply, "cost");
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	struct scope scope = { .identity = call_identity(question->call) };
	ProtobufCMessage *more;
	Ingero__V1__Cost *cost;
	uint8_t *p;

	if (!field || !context->capture->source)
		return 0;
	cost = cost_message(context, &arena, &scope, NULL);
	more = cost ? arena_alloc(&arena, reply->sizeof_message) : NULL;
	if (!more)
		return -ENOMEM;
	protobuf_c_message_init(reply, more);
	*(Ingero__V1__Cost **)(void *)((uint8_t *)more + field->offset) = cost;
	p = buf_reserve(&question->more, protobuf_c_message_get_packed_size(more) + 1);
	if (!p)
		return -ENOMEM;
	question->more.n = protobuf_c_message_pack(more, p);
	return 0;
}

static void question_done(struct read_question *question)
{
	buf_done(&question->packed);
	buf_done(&question->more);
}

static void question_ask(struct call *call, enum method_id id, const ProtobufCMessage *request, uint64_t limit_ns,
			 bool has_stacks)
{
	const struct method *method = method_get(id);
	struct rpc_context *context = call_context(call);
	CLEANUP(question_done)
	struct read_question question = { .call = call,
					  .is_only_reply = !method->is_stream,
					  .limit_ns = MIN(limit_ns ? limit_ns : READER_LIMIT_NS, READER_LIMIT_MAX_NS) };

	if (!context->store_path) {
		call_fail(call, CALL_ERROR_UNAVAILABLE, "%s",
			  context->store_problem[0] ? context->store_problem
						    : "this daemon has no database: give one with '--db FILE'");
		return;
	}
	if (!read_hub_has_room(context->reads, call_identity(call)->uid)) {
		call_fail(call, CALL_ERROR_QUOTA,
			  "too many questions to the database are waiting already: wait for some to be answered");
		return;
	}
	if (question_pack(&question, context, id, request, has_stacks) < 0) {
		call_fail(call, CALL_ERROR_INVALID, "the question is too long, or there is no memory for it");
		return;
	}
	/* The answer should include everything up to now. */
	if (context->capture->source)
		context_settle(context);
	if (question.is_only_reply)
		(void)question_cost_append(&question, context, method->reply); /* out of memory: the cost is left out */
	if (read_hub_ask(context->reads, context, &question) < 0)
		call_fail(call, CALL_ERROR_INTERNAL, "out of memory");
}

#define QUESTION(ID, name, limit, stacks)                                                                              \
	void rpc_query_##name(struct call *call, const method_query_##name##_request *request)                         \
	{                                                                                                              \
		question_ask(call, METHOD_QUERY_##ID, &request->base, limit, stacks);                                  \
	}
#include "archive/reader.def"
