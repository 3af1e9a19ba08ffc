// SPDX-License-Identifier: Apache-2.0
/*
 * Each stack has one number, which no other ever gets; what is remembered of stacks has a limit, and a stack that was
 * forgotten, lost or not used for long gets another number.
 */
#include "archive/write/known_stacks.h"

#include "archive/write/intake.h"
#include "events/op.h"
#include "events/stack.h"
#include "tests/support/check.h"

static void known_stacks_donep(struct known_stacks *known)
{
	known_stacks_done(known);
}

/* Uses a stack and has its row written. Return: its number, 0: none */
static uint32_t use(struct known_stacks *known, uint64_t number, bool is_guarded, uint64_t now_ns)
{
	struct known_stack *stack = known_stack_use(known, number, is_guarded, now_ns);

	if (stack && !stack->is_written)
		known_stack_written(known, stack);
	return stack ? stack->id : 0;
}

static void numbers(void)
{
	CLEANUP(known_stacks_donep) struct known_stacks known = { .next_id = 10 };
	struct known_stack *waiting;

	CHECK_INT_EQ("the first", use(&known, 1, false, 1), 10);
	CHECK_INT_EQ("another", use(&known, 2, false, 1), 11);
	CHECK_INT_EQ("again", use(&known, 1, false, STACK_IDLE_NS), 10);
	CHECK_INT_EQ("the same of a guarded process", use(&known, 1, true, 1), 12);
	CHECK_INT_EQ("not used for as long as it may be", use(&known, 2, false, 1 + STACK_IDLE_NS), 11);
	CHECK_INT_EQ("not used for longer", use(&known, 2, false, 2 + 2 * STACK_IDLE_NS), 13);
	CHECK_INT_EQ("and then as usual", use(&known, 2, false, 3 + 2 * STACK_IDLE_NS), 13);
	waiting = known_stack_use(&known, 3, false, 1);
	CHECK_INT_EQ("without its frames", waiting ? waiting->id : 0, 14);
	waiting = known_stack_use(&known, 3, false, 9 * STACK_IDLE_NS);
	CHECK_INT_EQ("it keeps its number until it has them", waiting ? waiting->id : 0, 14);
	known_stacks_forget(&known);
	CHECK("what waits is not forgotten", known_stack_find(&known, 3, false) != NULL);
	CHECK("the others are", !known_stack_find(&known, 1, false) && !known_stack_find(&known, 2, false));
	CHECK_INT_EQ("another number", use(&known, 1, false, 9 * STACK_IDLE_NS), 15);
	known_stack_lost(&known, known_stack_find(&known, 3, false));
	CHECK_INT_EQ("lost: another number", use(&known, 3, false, 9 * STACK_IDLE_NS), 16);
	known.next_id = UINT32_MAX;
	CHECK_INT_EQ("no number is left", use(&known, 4, false, 9 * STACK_IDLE_NS), 0);
	CHECK_INT_EQ("for one that was not used either", use(&known, 3, false, 99 * STACK_IDLE_NS), 16);
}

static void limits(void)
{
	CLEANUP(known_stacks_donep) struct known_stacks known = { .next_id = 1 };
	uint32_t n_none = 0, n_again = 0, last = 0;

	for (uint64_t i = 1; i <= 3 * KNOWN_STACKS_MAX; i++)
		last = use(&known, i, false, i);
	CHECK_INT_EQ("each has its own", last, 3 * KNOWN_STACKS_MAX);
	CHECK_INT_IN("memory has a limit", known.items.n, KNOWN_STACKS_MAX / 2, KNOWN_STACKS_MAX);
	for (uint64_t i = 3 * KNOWN_STACKS_MAX - KNOWN_STACKS_MAX / 4; i <= 3 * KNOWN_STACKS_MAX; i++)
		n_again += use(&known, i, false, i) == i;
	CHECK_INT_EQ("the newest are known", n_again, KNOWN_STACKS_MAX / 4 + 1);
	for (uint64_t i = 1; i <= KNOWN_STACKS_MAX; i++)
		n_none += !known_stack_use(&known, i << 32, false, i);
	CHECK_INT_EQ("those that wait for frames have a limit of their own", n_none, KNOWN_STACKS_MAX * 3 / 4);
	CHECK_INT_IN("memory has a limit", known.items.n, 1, KNOWN_STACKS_MAX);
}

/* A call with a stack. Return: number of its row */
static uint32_t call_of(struct intake *intake, struct stack *stack, uint32_t uid, uint64_t start_ns)
{
	struct process process = { .identity = { .tgid = 5, .uid = uid } };
	struct call_record call = { .start_ns = start_ns, .duration_ns = 1, .raw_ns = 1, .type = RECORD_CALL };
	const struct event event = { .call = &call, .process = &process, .op = op_get(1), .stack = stack };

	return intake_stack_row(intake, &event);
}

/* Where the queue has no room, a gap of the owner says so, and the next call tries again. */
static void no_room(void)
{
	const struct stack_frame frame = { .symbol = "f", .qualname = "", .file = "", .module = "" };
	struct intake intake = { .stacks = { .next_id = 1 }, .loss_reason = "store_queue" };
	struct stack *stack = stack_new(1000), *strange = stack_new(1001);

	CHECK_INT_EQ("a batch", batch_new(&intake.batch), 0);
	CHECK_INT_EQ("named", stack_name(stack, &frame, 1, true, ""), 0);
	intake.batch->bytes = INTAKE_BYTES_MAX;
	CHECK_INT_EQ("no room", call_of(&intake, stack, 1000, 100), 1);
	CHECK_INT_EQ("no room", intake.batch->stacks.n, 0);
	CHECK_INT_EQ("it is told", intake.batch->gaps.n, 1);
	if (intake.batch->gaps.n) {
		CHECK_STR_EQ("it is told", intake.batch->gaps.items[0].reason, "stack_queue");
		CHECK_INT_EQ("whose it was", intake.batch->gaps.items[0].uid, 1000);
		CHECK_INT_EQ("how many", intake.batch->gaps.items[0].count, 1);
	}
	intake.batch->bytes = 0;
	CHECK_INT_EQ("room again", call_of(&intake, stack, 1000, 200), 2);
	CHECK_INT_EQ("room again", intake.batch->stacks.n, 1);
	CHECK("its bytes count", intake.batch->bytes > sizeof(frame));
	CHECK_INT_EQ("once is enough", call_of(&intake, stack, 1000, 300), 2);
	CHECK_INT_EQ("once is enough", intake.batch->stacks.n, 1);
	CHECK_INT_EQ("a use soon after is not written", intake.batch->stack_uses.n, 0);
	CHECK_INT_EQ("a later one", call_of(&intake, stack, 1000, 300 + STACK_TELL_NS), 2);
	CHECK_INT_EQ("a later one is", intake.batch->stack_uses.n, 1);
	CHECK_INT_EQ("the last number goes with the batch", intake.batch->last_stack, 2);
	CHECK_INT_EQ("of a process that was another user's", call_of(&intake, strange, 1000, 400), 0);
	(void)stack_unref(stack);
	(void)stack_unref(strange);
	intake_done(&intake);
}

/* One user's stacks fill the queue; those of another user, and of subordinate ids together, find room. */
static void shares(void)
{
	static char text[64 << 10];
	static const struct {
		const char *name;
		uint32_t uid;
		size_t n;    /* stacks of 64 KiB that are tried */
		size_t most; /* bytes that are stored of them, one stack more or less */
	} rows[] = {
		{ "a flood", 1000, 1000, INTAKE_BYTES_MAX / 4 * 3 },
		{ "a few of another user", 1001, 10, 10 * sizeof(text) },
		{ "a flood of another user", 1001, 1000, (INTAKE_BYTES_MAX / 4 * 3) / 4 },
		{ "a subordinate id", 200000, 1000, (INTAKE_BYTES_MAX / 16 * 3) / 4 },
		{ "another subordinate id", 200001, 1000, 0 },
	};
	const struct stack_frame frame = { .symbol = text, .qualname = "", .file = "", .module = "" };
	struct intake intake = { .stacks = { .next_id = 1 }, .loss_reason = "store_queue" };
	uint64_t now_ns = 100;

	memset(text, 'f', sizeof(text) - 1);
	CHECK_INT_EQ("a batch", batch_new(&intake.batch), 0);
	intake.batch->together = (struct subordinate){ .first = 200000, .n = 65536 };
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t before = intake.batch->stacks.n, n_bytes;

		for (size_t k = 0; k < rows[i].n; k++) {
			struct stack *stack = stack_new(rows[i].uid);

			CHECK_INT_EQ("named", stack_name(stack, &frame, 1, true, ""), 0);
			(void)call_of(&intake, stack, rows[i].uid, now_ns++);
			(void)stack_unref(stack);
		}
		n_bytes = (intake.batch->stacks.n - before) * sizeof(text);
		if (i == 2)
			n_bytes += rows[1].most;
		CHECK_INT_IN(rows[i].name, n_bytes, rows[i].most - MIN(rows[i].most, 3 * sizeof(text)),
			     rows[i].most + 3 * sizeof(text));
	}
	intake_done(&intake);
}

int main(void)
{
	numbers();
	limits();
	no_room();
	shares();
	return check_result();
}
