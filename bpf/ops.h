// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Types of the operation table. The table itself is ops.def; both the kernel
 * half (argument handling by constant arrays) and the user half include it.
 */
#pragma once

/*
 * Ids have 16 bits. Below OP_ID_MAX, a power of two: those of ops.def and, from OP_CALIBRATION on, a tracer's own
 * (collectord/probes/calibrate.h). From OP_GIVEN on: given when a library is attached, to exports without a row;
 * neither arguments nor results of theirs are kept. Their places in a slot_row are behind those of ids below 160.
 */
#define OP_ID_MAX 512
#define OP_CALIBRATION (OP_ID_MAX - 4)
#define OP_GIVEN (OP_ID_MAX + 160)
#define OP_GIVEN_MAX 1024
#define OP_NAME_BYTES 64 /* most of a name that is given an id, with its NUL; of these letters alone */
#define OP_NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* Traits of an operation: ops.def tells what each says. */
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

#define OP_MEMORY (OP_ALLOC | OP_FREE) /* changes what memory there is */

enum op_tier { OP_TIER_ALWAYS, OP_TIER_AFFORDABLE, OP_TIER_REQUEST };

#define OP_ARGS_MAX 6 /* kept of a call; more than OP_ARGS_SHORT make its record longer */
#define OP_ARGS_SHORT 2
#define OP_SUM_MAX 4096 /* words that are summed: reading more would hold the call up */

/* From OP_LAYER_CALLS on, below OP_LAYER_CALLS_END: calls of libraries; what comes after is none. */
enum op_layer {
	OP_LAYER_NONE,
#define LAYER(layer, ...) OP_LAYER_##layer,
#include "layers.def"
#undef LAYER
	OP_LAYER_COUNT,
	OP_LAYER_CALLS = OP_LAYER_NONE + 1,
	OP_LAYER_CALLS_END = OP_LAYER_HOST
};

/* Ids of what is no call: OP_EVENT_oom_kill ... */
#define OP(...)
#define EVENT(id, layer, name, ...) OP_EVENT_##name = (id),
enum op_event {
	OP_EVENT_none,
#include "ops.def"
};
#undef OP

/* Whose memory an oom_kill was about. */
enum oom_scope { OOM_SCOPE_UNKNOWN, OOM_SCOPE_GROUP, OOM_SCOPE_MACHINE, OOM_SCOPE_COUNT };

enum op_meaning {
	OP_MEANING_NONE,
	OP_MEANING_BYTES,
	OP_MEANING_POINTER,
	OP_MEANING_FUNCTION,
	OP_MEANING_STREAM,
	OP_MEANING_EVENT,
	OP_MEANING_COMMUNICATOR,
	OP_MEANING_COPY_KIND, /* from here on 32 bits of a word: callers may leave anything above */
	OP_MEANING_RANK,
	OP_MEANING_PROCESS, /* a process id */
	OP_MEANING_ZERO,    /* nothing; keeps the place of what follows */
	OP_MEANING_COUNT
};

enum op_arg_kind { OP_ARG_NONE, OP_ARG_CALL, OP_ARG_OUT, OP_ARG_BOX, OP_ARG_SUM, OP_ARG_TYPED };

/*
 * Bytes of an element, as log2 in two bits by the number of its type in ncclDataType_t; 1 where none is set: int32,
 * uint32, int64, uint64, float16, float32, float64, bfloat16. (The header is asked: tests/e2e/real_headers.py.)
 */
#define OP_TYPE(number, log2) ((unsigned int)(log2) << 2 * (number))
#define OP_TYPE_SIZES                                                                                                  \
	(OP_TYPE(2, 2) | OP_TYPE(3, 2) | OP_TYPE(4, 3) | OP_TYPE(5, 3) | OP_TYPE(6, 1) | OP_TYPE(7, 2) |               \
	 OP_TYPE(8, 3) | OP_TYPE(9, 1))
#define OP_TYPE_COUNT 12 /* float8e4m3 and float8e5m2 are the last */

/* Calls of one export cost and behave alike, whatever their operation. */
enum call_head {
	CALL_HEAD_PLAIN,   /* probe on the first instruction, emulated: push, nop, endbr64 + push ... */
	CALL_HEAD_JUMP,	   /* probe on the conditional jump after a compare, as in libcuda */
	CALL_HEAD_STEPPED, /* no cheap place: single-stepped */
	CALL_HEAD_COUNT
};

/*
 * The attach cookie. Bits 0-15: operation id; 16-17: enum call_head; 18: entry
 * only, no return trap; 19: arguments on the stack are kept; 20: a form whose
 * arguments are not kept; 24-31: number of the attach, set by probe_set.c, by
 * which probes that are slow to close are switched off.
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
