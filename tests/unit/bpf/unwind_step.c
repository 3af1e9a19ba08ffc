// SPDX-License-Identifier: Apache-2.0
/* One step of unwinding by each kind of rule, on stacks written by hand; and the searches before it. */
#include <stdint.h>
#include <string.h>

#include "bpf/stack_record.h"
#include "tests/support/check.h"

#define SP 0x7000u /* address of the first word */
#define WORDS 40
#define TOP (SP + WORDS * 8)
#define IP 0x401000u
#define FRAME_POINTER (SP + 8 * 8)

struct stack {
	uint64_t words[WORDS];
	uint64_t top;
	unsigned int n_uses; /* of the frame pointer */
	struct unwind_side side;
};

static int word_at(const struct stack *s, __u64 address, __u64 *ret)
{
	uint64_t at = (address - SP) / 8;

	if (address % 8 || at >= WORDS)
		return -1;
	*ret = s->words[at];
	return 0;
}

static const struct unwind_side *side_at(const struct stack *s, __u32 i)
{
	return i == 0 ? &s->side : NULL;
}

#define UNWIND_MEMORY struct stack
#define UNWIND_CODE_ADDRESS(word) (word)
#define unwind_word(s, address, ret) word_at(s, address, ret)
#define unwind_saved(s, address, ret) word_at(s, address, ret)
#define unwind_frame_pointer_used(s, value) ((s)->n_uses += (value) != 0)
#define unwind_top(s) ((s)->top)
#define unwind_side(s, i) side_at(s, i)
#include "bpf/unwind_step.h"

#define SIDE UNWIND_ESCAPE(UNWIND_SIDE, 0)
#define BY_FRAME_POINTER UNWIND_ESCAPE(UNWIND_FRAME_POINTER, 0)

static const struct {
	const char *name;
	uint32_t rule;
	struct unwind_side side;
	uint64_t ip, sp, frame_pointer; /* 0: IP, SP, FRAME_POINTER */
	uint64_t top;			/* 0: TOP; 1: not known */
	uint64_t words[WORDS];		/* a return address of 0 ends the stack: the others are 0 */
	uint32_t end;
	uint64_t to_ip, to_sp, to_frame_pointer; /* of the caller; to_frame_pointer 0: unchanged */
	uint32_t is_exact, n_uses;
} cases[] = {
	{ "by the stack pointer", UNWIND_RULE(0, 0, 1), .words = { 0x11 }, .to_ip = 0x11, .to_sp = SP + 8 },
	{ "with the frame pointer saved", UNWIND_RULE(0, 2, 4), .words = { 0, 0, 0x22, 0x11 }, .to_ip = 0x11,
	  .to_sp = SP + 32, .to_frame_pointer = 0x22 },
	{ "saved far below", UNWIND_RULE(0, 7, 8), .words = { 0, 0x22, 0, 0, 0, 0, 0, 0x11 }, .to_ip = 0x11,
	  .to_sp = SP + 64, .to_frame_pointer = 0x22 },
	{ "by the frame pointer", UNWIND_RULE(1, 2, 2), .words = { [8] = 0x22, [9] = 0x11 }, .to_ip = 0x11,
	  .to_sp = SP + 80, .to_frame_pointer = 0x22, .n_uses = 1 },
	{ "the caller is none", UNWIND_RULE(0, 0, 2), .end = STACK_END_COMPLETE },
	{ "no frame at all", UNWIND_RULE(0, 0, 0), .sp = SP + 16, .words = { 0, 0x11 }, .end = STACK_END_UNREADABLE },
	{ "a caller below", UNWIND_RULE(1, 0, 2), .frame_pointer = SP - 64, .end = STACK_END_UNREADABLE, .n_uses = 1 },
	{ "out of the stack", UNWIND_RULE(1, 0, 2), .frame_pointer = TOP, .end = STACK_END_UNREADABLE, .n_uses = 1 },
	{ "not aligned", UNWIND_RULE(1, 0, 2), .frame_pointer = FRAME_POINTER + 4, .end = STACK_END_UNREADABLE,
	  .n_uses = 1 },
	{ "the outermost", UNWIND_ESCAPE(UNWIND_STOP, 0), .end = STACK_END_COMPLETE },
	{ "a gap", UNWIND_ESCAPE(UNWIND_GAP, 0), .end = STACK_END_GAP },
	{ "lost", UNWIND_ESCAPE(UNWIND_LOST, 0), .end = STACK_END_LOST },
	{ "of no kind", UNWIND_ESCAPE(15, 0), .end = STACK_END_LOST },
	{ "linkage table, before the push", UNWIND_ESCAPE(UNWIND_PLT, 0), .ip = IP + 10, .words = { 0x11, 0x12 },
	  .to_ip = 0x11, .to_sp = SP + 8 },
	{ "linkage table, after the push", UNWIND_ESCAPE(UNWIND_PLT, 0), .ip = IP + 11, .words = { 0x11, 0x12 },
	  .to_ip = 0x12, .to_sp = SP + 16 },
	{ "a signal", UNWIND_ESCAPE(UNWIND_SIGNAL, 0), .words = { [15] = 0x22, [20] = 0x33, [21] = 0x11 },
	  .to_ip = 0x11, .to_sp = 0x33, .to_frame_pointer = 0x22, .is_exact = 1 },
	{ "side: far", SIDE, .side = { .add = 16, .frame_offset = 16 }, .words = { 0x22, 0x11 }, .to_ip = 0x11,
	  .to_sp = SP + 16, .to_frame_pointer = 0x22 },
	{ "side: through a word", SIDE, .side = { .base_offset = -8, .is_frame = 1, .is_deref = 1 },
	  .words = { [7] = SP + 96, [11] = 0x11 }, .to_ip = 0x11, .to_sp = SP + 96, .n_uses = 1 },
	{ "side: the frame pointer at the base", SIDE,
	  .side = { .base_offset = -8, .is_frame = 1, .is_deref = 1, .is_frame_at_base = 1 },
	  .words = { [7] = SP + 96, [8] = 0x22, [11] = 0x11 }, .to_ip = 0x11, .to_sp = SP + 96,
	  .to_frame_pointer = 0x22, .n_uses = 1 },
	{ "side: there is none", UNWIND_ESCAPE(UNWIND_SIDE, 1), .end = STACK_END_LOST },
	{ "frame pointers", BY_FRAME_POINTER, .words = { [8] = SP + 128, [9] = 0x11 }, .to_ip = 0x11, .to_sp = SP + 80,
	  .to_frame_pointer = SP + 128, .n_uses = 2 },
	{ "frame pointers: of a stack without a known end", BY_FRAME_POINTER, .top = 1,
	  .words = { [8] = SP + 128, [9] = 0x11 }, .to_ip = 0x11, .to_sp = SP + 80, .to_frame_pointer = SP + 128,
	  .n_uses = 2 },
	{ "frame pointers: the first frame", BY_FRAME_POINTER, .words = { [9] = 0x11 }, .to_ip = 0x11, .to_sp = SP + 80,
	  .n_uses = 1 },
	{ "frame pointers: a number", BY_FRAME_POINTER, .frame_pointer = 17, .end = STACK_END_FRAME_POINTERS,
	  .n_uses = 1 },
	{ "frame pointers: not aligned", BY_FRAME_POINTER, .frame_pointer = FRAME_POINTER + 4,
	  .end = STACK_END_FRAME_POINTERS, .n_uses = 1 },
	{ "frame pointers: below", BY_FRAME_POINTER, .frame_pointer = SP - 8, .end = STACK_END_FRAME_POINTERS,
	  .n_uses = 1 },
	{ "frame pointers: above the stack", BY_FRAME_POINTER, .frame_pointer = TOP, .end = STACK_END_FRAME_POINTERS,
	  .n_uses = 1 },
	{ "frame pointers: to itself", BY_FRAME_POINTER, .words = { [8] = FRAME_POINTER, [9] = 0x11 },
	  .end = STACK_END_FRAME_POINTERS, .n_uses = 2 },
	{ "frame pointers: to a number", BY_FRAME_POINTER, .words = { [8] = 0x22, [9] = 0x11 },
	  .end = STACK_END_FRAME_POINTERS, .n_uses = 2 },
};

static void check_steps(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t frame_pointer = cases[i].frame_pointer ? cases[i].frame_pointer : FRAME_POINTER;
		struct unwind_registers r = { .ip = cases[i].ip ? cases[i].ip : IP,
					      .sp = cases[i].sp ? cases[i].sp : SP,
					      .frame_pointer = frame_pointer,
					      .is_exact = 1 };
		struct stack s = { .top = cases[i].top == 1 ? 0 : TOP, .side = cases[i].side };

		memcpy(s.words, cases[i].words, sizeof(s.words));
		CHECK_INT_EQ(cases[i].name, unwind_step(&s, cases[i].rule, &r), cases[i].end);
		CHECK_INT_EQ(cases[i].name, s.n_uses, cases[i].n_uses);
		if (cases[i].end)
			continue;
		CHECK_INT_EQ(cases[i].name, r.ip, cases[i].to_ip);
		CHECK_INT_EQ(cases[i].name, r.sp, cases[i].to_sp);
		CHECK_INT_EQ(cases[i].name, r.is_exact, cases[i].is_exact);
		if (cases[i].to_frame_pointer)
			frame_pointer = cases[i].to_frame_pointer;
		else if (cases[i].rule == BY_FRAME_POINTER)
			frame_pointer = 0;
		CHECK_INT_EQ(cases[i].name, r.frame_pointer, frame_pointer);
	}
}

/* Each row of pages with any number of rows, at any place of a block. */
static void check_rows(void)
{
	static uint32_t rows[UNWIND_BLOCK];

	for (uint32_t n = 1; n <= UNWIND_PAGE_ROWS_MAX; n = n * 3 / 2 + 1) {
		for (uint32_t first = 1; first + n <= UNWIND_BLOCK; first = first * 2 + 1) {
			memset(rows, 0xff, sizeof(rows));
			for (uint32_t i = 0; i < n; i++)
				rows[first + i] = UNWIND_ROW(i * 4, i);
			for (uint32_t i = 0; i < n; i++) {
				CHECK_INT_EQ("row", unwind_row_rule(rows, first, n, i * 4), i);
				CHECK_INT_EQ("behind a row", unwind_row_rule(rows, first, n, i * 4 + 3), i);
			}
			CHECK_INT_EQ("end of the page", unwind_row_rule(rows, first, n, UNWIND_PAGE - 1), n - 1);
		}
	}
}

static void check_mappings(void)
{
	static struct stack_maps maps;

	for (uint32_t n = 1; n <= STACK_MAPPINGS_MAX; n++) {
		maps.n = n;
		for (uint32_t i = 0; i < STACK_MAPPINGS_MAX; i++)
			maps.mappings[i].start = (i + 1) * 0x10000ull;
		for (uint32_t i = 0; i < n; i++)
			CHECK_INT_EQ("mapping", unwind_mapping_find(&maps, (i + 1) * 0x10000ull + 5), i);
		CHECK_INT_EQ("before all", unwind_mapping_find(&maps, 5), 0);
		CHECK_INT_EQ("behind all", unwind_mapping_find(&maps, 1ull << 47), n - 1);
		CHECK_INT_EQ("no address", unwind_mapping_find(&maps, UINT64_MAX), 0);
	}
}

int main(void)
{
	check_steps();
	check_rows();
	check_mappings();
	return check_result();
}
