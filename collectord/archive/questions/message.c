// SPDX-License-Identifier: Apache-2.0
#include "archive/questions/message.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "events/event_message.h"
#include "events/op.h"
#include "figures/op_message.h"

/* Number of arguments to show. For an operation unknown to this version: arguments before the first 0. */
static size_t kept_args(const struct stored_event *stored)
{
	const struct op *op = op_get(stored->op);
	size_t n = 0;

	if (op)
		return op_n_args(op);
	while (n < ARRAY_SIZE(stored->call.args) && stored->call.args[n])
		n++;
	return n;
}

static char *reader_id(struct arena *arena, const char *node, const char *id)
{
	size_t n = strlen(node) + sizeof(":") + strlen(id);
	char *text = arena_alloc(arena, n);

	if (text)
		(void)snprintf(text, n, "%s:%s", node, id);
	return text;
}

Ingero__V1__Event *reader_event(struct arena *arena, struct store_reader *reader, const struct read_event *event)
{
	const struct stored_event *stored = event->event;
	const struct read_op *op = store_reader_op(reader, stored->op);
	const struct event_about about = {
		.process_name = event->process->comm,
		.program = &event->process->program,
		.source = op ? op->source : "",
		.op = op ? op->name : "",
		.start_unix_ns = event->start_unix_ns,
		.pid = event->process->pid,
		.uid = event->process->uid,
		.boot = event->boot,
		.measured = stored->measured,
		.n_args = kept_args(stored),
	};

	Ingero__V1__Event *message = event_to_message(&stored->call, &about, arena);

	if (!message || !event->process->tells_node)
		return message;
	message->node_told_case = INGERO__V1__EVENT__NODE_TOLD_NODE;
	message->node = (char *)(uintptr_t)event->process->node;
	message->id = reader_id(arena, event->process->node, message->id);
	return message->id ? message : NULL;
}

static char *lent(const char *text)
{
	return (char *)(uintptr_t)text;
}

Ingero__V1__Stack *reader_stack_id(struct arena *arena, uint32_t id)
{
	Ingero__V1__Stack *message = ARENA_NEW(arena, Ingero__V1__Stack);

	if (!message)
		return NULL;
	ingero__v1__stack__init(message);
	message->id = id;
	return message;
}

Ingero__V1__Stack *reader_stack(struct arena *arena, const struct read_stack *stack)
{
	Ingero__V1__Stack *message = reader_stack_id(arena, stack->id);
	Ingero__V1__StackFrame *frames = ARENA_NEW_N(arena, Ingero__V1__StackFrame, stack->n_frames + 1);
	size_t bytes = 0;

	if (!message || !frames)
		return NULL;
	message->is_complete = stack->is_complete;
	message->why = lent(stack->why);
	message->frames = ARENA_NEW_N(arena, Ingero__V1__StackFrame *, stack->n_frames + 1);
	if (!message->frames)
		return NULL;
	for (size_t i = 0; i < stack->n_frames; i++) {
		const struct read_frame *from = &stack->frames[i];
		Ingero__V1__StackFrame *frame = &frames[i];

		ingero__v1__stack_frame__init(frame);
		frame->ip = from->ip;
		frame->symbol = lent(from->symbol);
		frame->qualname = lent(from->qualname);
		frame->file = lent(from->file);
		frame->module = lent(from->module);
		frame->line = from->line;
		frame->is_python = from->is_python;
		bytes += ingero__v1__stack_frame__get_packed_size(frame) + 4;
		if (bytes > READER_STACK_BYTES) {
			message->is_complete = false;
			message->why = lent("its outer frames are too long for an answer");
			break;
		}
		message->frames[message->n_frames++] = frame;
	}
	return message;
}

Ingero__V1__Event *reader_event_with_stack(struct arena *arena, struct store_reader *reader,
					   const struct read_event *event)
{
	Ingero__V1__Event *message = reader_event(arena, reader, event);
	const struct read_stack *stack = NULL;

	if (!message || !event->event->stack)
		return message;
	/* A stack that cannot be read is none: the call is told all the same. */
	if (store_reader_stack(reader, event->event->stack, &stack) < 0 || !stack)
		return message;
	message->stack = reader_stack(arena, stack);
	return message->stack ? message : NULL;
}

Ingero__V1__Operation *reader_operation(struct arena *arena, const struct read_figures *figures)
{
	const struct op_figures *f = &figures->figures;
	Ingero__V1__Operation *o = ARENA_NEW(arena, Ingero__V1__Operation);

	if (!o)
		return NULL;
	ingero__v1__operation__init(o);
	o->pid = figures->process->pid;
	o->start_time_unix_ns = figures->process->start_unix_ns;
	o->process_name = (char *)(uintptr_t)figures->process->comm;
	o->uid = figures->process->uid;
	if (figures->process->tells_node) {
		o->node_told_case = INGERO__V1__OPERATION__NODE_TOLD_NODE;
		o->node = (char *)(uintptr_t)figures->process->node;
	}
	o->exec_generation = figures->process->exec_gen;
	if (figures->op) {
		o->source = (char *)(uintptr_t)figures->op->source;
		o->op = (char *)(uintptr_t)figures->op->name;
	}
	op_figures_to_message(f, o);
	error_to_message(f->error_code, o);
	o->blame_ns = blame_to_message_of(f->raw_ns, f->blame_ns, figures->measured, arena);
	return o->blame_ns && program_to_message(&figures->process->program, arena, &o->program) == 0 ? o : NULL;
}

struct reader_node_id reader_node_id(const char *typed)
{
	const char *colon = strrchr(typed, ':');

	if (!colon)
		return (struct reader_node_id){ .node = typed, .id = typed };
	return (struct reader_node_id){ .node = typed, .n_node = (size_t)(colon - typed), .id = colon + 1 };
}

bool reader_node_is(const struct reader_node_id *id, const char *node)
{
	return id->id == id->node || (strlen(node) == id->n_node && memcmp(node, id->node, id->n_node) == 0);
}

void reader_calls_count(const struct read_window *figures, Ingero__V1__Window *window)
{
	const struct read_process *last = NULL;

	for (size_t i = 0; i < figures->figures.n; i++) {
		const struct read_figures *f = &figures->figures.items[i];

		if (!read_op_is_call(f->op))
			continue;
		window->calls += op_figures_count(&f->figures);
		window->processes += f->process != last;
		last = f->process;
	}
}

bool reader_lost_add(Ingero__V1__Lost *lost, const char *reason, uint64_t n)
{
	const ProtobufCMessageDescriptor *d = &ingero__v1__lost__descriptor;
	const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field_by_name(d, reason);

	if (!field || field->type != PROTOBUF_C_TYPE_UINT64)
		return false;
	*(uint64_t *)((char *)lost + field->offset) += n;
	return true;
}

Ingero__V1__Gap *reader_gap_copy(struct arena *arena, const Ingero__V1__Gap *gap)
{
	Ingero__V1__Gap *copy = ARENA_NEW(arena, Ingero__V1__Gap);

	if (!copy)
		return NULL;
	*copy = *gap;
	copy->reason = arena_copy_text(arena, gap->reason);
	if (gap->node_told_case)
		copy->node = arena_copy_text(arena, gap->node);
	return copy->reason && (copy->node || !copy->node_told_case) ? copy : NULL;
}
