// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Types of the operation table, ops.def. The kernel half (which makes constant arrays of it) and the daemon include
 * this file.
 */
#pragma once

/*
 * Ids have 16 bits. Below OP_ID_MAX, a power of two: ids of ops.def and, from OP_CALIBRATION on, ids of the tracer's
 * calibration (collectord/probes/calibrate.h). From OP_GIVEN on: ids assigned at attach to exports without a row, whose
 * arguments and results are not kept. OP_GIVEN is chosen so that their places in a slot_row come after those of ids
 * below 160.
 */
#define OP_ID_MAX 512
#define OP_CALIBRATION (OP_ID_MAX - 4)
#define OP_GIVEN (OP_ID_MAX + 160)
#define OP_GIVEN_MAX 1024
#define OP_NAME_BYTES                                                                                                  \
	64 /* maximum length of a name that gets an id, with its NUL; allowed characters: OP_NAME_LETTERS */
#define OP_NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* Traits of an operation; ops.def explains them. */
#define OP_SYNC 0x01u
#define OP_ALLOC 0x02u
#define OP_FIGURES 0x04u
#define OP_STACK 0x08u
#define OP_V2 0x10u
#define OP_WAITS (0x20u | OP_FIGURES)
#define OP_FREE 0x40u
#define OP_COPY 0x80u
#define OP_FILL 0x100u
#define OP_LAUNCH 0x200u
#define OP_COLLECTIVE 0x400u
#define OP_GRAPH 0x800u
#define OP_PINNED 0x1000u

#define OP_MEMORY (OP_ALLOC | OP_FREE) /* allocates or frees memory */

enum op_tier { OP_TIER_ALWAYS, OP_TIER_AFFORDABLE, OP_TIER_REQUEST };

#define OP_ARGS_MAX 6 /* arguments kept of a call; more than OP_ARGS_SHORT need a longer record */
#define OP_ARGS_SHORT 2
#define OP_SUM_MAX 4096 /* maximum number of words to sum: more would delay the call */

/* Layers from OP_LAYER_CALLS to OP_LAYER_CALLS_END - 1 are calls of libraries; later ones are not. */
enum op_layer {
	OP_LAYER_NONE,
#define LAYER(layer, ...) OP_LAYER_##layer,
#include "layers.def"
#undef LAYER
	OP_LAYER_COUNT,
	OP_LAYER_CALLS = OP_LAYER_NONE + 1,
	OP_LAYER_CALLS_END = OP_LAYER_HOST
};

/* Ids of events: OP_EVENT_oom_kill ... */
#define OP(...)
#define EVENT(id, layer, name, ...) OP_EVENT_##name = (id),
enum op_event {
	OP_EVENT_none,
#include "ops.def"
};
#undef OP

/* Whose memory was exhausted at an oom_kill. */
enum oom_scope { OOM_SCOPE_UNKNOWN, OOM_SCOPE_GROUP, OOM_SCOPE_MACHINE, OOM_SCOPE_COUNT };

enum op_meaning {
	OP_MEANING_NONE,
	OP_MEANING_BYTES,
	OP_MEANING_POINTER,
	OP_MEANING_FUNCTION,
	OP_MEANING_STREAM,
	OP_MEANING_EVENT,
	OP_MEANING_COMMUNICATOR,
	OP_MEANING_COPY_KIND, /* from here on only the lower 32 bits of a word count: the upper bits are undefined */
	OP_MEANING_RANK,
	OP_MEANING_PROCESS, /* a process id */
	OP_MEANING_ZERO,    /* unused; keeps the position of the next one */
	OP_MEANING_COUNT
};

enum op_arg_kind { OP_ARG_NONE, OP_ARG_CALL, OP_ARG_OUT, OP_ARG_BOX, OP_ARG_SUM, OP_ARG_TYPED };

/*
 * Size of an element: log2 of its bytes, in two bits per number of ncclDataType_t; types that are not listed have 1
 * byte. Listed: int32, uint32, int64, uint64, float16, float32, float64, bfloat16. (Checked against the header by
 * tests/e2e/real_headers.py.)
 */
#define OP_TYPE(number, log2) ((unsigned int)(log2) << 2 * (number))
#define OP_TYPE_SIZES                                                                                                  \
	(OP_TYPE(2, 2) | OP_TYPE(3, 2) | OP_TYPE(4, 3) | OP_TYPE(5, 3) | OP_TYPE(6, 1) | OP_TYPE(7, 2) |               \
	 OP_TYPE(8, 3) | OP_TYPE(9, 1))
#define OP_TYPE_COUNT 12 /* float8e4m3 and float8e5m2 are the last */

/* How the probe of an export is placed; this determines its cost. */
enum call_head {
	CALL_HEAD_PLAIN,   /* probe on the first instruction, emulated: push, nop, endbr64 + push ... */
	CALL_HEAD_JUMP,	   /* probe on the conditional jump after a compare, as in libcuda */
	CALL_HEAD_STEPPED, /* no emulated instruction: single-stepped */
	CALL_HEAD_COUNT
};

/*
 * The attach cookie. Bits 0-15: operation id; 16-17: enum call_head; 18: entry only, no return trap; 19: arguments on
 * the stack are kept; 20: no arguments are kept; 24-31: number of the attach, set by probe_set.c, to disable probes
 * that are slow to close.
 */
#define COOKIE(op, head) ((unsigned long long)(op) | ((unsigned long long)(head) << 16))
#define COOKIE_ENTRY_ONLY (1ull << 18)
#define COOKIE_STACK (1ull << 19)
#define COOKIE_NO_ARGUMENTS (1ull << 20)
#define COOKIE_ATTACH(number) ((unsigned long long)(number) << 24)
#define COOKIE_ATTACH_COUNT 256
#define COOKIE_ATTACH_NUMBER(c) ((unsigned int)((c) >> 24) & (COOKIE_ATTACH_COUNT - 1))
#define COOKIE_OP(c) ((unsigned int)((c)&0xffff))
#define COOKIE_HEAD(c) ((unsigned int)(((c) >> 16) & 0x3))

/* State of one attach, by its number (COOKIE_ATTACH). */
enum attach_state {
	ATTACH_ON,
	ATTACH_OFF,	/* detached: its open calls never return */
	ATTACH_CLOSING, /* being detached to keep the budget: no call begins, open calls may still return */
	ATTACH_THINNED, /* detached to keep the budget: its open calls are counted without a time */
};
