// SPDX-License-Identifier: Apache-2.0
/*
 * Rules of one page of code: painted stretch by stretch in any order, then read as rows (bpf/stack_record.h). Where two
 * entries describe a byte differently, neither is believed.
 */
#pragma once

#include "bpf/stack_record.h"
#include "children/elf_unwind_cfa.h"

#define UNWIND_PAGE_WORDS (UNWIND_PAGE / 64)

struct unwind_page {
	uint32_t page;			   /* as in the question */
	bool is_found;			   /* an entry describes code of it */
	uint64_t edges[UNWIND_PAGE_WORDS]; /* bit of each byte with which a stretch begins */
	uint64_t painted[UNWIND_PAGE_WORDS];
	uint32_t rules[UNWIND_PAGE]; /* of the stretch, at its first byte */
};

/* Rules that do not fit in a row; UNWIND_SIDE has an index of these. */
struct unwind_sides {
	size_t n;
	struct unwind_side items[UNWIND_SIDES];
};

void unwind_page_init(struct unwind_page *page, uint32_t number);
/** unwind_page_lose() - the whole page is UNWIND_LOST, whatever was painted */
void unwind_page_lose(struct unwind_page *page);
/**
 * unwind_page_paint() - paint n bytes from `at` on
 * @state: NULL: not known. Without room among the sides the bytes are UNWIND_LOST
 */
void unwind_page_paint(struct unwind_page *page, uint32_t at, uint32_t n, const struct frame_state *state,
		       bool is_signal, struct unwind_sides *sides);
/**
 * unwind_page_rows() - rows of what was painted, the first one at offset 0
 * @ret_rows: with room for UNWIND_PAGE_ROWS_MAX; if there are more, the last one of these is UNWIND_LOST
 * Return: number of rows that there are, at least 1
 */
uint32_t unwind_page_rows(const struct unwind_page *page, uint32_t *ret_rows);
/**
 * unwind_page_contexts() - end stacks at the function that a context of makecontext(3) returns to
 * @code: n bytes of code of the page
 * The byte before the function, which is what unwinding looks at, becomes UNWIND_STOP.
 */
void unwind_page_contexts(struct unwind_page *page, const uint8_t *code, size_t n);
/** unwind_page_fill() - extend stretches to padding behind them, which saves rows; n bytes of code of the page */
void unwind_page_fill(struct unwind_page *page, const uint8_t *code, size_t n);
/** unwind_side_add() - index of a side, added unless it is there. Return: UNWIND_SIDES: no room */
size_t unwind_side_add(struct unwind_sides *sides, const struct unwind_side *side);
