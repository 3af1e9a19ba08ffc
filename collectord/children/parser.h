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
#include "bpf/python_layout.h"

#define PARSER_HEAD_BYTES 32
#define PARSER_SYMBOLS_MAX 256
#define PARSER_OTHERS_MAX 128 /* of these, exports without a row in ops.def */
#define PARSER_SONAME_BYTES 128
#define PARSER_SYMBOL_BYTES OP_NAME_BYTES
#define PARSER_BUILD_ID_BYTES 20
#define PARSER_INTERPRETER_BYTES_MAX (64u << 20) /* the largest seen, of CPython 3.12, has 449 KiB */

enum parser_question_kind { PARSER_ASK_LIBRARY = 1, PARSER_ASK_ROWS, PARSER_ASK_NAMES, PARSER_ASK_CODE };

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

enum parser_python_state {
	PARSER_PYTHON_NONE, /* the file has no interpreter */
	PARSER_PYTHON_OK,
	PARSER_PYTHON_VERSION,	/* its version is not understood */
	PARSER_PYTHON_THREADED, /* it is built without the GIL */
	PARSER_PYTHON_DEBUG,	/* it is built for debugging Python itself, with other layouts */
	PARSER_PYTHON_LIBC,	/* how its C library keeps data of threads is not known */
	PARSER_PYTHON_OTHER,	/* its types are not those of its version, or it does not export them or its state */
	PARSER_PYTHON_COUNT
};

/* How the frames of a Python interpreter are found. */
struct parser_python {
	uint32_t state;		     /* enum parser_python_state; `layout` and `freed` are valid only for PARSER_PYTHON_OK */
	uint32_t version;	     /* as sys.hexversion; 0: not known */
	struct python_layout layout; /* addresses: minus the start of the first executable mapping of the file */
	struct parser_collector_site freed; /* function that frees code objects; n_head 0: not found */
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
	struct parser_collector collector; /* of that interpreter, as the next */
	struct parser_python python;
	struct parser_symbol symbols[];	   /* n_symbols, by offset; several names at one offset are one entry */
};

/* ---- rules of unwinding (bpf/stack_record.h) ---- */

#define PARSER_PAGES_MAX 256

struct parser_rows_question {
	uint32_t kind; /* PARSER_ASK_ROWS */
	uint32_t n;
	uint64_t file_bytes;
	uint32_t pages[PARSER_PAGES_MAX]; /* n: file offset / UNWIND_PAGE, ascending */
};

struct parser_page {
	uint32_t page;	 /* as in the question */
	uint32_t n_rows; /* at most UNWIND_PAGE_ROWS_MAX; 0: the file has no rules for this page */
};

/*
 * n_pages of struct parser_page follow: the first of the question, as many as fit. Then n_rows rows, those of one page
 * after those of the page before, each page ascending and its first row at offset 0. Then n_sides of struct
 * unwind_side; UNWIND_SIDE has the index among these.
 */
struct parser_rows {
	uint32_t result; /* enum parser_result; the rest is valid only for PARSER_OK */
	uint32_t n_pages;
	uint32_t n_rows;
	uint32_t n_sides;
};

/* ---- names of addresses ---- */

#define PARSER_NAMES_MAX 128
#define PARSER_DEBUG_LINK_BYTES 64

struct parser_names_question {
	uint32_t kind; /* PARSER_ASK_NAMES */
	uint32_t n;
	uint64_t file_bytes;
	uint64_t device, inode, change_ns; /* of the file: what was read of it is kept for the next question */
	uint32_t is_address; /* 1: `at` are addresses as linked, of a separate debug file; 0: offsets in the file */
	uint32_t pad;
	uint64_t at[PARSER_NAMES_MAX]; /* n: of one byte of the instruction, for a caller the last one of its call */
};

struct parser_name {
	uint64_t address; /* of `at` as linked; 0: it is not in the file's code */
	uint64_t offset;  /* from the start of its symbol */
	uint32_t symbol;  /* place of its text in the texts; 0: not known */
	uint32_t file;	  /* likewise of the source file; 0: not known */
	uint32_t line;	  /* 0: not known */
	uint32_t is_exported; /* its symbol is in the dynamic table alone: a better table may know better */
};

/*
 * n of struct parser_name follow: the first of the question, as many as fit; then n_text bytes of texts, each UTF-8,
 * NUL-terminated, the first one "".
 */
struct parser_names {
	uint32_t result; /* enum parser_result; the rest is valid only for PARSER_OK */
	uint32_t n;
	uint32_t n_text;
	uint32_t debug_crc;			  /* with debug_link */
	char debug_link[PARSER_DEBUG_LINK_BYTES]; /* name of a separate file with debug data; "": none */
	uint8_t build_id[PARSER_BUILD_ID_BYTES];
	uint8_t n_build_id;
	uint8_t has_symbols; /* a full table of symbols was read, .gnu_debugdata included */
	uint8_t has_lines;   /* it has lines of source files */
	uint8_t pad;
};

/* ---- code objects of Python ---- */

#define PARSER_CODE_LINES_MAX 6000

/* struct code_record (bpf/stack_record.h) with its bytes follows. */
struct parser_code_question {
	uint32_t kind; /* PARSER_ASK_CODE */
	uint32_t n_record; /* bytes */
};

/* From this offset of the bytecode on, bytes, the line is this one; 0: none. */
struct parser_code_line {
	uint32_t from;
	uint32_t line;
};

/* n_lines of struct parser_code_line follow, ascending; then n_text bytes of texts as in struct parser_names. */
struct parser_code {
	uint32_t result; /* PARSER_OK, or PARSER_DAMAGED: it is no code object; the rest is valid only for PARSER_OK */
	uint32_t name, qualname, file; /* places of texts */
	uint32_t n_lines;
	uint32_t n_text;
	uint32_t end; /* lines are known up to this offset, bytes */
	uint32_t pad;
};

struct child_role;
extern const struct child_role parser_role;
