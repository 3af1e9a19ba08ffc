// SPDX-License-Identifier: Apache-2.0
/* Frames of a stack: texts that are the same in one frame after the other are kept once. */
#include "events/stack.h"

#include <string.h>

#include "base/array.h"
#include "tests/support/check.h"

#define LONG_BYTES 4000
#define FRAMES 100

/* A text is in memory once, however many stacks have it, and as long as one of them has. */
static void share_check(const struct stack *stack, const struct stack_frame *frames)
{
	struct stack *second = stack_new(1001), *third = stack_new(1002);

	CHECK_INT_EQ("second", stack_name(second, frames, FRAMES, true, ""), 0);
	CHECK("shared", second->frames[0].module == stack->frames[0].module);
	CHECK("shared", second->frames[1].symbol == stack->frames[99].symbol);
	CHECK("not another", second->frames[1].symbol != second->frames[0].symbol);
	CHECK_INT_EQ("third", stack_name(third, frames, 1, true, ""), 0);
	(void)stack_unref(second);
	CHECK_STR_EQ("kept", third->frames[0].module, frames[0].module);
	CHECK_STR_EQ("kept", stack->frames[1].symbol, "odd");
	(void)stack_unref(third);
}

/* Many texts, some of them alike: each is found again, and all are given back. */
static void many_check(void)
{
	static struct stack *stacks[FRAMES];
	char symbols[FRAMES][16];

	for (size_t i = 0; i < FRAMES; i++) {
		struct stack_frame frames[FRAMES];

		for (size_t k = 0; k < FRAMES; k++) {
			(void)snprintf(symbols[k], sizeof(symbols[k]), "f%zu", i * 20 + k);
			frames[k] =
				(struct stack_frame){ .symbol = symbols[k], .qualname = "", .file = "", .module = "m" };
		}
		stacks[i] = stack_new(1000);
		CHECK_INT_EQ("many", stack_name(stacks[i], frames, FRAMES, true, ""), 0);
		CHECK("many", !i || stacks[i]->frames[0].symbol == stacks[i - 1]->frames[20].symbol);
	}
	for (size_t i = 0; i < FRAMES; i++) {
		(void)snprintf(symbols[0], sizeof(symbols[0]), "f%zu", i * 20 + FRAMES - 1);
		CHECK_STR_EQ("many", stacks[i]->frames[FRAMES - 1].symbol, symbols[0]);
		(void)stack_unref(stacks[i]);
	}
}

int main(void)
{
	static char path[LONG_BYTES + 1];
	static struct stack_frame frames[FRAMES];
	struct stack *stack = stack_new(1000);

	many_check();
	memset(path, 'p', LONG_BYTES);
	for (size_t i = 0; i < FRAMES; i++)
		frames[i] = (struct stack_frame){
			.symbol = i % 2 ? "odd" : "even", .qualname = "", .file = i ? "f" : "", .module = path
		};
	frames[FRAMES - 1].module = "another";
	CHECK_INT_EQ("named", stack_name(stack, frames, FRAMES, true, ""), 0);
	CHECK_INT_EQ("frames", stack->n_frames, FRAMES);
	CHECK_INT_IN("bytes", stack_bytes(stack), sizeof(frames) + LONG_BYTES, sizeof(frames) + 2 * LONG_BYTES);
	for (size_t i = 0; i < FRAMES; i++) {
		CHECK_STR_EQ("symbol", stack->frames[i].symbol, frames[i].symbol);
		CHECK_STR_EQ("file", stack->frames[i].file, frames[i].file);
		CHECK_STR_EQ("module", stack->frames[i].module, frames[i].module);
		CHECK("its own", stack->frames[i].module != frames[i].module);
	}
	share_check(stack, frames);
	(void)stack_unref(stack);
	return check_result();
}
