// SPDX-License-Identifier: Apache-2.0
#include "rpc/trace_held.h"

#include <string.h>

#include "events/stack.h"

size_t trace_held_count(const struct trace_held *held)
{
	return held->events.n - held->first;
}

size_t trace_held_bytes(const struct trace_held *held)
{
	return held->events.room * sizeof(held->events.items[0]);
}

bool trace_held_needs(const struct trace_held *held, const struct event *event)
{
	return trace_held_count(held) || (event->stack && !event->stack->is_ready);
}

/* Room of events that went out is used again once they are half of all. */
static void held_pack(struct trace_held *held)
{
	if (held->first < 64 || held->first < held->events.n / 2)
		return;
	held->events.n -= held->first;
	memmove(held->events.items, held->events.items + held->first, held->events.n * sizeof(held->events.items[0]));
	held->first = 0;
}

int trace_held_add(struct trace_held *held, const struct event *event)
{
	struct trace_held_event kept = { .is_life = event->life != NULL, .event = *event };
	int r;

	if (event->life)
		kept.life = *event->life;
	else
		kept.call = *event->call;
	held_pack(held);
	r = ARRAY_PUSH(&held->events, kept);
	if (r < 0)
		return r;
	(void)process_ref(event->process);
	if (event->stack)
		(void)stack_ref(event->stack);
	return 0;
}

const struct event *trace_held_next(struct trace_held *held, bool is_forced)
{
	struct trace_held_event *oldest;

	if (!trace_held_count(held))
		return NULL;
	oldest = &held->events.items[held->first];
	if (!is_forced && oldest->event.stack && !oldest->event.stack->is_ready)
		return NULL;
	/* Elements move when the array grows. */
	oldest->event.call = oldest->is_life ? NULL : &oldest->call;
	oldest->event.life = oldest->is_life ? &oldest->life : NULL;
	return &oldest->event;
}

void trace_held_drop(struct trace_held *held)
{
	struct trace_held_event *oldest = &held->events.items[held->first++];

	(void)process_unref(oldest->event.process);
	(void)stack_unref(oldest->event.stack);
	if (held->first == held->events.n)
		held->first = held->events.n = 0;
}

void trace_held_done(struct trace_held *held)
{
	while (trace_held_count(held))
		trace_held_drop(held);
	ARRAY_DONE(&held->events);
}
