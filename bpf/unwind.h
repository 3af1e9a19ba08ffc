// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The native frames of a stack: rules by address, the memory of the stack, and the walk.
 *
 * Memory is read in long pieces into a buffer, since a read costs the same for 8 bytes as for a page. Rules are kept by
 * page of a file, filled in by the daemon on demand (stack_record.h); in front of them is a cache by page and offset,
 * which needs nothing of the process.
 */
#pragma once

#include "abi.h"
#include "stack_maps.h"
#include "stack_scratch.h"

/* Rules by page and offset: page << 23 | offset << 11 | lower bits of the reset. Sets of two; a new rule comes first.
 */
#define RULE_SETS 8192 /* a power of two */
#define RULE_SET_BITS 13
#define RULE_PASS_MASK 0x7ffu
#define RULE_BITS 20
#define RULE_UNKNOWN (1u << RULE_BITS) /* no rule: it was not read yet */

#define STACK_TRAPS_FOLLOWED 64 /* return traps of a thread: the kernel's limit (include/linux/uprobes.h) */

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

/* ---- memory of the stack ---- */

/* The address that a return trap has replaced. @slot: where it was. Return: 0 if none was replaced there */
VERIFIED_ALONE __u64 trap_address(__u64 slot)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *utask = task->utask;
	struct return_instance *trap;
	__u32 i;

	if (!utask)
		return 0;
	trap = utask->return_instances;
	for (i = 0; i < STACK_TRAPS_FOLLOWED && trap; i++) {
		if (trap_is_at(trap->stack, slot))
			return trap->orig_ret_vaddr;
		trap = trap->next;
	}
	return 0;
}

/* Puts return addresses back that traps have replaced in `memory`, from byte `from` on. */
VERIFIED_ALONE int stack_mend(struct stack_scratch *s, __u32 from)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *utask = task->utask;
	struct return_instance *trap;
	__u64 at, *word;
	__u32 i;

	if (!s || !utask)
		return 0;
	trap = utask->return_instances;
	for (i = 0; i < STACK_TRAPS_FOLLOWED && trap; i++) {
		at = trap->stack - s->record.sp;
		if (at >= from && at < s->walk.n_filled) {
			at &= STACK_COPY_MAX - sizeof(*word);
			keep(at);
			word = (__u64 *)&s->memory[at & (STACK_COPY_MAX - sizeof(*word))];
			if (*word == s->walk.trampoline)
				*word = trap->orig_ret_vaddr;
		}
		trap = trap->next;
	}
	return 0;
}

/* Reads on in the stack, n bytes behind those that were read. Return: 0 or -errno */
static __always_inline long stack_read(struct stack_scratch *s, __u64 n)
{
	__u64 from = s->walk.n_filled, address = s->record.sp + from;
	long r;

	keep(n);
	keep(from);
	if (!from) {
		if (n > STACK_COPY_MAX)
			return -1;
		r = bpf_probe_read_user(s->memory, n, (void *)address);
	} else {
		if (from > STACK_COPY_MAX || n > STACK_READ_MAX || n > STACK_COPY_MAX - from)
			return -1;
		from &= 2 * STACK_COPY_MAX - 1;
		r = bpf_probe_read_user(&s->memory[from], n, (void *)address);
	}
	if (!r)
		s->walk.n_filled += n;
	return r;
}

/* Bytes from the end of what was read to the end of a page, `pages` pages further on, and of the stack at most. */
static __always_inline __u64 stack_piece(const struct stack_scratch *s, __u64 pages)
{
	__u64 n = s->walk.n_filled, end = s->record.sp + n;
	__u64 piece = ((end >> UNWIND_PAGE_SHIFT) + 1 + pages) * UNWIND_PAGE - end;

	return piece < s->walk.n_most - n ? piece : s->walk.n_most - n;
}

/* Reads the stack up to byte `n` from the stack pointer and a few pages more, or as far as it can be read. */
VERIFIED_ALONE int stack_fill(struct stack_scratch *s, __u64 n)
{
	__u64 pages;
	__u32 from, i;

	if (!s)
		return 0;
	from = s->walk.n_filled;
	if (n > s->walk.n_most)
		n = s->walk.n_most;
	pages = from ? STACK_READ_MAX / UNWIND_PAGE - 1 : n / UNWIND_PAGE + 1;
	for (i = 0; i < STACK_COPY_MAX / UNWIND_PAGE + 1 && s->walk.n_filled < n; i++) {
		if (stack_read(s, stack_piece(s, pages)) && stack_read(s, stack_piece(s, 0)))
			break;
		pages = STACK_READ_MAX / UNWIND_PAGE - 1;
	}
	if (s->walk.trampoline)
		stack_mend(s, from);
	return 0;
}

/*
 * Reads a word of the stack that is not in the memory yet: from there on it is, or, if it lies elsewhere, in walk.word.
 * Return: 0 in the memory, 1 in walk.word, negative: it cannot be read
 */
VERIFIED_ALONE int stack_reach(struct stack_scratch *s, __u64 address)
{
	__u64 at, word = 0;

	if (!s)
		return -1;
	at = address - s->record.sp;
	if (at % sizeof(word))
		return -1;
	if (at < s->walk.n_most)
		stack_fill(s, at + sizeof(word));
	if (at < s->walk.n_filled)
		return 0;
	if (bpf_probe_read_user(&word, sizeof(word), (void *)address))
		return -1;
	if (s->walk.trampoline && word == s->walk.trampoline)
		word = trap_address(address);
	s->walk.word = word;
	return 1;
}

/* ---- what unwind_step.h needs ---- */

#define UNWIND_MEMORY struct stack_scratch
#define UNWIND_CODE_ADDRESS(word) code_address(word)

static __always_inline int unwind_word(struct stack_scratch *s, __u64 address, __u64 *ret)
{
	__u64 at = address - s->record.sp;
	int r;

	if (at >= s->walk.n_filled || at % sizeof(*ret)) {
		r = stack_reach(s, address);
		if (r < 0)
			return r;
		if (r) {
			*ret = s->walk.word;
			return 0;
		}
	}
	at &= STACK_COPY_MAX - sizeof(*ret);
	keep(at);
	*ret = *(const __u64 *)&s->memory[at & (STACK_COPY_MAX - sizeof(*ret))];
	return 0;
}

static __always_inline int unwind_saved(struct stack_scratch *s, __u64 address, __u64 *ret)
{
	return unwind_word(s, address, ret);
}

static __always_inline void unwind_frame_pointer_used(struct stack_scratch *s)
{
	(void)s;
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

static __always_inline __u32 rule_of(__u64 page, __u64 offset, __u32 pass)
{
	__u64 key = page << UNWIND_PAGE_SHIFT | offset, tag = key << 11 | (pass / 2 & RULE_PASS_MASK);
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

/* Finds the mapping of an address. Return: whether there is one */
VERIFIED_ALONE int mapping_find(struct stack_scratch *s, const struct stack_maps *maps, __u64 address)
{
	const struct stack_mapping *mapping;

	if (!s || !maps)
		return 0;
	mapping = &maps->mappings[unwind_mapping_find(maps, address)];
	s->walk.mapping_start = mapping->start;
	s->walk.mapping_bytes = (__u64)mapping->n_pages << UNWIND_PAGE_SHIFT;
	s->walk.mapping_page = mapping->first_page;
	return address - s->walk.mapping_start < s->walk.mapping_bytes;
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

/* An address outside of the known mappings. Return: enum stack_end, and FRAME_IS_NONE */
VERIFIED_ALONE int frame_unmapped(__u64 address)
{
	struct code_search search = {};

	if (has_find_vma)
		(void)bpf_find_vma(bpf_get_current_task_btf(), address, code_found, &search, 0);
	return search.flags & VM_EXEC ? STACK_END_RULE : STACK_END_GAP | FRAME_IS_NONE;
}

/* From a frame to its caller. Return: enum stack_end, and FRAME_IS_NONE */
VERIFIED_ALONE int frame_leave(struct stack_scratch *s, const struct stack_maps *maps)
{
	__u64 address, at;
	__u32 rule;

	if (!s || !maps)
		return STACK_END_RULE;
	address = s->walk.at.ip - !s->walk.at.is_exact;
	at = address - s->walk.mapping_start;
	if (at >= s->walk.mapping_bytes) {
		if (!mapping_find(s, maps, address))
			return frame_unmapped(address);
		at = address - s->walk.mapping_start;
	}
	if (!s->walk.mapping_page)
		return frame_escape(s, UNWIND_ESCAPE(UNWIND_FRAME_POINTER, 0));
	rule = rule_of(s->walk.mapping_page + (at >> UNWIND_PAGE_SHIFT), at & (UNWIND_PAGE - 1), s->walk.pass);
	if (rule == RULE_UNKNOWN)
		return STACK_END_RULE;
	if (UNWIND_RULE_SLOT(rule) == UNWIND_SLOT_ESCAPE)
		return frame_escape(s, rule);
	return unwind_plain(s, rule, &s->walk.at);
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

/*
 * Walks from the frames that are already in the record, whose last one is that of walk.at. @maps: of the process; NULL:
 * not known
 */
VERIFIED_ALONE int native_walk(struct stack_scratch *s, const struct stack_maps *maps)
{
	__u32 n, end = STACK_END_NONE;
	__u64 sp;

	if (!s)
		return 0;
	for (n = STACK_NATIVE_FIRST; n < STACK_NATIVE_MAX && !end; n++) {
		struct stack_native *frame = &s->record.native[n];

		sp = s->walk.at.sp;
		frame->ip = s->walk.at.ip;
		end = ABI_HAS_RULES ? frame_leave(s, maps) : frame_escape(s, UNWIND_ESCAPE(UNWIND_FRAME_POINTER, 0));
		if (end & FRAME_IS_NONE)
			break;
		frame->cfa = s->walk.at.sp == sp ? 0 : s->walk.at.sp;
		s->walk.hash = stack_hash(s->walk.hash, frame->ip);
	}
	end &= FRAME_IS_NONE - 1;
	if (maps && walk_has_changed(s, maps)) {
		s->record.tag = 0;
		n = STACK_NATIVE_FIRST + 1;
		end = STACK_END_RULE;
	}
	s->record.n_native = n;
	s->record.native_end = walk_end(&s->walk, end ? end : STACK_END_DEPTH);
	return 0;
}
