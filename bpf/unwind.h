// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The native frames of a stack: rules by address, and the walk.
 *
 * Rules are kept by page of a file, filled in by the daemon on demand (stack_record.h); in front of them is a cache by
 * page and offset, which needs nothing of the process.
 */
#pragma once

#include "stack_maps.h"
#include "stack_memo.h"

/* Rules by page and offset: page << 23 | offset << 11 | lower bits of the reset. Sets of two; a new rule comes first.
 */
#define RULE_SETS 8192 /* a power of two */
#define RULE_SET_BITS 13
#define RULE_PASS_BITS 11
#define RULE_BITS 20
#define RULE_UNKNOWN (1u << RULE_BITS) /* no rule: it was not read yet */

SHARED struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_PAGES / UNWIND_BLOCK);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u32[UNWIND_BLOCK]);
} unwind_pages SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_ROWS / UNWIND_BLOCK);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u32[UNWIND_BLOCK]);
} unwind_rows SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_SIDES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct unwind_side);
} unwind_sides SEC(".maps");

SHARED __u64 rule_cache[RULE_SETS][2] = {};
SHARED __u32 unwind_pass = 0; /* number of resets of the rules, times two; odd during one: written by the daemon */

/* ---- what unwind_step.h needs ---- */

#define UNWIND_MEMORY struct stack_scratch
#define UNWIND_CODE_ADDRESS(word) code_address(word)

/* Return: 0, negative: it cannot be read. *ret_at: where it is in `memory`; MEMO_AT_START: elsewhere */
static __always_inline int stack_word(struct stack_scratch *s, __u64 address, __u64 *ret, __u64 *ret_at)
{
	__u64 at = address - s->walk.start;
	int r;

	if (at >= s->walk.n_filled || at % sizeof(*ret)) {
		r = stack_reach(s, address);
		if (r < 0)
			return r;
		if (r) {
			*ret = s->walk.word;
			s->memo.is_exact = 0;
			*ret_at = MEMO_AT_NOTED;
			return 0;
		}
	}
	keep(at);
	*ret = *stack_word_at(s, at);
	*ret_at = at;
	return 0;
}

static __always_inline int unwind_word(struct stack_scratch *s, __u64 address, __u64 *ret)
{
	__u64 at;
	int r = stack_word(s, address, ret, &at);

	if (!r)
		memo_note(&s->memo, at, *ret);
	return r;
}

static __always_inline int unwind_saved(struct stack_scratch *s, __u64 address, __u64 *ret)
{
	__u64 at;
	int r = stack_word(s, address, ret, &at);

	if (!r)
		s->memo.frame_pointer_at = at;
	return r;
}

static __always_inline void unwind_frame_pointer_used(struct stack_scratch *s, __u64 frame_pointer)
{
	memo_note_frame_pointer(&s->memo, frame_pointer);
}

static __always_inline __u64 unwind_top(struct stack_scratch *s)
{
	return s->walk.top;
}

static __always_inline const struct unwind_side *unwind_side(struct stack_scratch *s, __u32 i)
{
	(void)s;
	return bpf_map_lookup_elem(&unwind_sides, &i);
}

#include "unwind_step.h"

/* An escape is rare: it is not in the way of the others. */
VERIFIED_ALONE int frame_escape(struct stack_scratch *s, __u32 rule)
{
	if (!s)
		return STACK_END_LOST;
	if (UNWIND_ESCAPE_KIND(rule) == UNWIND_FRAME_POINTER)
		s->walk.has_frame_pointers = 1;
	return unwind_escape(s, rule, &s->walk.at);
}

/* ---- rules ---- */

/* The rule of a place in a file, or RULE_UNKNOWN. A page whose rules were not read yet is marked as asked. */
VERIFIED_ALONE __u32 rule_find(__u32 page, __u32 offset)
{
	__u32 block = page / UNWIND_BLOCK, entry, *entries, *rows;

	entries = bpf_map_lookup_elem(&unwind_pages, &block);
	if (!entries || READ_ONCE(unwind_pass) & 1)
		return RULE_UNKNOWN;
	page &= UNWIND_BLOCK - 1;
	entry = READ_ONCE(entries[page]);
	if (entry == UNWIND_PAGE_UNKNOWN)
		(void)__sync_val_compare_and_swap(&entries[page], UNWIND_PAGE_UNKNOWN, UNWIND_PAGE_ASKED);
	if (entry == UNWIND_PAGE_BARE)
		return UNWIND_ESCAPE(UNWIND_FRAME_POINTER, 0);
	block = UNWIND_PAGE_FIRST(entry) / UNWIND_BLOCK;
	rows = bpf_map_lookup_elem(&unwind_rows, &block);
	if (!rows || entry == UNWIND_PAGE_UNKNOWN || entry == UNWIND_PAGE_ASKED)
		return RULE_UNKNOWN;
	return unwind_row_rule(rows, UNWIND_PAGE_FIRST(entry), UNWIND_PAGE_N(entry), offset);
}

static __always_inline __u32 rule_of(__u64 page, __u64 offset, __u32 pass_bits)
{
	__u64 key = page << UNWIND_PAGE_SHIFT | offset, tag = key << RULE_PASS_BITS | pass_bits;
	__u64 set = (key * 0x9e3779b97f4a7c15ull) >> (64 - RULE_SET_BITS), first;
	__u32 rule;

	keep(set);
	set &= RULE_SETS - 1;
	first = rule_cache[set][0];
	if (first >> RULE_BITS == tag)
		return first & (RULE_UNKNOWN - 1);
	if (rule_cache[set][1] >> RULE_BITS == tag)
		return rule_cache[set][1] & (RULE_UNKNOWN - 1);
	rule = rule_find(page, offset);
	if (rule != RULE_UNKNOWN) {
		rule_cache[set][1] = first;
		rule_cache[set][0] = tag << RULE_BITS | rule;
	}
	return rule;
}

/* ---- frames ---- */

/* Makes a mapping that of the walk, and adds its file to the hash: the same addresses in another file are another
 * stack. */
static __always_inline void mapping_enter(struct stack_walk *w, __u64 start, __u64 bytes, __u32 page, __u64 file)
{
	w->mapping_start = start;
	w->mapping_bytes = bytes;
	w->mapping_page = page;
	w->hash = unwind_hash(w->hash, file);
}

/* Searches the list for the mapping of an address. Return: whether there is one */
VERIFIED_ALONE int mapping_search(struct stack_scratch *s, const struct stack_maps *maps, __u64 address)
{
	const struct stack_mapping *mapping;
	struct walk_mapping *met;
	__u64 bytes, file;
	__u32 i;

	if (!s || !maps)
		return 0;
	i = unwind_mapping_find(maps, address);
	mapping = &maps->mappings[i];
	bytes = (__u64)mapping->n_pages << UNWIND_PAGE_SHIFT;
	file = maps->files[i & (STACK_MAPPINGS_MAX - 1)];
	mapping_enter(&s->walk, mapping->start, bytes, mapping->first_page, file);
	if (address - mapping->start >= bytes)
		return 0;
	met = &s->walk.met[s->walk.met_next++ & (WALK_MAPPINGS - 1)];
	met->start = mapping->start;
	met->bytes = bytes;
	met->page = mapping->first_page;
	met->file = file;
	return 1;
}

/* The same, first among those met lately. */
static __always_inline int mapping_find(struct stack_scratch *s, const struct stack_maps *maps, __u64 address)
{
	const struct walk_mapping *met = s->walk.met;
	__u32 i;

	_Pragma("clang loop unroll(disable)") for (i = 0; i < WALK_MAPPINGS; i++, met++)
	{
		if (address - met->start < met->bytes) {
			mapping_enter(&s->walk, met->start, met->bytes, met->page, met->file);
			return 1;
		}
	}
	return mapping_search(s, maps, address);
}

struct code_search {
	__u64 flags;
};

static long code_found(struct task_struct *task, struct vm_area_struct *vma, struct code_search *search)
{
	(void)task;
	search->flags = vma->vm_flags;
	return 0;
}

#define FRAME_IS_NONE 0x100 /* with enum stack_end: the address is that of no code, so the frame is none */

/*
 * An address outside of the known mappings: code, if the daemon does not know all of them any more. Return: enum
 * stack_end, and FRAME_IS_NONE
 */
VERIFIED_ALONE int frame_unmapped(struct stack_scratch *s, const struct stack_maps *maps, __u64 address)
{
	struct code_search search = {};

	if (!s || !maps)
		return STACK_END_GAP | FRAME_IS_NONE;
	s->memo.is_exact = 0;
	if (has_find_vma && maps->n < STACK_MAPPINGS_MAX)
		(void)bpf_find_vma(bpf_get_current_task_btf(), address, code_found, &search, 0);
	if (!(search.flags & VM_EXEC))
		return STACK_END_GAP | FRAME_IS_NONE;
	s->record.tag = 0;
	return STACK_END_RULE;
}

/* From a frame to its caller. Return: enum stack_end, and FRAME_IS_NONE */
static __always_inline int frame_leave(struct stack_scratch *s, const struct stack_maps *maps)
{
	__u64 address, at;
	__u32 rule;

	if (!ABI_HAS_RULES)
		return frame_escape(s, UNWIND_ESCAPE(UNWIND_FRAME_POINTER, 0));
	if (!maps)
		return STACK_END_RULE;
	address = s->walk.at.ip - 1 + s->walk.at.is_exact;
	at = address - s->walk.mapping_start;
	if (at >= s->walk.mapping_bytes) {
		if (!mapping_find(s, maps, address))
			return frame_unmapped(s, maps, address);
		at = address - s->walk.mapping_start;
	}
	if (!s->walk.mapping_page)
		return frame_escape(s, UNWIND_ESCAPE(UNWIND_FRAME_POINTER, 0));
	rule = rule_of(s->walk.mapping_page + (at >> UNWIND_PAGE_SHIFT), at & (UNWIND_PAGE - 1), s->walk.pass_bits);
	if (rule == RULE_UNKNOWN)
		return STACK_END_RULE;
	if (UNWIND_RULE_SLOT(rule) == UNWIND_SLOT_ESCAPE)
		return rule == UNWIND_ESCAPE(UNWIND_STOP, 0) ? STACK_END_COMPLETE : frame_escape(s, rule);
	return unwind_plain(s, rule, &s->walk.at);
}

#define FRAMES_AT_ONCE 16

/* Notes the next frames, and leaves each of them. Return: as frame_leave() */
VERIFIED_ALONE int frames_leave(struct stack_scratch *s, const struct stack_maps *maps)
{
	__u32 n, i, end = STACK_END_NONE;
	struct stack_native *frame;
	__u64 sp;

	if (!s)
		return STACK_END_RULE;
	n = s->walk.n;
	_Pragma("clang loop unroll(disable)") for (i = 0; i < FRAMES_AT_ONCE && n < STACK_NATIVE_MAX; i++)
	{
		keep(n);
		frame = &s->record.native[n & (STACK_NATIVE_MAX - 1)];
		sp = s->walk.at.sp;
		frame->ip = s->walk.at.ip;
		end = frame_leave(s, maps);
		if (end & FRAME_IS_NONE)
			break;
		frame->cfa = s->walk.at.sp == sp ? 0 : s->walk.at.sp;
		s->walk.hash = unwind_hash(s->walk.hash, frame->ip);
		n++;
		if (end)
			break;
	}
	s->walk.n = n;
	return end;
}

/* Whether what the walk relied on was replaced meanwhile. */
static __always_inline bool walk_has_changed(const struct stack_scratch *s, const struct stack_maps *maps)
{
	barrier();
	return READ_ONCE(maps->tag) != s->record.tag || READ_ONCE(unwind_pass) != s->walk.pass;
}

static __always_inline __u32 walk_end(const struct stack_walk *w, __u32 end)
{
	return w->has_frame_pointers && end != STACK_END_RULE && end != STACK_END_DEPTH ? STACK_END_FRAME_POINTERS
											: end;
}

/* Those that were met are of another list. */
static __always_inline void mappings_forget(struct stack_walk *w, __u32 tag)
{
	__u32 i;

	w->met_tag = tag;
	_Pragma("clang loop unroll(full)") for (i = 0; i < WALK_MAPPINGS; i++) w->met[i].bytes = 0;
}

static __always_inline void walk_begin(struct stack_scratch *s)
{
	s->walk.at.ip = s->record.ip;
	s->walk.at.sp = s->record.sp;
	s->walk.at.frame_pointer = s->record.frame_pointer;
	s->walk.at.is_exact = s->record.is_exact;
	s->walk.start = s->record.sp;
	s->walk.pass_bits = s->walk.pass / 2 & ((1u << RULE_PASS_BITS) - 1);
	s->walk.n = STACK_NATIVE_FIRST;
	s->walk.hash = 0;
	s->walk.mapping_bytes = 0; /* each file is to be in the hash */
	if (s->walk.met_tag != s->record.tag)
		mappings_forget(&s->walk, s->record.tag);
	s->walk.has_frame_pointers = 0;
	memo_begin(&s->memo);
	s->memo.is_exact &= !s->record.is_exact; /* a call behind which the address is has another rule */
}

/* Walks from the registers of the record. @maps: of the process; NULL: not known */
VERIFIED_ALONE int native_walk(struct stack_scratch *s, const struct stack_maps *maps)
{
	__u32 i, end = STACK_END_NONE;

	if (!s)
		return 0;
	if (!s->record.tag)
		maps = NULL;
	walk_begin(s);
	if (s->record.sp % sizeof(__u64))
		end = STACK_END_UNREADABLE;
	for (i = 0; i < STACK_NATIVE_MAX / FRAMES_AT_ONCE && !end; i++)
		end = frames_leave(s, maps);
	end &= FRAME_IS_NONE - 1;
	if (maps && s->record.tag && walk_has_changed(s, maps)) {
		s->record.tag = 0;
		s->walk.n = STACK_NATIVE_FIRST + 1;
		end = STACK_END_RULE;
	}
	s->record.n_native = s->walk.n;
	s->record.native_end = walk_end(&s->walk, end ? end : STACK_END_DEPTH);
	return 0;
}
