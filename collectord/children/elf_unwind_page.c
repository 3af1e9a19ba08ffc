// SPDX-License-Identifier: Apache-2.0
#include "children/elf_unwind_page.h"

#include <stddef.h>

#include "base/cleanup.h"

#define RULE_NONE UINT32_MAX /* nothing was painted */
#define RULE_LOST UNWIND_ESCAPE(UNWIND_LOST, 0)
#define RETURN_OFFSET (-8) /* of the return address from the CFA, bytes */
#define SLOT_MIN 2	   /* in a row: saved at CFA - 8 * slot */
#define SLOT_MAX 7
#define PLT_BYTES 16 /* of an entry of the table of procedure linkage */
#define PLT_CFA 8    /* CFA - SP at its start */
#define PLT_FROM 11  /* UNWIND_PLT */

/* Registers in the signal frame of the kernel, from SP on, bytes (struct rt_sigframe after its return address). */
#define SIGNAL_BP 120
#define SIGNAL_SP 160
#define SIGNAL_RA 168

void unwind_page_init(struct unwind_page *page, uint32_t number)
{
	page->page = number;
	page->is_found = false;
	memset(page->edges, 0, sizeof(page->edges));
	memset(page->painted, 0, sizeof(page->painted));
	page->edges[0] = 1;
	page->rules[0] = RULE_NONE;
}

void unwind_page_lose(struct unwind_page *page)
{
	unwind_page_init(page, page->page);
	page->is_found = true;
	memset(page->painted, 0xff, sizeof(page->painted));
	page->rules[0] = RULE_LOST;
}

/* ---- rules ---- */

size_t unwind_side_add(struct unwind_sides *sides, const struct unwind_side *side)
{
	for (size_t i = 0; i < sides->n; i++)
		if (memcmp(&sides->items[i], side, sizeof(*side)) == 0)
			return i;
	if (sides->n == UNWIND_SIDES)
		return UNWIND_SIDES;
	sides->items[sides->n] = *side;
	return sides->n++;
}

static uint32_t rule_of_side(struct unwind_sides *sides, const struct unwind_side *side)
{
	size_t i = unwind_side_add(sides, side);

	return i == UNWIND_SIDES ? RULE_LOST : UNWIND_ESCAPE(UNWIND_SIDE, (uint32_t)i);
}

static bool saved_is(const struct frame_saved *saved, enum saved_kind kind, int64_t offset)
{
	return saved->kind == kind && saved->offset == offset;
}

static bool saved_is_unchanged(const struct frame_saved *saved)
{
	return saved->kind == SAVED_UNSPECIFIED || saved->kind == SAVED_SAME;
}

/* All registers are where the kernel puts them when it delivers a signal. */
static bool is_signal_frame(const struct frame_state *state)
{
	return state->cfa.kind == CFA_DEREF && state->cfa.base == FRAME_SP && state->cfa.offset == SIGNAL_SP &&
	       state->cfa.add == 0 && saved_is(&state->saved[FRAME_BP], SAVED_AT_SP, SIGNAL_BP) &&
	       saved_is(&state->saved[FRAME_SP], SAVED_AT_SP, SIGNAL_SP) &&
	       saved_is(&state->saved[FRAME_RA], SAVED_AT_SP, SIGNAL_RA);
}

/*
 * Where the caller's frame pointer is.
 *
 * An address that is relative to a register has a fixed distance from the CFA only if the CFA is relative to the same
 * register, and is usable otherwise only if that is the base of a dereferenced CFA: so GCC describes functions that
 * align their stack. At the end of these, where the CFA is relative to SP again, GCC leaves the frame pointer's rule,
 * though the frame pointer has its old value by then: that is not believed.
 * Return: false: that cannot be said
 */
static bool side_frame(const struct frame_cfa *cfa, const struct frame_saved *saved, struct unwind_side *side)
{
	int64_t offset = saved->offset;
	enum frame_register base = saved->kind == SAVED_AT_BP ? FRAME_BP : FRAME_SP;

	if (saved_is_unchanged(saved))
		return true;
	if (saved->kind != SAVED_AT_CFA && saved->kind != SAVED_AT_BP && saved->kind != SAVED_AT_SP)
		return false;
	if (saved->kind != SAVED_AT_CFA) {
		if (base != cfa->base)
			return false;
		side->is_frame_at_base = cfa->kind == CFA_DEREF;
		if (!side->is_frame_at_base && __builtin_sub_overflow(offset, cfa->offset, &offset))
			return false;
	}
	if (!side->is_frame_at_base) {
		if (offset == 0 || offset == RETURN_OFFSET || offset == INT64_MIN)
			return false;
		offset = -offset;
	}
	side->frame_offset = (int32_t)offset;
	return side->frame_offset == offset;
}

static uint32_t rule_of_state(const struct frame_state *state, bool is_signal, struct unwind_sides *sides)
{
	const struct frame_cfa *cfa = &state->cfa;
	const struct frame_saved *sp = &state->saved[FRAME_SP], *ra = &state->saved[FRAME_RA];
	struct unwind_side side = { .is_frame = cfa->base == FRAME_BP, .is_deref = cfa->kind == CFA_DEREF };
	int32_t slot;

	if (ra->kind == SAVED_UNDEFINED)
		return UNWIND_ESCAPE(UNWIND_STOP, 0);
	if (is_signal)
		return is_signal_frame(state) ? UNWIND_ESCAPE(UNWIND_SIGNAL, 0) : RULE_LOST;
	if (!saved_is(ra, SAVED_AT_CFA, RETURN_OFFSET) || sp->kind != SAVED_UNSPECIFIED)
		return RULE_LOST;
	if (cfa->kind == CFA_PLT)
		return saved_is_unchanged(&state->saved[FRAME_BP]) ? UNWIND_ESCAPE(UNWIND_PLT, 0) : RULE_LOST;
	if (cfa->kind == CFA_UNKNOWN || (cfa->base != FRAME_SP && cfa->base != FRAME_BP) ||
	    !side_frame(cfa, &state->saved[FRAME_BP], &side))
		return RULE_LOST;

	slot = side.frame_offset / 8;
	if (!side.is_deref && !(side.frame_offset % 8) && (!slot || (slot >= SLOT_MIN && slot <= SLOT_MAX)) &&
	    cfa->offset > 0 && cfa->offset % 8 == 0 && cfa->offset / 8 <= UINT16_MAX)
		return UNWIND_RULE(side.is_frame, slot, (uint32_t)(cfa->offset / 8));

	side.base_offset = (int32_t)cfa->offset;
	side.add = (int32_t)cfa->add;
	if (side.base_offset != cfa->offset || side.add != cfa->add)
		return RULE_LOST;
	return rule_of_side(sides, &side);
}

/* ---- painting ---- */

static bool bit_is_set(const uint64_t *words, uint32_t at)
{
	return words[at / 64] >> (at % 64) & 1;
}

static void edge_set(struct unwind_page *page, uint32_t at, uint32_t rule)
{
	page->edges[at / 64] |= 1ull << (at % 64);
	page->rules[at] = rule;
}

/* Return: whether one of them was painted before */
static bool painted_set(struct unwind_page *page, uint32_t at, uint32_t n)
{
	bool was_painted = false;

	for (uint32_t end = at + n, next; at < end; at = next) {
		uint64_t bits = ~0ull << (at % 64);

		next = MIN(end, at - at % 64 + 64);
		if (next % 64)
			bits &= ~(~0ull << (next % 64));
		was_painted |= page->painted[at / 64] & bits;
		page->painted[at / 64] |= bits;
	}
	return was_painted;
}

static uint32_t rule_at(const struct unwind_page *page, uint32_t at)
{
	while (!bit_is_set(page->edges, at))
		at--;
	return page->rules[at];
}

/* Paints over other stretches, byte by byte. */
static void rule_paint_over(struct unwind_page *page, uint32_t at, uint32_t end, uint32_t rule)
{
	uint32_t below = rule_at(page, at);

	if (end < UNWIND_PAGE)
		edge_set(page, end, rule_at(page, end));
	for (; at < end; at++) {
		if (bit_is_set(page->edges, at))
			below = page->rules[at];
		edge_set(page, at, below == RULE_NONE || below == rule ? rule : RULE_LOST);
	}
}

static void rule_paint(struct unwind_page *page, uint32_t at, uint32_t n, uint32_t rule)
{
	uint32_t end = at + n;

	if (painted_set(page, at, n)) {
		rule_paint_over(page, at, end, rule);
		return;
	}
	edge_set(page, at, rule);
	if (end < UNWIND_PAGE && !bit_is_set(page->painted, end))
		edge_set(page, end, RULE_NONE);
}

/* Of a linker whose entries push their number elsewhere. An entry's address is a multiple of its size. */
static void plt_paint(struct unwind_page *page, uint32_t at, uint32_t n, uint32_t from)
{
	for (uint32_t i = at, next; i < at + n; i = next) {
		uint32_t start = i - i % PLT_BYTES;
		bool is_pushed = i - start >= from;

		next = MIN(at + n, start + (is_pushed ? PLT_BYTES : from));
		rule_paint(page, i, next - i, UNWIND_RULE(0, 0, PLT_CFA / 8 + is_pushed));
	}
}

void unwind_page_paint(struct unwind_page *page, uint32_t at, uint32_t n, const struct frame_state *state,
		       bool is_signal, struct unwind_sides *sides)
{
	uint32_t rule = state ? rule_of_state(state, is_signal, sides) : RULE_LOST;

	page->is_found = true;
	if (rule == UNWIND_ESCAPE(UNWIND_PLT, 0) && state->cfa.offset != PLT_FROM)
		plt_paint(page, at, n, (uint32_t)state->cfa.offset);
	else
		rule_paint(page, at, n, rule);
}

/* Whether nothing but filling is there, so that no call returns to it: int3, and what assemblers take for a nop. */
static bool is_padding(const uint8_t *code, size_t n)
{
	static const struct {
		uint8_t form, bytes; /* third byte of a long nop, and its size without prefixes */
	} nops[] = { { 0x00, 3 }, { 0x40, 4 }, { 0x44, 5 }, { 0x80, 7 }, { 0x84, 8 } };

	for (size_t at = 0, bytes; at < n; at += bytes) {
		while (at < n && (code[at] == 0x66 || code[at] == 0x2e)) /* prefixes */
			at++;
		bytes = at < n && (code[at] == 0xcc || code[at] == 0x90);
		for (size_t i = 0; i < ARRAY_SIZE(nops) && !bytes; i++)
			if (n - at >= nops[i].bytes && code[at] == 0x0f && code[at + 1] == 0x1f &&
			    code[at + 2] == nops[i].form)
				bytes = nops[i].bytes;
		if (!bytes)
			return false;
	}
	return true;
}

/*
 * Whether the function is __start_context of glibc (2.31 to 2.43): it begins with another stack pointer than the one that
 * it is given, so nothing that is on its stack has called it.
 */
static bool is_start_context(const uint8_t *code, size_t n)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t begin[] = {
		0x48, 0x89, 0xdc,	/* mov %rbx, %rsp */
		0x48, 0x8b, 0x3c, 0x24, /* mov (%rsp), %rdi */
	};
	size_t at = n >= sizeof(endbr) && !memcmp(code, endbr, sizeof(endbr)) ? sizeof(endbr) : 0;

	return n - at >= sizeof(begin) && !memcmp(code + at, begin, sizeof(begin));
}

void unwind_page_contexts(struct unwind_page *page, const uint8_t *code, size_t n)
{
	for (uint32_t at = 0, end; at < n; at = end) {
		for (end = at + 1; end < n && !bit_is_set(page->edges, end);)
			end++;
		if (end < n && page->rules[at] == RULE_NONE && page->rules[end] != RULE_NONE &&
		    is_start_context(code + end, n - end) && is_padding(code + at, end - at))
			edge_set(page, end - 1, UNWIND_ESCAPE(UNWIND_STOP, 0));
	}
}

void unwind_page_fill(struct unwind_page *page, const uint8_t *code, size_t n)
{
	for (uint32_t at = 1, end; at < n; at = end) {
		for (end = at + 1; end < n && !bit_is_set(page->edges, end);)
			end++;
		if (bit_is_set(page->edges, at) && page->rules[at] == RULE_NONE && is_padding(code + at, end - at))
			page->rules[at] = rule_at(page, at - 1);
	}
}

uint32_t unwind_page_rows(const struct unwind_page *page, uint32_t *ret_rows)
{
	uint32_t n = 0, last = RULE_NONE;

	for (uint32_t word = 0; word < UNWIND_PAGE_WORDS; word++) {
		for (uint64_t bits = page->edges[word]; bits; bits &= bits - 1) {
			uint32_t at = word * 64 + (uint32_t)__builtin_ctzll(bits), rule = page->rules[at];

			if (rule == RULE_NONE)
				rule = UNWIND_ESCAPE(UNWIND_GAP, 0);
			if (rule == last)
				continue;
			if (n < UNWIND_PAGE_ROWS_MAX)
				ret_rows[n] = UNWIND_ROW(at, rule);
			n++;
			last = rule;
		}
	}
	if (n > UNWIND_PAGE_ROWS_MAX)
		ret_rows[UNWIND_PAGE_ROWS_MAX - 1] =
			UNWIND_ROW(UNWIND_ROW_OFFSET(ret_rows[UNWIND_PAGE_ROWS_MAX - 1]), RULE_LOST);
	return n;
}
