// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks of calls: a call is packed with the number of its stack's row at once; the row follows when the stack's frames
 * are known.
 */
#include <errno.h>

#include "archive/write/intake.h"
#include "events/stack.h"

static void intake_stack_put(struct intake *intake, const struct stack *stack, struct known_stack *known)
{
	const struct batch_stack row = {
		.id = known->id, .uid = stack->uid, .last_ns = known->used_ns, .is_guarded = known->is_guarded
	};

	if (batch_has_room(intake->batch, stack->uid, INTAKE_BYTES_MAX) &&
	    batch_add_stack(intake->batch, &row, stack) == 0) {
		known_stack_written(&intake->stacks, known);
		return;
	}
	intake_gap(intake, known->used_ns, known->used_ns, "stack_queue", 1, stack->uid);
	known_stack_lost(&intake->stacks, known);
}

uint32_t intake_stack_row(struct intake *intake, const struct event *event)
{
	const struct process_identity *who = &event->process->identity;
	const struct stack *stack = event->call ? event->stack : NULL;
	struct batch_stack_use use = { .last_ns = stack ? event->call->start_ns + event->call->raw_ns : 0 };
	struct known_stack *known;

	/* A row is read by its owner: a stack from before a change of the user is left out. */
	if (!stack || stack->uid != who->uid)
		return 0;
	known = known_stack_use(&intake->stacks, stack->number, who->flags & PROCESS_GUARDED, use.last_ns);
	if (!known) {
		intake_gap(intake, event->call->start_ns, use.last_ns, "stack_queue", 1, who->uid);
		return 0;
	}
	intake->batch->last_stack = intake->stacks.next_id - 1;
	use.id = known->id;
	if (!known->is_written && stack->is_ready) {
		intake_stack_put(intake, stack, known);
	} else if (known->is_written && known->used_ns - known->told_ns >= STACK_TELL_NS &&
		   ARRAY_PUSH(&intake->batch->stack_uses, use) == 0) {
		known->told_ns = known->used_ns;
	}
	return use.id;
}

void intake_stack(struct intake *intake, const struct stack *stack)
{
	for (int is_guarded = 0; is_guarded < 2; is_guarded++) {
		struct known_stack *known = known_stack_find(&intake->stacks, stack->number, is_guarded);

		if (known && !known->is_written)
			intake_stack_put(intake, stack, known);
	}
}
