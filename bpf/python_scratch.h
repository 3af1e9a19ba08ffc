// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What the walk of Python frames keeps, a part of struct stack_scratch. Frames and the copy of a code object are never
 * needed at the same time.
 */
#pragma once

#include "maps.h"
#include "stack_record.h"

/*
 * Memory with frames: the page of a frame, up to the end of the frame; and one frame alone, which is elsewhere. Offsets
 * in it are masked, and a frame's fields follow them.
 */
#define PYTHON_WINDOW 4096u /* a power of two */
#define PYTHON_ALONE (2 * PYTHON_WINDOW)
#define PYTHON_MEMORY (PYTHON_ALONE + PYTHON_WINDOW + 2 * PYTHON_FRAME_BYTES) /* as the verifier sees the masks */

#define CODE_TEXTS_MAX (4 * CODE_TEXT_MAX) /* three texts; a power of two for the verifier */

struct python_scratch {
	__u64 self;	/* thread pointer */
	__u64 frees_of; /* code_frees_of() the process */
	__u64 next;	/* address of the frame that the next step reads; 0: none */
	__u64 last;	/* address of the frame read last; 0: none */
	__u64 run;	/* address of the innermost struct _PyCFrame; 0: none, or none that is recorded */
	__u64 slot;	/* where the state of the thread was found: as in struct interpreter; 0: not kept */
	__u64 window;	/* address of memory[0] */
	__u32 n_window; /* bytes that were read; 0: none */
	__u32 watch;	/* number of the probe that sees code objects freed; 0: none */
	__u32 is_sub;	/* of a sub-interpreter */
	__u32 none_of;	/* process that had no interpreter when it was looked for last; 0: none */
	__u32 none_at;	/* interpreters_noted before that */
	__u64 words[PYTHON_IDENTITY_WORDS]; /* of a code object */
	union {
		__u64 aligned;
		__u8 memory[PYTHON_MEMORY];
		__u8 thread[2 * PYTHON_THREAD_BYTES];
		__u8 copy[sizeof(struct code_record) + CODE_TEXTS_MAX + CODE_LINES_MAX];
	};
};

#define CODE_COPY(p) ((struct code_record *)(p)->copy)
#define CODE_PARTS(p) ((p)->copy + sizeof(struct code_record))
