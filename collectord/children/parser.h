// SPDX-License-Identifier: Apache-2.0
/*
 * The protocol of the parser child: fixed-width messages over a seqpacket socket between two processes of one
 * executable. The daemon checks every field of an answer, because the file may have compromised the child.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/ops.h"

#define PARSER_HEAD_BYTES 32
#define PARSER_SYMBOLS_MAX 256
#define PARSER_OTHERS_MAX 128 /* of these, exports without a row in ops.def */
#define PARSER_SONAME_BYTES 128
#define PARSER_SYMBOL_BYTES OP_NAME_BYTES
#define PARSER_BUILD_ID_BYTES 20
#define PARSER_INTERPRETER_BYTES_MAX (64u << 20) /* the largest seen, of CPython 3.12, has 449 KiB */

enum parser_question_kind { PARSER_ASK_LIBRARY = 1 };

struct parser_question {
	uint32_t kind;
	uint32_t pad;
	uint64_t file_bytes; /* size of the file, whose descriptor comes with the question */
};

enum parser_result {
	PARSER_OK,
	PARSER_NOT_ELF,	  /* not ELF, or another class, byte order or machine */
	PARSER_DAMAGED,	  /* an offset outside the file */
	PARSER_TOO_LARGE, /* too many symbols or sections */
	PARSER_UNREADABLE,
	PARSER_RESULT_COUNT
};

/* One export that belongs to an operation of ops.def, or has no row there and is counted by its name (layers.def). */
struct parser_symbol {
	uint64_t offset;     /* offset of the function in the file, bytes */
	uint64_t size_bytes; /* size of the symbol, 0: unknown */
	uint16_t op;	     /* id of ops.def; 0: it has no row */
	uint8_t n_head;	     /* valid bytes of head */
	uint8_t pad[5];
	char name[PARSER_SYMBOL_BYTES];	 /* NUL-terminated, suffix included */
	uint8_t head[PARSER_HEAD_BYTES]; /* first bytes of the function */
};

/* Sites of one kind. */
#define PARSER_COLLECTOR_SITES 4

struct parser_collector_site {
	uint64_t offset;    /* bytes from the start of the file */
	uint64_t semaphore; /* likewise of what says that somebody listens; 0: there is none */
	uint8_t n_head;	    /* valid bytes of head */
	uint8_t pad[7];
	uint8_t head[PARSER_HEAD_BYTES];
};

/* The garbage collector of a Python interpreter. */
struct parser_collector {
	uint32_t n_begins; /* 0: not found */
	uint32_t n_ends;   /* 0: `begins` are functions, which end when they return */
	struct parser_collector_site begins[PARSER_COLLECTOR_SITES];
	struct parser_collector_site ends[PARSER_COLLECTOR_SITES];
};

struct parser_library {
	uint32_t result; /* enum parser_result; the rest is valid only for PARSER_OK */
	uint32_t n_symbols;
	uint16_t machine; /* e_machine: instruction set of the heads */
	uint16_t pad_machine;
	uint32_t n_left_out;		  /* number of exports without a row beyond PARSER_OTHERS_MAX */
	char soname[PARSER_SONAME_BYTES]; /* NUL-terminated, "" if none */
	uint8_t build_id[PARSER_BUILD_ID_BYTES];
	uint8_t n_build_id;
	uint8_t is_loader; /* exports _dl_debug_state and _r_debug: the next two fields are valid */
	uint8_t pad[2];
	uint64_t debug_state_offset; /* file offset */
	int64_t r_debug_delta;	     /* address of _r_debug minus address of _dl_debug_state */
	uint64_t interpreter_bytes;  /* size of `_PyRuntime`, the state of a Python interpreter; 0: there is none */
	int64_t interpreter_delta;   /* its address minus the start of the first executable mapping of the file */
	struct parser_collector collector; /* of that interpreter */
	struct parser_symbol symbols[];	   /* n_symbols, by offset; several names at one offset are one entry */
};

struct child_role;
extern const struct child_role parser_role;
