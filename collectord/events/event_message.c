// SPDX-License-Identifier: Apache-2.0
#include "events/event_message.h"

#include "base/cleanup.h"
#include "events/call_id.h"
#include "events/event.h"

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

Ingero__V1__Event *event_to_message(const struct call_record *call, const struct event_about *about,
				    struct arena *arena)
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
#define FIELD(field, value) e->field = (value);
#include "events/columns.def"

	e->id = arena_alloc(arena, CALL_ID_BYTES);
	e->args = ARENA_NEW_N(arena, uint64_t, ARRAY_SIZE(call->args));
	e->reasons = ARENA_NEW_N(arena, char *, EVENT_REASONS);
	e->blame_ns = blame_to_message_of(call->raw_ns, call->blame_ns, about->measured, arena);
	if (!e->id || !e->args || !e->reasons || !e->blame_ns)
		return NULL;
	if (about->boot)
		call_id_format(&(struct call_id){ .boot = about->boot, .tid = call->tid, .start_ns = call->start_ns },
			       e->id);
	for (size_t i = 0; i < about->n_args && i < ARRAY_SIZE(call->args); i++)
		e->args[e->n_args++] = call->args[i];
	for (size_t i = 0; i < EVENT_REASONS; i++)
		if (call->reason & 1u << i)
			e->reasons[e->n_reasons++] = (char *)(uintptr_t)event_reason_names[i];
	return e;
}
