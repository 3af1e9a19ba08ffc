// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Copies of stack memory, for the daemon to unwind where a rule is missing, and what tells a copy from others: a stack
 * that was copied is not copied again for the next call from the same place.
 *
 * All that unwinding follows in the memory of a stack are addresses of code and of the stack. Where those words are the
 * same, at the same places, and so are the registers and the mappings, so are the frames, whatever the rules are.
 */
#pragma once

#include "stack_mappings.h"
#include "stack_memory.h"

#define COPY_PIECE 64u	   /* bytes */
#define COPY_NEAR 0x10000u /* bytes from a register to the frame that it tells: a guess, none larger was seen */

/* Brings the memory of the stack. */
VERIFIED_ALONE int stack_copy(struct stack_scratch *s)
{
	__u64 n;

	if (!s)
		return 0;
	n = s->walk.top ? s->walk.top - s->record.sp : STACK_COPY_MAX;
	stack_fill(s, n);
	if (n > s->walk.n_filled)
		n = s->walk.n_filled;
	s->record.n_memory = n;
	if (n == STACK_COPY_MAX)
		s->record.native_end = STACK_END_LARGE;
	return 0;
}

/* Notes the return addresses that traps have replaced. */
VERIFIED_ALONE int stack_traps(struct stack_scratch *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *utask = task->utask;
	struct return_instance *trap;
	__u32 i;

	if (!s || !utask)
		return 0;
	trap = utask->return_instances;
	for (i = 0; i < STACK_TRAPS_MAX && trap; i++) {
		s->record.traps[i].slot = trap->stack;
		s->record.traps[i].address = trap->orig_ret_vaddr;
		s->record.n_traps = i + 1;
		trap = trap->next;
	}
	return 0;
}

/* Whether a word may be the address of code, or of where code ends. @maps: NULL: not known, each high address may be */
static __always_inline bool word_is_code(const struct stack_maps *maps, __u64 word)
{
	const struct stack_mapping *mapping;

	if (!maps)
		return word >> 16 && !(word >> 47);
	if (word < maps->mappings[0].start)
		return false;
	mapping = &maps->mappings[unwind_mapping_find(maps, word)];
	return word - mapping->start <= (__u64)mapping->n_pages << UNWIND_PAGE_SHIFT;
}

/* Whether unwinding may follow a word: it is the address of code, or of the copied stack or near it. */
static __always_inline bool word_is_followed(const struct stack_record *r, const struct stack_maps *maps, __u64 word)
{
	return word - (r->sp - COPY_NEAR) < r->n_memory + 2ull * COPY_NEAR || word_is_code(maps, word);
}

/* Hash of those words of a piece of the copy that unwinding may follow, and of their places. */
VERIFIED_ALONE __u64 copy_hash_piece(const struct stack_scratch *s, const struct stack_maps *maps, __u64 from,
				     __u64 hash)
{
	__u64 word, at;
	__u32 i;

	if (!s)
		return 0;
	_Pragma("clang loop unroll(disable)") for (i = 0; i < COPY_PIECE / sizeof(word); i++)
	{
		at = from + i * sizeof(word);
		if (at >= s->record.n_memory)
			break;
		word = *stack_word_at(s, at);
		if (word_is_followed(&s->record, maps, word))
			hash = unwind_hash(unwind_hash(hash, at), word);
	}
	return hash;
}

/* Number of a copy; 0: it is of this call alone, since its mappings are not known. @maps: as in word_is_code() */
VERIFIED_ALONE __u64 copy_number(const struct stack_scratch *s, const struct stack_maps *maps)
{
	const struct stack_record *r;
	__u64 id, i;

	if (!s || s->record.mappings <= STACK_MAPPINGS_UNCOUNTED)
		return 0;
	r = &s->record;
	id = unwind_hash(unwind_hash(r->n_memory, r->mappings), r->native[0].ip);
	id = unwind_hash(unwind_hash(id, r->ip), r->sp);
	id = unwind_hash(id, word_is_followed(r, maps, r->frame_pointer) ? r->frame_pointer : 0);
	id = unwind_hash(unwind_hash(id, s->python_hash), (__u64)r->is_exact << 8 | r->python_end);
	for (i = 0; i < STACK_COPY_MAX && i < r->n_memory; i += COPY_PIECE)
		id = copy_hash_piece(s, maps, i, id);
	id = unwind_hash(id, (__u64)r->tgid << 32 | r->exec_gen) & (STACK_ID_ONCE - 1);
	return id ? id : 1;
}
