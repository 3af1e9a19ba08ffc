// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The memo of walks: what a walk has found, with every word that decided it. Where all of these are the same again, so
 * are the frames.
 *
 * What decides a walk: the mappings (number of their list), the rules (number of their reset), instruction and stack
 * pointer, the words that were read; a saved frame pointer only if a rule used it later.
 *
 * An entry is added when its stack is met for the second time: those that are met once do not displace others. Nor do
 * many that take turns displace each other all the time. Entries are shared by all CPUs: a sequence counter tells a
 * reader of a change.
 */
#pragma once

#include "stack_memory.h"

#define MEMO_SETS 256 /* a power of two */
#define MEMO_SET_BITS 8
#define MEMO_WAYS 4
#define MEMO_DOORS 4096 /* a power of two */
#define MEMO_DOOR_BITS 12
#define MEMO_GROUP 4 /* words that are compared at once */
#define MEMO_TURNS 8 /* a power of two: of so many walks that could replace an entry one does */

struct memo_entry {
	__u32 sequence; /* odd: being written */
	__u32 tag;	/* of the mappings; 0: free */
	__u32 pass;	/* as in struct stack_walk */
	__u32 uses_frame_pointer;
	__u64 ip, sp, frame_pointer, top;
	__u64 hash;
	__u32 end;
	__u32 n; /* words; a multiple of MEMO_GROUP */
	__u32 n_bytes;
	__u32 differed; /* index of the group that differed last: compared first, since it likely differs again */
	__u64 words[MEMO_WORDS];
	__u16 at[MEMO_WORDS]; /* bytes from the stack pointer */
};

SHARED struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MEMO_SETS *MEMO_WAYS);
	__type(key, __u32);
	__type(value, struct memo_entry);
} memo SEC(".maps");

SHARED __u32 memo_doors[MEMO_DOORS] = {}; /* hashes of walks that were not added */
SHARED __u32 memo_next = 0;		  /* number of walks that could be added */

static __always_inline __u64 memo_key(const struct stack_record *r)
{
	return unwind_hash(unwind_hash(r->ip, r->sp), r->tag);
}

/* ---- what a walk notes ---- */

static __always_inline void memo_begin(struct stack_memo *m)
{
	m->n = 0;
	m->end = 0;
	m->is_exact = 1;
	m->frame_pointer_at = MEMO_AT_START;
	m->uses_frame_pointer = 0;
}

/* A word has decided the walk. @at: bytes from the stack pointer */
static __always_inline void memo_note(struct stack_memo *m, __u64 at, __u64 word)
{
	__u64 n = m->n;

	keep(n);
	m->words[n & (MEMO_ROOM - 1)] = word;
	m->at[n & (MEMO_ROOM - 1)] = at;
	m->n = n + 1;
	if (m->end < at)
		m->end = at;
}

/* The walk depends on the frame pointer that it has now. */
static __always_inline void memo_note_frame_pointer(struct stack_memo *m, __u64 frame_pointer)
{
	__u32 at = m->frame_pointer_at;

	if (at == MEMO_AT_NOTED)
		return;
	m->frame_pointer_at = MEMO_AT_NOTED;
	if (at == MEMO_AT_START)
		m->uses_frame_pointer = 1;
	else
		memo_note(m, at, frame_pointer);
}

/* ---- use ---- */

/* Bits that differ in a group of words. @i: its first one */
static __always_inline __u64 memo_group(const struct stack_scratch *s, const struct memo_entry *e, __u32 i)
{
	__u64 differs = 0;
	__u32 k;

	_Pragma("clang loop unroll(full)") for (k = 0; k < MEMO_GROUP; k++) differs |=
		e->words[i + k] ^ *stack_word_at(s, e->at[i + k]);
	return differs;
}

/* Whether a group that differed before does so now. */
static __always_inline bool memo_differs(const struct stack_scratch *s, const struct memo_entry *e)
{
	__u32 i = e->differed;

	keep(i);
	return i <= MEMO_WORDS - MEMO_GROUP && memo_group(s, e, i);
}

/* Whether all words are as they were. */
VERIFIED_ALONE int memo_compare(struct stack_scratch *s, struct memo_entry *e)
{
	__u32 i, n;

	if (!s || !e)
		return 0;
	n = e->n;
	for (i = 0; i < MEMO_WORDS && i < n; i += MEMO_GROUP) {
		if (memo_group(s, e, i)) {
			e->differed = i;
			return 0;
		}
	}
	return 1;
}

static __always_inline bool memo_is_of(const struct memo_entry *e, const struct stack_scratch *s)
{
	const struct stack_record *r = &s->record;

	return e->sp == r->sp && e->ip == r->ip && e->tag == r->tag && e->pass == s->walk.pass &&
	       e->top == s->walk.top && (!e->uses_frame_pointer || e->frame_pointer == r->frame_pointer);
}

/* Looks for a walk from these registers that would be the same. Return: whether hash and end of it are in place */
VERIFIED_ALONE int memo_find(struct stack_scratch *s)
{
	__u32 i, way, sequence;
	struct memo_entry *e;

	if (!s || !s->record.tag)
		return 0;
	i = (memo_key(&s->record) >> (64 - MEMO_SET_BITS)) * MEMO_WAYS;
	for (way = 0; way < MEMO_WAYS; way++, i++) {
		e = bpf_map_lookup_elem(&memo, &i);
		if (!e || !memo_is_of(e, s))
			continue;
		sequence = READ_ONCE(e->sequence);
		if (!s->walk.n_filled)
			stack_fill_first(s, e->n_bytes);
		else if (s->walk.n_filled < e->n_bytes)
			stack_fill(s, e->n_bytes);
		if (sequence & 1 || s->walk.n_filled < e->n_bytes || memo_differs(s, e) || !memo_compare(s, e))
			continue;
		s->walk.hash = e->hash;
		s->record.native_end = e->end;
		barrier();
		if (READ_ONCE(e->sequence) == sequence && memo_is_of(e, s))
			return 1;
	}
	return 0;
}

/* Writes what the walk has noted. */
VERIFIED_ALONE int memo_write(struct stack_scratch *s, struct memo_entry *e)
{
	__u32 i, n;

	if (!s || !e)
		return 0;
	n = s->memo.n;
	for (i = 0; i < MEMO_WORDS && i < n; i += MEMO_GROUP) {
		__builtin_memcpy(&e->words[i], &s->memo.words[i], MEMO_GROUP * sizeof(e->words[0]));
		__builtin_memcpy(&e->at[i], &s->memo.at[i], MEMO_GROUP * sizeof(e->at[0]));
	}
	e->differed = 0;
	e->n = s->memo.n;
	e->n_bytes = s->memo.end + sizeof(__u64);
	e->tag = s->record.tag;
	e->pass = s->walk.pass;
	e->uses_frame_pointer = s->memo.uses_frame_pointer;
	e->ip = s->record.ip;
	e->sp = s->record.sp;
	e->frame_pointer = s->record.frame_pointer;
	e->top = s->walk.top;
	e->hash = s->walk.hash;
	e->end = s->record.native_end;
	return 0;
}

/* Adds a walk, if there is room or it is its turn. */
VERIFIED_ALONE int memo_put(struct stack_scratch *s)
{
	__u32 i, k, sequence, last, turn;
	struct memo_entry *e;

	if (!s || s->memo.n > MEMO_WORDS || !s->memo.n)
		return 0;
	turn = memo_next++;
	i = (memo_key(&s->record) >> (64 - MEMO_SET_BITS)) * MEMO_WAYS + turn % MEMO_WAYS;
	e = bpf_map_lookup_elem(&memo, &i);
	if (!e || (e->tag == s->record.tag && turn / MEMO_WAYS % MEMO_TURNS))
		return 0;
	/* The last word again, up to a whole group. */
	last = (s->memo.n - 1) & (MEMO_ROOM - 1);
	for (k = 0; k < MEMO_GROUP && s->memo.n % MEMO_GROUP; k++)
		memo_note(&s->memo, s->memo.at[last], s->memo.words[last]);
	sequence = READ_ONCE(e->sequence);
	if (sequence & 1 || __sync_val_compare_and_swap(&e->sequence, sequence, sequence + 1) != sequence)
		return 0;
	memo_write(s, e);
	barrier();
	WRITE_ONCE(e->sequence, sequence + 2);
	return 0;
}

/* Adds the walk that was just made, if it was made before. */
static __always_inline void memo_add(struct stack_scratch *s)
{
	__u32 *door = &memo_doors[s->walk.hash >> (64 - MEMO_DOOR_BITS) & (MEMO_DOORS - 1)];
	__u32 mark = s->walk.hash ^ s->record.sp;

	if (!s->record.tag || !s->memo.is_exact || s->record.native_end == STACK_END_RULE ||
	    s->record.native_end == STACK_END_UNREADABLE)
		return;
	if (*door == mark)
		memo_put(s);
	else
		*door = mark;
}
