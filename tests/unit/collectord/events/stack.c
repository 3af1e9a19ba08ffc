// SPDX-License-Identifier: Apache-2.0
/* Frames of a stack: texts that are the same in one frame after the other are kept once. */
#include "events/stack.h"

#include <string.h>

#include "base/array.h"
#include "tests/support/check.h"

#define LONG_BYTES 4000
#define FRAMES 100

int main(void)
{
	static char path[LONG_BYTES + 1];
	static struct stack_frame frames[FRAMES];
	struct stack *stack = stack_new(1000);

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
	(void)stack_unref(stack);
	return check_result();
}
