// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Where a Python interpreter keeps the frames of its threads, shared by the kernel half, the daemon and the parser.
 *
 * Addresses are those of one process. In the parser's answer about a file they are relative to the start of the first
 * executable mapping of the file; the daemon adds that start.
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

/* How the state of the current thread is found. */
enum python_thread {
	PYTHON_THREAD_NONE,
	PYTHON_THREAD_GLIBC,  /* pthread_getspecific(3) of glibc; `key` has the key */
	PYTHON_THREAD_MUSL,   /* the same of musl 1.2 */
	PYTHON_THREAD_LOCAL,  /* thread-local variable of the program: thread pointer + `variable` */
	PYTHON_THREAD_MODULE, /* of a library: at `variable` in its block; `key` has the number of the library */
	PYTHON_THREAD_COUNT
};

/* What the thread state points to. */
enum python_start {
	PYTHON_START_OBJECT, /* a frame object: CPython 3.9, 3.10 */
	PYTHON_START_RUN,    /* struct _PyCFrame, which points to a frame: 3.11, 3.12 */
	PYTHON_START_FRAME,  /* a frame: from 3.13 on */
	PYTHON_START_COUNT
};

/* What a frame has as its instruction. */
enum python_instruction {
	PYTHON_INSTRUCTION_BYTES, /* int, offset in bytes: 3.9 */
	PYTHON_INSTRUCTION_UNITS, /* int, offset in units of two bytes: 3.10 */
	PYTHON_INSTRUCTION_POINTER,
	PYTHON_INSTRUCTION_COUNT
};

#define PYTHON_THREAD_BYTES 192 /* of a thread state, as far as it is read */
#define PYTHON_FRAME_BYTES 128	/* of a frame, likewise */
#define PYTHON_CODE_BYTES 256	/* of a code object, likewise */
#define PYTHON_UNIT_BYTES 2	/* of the bytecode */

/* The heads of all objects of builds with a GIL. */
#define PYTHON_OBJECT_TYPE 8
#define PYTHON_TEXT_LENGTH 16
#define PYTHON_TEXT_STATE 32
#define PYTHON_TEXT_KIND(state) ((state) >> 2 & 7) /* bytes of a character */
#define PYTHON_TEXT_IS_COMPACT(state) ((state) >> 5 & 1)
#define PYTHON_TEXT_IS_ASCII(state) ((state) >> 6 & 1)
#define PYTHON_BYTES_LENGTH 16
#define PYTHON_BYTES_DATA 32

/* Bytes of a string object before its characters. */
#define PYTHON_TEXT_HEAD(minor, is_ascii) ((minor) < 12 ? ((is_ascii) ? 48u : 72u) : ((is_ascii) ? 40u : 56u))

struct python_layout {
	__u64 key;	/* address: see enum python_thread. Of a key: an int that says whether there is one, and it */
	__s64 variable; /* offset: see enum python_thread */
	__u64 main;	/* address of the pointer to the state of the main interpreter, behind that to the newest one */
	__u64 code_type; /* addresses of the types of code, string and bytes objects */
	__u64 text_type;
	__u64 bytes_type;
	__u8 minor;  /* 3.minor; 0: the interpreter is not understood, and the rest is 0 */
	__u8 thread; /* enum python_thread, python_start, python_instruction */
	__u8 start;
	__u8 instruction;
	__u8 shim;     /* a frame with this owner or a higher one is an entry from C; 0: there are none */
	__u8 tag_mask; /* bits of a pointer to a code object that are no address */
	/* Up to 3.11 the state found may be that of another interpreter than runs: from `main` on, the address of the
	   state that holds the GIL; 0: the state is right */
	__u16 holder;
	/* Offsets in a thread state */
	__u8 thread_interpreter;
	__u8 thread_start; /* see enum python_start */
	__u8 thread_run; /* of the pointer to the innermost struct _PyCFrame, 3.10 and 3.11; 0: runs are not recorded */
	__u8 thread_self; /* what pthread_self(3) returns in it */
	/* in struct _PyCFrame */
	__u8 run_frame; /* 3.10: PYTHON_RUN_WITHOUT_FRAME */
	__u8 run_link;
	/* in a frame */
	__u8 frame_link;
	__u8 frame_code;
	__u8 frame_instruction;
	__u8 frame_owner;
	__u8 frame_entry; /* 3.11: not 0 in the outermost frame of a run; 0: no such thing */
	__u8 frame_bytes; /* to be read of it */
	/* in a code object */
	__u8 code_first_line;
	__u8 code_file;
	__u8 code_name;
	__u8 code_qualname; /* 0: it has none */
	__u8 code_lines;
	__u8 code_traceable; /* number of units before the first one that is traced; 0: it has no such number */
	__u8 code_bytecode;  /* 0: elsewhere */
	/* Words that no two objects at one address have in common, and that do not change: numbers, pointers to names,
	 * lines */
	__u8 code_identity;
	__u8 n_identity; /* number of words of 8 bytes */
	__u8 pad_last[3];
};
_Static_assert(sizeof(struct python_layout) == 80, "python_layout is ABI between both halves");

#define PYTHON_RUN_WITHOUT_FRAME 255 /* each frame has its own struct _PyCFrame, in the same order */
#define PYTHON_IDENTITY_WORDS 14     /* at most */
