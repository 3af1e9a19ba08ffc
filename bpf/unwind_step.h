// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * One step of unwinding, for the kernel half and the daemon: from the registers of a frame and its rule to the
 * registers of its caller.
 *
 * Who includes this defines UNWIND_MEMORY, the type of what has the stack's memory, and the macros or functions that
 * are declared below for a file that does not.
 */
#pragma once

#include "unwind_find.h"

#ifndef UNWIND_MEMORY
#define UNWIND_MEMORY struct unwind_memory
#define UNWIND_CODE_ADDRESS(word) (word) /* a return address without the signature that some machines add */
struct unwind_memory;
/* Reads a word of the stack. Return: 0, or else it cannot be read */
int unwind_word(UNWIND_MEMORY *m, __u64 address, __u64 *ret);
/* The same for a saved frame pointer. */
int unwind_saved(UNWIND_MEMORY *m, __u64 address, __u64 *ret);
/* The frame pointer, which has this value, decides where the caller's frame is. */
void unwind_frame_pointer_used(UNWIND_MEMORY *m, __u64 value);
/* End of the stack; 0: not known. */
__u64 unwind_top(UNWIND_MEMORY *m);
/* Element of unwind_sides, or NULL. */
const struct unwind_side *unwind_side(UNWIND_MEMORY *m, __u32 i);
#endif

#define UNWIND_FRAME_MAX                                                                                               \
	(64ull << 20) /* bytes of a frame that is found by its frame pointer, where no end is known                    \
		       */

/* Source: arch/x86/include/uapi/asm/sigcontext.h, ucontext.h: offsets from the context, where the handler's frame ends
 */
#define UNWIND_SIGNAL_FRAME_POINTER 120u
#define UNWIND_SIGNAL_SP 160u
#define UNWIND_SIGNAL_IP 168u

/* A procedure linkage table: its entries have 16 bytes, and push a word before byte 11. */
#define UNWIND_PLT_ENTRY 16u
#define UNWIND_PLT_PUSHED 11u

/* The return address is below the CFA. Return: enum stack_end; STACK_END_NONE: the caller's registers are there */
UNWIND_INLINE __u32 unwind_return(UNWIND_MEMORY *m, struct unwind_registers *r, __u64 cfa, __u64 frame_pointer)
{
	__u64 ip;

	if (cfa <= r->sp || unwind_word(m, cfa - sizeof(ip), &ip))
		return STACK_END_UNREADABLE;
	r->ip = UNWIND_CODE_ADDRESS(ip);
	r->sp = cfa;
	r->frame_pointer = frame_pointer;
	r->is_exact = 0;
	return r->ip ? STACK_END_NONE : STACK_END_COMPLETE;
}

/* A rule that is no escape. Return: as unwind_return() */
UNWIND_INLINE __u32 unwind_plain(UNWIND_MEMORY *m, __u32 rule, struct unwind_registers *r)
{
	__u64 slot = UNWIND_RULE_SLOT(rule), frame_pointer = r->frame_pointer, cfa = r->sp;

	if (UNWIND_RULE_IS_FRAME(rule)) {
		unwind_frame_pointer_used(m, frame_pointer);
		cfa = frame_pointer;
	}
	cfa += UNWIND_RULE_WORDS(rule) * sizeof(__u64);
	if (slot && unwind_saved(m, cfa - slot * sizeof(__u64), &frame_pointer))
		return STACK_END_UNREADABLE;
	return unwind_return(m, r, cfa, frame_pointer);
}

UNWIND_INLINE __u32 unwind_by_side(UNWIND_MEMORY *m, __u32 i, struct unwind_registers *r)
{
	const struct unwind_side *side = unwind_side(m, i);
	__u64 base, cfa, saved, frame_pointer = r->frame_pointer;

	if (!side)
		return STACK_END_LOST;
	if (side->is_frame)
		unwind_frame_pointer_used(m, frame_pointer);
	base = side->is_frame ? r->frame_pointer : r->sp;
	cfa = base + (__s64)side->base_offset;
	if (side->is_deref && unwind_word(m, cfa, &cfa))
		return STACK_END_UNREADABLE;
	cfa += (__s64)side->add;
	saved = side->is_frame_at_base ? base + (__s64)side->frame_offset : cfa - (__s64)side->frame_offset;
	if ((side->is_frame_at_base || side->frame_offset) && unwind_saved(m, saved, &frame_pointer))
		return STACK_END_UNREADABLE;
	return unwind_return(m, r, cfa, frame_pointer);
}

/* The kernel's frame of a signal: its registers are those of the interrupted instruction. */
UNWIND_INLINE __u32 unwind_signal(UNWIND_MEMORY *m, struct unwind_registers *r)
{
	__u64 context = r->sp;

	if (unwind_word(m, context + UNWIND_SIGNAL_IP, &r->ip) || unwind_word(m, context + UNWIND_SIGNAL_SP, &r->sp) ||
	    unwind_saved(m, context + UNWIND_SIGNAL_FRAME_POINTER, &r->frame_pointer))
		return STACK_END_UNREADABLE;
	r->is_exact = 1;
	return STACK_END_NONE;
}

/* Whether a frame pointer may be one: aligned, and on the stack above `low`. */
UNWIND_INLINE int unwind_is_on_stack(UNWIND_MEMORY *m, __u64 frame_pointer, __u64 low)
{
	__u64 top = unwind_top(m);

	if (!top)
		top = low + UNWIND_FRAME_MAX;
	return !(frame_pointer % sizeof(__u64)) && frame_pointer >= low && frame_pointer < top;
}

/* Return: as unwind_return(); STACK_END_FRAME_POINTERS: it points at no frame */
UNWIND_INLINE __u32 unwind_by_frame_pointer(UNWIND_MEMORY *m, struct unwind_registers *r)
{
	__u64 at = r->frame_pointer, saved;

	unwind_frame_pointer_used(m, at);
	if (!unwind_is_on_stack(m, at, r->sp))
		return STACK_END_FRAME_POINTERS;
	if (unwind_saved(m, at, &saved))
		return STACK_END_UNREADABLE;
	unwind_frame_pointer_used(m, saved);
	if (saved && !unwind_is_on_stack(m, saved, at + sizeof(saved)))
		return STACK_END_FRAME_POINTERS;
	return unwind_return(m, r, at + 2 * sizeof(saved), saved);
}

/* A rule that is an escape. Return: as unwind_return() */
UNWIND_INLINE __u32 unwind_escape(UNWIND_MEMORY *m, __u32 rule, struct unwind_registers *r)
{
	switch (UNWIND_ESCAPE_KIND(rule)) {
	case UNWIND_STOP:
		return STACK_END_COMPLETE;
	case UNWIND_PLT:
		return unwind_return(m, r,
				     r->sp + (r->ip % UNWIND_PLT_ENTRY < UNWIND_PLT_PUSHED ? 1 : 2) * sizeof(__u64),
				     r->frame_pointer);
	case UNWIND_SIGNAL:
		return unwind_signal(m, r);
	case UNWIND_SIDE:
		return unwind_by_side(m, UNWIND_ESCAPE_VALUE(rule), r);
	case UNWIND_FRAME_POINTER:
		return unwind_by_frame_pointer(m, r);
	case UNWIND_GAP:
		return STACK_END_GAP;
	default:
		return STACK_END_LOST;
	}
}

/**
 * unwind_step() - from the registers of a frame to those of its caller
 * @rule: of the frame's instruction: of r->ip, or of the byte before it if !r->is_exact
 * Return: enum stack_end; STACK_END_NONE: *r is of the caller
 */
UNWIND_INLINE __u32 unwind_step(UNWIND_MEMORY *m, __u32 rule, struct unwind_registers *r)
{
	return UNWIND_RULE_SLOT(rule) == UNWIND_SLOT_ESCAPE ? unwind_escape(m, rule, r) : unwind_plain(m, rule, r);
}
