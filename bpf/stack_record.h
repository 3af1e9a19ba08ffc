// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Stacks of calls, shared by the kernel half and the daemon: rules of unwinding, mappings of a process, and the records
 * on the ring `stacks`.
 *
 * A call that becomes a record carries the number of its stack. A stack that was not sent yet goes on the ring before
 * the record of its call: as frames, or, where a rule was missing, as a copy of the stack's memory, which the daemon
 * unwinds.
 */
#pragma once

#include "record.h"

/* ---- rules of unwinding ---- */

/*
 * Rules are kept by page of a file's code, of UNWIND_PAGE bytes whatever the machine's pages are. A row: from this
 * offset in the page on, up to the next row, this rule holds. The first row of a page has offset 0.
 *
 * bits 31-20 offset in the page; 19-0 the rule:
 *   bit 19      base of the CFA: 0 the stack pointer, 1 the frame pointer
 *   bits 18-16  where the caller's frame pointer is: 0 unchanged, 1 an escape, k > 1: saved at CFA - 8 k
 *   bits 15-0   CFA - base, in units of 8 bytes
 * The return address is at CFA - 8. An escape has its kind in bits 15-12 and a value in bits 11-0.
 */
#define UNWIND_PAGE_SHIFT 12
#define UNWIND_PAGE (1u << UNWIND_PAGE_SHIFT)
#define UNWIND_ROW(offset, rule) ((__u32)(offset) << 20 | (rule))
#define UNWIND_ROW_OFFSET(row) ((row) >> 20)
#define UNWIND_ROW_RULE(row) ((row)&0xfffffu)
#define UNWIND_RULE(is_frame, slot, words) ((__u32)(is_frame) << 19 | (__u32)(slot) << 16 | (words))
#define UNWIND_RULE_IS_FRAME(rule) ((rule) >> 19 & 1)
#define UNWIND_RULE_SLOT(rule) ((rule) >> 16 & 7)
#define UNWIND_RULE_WORDS(rule) ((rule)&0xffffu)
#define UNWIND_SLOT_UNCHANGED 0u
#define UNWIND_SLOT_ESCAPE 1u
#define UNWIND_ESCAPE(kind, value) (UNWIND_RULE(0, UNWIND_SLOT_ESCAPE, (__u32)(kind) << 12 | (value)))
#define UNWIND_ESCAPE_KIND(rule) ((rule) >> 12 & 15)
#define UNWIND_ESCAPE_VALUE(rule) ((rule)&0xfffu)

enum unwind_escape {
	UNWIND_STOP = 1,   /* the outermost frame: its return address is undefined */
	UNWIND_GAP,	   /* no function is described here */
	UNWIND_PLT,	   /* CFA is SP + 8, and 8 more from byte 11 of each 16 on */
	UNWIND_SIGNAL,	   /* frame of a signal: registers are in the kernel's signal frame */
	UNWIND_SIDE,	   /* value: index in unwind_sides */
	UNWIND_LOST,	   /* not supported: another register as base, ... */
	UNWIND_FRAME_POINTER, /* not described, but the code keeps frame pointers: CFA = BP + 16, BP at CFA - 16 */
};

/* A rule that does not fit in a row: CFA = (is_deref ? *(base + base_offset) : base + base_offset) + add */
#define UNWIND_SIDES 4096
struct unwind_side {
	__s32 base_offset;
	__s32 add;
	__s32 frame_offset; /* CFA - frame_offset is where the caller's frame pointer is; 0: unchanged */
	__u8 is_frame;	    /* base: 0 stack pointer, 1 frame pointer */
	__u8 is_deref;
	__u8 is_frame_at_base; /* base + frame_offset is where the caller's frame pointer is, 0 included */
	__u8 pad;
};

/* Registers of a frame. */
struct unwind_registers {
	__u64 ip;
	__u64 sp;
	__u64 frame_pointer;
	__u32 is_exact; /* ip is of the instruction itself, not behind a call: a signal interrupted the frame */
	__u32 pad;
};

/*
 * Arrays of words in blocks: one element of the map each. A page's entry is first row << 10 | number of rows. All rows
 * of a page are in one block; row 0 is never used.
 */
#define UNWIND_BLOCK 1024u /* words of a block */
#define UNWIND_PAGES (2u << 20)
#define UNWIND_ROWS (1u << 20)
#define UNWIND_PAGE_ROWS_MAX 1023u
#define UNWIND_PAGE_UNKNOWN 0u /* its rules were not read yet */
#define UNWIND_PAGE_ASKED 1u   /* the same, and the daemon knows */
#define UNWIND_PAGE_BARE 2u    /* it has no rules: frame pointers are tried */
#define UNWIND_PAGE_ENTRY(first, n) ((__u32)(first) << 10 | (n))
#define UNWIND_PAGE_FIRST(entry) ((entry) >> 10)
#define UNWIND_PAGE_N(entry) ((entry)&0x3ffu)

/* ---- mappings of a process ---- */

#define STACK_MAPPINGS_MAX 256 /* executable mappings of one process; 67 seen with PyTorch */
#define STACK_PROCESSES_MAX 1024

struct stack_mapping {
	__u64 start;
	__u32 n_pages;	  /* of UNWIND_PAGE bytes */
	__u32 first_page; /* index of its first page in unwind_pages; 0: no file, frame pointers are tried */
};

/* Value of map `stack_maps`, written by the daemon; ascending and without overlap. */
struct stack_maps {
	__u32 n;
	__u32 tag;	      /* number of this list, never used again; 0: none */
	__u32 exec_gen;	      /* of the process when its mappings were read */
	__u32 loader_changes; /* likewise: struct process_entry */
	__u64 exec_vm;	      /* likewise: its executable pages that it cannot write */
	__u32 is_proved;      /* 0; set by the kernel half once it has compared loader_changes: from then on a change ends tag */
	__u32 pad;
	__u64 changes; /* 0; state of the process's mappings at which the kernel half has compared the list with them */
	__u64 all;     /* unwind_mapping_add() of all mappings; 0: not known */
	__u64 files[STACK_MAPPINGS_MAX]; /* unwind_mapping_file() of each */
	struct stack_mapping mappings[STACK_MAPPINGS_MAX];
};

/* ---- records ---- */

#define STACK_ID_ONCE (1ull << 63) /* in the id of a copy whose mappings are not known: no other call or wait has it */
#define STACK_ID_WAIT (1ull << 62) /* beside that one: of a wait, which may turn out to be too short to be told */

#define STACK_NATIVE_MAX 128
#define STACK_PYTHON_MAX 128
#define STACK_RUNS_MAX 64
#define STACK_TRAPS_MAX 8
#define STACK_COPY_MAX 65536u
#define STACK_NATIVE_FIRST 1 /* the first frame that is found by unwinding: before it is the traced function */
#define STACK_SCRATCHES_PER_CPU 2 /* buffers in which stacks are made */

/* Key of map `stacks_seen`: a stack that was sent. */
struct stack_key {
	__u64 id;
	__u32 tgid;
	__u32 exec_gen;
};

enum stack_end {
	STACK_END_NONE,	      /* of the Python part: the thread runs no Python */
	STACK_END_COMPLETE,   /* up to the start of the thread, or of a context of makecontext(3) */
	STACK_END_DEPTH,      /* more frames than there is room for */
	STACK_END_RULE,	      /* a rule is missing: the record has a copy of the stack */
	STACK_END_GAP,	      /* no rule describes this code */
	STACK_END_LOST,	      /* a rule is of a kind that is not supported */
	STACK_END_UNREADABLE, /* memory of the stack could not be read */
	STACK_END_CHANGED,    /* mappings changed meanwhile */
	STACK_END_FRAME_POINTERS, /* some frames were found by frame pointers: callers may be missing */
	STACK_END_LARGE,      /* the copy is cut: the stack is larger than STACK_COPY_MAX */
	STACK_END_LAYOUT,     /* the interpreter is of a version that is not understood */
	STACK_END_INTERPRETER, /* of the Python part: sub-interpreters run, and frames of one or of its callers may be missing */
	STACK_END_COUNT
};

/*
 * Innermost first. The first is the traced function itself (address of its probe), the others are return addresses. Of
 * a wait the first has address 0, and is no frame.
 */
struct stack_native {
	__u64 ip;
	__u64 cfa; /* stack pointer of the caller after the return; 0: not known */
};

/* Innermost first. */
struct stack_python {
	__u64 code;	   /* address of the code object; 0: an entry from C, no frame */
	__u64 instruction; /* offset from the code object's first instruction, bytes; negative: not started. Of a
			      caller: of its call */
	__u64 frame;	   /* address of the interpreter's frame */
};

/*
 * CPython 3.10 and 3.11: where an activation of the interpreter's loop is on the stack, and its innermost frame. From
 * 3.12 on an entry with code 0 is on the stack of each activation, at `frame`. Before 3.10 nothing tells.
 */
struct stack_run {
	__u64 at;
	__u64 frame;
};

/* On the ring `stacks`, before the first stack that needs them: executable mappings of the process, ascending. */
struct mappings_record {
	RECORD_HEADER;
	__u64 exec_vm;
	__u64 vdso; /* start of the kernel's own code among them */
	__u64 all;  /* unwind_mapping_add() of them */
	__u32 loader_changes;
	__u32 n;
	struct mapped_record mapped[STACK_MAPPINGS_MAX];
};

/* A return address that a probe has replaced on the stack. */
struct stack_trap {
	__u64 slot;
	__u64 address;
};

/* On the ring `stacks`. `memory`: n_memory bytes from `sp` on, only with STACK_END_RULE and STACK_END_LARGE. */
struct stack_record {
	RECORD_HEADER;
	__u64 id;      /* as in struct call_record */
	__u64 ip, sp, frame_pointer; /* registers after the return of the traced function or system call, or in the page fault */
	__u64 exec_vm; /* executable pages of the process: differs after a mapping */
	__u64 mappings; /* with memory: unwind_mapping_add() of all; 0: not known; or: */
#define STACK_MAPPINGS_UNCOUNTED 1 /* the kernel cannot list them */
	__u32 tag;     /* of its mappings; 0: they were not known */
	__u32 loader_changes;
	__u32 n_memory;
	__u16 n_native;
	__u16 n_python;
	__u16 n_runs;
	__u16 n_traps;
	__u8 native_end; /* enum stack_end, as the next */
	__u8 python_end;
	__u8 python_minor; /* 3.minor; 0: not known */
	__u8 is_exact;	   /* ip is of the instruction itself, which waits in a page fault */
	struct stack_native native[STACK_NATIVE_MAX];
	struct stack_python python[STACK_PYTHON_MAX];
	struct stack_run runs[STACK_RUNS_MAX];
	struct stack_trap traps[STACK_TRAPS_MAX];
	__u8 memory[];
};
_Static_assert(sizeof(struct stack_record) % 8 == 0, "stack_record is ABI between both halves");

/*
 * On the ring `calls`: a wait between calls of WAIT_LEAST_NS or more, and its stack. Some of them alone: so many in a
 * second of one process (wait_stack.h).
 */
struct wait_record {
	RECORD_HEADER;
	__u64 stack; /* id of its stack */
	__u64 ns;
	struct wait_key key; /* of its row in `waits` */
};
_Static_assert(sizeof(struct wait_record) == 96, "wait_record is ABI between both halves");

/* Stacks of waits that were taken in a second, CLOCK_MONOTONIC: at places where waits are long, and at new ones. */
struct wait_stacks {
	__u32 second;
	__u16 n_long, n_new;
};

/*
 * On the ring `stacks`, before the first stack with it: a code object of Python. `bytes` are copies of its parts one
 * after another, unread: the parser reads them.
 */
#define CODE_TEXT_MAX 1024u   /* bytes of a string object with its head */
#define CODE_LINES_MAX 61440u /* bytes of a line table */
struct code_record {
	RECORD_HEADER;
	__u64 code;	  /* its address */
	__u32 first_line;
	__u16 minor;	  /* 3.minor of the interpreter */
	__u16 n_name;	  /* bytes of the copy of each string object, from its start on; 0: none */
	__u16 n_qualname;
	__u16 n_file;
	__u32 n_lines;	   /* bytes of the line table that were copied, without the object's head */
	__u32 n_lines_all; /* bytes that it has */
	__u32 traceable;   /* a frame before this offset, bytes, has not begun: Python hides it */
	__u32 pad[2];
	__u8 bytes[];	   /* name, qualname, file, lines */
};
_Static_assert(sizeof(struct code_record) == 88, "code_record is ABI between both halves");
#define CODE_RECORD_HEAD __builtin_offsetof(struct code_record, bytes)
