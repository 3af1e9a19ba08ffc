// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Types of the operation table. The table itself is ops.def; both the kernel
 * half (argument handling by constant arrays) and the user half include it.
 */
#pragma once

#define OP_ID_MAX 64 /* ids are below this; width of the per-process index of cells */

#define OP_SYNC 0x01u
#define OP_ALLOC 0x02u

enum op_layer { OP_LAYER_NONE, OP_LAYER_RUNTIME, OP_LAYER_DRIVER, OP_LAYER_COUNT };

enum op_meaning {
	OP_MEANING_NONE,
	OP_MEANING_BYTES,
	OP_MEANING_POINTER,
	OP_MEANING_FUNCTION,
	OP_MEANING_STREAM,
	OP_MEANING_EVENT,
	OP_MEANING_COPY_KIND,
	OP_MEANING_COUNT
};

enum op_arg_kind { OP_ARG_NONE, OP_ARG_REGISTER, OP_ARG_OUT };

/* Calls of one export cost and behave alike, whatever their operation. */
enum call_head {
	CALL_HEAD_PLAIN,   /* probe on the first instruction, emulated: push, nop, endbr64 + push ... */
	CALL_HEAD_JUMP,	   /* probe on the conditional jump after a compare, as in libcuda */
	CALL_HEAD_STEPPED, /* no cheap place: single-stepped */
	CALL_HEAD_COUNT
};

/*
 * The attach cookie. Bits 0-7: operation id; 8-9: enum call_head; 10: entry
 * only, no return trap; 16-23: number of the attach, set by probe_set.c, by
 * which probes that are slow to close are switched off.
 */
#define COOKIE(op, head) ((unsigned long long)(op) | ((unsigned long long)(head) << 8))
#define COOKIE_ENTRY_ONLY (1ull << 10)
#define COOKIE_ATTACH(number) ((unsigned long long)(number) << 16)
#define COOKIE_ATTACH_COUNT 256
#define COOKIE_ATTACH_NUMBER(c) ((unsigned int)((c) >> 16) & (COOKIE_ATTACH_COUNT - 1))
#define COOKIE_OP(c) ((unsigned int)((c)&0xff))
#define COOKIE_HEAD(c) ((unsigned int)(((c) >> 8) & 0x3))
