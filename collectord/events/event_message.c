// SPDX-License-Identifier: Apache-2.0
#include "events/event_message.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/layer.h"
#include "events/call_id.h"
#include "events/event.h"
#include "events/host.h"
#include "events/stack.h"

Ingero__V1__Blame *blame_to_message(const __u64 blame_ns[BLAME_COUNT], uint16_t measured, struct arena *arena)
{
	Ingero__V1__Blame *b = ARENA_NEW(arena, Ingero__V1__Blame);

	if (!b)
		return NULL;
	ingero__v1__blame__init(b);
#define BLAME(id, name, label, phrase, remedy)                                                                         \
	b->has_##name = (measured & MEASURED(BLAME_##id)) != 0;                                                        \
	b->name = blame_ns[BLAME_##id];
#include "bpf/blame.def"
#undef BLAME
	return b;
}

void error_to_message(int32_t code, Ingero__V1__Operation *operation)
{
	const char *name = layer_error_name(operation->source, code);

	if (!code)
		return;
	operation->error_code_told_case = INGERO__V1__OPERATION__ERROR_CODE_TOLD_ERROR_CODE;
	operation->error_code = code;
	if (!name)
		return;
	operation->error_name_told_case = INGERO__V1__OPERATION__ERROR_NAME_TOLD_ERROR_NAME;
	operation->error_name = (char *)(uintptr_t)name;
}

Ingero__V1__Blame *blame_to_message_of(uint64_t whole_ns, const __u64 blame_ns[BLAME_COUNT], uint16_t measured,
				       struct arena *arena)
{
	Ingero__V1__Blame *b = blame_to_message(blame_ns, measured, arena);
	uint64_t waited_ns = 0;

	if (!b)
		return NULL;
	for (int i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++)
		waited_ns += blame_ns[i];
	b->on_cpu = whole_ns > waited_ns ? whole_ns - waited_ns : 0;
	return b;
}

int program_to_message(const struct program *program, struct arena *arena, Ingero__V1__Program **ret)
{
	Ingero__V1__Program *p;

	*ret = NULL;
	if (!program->script[0] && !program->container[0] && !program->rank.is_known && !program->local_rank.is_known &&
	    !program->world_size.is_known)
		return 0;
	p = ARENA_NEW(arena, Ingero__V1__Program);
	if (!p)
		return -ENOMEM;
	ingero__v1__program__init(p);
#define NUMBER(name)                                                                                                   \
	p->has_##name = program->name.is_known;                                                                        \
	p->name = program->name.value
	NUMBER(rank);
	NUMBER(local_rank);
	NUMBER(world_size);
#undef NUMBER
	if (program->script[0] && !(p->script = arena_copy_name(arena, program->script)))
		return -ENOMEM;
	if (program->container[0] && !(p->container = arena_copy_name(arena, program->container)))
		return -ENOMEM;
	*ret = p;
	return 0;
}

/* Texts of a stack live as long as the message, which is packed at once or kept with a reference. */
static char *borrowed(const char *text)
{
	return (char *)(uintptr_t)text;
}

int site_to_message(const struct stack_frame *place, struct arena *arena, Ingero__V1__Site **ret)
{
	size_t n = place ? stack_frame_func_bytes(place) : 0;
	Ingero__V1__Site *site;

	if (!place)
		return 0;
	site = ARENA_NEW(arena, Ingero__V1__Site);
	if (!site)
		return -ENOMEM;
	ingero__v1__site__init(site);
	site->file = arena_copy_text(arena, place->file);
	site->func = arena_copy_text(arena, place->symbol);
	if (!site->file || !site->func)
		return -ENOMEM;
	site->func[n] = '\0';
	site->line = place->line;
	*ret = site;
	return 0;
}

Ingero__V1__Stack *stack_to_message(const struct stack *stack, struct arena *arena)
{
	Ingero__V1__Stack *s = ARENA_NEW(arena, Ingero__V1__Stack);
	Ingero__V1__StackFrame *frames = ARENA_NEW_N(arena, Ingero__V1__StackFrame, stack->n_frames + 1);

	if (!s)
		return NULL;
	ingero__v1__stack__init(s);
	s->frames = ARENA_NEW_N(arena, Ingero__V1__StackFrame *, stack->n_frames + 1);
	if (!s->frames || !frames)
		return NULL;
	s->id = stack->number;
	s->is_complete = stack->is_complete;
	s->why = borrowed(stack->is_ready ? stack->why : "its frames were not named in time");
	for (size_t i = 0; i < stack->n_frames; i++) {
		const struct stack_frame *frame = &stack->frames[i];

		s->frames[s->n_frames++] = &frames[i];
		ingero__v1__stack_frame__init(&frames[i]);
		frames[i].ip = frame->ip;
		frames[i].symbol = borrowed(frame->symbol);
		frames[i].qualname = borrowed(frame->qualname);
		frames[i].file = borrowed(frame->file);
		frames[i].module = borrowed(frame->module);
		frames[i].line = frame->line;
		frames[i].is_python = frame->is_python;
	}
	return s;
}

static Ingero__V1__Event *message_new(const struct record_header *header, const struct event_about *about,
				      const __u64 *args, struct arena *arena)
{
	Ingero__V1__Event *e = ARENA_NEW(arena, Ingero__V1__Event);

	if (!e)
		return NULL;
	ingero__v1__event__init(e);
	e->timestamp_unix_ns = about->start_unix_ns;
	e->pid = about->pid;
	e->process_name = (char *)(uintptr_t)about->process_name;
	e->source = (char *)(uintptr_t)about->source;
	e->op = (char *)(uintptr_t)about->op;
	e->uid = about->uid;
	e->id = arena_alloc(arena, CALL_ID_BYTES);
	e->args = ARENA_NEW_N(arena, uint64_t, OP_ARGS_MAX);
	e->reasons = ARENA_NEW_N(arena, char *, EVENT_REASONS);
	if (!e->id || !e->args || !e->reasons || program_to_message(about->program, arena, &e->program) < 0)
		return NULL;
	if (about->boot)
		call_id_format(
			&(struct call_id){ .boot = about->boot, .tid = header->tid, .start_ns = header->start_ns },
			e->id);
	for (size_t i = 0; i < about->n_args && i < OP_ARGS_MAX; i++)
		e->args[e->n_args++] = args[i];
	return e;
}

Ingero__V1__Event *event_to_message(const struct call_record *call, const struct event_about *about,
				    struct arena *arena)
{
	Ingero__V1__Event *e = message_new(&call->header, about, call->args, arena);

	if (!e)
		return NULL;
#define FIELD(field, value) e->field = (value);
#include "events/columns.def"
	for (size_t i = 0; i < EVENT_REASONS; i++)
		if (call->reason & 1u << i)
			e->reasons[e->n_reasons++] = (char *)(uintptr_t)event_reason_names[i];
	e->blame_ns = blame_to_message_of(call->raw_ns, call->blame_ns, about->measured, arena);
	if (about->stack) {
		e->stack = ARENA_NEW(arena, Ingero__V1__Stack);
		if (!e->stack)
			return NULL;
		ingero__v1__stack__init(e->stack);
		e->stack->id = about->stack;
	}
	return e->blame_ns ? e : NULL;
}

Ingero__V1__Event *event_host_to_message(const struct life_record *life, const struct event_about *about,
					 struct arena *arena)
{
	static const __u64 no_blame_ns[BLAME_COUNT];
	const struct host_values values = host_values(life);
	__u64 args[OP_ARGS_MAX] = { values.args[0], values.args[1] };
	Ingero__V1__Event *e = message_new(&life->header, about, args, arena);

	if (!e)
		return NULL;
	e->tid = life->tid;
	e->ret_code = values.ret;
	e->blame_ns = blame_to_message(no_blame_ns, /* measured= */ 0, arena);
	return e->blame_ns ? e : NULL;
}
