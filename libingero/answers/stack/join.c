// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/stack/join.h"

#include "libingero/render/pb_json.h"

const Ingero__V1__Stack *stack_of_event(const Ingero__V1__Event *event, Ingero__V1__Stack *const *stacks, size_t n)
{
	if (!event->stack || event->stack->n_frames)
		return event->stack;
	/* Neighbours often have the same, and the latest come last. */
	for (size_t i = n; i > 0; i--)
		if (stacks[i - 1]->id == event->stack->id)
			return stacks[i - 1];
	return event->stack;
}

int stack_event_json_line(struct buf *out, const Ingero__V1__Event *event, Ingero__V1__Stack *const *stacks, size_t n)
{
	Ingero__V1__Event whole = *event; /* borrows everything */

	whole.stack = (Ingero__V1__Stack *)(uintptr_t)stack_of_event(event, stacks, n);
	return pb_json_line(out, "event", &whole.base, NULL);
}
