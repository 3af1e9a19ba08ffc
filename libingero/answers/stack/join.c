// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/stack/join.h"

#include <errno.h>
#include <string.h>

#include "libingero/render/pb_json.h"
#include "libingero/render/stack_json.h"

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
	const Ingero__V1__Stack *stack = stack_of_event(event, stacks, n);
	static const char end[] = "}\n";
	size_t start = out->n;
	int r = pb_json_line(out, "event", &event->base, "stack");

	if (r < 0 || !stack)
		return r;
	out->n -= strlen(end); /* the stack is the last member */
	(void)buf_append_text(out, ",");
	stack_json_members(out, stack);
	(void)buf_append_text(out, end);
	if (out->failed) {
		out->n = start;
		return -ENOMEM;
	}
	return 0;
}
