// SPDX-License-Identifier: Apache-2.0
/*
 * Prints a line of every type that commands print as JSON, with every field of
 * its message set: validate_json.py compares them with the schemas.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "libingero/check/check.h"
#include "libingero/answers/compare/json.h"
#include "libingero/answers/explain/json.h"
#include "cli/help_json.h"
#include "libingero/answers/stack/report.h"
#include "libingero/answers/trace/json.h"
#include "libingero/render/pb_json.h"
#include "tests/support/check.h"

static ARRAY(void *) kept; /* to the end of the program */

static ProtobufCMessage *message_fill(const ProtobufCMessageDescriptor *d);

static void *zeroes(size_t n)
{
	void *p = calloc(1, n);

	if (!p || ARRAY_PUSH(&kept, p) < 0)
		exit(1);
	return p;
}

/* A value at `at`: 7, true, "text", or a message filled like this one. */
static void value_fill(const ProtobufCFieldDescriptor *field, void *at)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_UINT64:
		*(uint64_t *)at = UINT64_MAX;
		break;
	case PROTOBUF_C_TYPE_UINT32:
		*(uint32_t *)at = UINT32_MAX;
		break;
	case PROTOBUF_C_TYPE_SINT64:
		*(int64_t *)at = INT64_MIN;
		break;
	case PROTOBUF_C_TYPE_INT32:
		*(int32_t *)at = INT32_MIN;
		break;
	case PROTOBUF_C_TYPE_BOOL:
		*(protobuf_c_boolean *)at = 1;
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		*(double *)at = 0.25;
		break;
	case PROTOBUF_C_TYPE_STRING:
		*(const char **)at = "text";
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		*(ProtobufCMessage **)at = message_fill(field->descriptor);
		break;
	default:
		fprintf(stderr, "field '%s' has a type that this test does not know\n", field->name);
		exit(1);
	}
}

/* One frame of each kind, and the reason that only a stack has which is not complete. */
static void stack_complete(Ingero__V1__Stack *stack)
{
	Ingero__V1__StackFrame **frames = zeroes(2 * sizeof(Ingero__V1__StackFrame *));

	frames[0] = stack->frames[0];
	frames[1] = (Ingero__V1__StackFrame *)message_fill(&ingero__v1__stack_frame__descriptor);
	frames[1]->is_python = 0;
	stack->frames = frames;
	stack->n_frames = 2;
	stack->is_complete = 0;
}

static ProtobufCMessage *message_fill(const ProtobufCMessageDescriptor *d)
{
	ProtobufCMessage *message = zeroes(d->sizeof_message);

	protobuf_c_message_init(d, message);
	for (unsigned int i = 0; i < d->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &d->fields[i];
		uint8_t *base = (uint8_t *)message;

		if (field->label == PROTOBUF_C_LABEL_REPEATED) {
			void *one = zeroes(sizeof(uint64_t));

			value_fill(field, one);
			*(void **)(void *)(base + field->offset) = one;
			*(size_t *)(void *)(base + field->quantifier_offset) = 1;
			continue;
		}
		value_fill(field, base + field->offset);
		if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
			*(uint32_t *)(void *)(base + field->quantifier_offset) = field->id;
		else if (field->label == PROTOBUF_C_LABEL_OPTIONAL && field->quantifier_offset) /* a text has none */
			*(protobuf_c_boolean *)(base + field->quantifier_offset) = 1;
	}
	if (d == &ingero__v1__stack__descriptor)
		stack_complete((Ingero__V1__Stack *)message);
	return message;
}

static void reply_print(struct buf *out, Ingero__V1__TraceReply__BodyCase body, const ProtobufCMessageDescriptor *d)
{
	Ingero__V1__TraceReply reply = INGERO__V1__TRACE_REPLY__INIT;
	Ingero__V1__EventBatch batch = INGERO__V1__EVENT_BATCH__INIT;
	Ingero__V1__Event *event;

	reply.body_case = body;
	reply.start = (Ingero__V1__Start *)message_fill(d); /* all bodies share their place */
	if (body == INGERO__V1__TRACE_REPLY__BODY_EVENTS) {
		event = (Ingero__V1__Event *)reply.start;
		batch.events = &event;
		batch.n_events = 1;
		reply.events = &batch;
	}
	if (trace_json_reply(out, &reply) < 0)
		exit(1);
}

static int stacks_print(struct buf *out)
{
	CLEANUP(stack_rows_done) struct stack_rows rows = STACK_ROWS_INIT;
	CLEANUP(stack_sites_done) struct stack_sites sites = STACK_SITES_INIT;
	struct stack_question q = { .by = STACK_BY_STACK };
	Ingero__V1__StackRow *row = (Ingero__V1__StackRow *)message_fill(&ingero__v1__stack_row__descriptor);

	row->count = 1;			      /* fewer than were counted */
	row->stack->frames[0]->is_python = 0; /* so that its place has a module */
	rows.end = (const Ingero__V1__StacksEnd *)message_fill(&ingero__v1__stacks_end__descriptor);
	if (ARRAY_PUSH(&rows.rows, row) < 0 || stack_sites_build(&rows, q.by, &q.measure, &sites) < 0)
		return -1;
	return stack_json_append(&q, &rows, &sites, out);
}

static void check_print(struct buf *out)
{
	struct check_result result = { .name = "kernel", .level = CHECK_LEVEL_WARN };

	if (check_json_append(&result, 1, out) < 0)
		exit(1);
	check_result_done(&result);
}

int main(void)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	reply_print(&out, INGERO__V1__TRACE_REPLY__BODY_START, &ingero__v1__start__descriptor);
	reply_print(&out, INGERO__V1__TRACE_REPLY__BODY_LIBRARY, &ingero__v1__library__descriptor);
	reply_print(&out, INGERO__V1__TRACE_REPLY__BODY_EVENTS, &ingero__v1__event__descriptor);
	reply_print(&out, INGERO__V1__TRACE_REPLY__BODY_LOSS, &ingero__v1__loss__descriptor);
	reply_print(&out, INGERO__V1__TRACE_REPLY__BODY_FINDING, &ingero__v1__finding__descriptor);
	check_print(&out);
	if (trace_json_figures(&out, (const Ingero__V1__Summary *)message_fill(&ingero__v1__summary__descriptor)) < 0 ||
	    trace_json_summary(&out, (const Ingero__V1__Summary *)message_fill(&ingero__v1__summary__descriptor)) < 0 ||
	    pb_json_line(&out, "status", message_fill(&ingero__v1__status_reply__descriptor), NULL) < 0 ||
	    explain_json_append(
		    &out, (const Ingero__V1__ExplainReply *)message_fill(&ingero__v1__explain_reply__descriptor)) < 0 ||
	    pb_json_line(&out, "blame", message_fill(&ingero__v1__blame_reply__descriptor), NULL) < 0 ||
	    compare_json_line((const Ingero__V1__CompareReply *)message_fill(&ingero__v1__compare_reply__descriptor),
			      &out) < 0 ||
	    stacks_print(&out) < 0 || help_json_append(&out) < 0)
		return 1;
	return fwrite(out.data, 1, out.n, stdout) == out.n ? 0 : 1;
}
