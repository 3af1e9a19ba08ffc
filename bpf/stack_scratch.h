// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The buffer in which the stack of one call is made: the record, behind it the memory of the stack, and the state of
 * the walk. Two for each CPU, taken by compare-and-swap: on some kernels a program can be preempted by another one.
 */
#pragma once

#include "maps.h"
#include "python_scratch.h"
#include "unwind_find.h"

/* What stack_take() gets in place of the address of a probe. */
#define STACK_OF_WAIT 0
#define STACK_OF_FAULT 1

#define STACK_READ_MAX 16384u /* bytes of one read of stack memory, after the first one */

#define WALK_MAPPINGS 4 /* a power of two */

/* A mapping that a walk has met, and the hash of its file. */
struct walk_mapping {
	__u64 start, bytes;
	__u64 file;
	__u32 page; /* as in struct stack_mapping */
	__u32 pad;
};

/* The walk of the native frames. */
struct stack_walk {
	struct unwind_registers at; /* of the frame that the next step leaves */
	__u64 start;		    /* record.sp: what the memory begins with */
	__u64 hash;		    /* of the addresses so far */
	__u64 top;		    /* end of the stack; 0: not known */
	__u64 trampoline;	    /* address that probes put in place of return addresses; 0: none */
	__u64 mapping_start;	    /* the mapping found last, as the next two */
	__u64 mapping_bytes;	    /* 0: none */
	__u32 mapping_page;
	__u32 n;		  /* frames so far */
	__u32 n_most;		  /* bytes of the stack above record.sp that may be read into `memory` */
	__u32 n_filled;		  /* bytes of `memory` that were read, from record.sp on: a multiple of 8 */
	__u64 word;		  /* result of stack_reach() */
	__u32 pass;		  /* number of the reset of the rules, at the start of the walk */
	__u32 pass_bits;	  /* part of it in the tags of the rule cache */
	__u32 has_frame_pointers; /* a frame was found by the frame pointer alone */
	__u64 changes;		  /* mappings_changes() at the start of the walk */
	__u32 met_tag;		  /* list that those below are of */
	__u32 met_next;		  /* which is replaced next */
	struct walk_mapping met[WALK_MAPPINGS];
};

#define MEMO_WORDS 160u /* words of an entry of the memo; deeper walks are not noted */
#define MEMO_ROOM 256u	/* a power of two */
/* Where the frame pointer was read: bytes from the stack pointer, or: */
#define MEMO_AT_START 0xffffffffu /* in the registers of the walk's start */
#define MEMO_AT_NOTED 0xfffffffeu /* that does not matter: it was noted */

/* What decided the walk (stack_memo.h). */
struct stack_memo {
	__u32 n;	/* words; more than there is room for are not kept */
	__u32 end;	/* where the last one is, bytes from the stack pointer */
	__u32 is_exact; /* nothing else did */
	__u32 frame_pointer_at;
	__u32 uses_frame_pointer; /* that of the walk's start */
	__u32 pad;
	__u64 words[MEMO_ROOM];
	__u16 at[MEMO_ROOM]; /* bytes from the stack pointer */
};

struct stack_scratch {
	__u32 is_taken;
	__u32 pad;
	__u64 python_hash; /* of all code objects and instructions, set by python_walk() */
	/* What every step uses is near: a farther member takes an instruction more. */
	struct stack_walk walk;
	struct stack_memo memo;
	struct python_scratch python;
	union {
		struct stack_record record; /* header, registers and native frames are set before python_walk() */
		struct {
			__u8 head[sizeof(struct stack_record)];
			__u8 memory[STACK_COPY_MAX + STACK_READ_MAX]; /* that of the record, and room that the verifier
									 wants */
		};
	};
};

/* The word of `memory` at byte `at`, which is below STACK_COPY_MAX. */
static __always_inline const __u64 *stack_word_at(const struct stack_scratch *s, __u64 at)
{
	const void *word = &s->memory[at & (STACK_COPY_MAX - sizeof(__u64))];

	return word;
}
