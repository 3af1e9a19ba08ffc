// SPDX-License-Identifier: Apache-2.0
#include "detect/longest.h"

#include "base/cleanup.h"
#include "detect/detector.h"
#include "events/event.h"
#include "events/op.h"

uint64_t longest_call_ns(const struct event *event)
{
	uint64_t own_ns = detect_call_own_ns(event->call);

	return event->call->depth == 0 && own_ns >= LONGEST_LEAST_NS ? own_ns : 0;
}

static struct longest_call *longest_take(struct longest_calls *longest, const struct op *op)
{
	for (size_t i = 0; i < longest->n; i++)
		if (longest->items[i].op == op)
			return &longest->items[i];
	if (longest->n == ARRAY_SIZE(longest->items))
		return NULL;
	longest->items[longest->n] = (struct longest_call){ .op = NULL };
	return &longest->items[longest->n++];
}

void longest_calls_note(struct longest_calls *longest, const struct event *event)
{
	const struct call_record *call = event->call;
	uint64_t own_ns = longest_call_ns(event), waited_ns = 0;
	struct longest_call *l = own_ns ? longest_take(longest, event->op) : NULL;

	if (!l || (l->op && l->own_ns >= own_ns))
		return;
	*l = (struct longest_call){
		.op = event->op,
		.call = { .start_ns = call->start_ns, .duration_ns = call->duration_ns, .tid = call->tid },
		.own_ns = own_ns,
		.bytes = event_bytes_asked(event),
	};
	for (int i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++) {
		l->blame_ns[i] = call->blame_ns[i];
		waited_ns += call->blame_ns[i];
	}
	l->blame_ns[BLAME_ON_CPU] = call->raw_ns > waited_ns ? call->raw_ns - waited_ns : 0;
}
