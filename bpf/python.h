// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The Python frames of the current thread: from the thread pointer to the state of the thread, and from there from
 * frame to frame. The thread itself is in the probe, so nothing changes meanwhile.
 *
 * Every address comes from memory that the process may write. A wrong one ends the walk, or yields frames whose code
 * objects are refused when they are first sent (python_code.h). A state that is not of this thread is refused here.
 */
#pragma once

#include "abi.h"
#include "python_code.h"
#include "stack_scratch.h"

/* Of glibc, the same from 2.31 to 2.43: struct pthread from the thread pointer on, x86-64. */
#define GLIBC_KEYS 0x310 /* first block of values */
#define GLIBC_BLOCKS 0x510
#define GLIBC_KEYS_OF_BLOCK 32
#define GLIBC_KEY_BYTES 16 /* a value behind its sequence number */
#define GLIBC_KEYS_MAX 1024
#define GLIBC_VECTOR 8 /* pointer to the blocks of libraries, which are 16 bytes each; before them their number */
#define GLIBC_VECTOR_BYTES 16
#define GLIBC_LIBRARIES_MAX 65536 /* guess: more than any program loads */
/* Of musl 1.2 */
#define MUSL_KEYS 0x80 /* pointer to the values */
#define MUSL_KEYS_MAX 128

#define PYTHON_NEAR (2 * PYTHON_WINDOW) /* older frames lie within this below a frame, if both are in one piece */

static __always_inline __u64 python_read(__u64 address)
{
	__u64 word = 0;

	return bpf_probe_read_user(&word, sizeof(word), (void *)address) ? 0 : word;
}

/* ---- memory of the stack ---- */

/* Offset in s->memory of n bytes of the stack that were read with the native frames; negative: they were not. */
static __always_inline long python_stack_place(const struct stack_scratch *s, __u64 address, __u32 n)
{
	__u64 into = address - s->record.sp;

	return !(into & (sizeof(__u64) - 1)) && into < STACK_COPY_MAX && into + n <= s->walk.n_filled ? (long)into : -1;
}

/* A word of the stack, or of elsewhere. Return: 0, or else it cannot be read */
static __always_inline long python_stack_word(const struct stack_scratch *s, __u64 address, __u64 *ret)
{
	long at = python_stack_place(s, address, sizeof(*ret));

	if (at < 0)
		return bpf_probe_read_user(ret, sizeof(*ret), (void *)address);
	keep(at);
	*ret = *stack_word_at(s, at);
	return 0;
}

/* ---- the state of the thread ---- */

/* Where the value of a key of pthread_getspecific(3) is. Return: 0: nowhere */
static __always_inline __u64 python_key_place(const struct python_layout *l, __u64 self)
{
	struct {
		__u32 is_set, key;
	} key;
	__u64 block;

	if (bpf_probe_read_user(&key, sizeof(key), (void *)l->key) || !key.is_set)
		return 0;
	if (l->thread == PYTHON_THREAD_MUSL) {
		block = key.key < MUSL_KEYS_MAX ? python_read(python_read(self) + MUSL_KEYS) : 0;
		return block ? block + key.key * sizeof(__u64) : 0;
	}
	if (key.key < GLIBC_KEYS_OF_BLOCK)
		return self + GLIBC_KEYS + key.key * GLIBC_KEY_BYTES + sizeof(__u64);
	if (key.key >= GLIBC_KEYS_MAX)
		return 0;
	block = python_read(self + GLIBC_BLOCKS + key.key / GLIBC_KEYS_OF_BLOCK * sizeof(__u64));
	return block ? block + key.key % GLIBC_KEYS_OF_BLOCK * GLIBC_KEY_BYTES + sizeof(__u64) : 0;
}

/* Where a thread-local variable of a library is. Return: 0: the thread has none yet */
static __always_inline __u64 python_variable_place(const struct python_layout *l, __u64 self)
{
	__u64 number = python_read(l->key), vector = python_read(self + GLIBC_VECTOR), block;

	if (!number || number > GLIBC_LIBRARIES_MAX || !vector || python_read(vector - GLIBC_VECTOR_BYTES) < number)
		return 0;
	block = python_read(vector + number * GLIBC_VECTOR_BYTES);
	return block + 1 > 1 ? block + l->variable : 0; /* all bits set: not allocated */
}

/*
 * Where the state of a thread was found is the same offset from the thread pointer in each thread, except for blocks of
 * many keys and of libraries.
 * Return: address of the state of the current thread; 0: it runs no Python
 */
VERIFIED_ALONE __u64 python_thread_find(struct stack_scratch *s, struct interpreter *interpreter)
{
	const struct python_layout *l;
	__u64 place, self;

	if (!s || !interpreter)
		return 0;
	l = &interpreter->layout;
	self = s->python.self;
	if (l->thread == PYTHON_THREAD_LOCAL)
		place = self + l->variable;
	else if (l->thread == PYTHON_THREAD_MODULE)
		place = python_variable_place(l, self);
	else
		place = python_key_place(l, self);
	if (!place)
		return 0;
	if (l->thread == PYTHON_THREAD_LOCAL || (l->thread == PYTHON_THREAD_GLIBC && place - self < GLIBC_BLOCKS))
		s->python.slot = place - self;
	return python_read(place);
}

#define THREAD_WORD(p, offset) (*(__u64 *)((p)->thread + ((offset)&0xf8u)))

/*
 * Whether a page fault interrupted the interpreter's loop itself, or may have: 3.11 and 3.12 link a run before it has its
 * frame. @run: address of the innermost one, which is on the stack of the loop
 */
static __always_inline bool python_is_between(const struct stack_scratch *s, const struct python_layout *l, __u64 run)
{
	__u64 end = s->record.n_native > STACK_NATIVE_FIRST ? s->record.native[STACK_NATIVE_FIRST].cfa : 0;

	return s->record.is_exact && l->start == PYTHON_START_RUN && (!end || (run >= s->record.sp && run < end));
}

/*
 * Takes the state of the thread: its first frame and its first run.
 * Return: enum stack_end; STACK_END_COMPLETE: there is a first frame
 */
VERIFIED_ALONE int python_thread_take(struct stack_scratch *s, struct interpreter *interpreter, __u64 state)
{
	__u64 known[2]; /* the newest interpreter, the main one */
	__u64 of, first, holder, self;
	const struct python_layout *l;
	struct python_scratch *p;

	if (!s || !interpreter)
		return STACK_END_NONE;
	l = &interpreter->layout;
	p = &s->python;
	self = p->self;
	if (bpf_probe_read_user(p->thread, PYTHON_THREAD_BYTES, (void *)state) ||
	    THREAD_WORD(p, l->thread_self) != self) {
		WRITE_ONCE(interpreter->slot, 0);
		return STACK_END_UNREADABLE;
	}
	/* Only a state that is right tells where others are. */
	if (p->slot)
		WRITE_ONCE(interpreter->slot, p->slot);
	of = THREAD_WORD(p, l->thread_interpreter);
	first = THREAD_WORD(p, l->thread_start);
	if (!of)
		return STACK_END_UNREADABLE;
	if (l->holder || of != READ_ONCE(interpreter->main)) {
		if (bpf_probe_read_user(known, sizeof(known), (void *)(l->main - sizeof(known[0]))))
			return STACK_END_UNREADABLE;
		if (READ_ONCE(interpreter->main) != known[1])
			WRITE_ONCE(interpreter->main, known[1]);
		p->is_sub = of != known[1];
		/* There are sub-interpreters. Without the GIL nothing tells which one runs. */
		if (l->holder && known[0] != known[1]) {
			holder = python_read(l->main + l->holder);
			if (!holder || bpf_probe_read_user(p->thread, PYTHON_THREAD_BYTES, (void *)holder) ||
			    THREAD_WORD(p, l->thread_self) != self)
				return STACK_END_INTERPRETER;
			p->is_sub = THREAD_WORD(p, l->thread_interpreter) != known[1];
			first = THREAD_WORD(p, l->thread_start);
		}
	}
	p->run = l->thread_run ? THREAD_WORD(p, l->thread_run) : 0;
	if (python_is_between(s, l, first))
		return STACK_END_UNREADABLE;
	if (l->start == PYTHON_START_RUN && first && python_stack_word(s, first + l->run_frame, &first))
		return STACK_END_UNREADABLE;
	p->next = first;
	return first ? STACK_END_COMPLETE : STACK_END_NONE;
}

/* ---- runs ---- */

/* Records where one activation of the interpreter's loop is. @node: its address. Return: the next one; 0: none */
VERIFIED_ALONE __u64 python_run(struct stack_scratch *s, struct interpreter *interpreter, __u64 node, __u32 i)
{
	const struct python_layout *l;
	__u64 words[3] = {}, link, frame;
	const __u64 *from;
	long at;

	if (!s || !interpreter)
		return 0;
	l = &interpreter->layout;
	at = python_stack_place(s, node, sizeof(words));
	if (at >= 0) {
		at &= STACK_COPY_MAX - 8;
		keep(at);
		from = (const __u64 *)(s->memory + (at & (STACK_COPY_MAX - 8)));
		words[1] = from[1];
		words[2] = from[2];
	} else if (bpf_probe_read_user(words, sizeof(words), (void *)node)) {
		return 0;
	}
	link = l->run_link == 16 ? words[2] : words[1];
	frame = l->run_frame == PYTHON_RUN_WITHOUT_FRAME ? s->record.python[i & (STACK_PYTHON_MAX - 1)].frame
							 : words[1];
	/* The outermost node is no activation: it is in the state of the thread. */
	if (!link || i >= STACK_RUNS_MAX || i >= s->record.n_python)
		return 0;
	keep(i);
	s->record.runs[i & (STACK_RUNS_MAX - 1)].at = node;
	s->record.runs[i & (STACK_RUNS_MAX - 1)].frame = frame;
	s->record.n_runs = i + 1;
	return link;
}

/* Fills in the runs of the record, which nothing of its number depends on: only a new stack needs them. */
VERIFIED_ALONE int python_runs(struct stack_scratch *s)
{
	__u32 tgid = code_tgid(), i;
	struct interpreter *interpreter;
	__u64 node;

	if (!s || !s->record.n_python || !s->python.run)
		return 0;
	interpreter = bpf_map_lookup_elem(&interpreters, &tgid);
	if (!interpreter)
		return 0;
	node = s->python.run;
	for (i = 0; i < STACK_RUNS_MAX && node; i++)
		node = python_run(s, interpreter, node, i);
	return 0;
}

/* ---- frames ---- */

/*
 * Reads a frame that is not in the window: with its page, if others are likely to be there. Frames that are objects lie
 * anywhere, often one beside another: a second one of a page brings the page.
 * Return: offset in `memory`; negative: it cannot be read
 */
VERIFIED_ALONE long python_frame_read(struct stack_scratch *s, struct interpreter *interpreter, __u64 frame)
{
	__u64 into = frame & (PYTHON_WINDOW - 1), start = frame - into;
	const struct python_layout *l;
	struct python_scratch *p;
	bool is_near;
	__u32 n;

	if (!s || !interpreter)
		return -1;
	l = &interpreter->layout;
	p = &s->python;
	n = (l->frame_bytes & (PYTHON_FRAME_BYTES - 1)) + (__u32)into;
	if (l->start == PYTHON_START_OBJECT) {
		is_near = (p->last & ~(__u64)(PYTHON_WINDOW - 1)) == start && n <= PYTHON_WINDOW;
		n = PYTHON_WINDOW;
	} else {
		is_near = !p->last || p->last - frame < PYTHON_NEAR || p->window - frame < PYTHON_NEAR;
	}
	if (is_near) {
		p->window = start;
		p->n_window = n;
		if (!bpf_probe_read_user(p->memory, n & (PYTHON_ALONE - 1), (void *)start))
			return (long)into;
		p->n_window = 0;
	}
	if (bpf_probe_read_user(p->memory + PYTHON_ALONE, l->frame_bytes & (PYTHON_FRAME_BYTES - 1), (void *)frame))
		return -1;
	return PYTHON_ALONE;
}

/* Finds a frame in what was read, or reads it. Return: NULL: it cannot be read */
static __always_inline const __u8 *python_frame_find(struct stack_scratch *s, struct interpreter *interpreter,
						     __u64 frame)
{
	struct python_scratch *p = &s->python;
	__u32 n = interpreter->layout.frame_bytes;
	long at = (long)(frame - p->window);

	if ((__u64)at >= PYTHON_WINDOW || at + n > p->n_window) {
		at = python_stack_place(s, frame, n);
		if (at >= 0) {
			at &= STACK_COPY_MAX - 8;
			keep(at);
			return s->memory + (at & (STACK_COPY_MAX - 8));
		}
		at = python_frame_read(s, interpreter, frame);
		if (at < 0)
			return NULL;
	}
	p->last = frame;
	at &= PYTHON_ALONE | (PYTHON_WINDOW - 1);
	keep(at);
	return p->memory + (at & (PYTHON_ALONE | (PYTHON_WINDOW - 1)));
}

/* Offset of the instruction that a frame executes, bytes. @value: as the frame has it */
static __always_inline __u64 python_instruction_of(const struct python_layout *l, __u64 value, __u64 code)
{
	if (l->instruction == PYTHON_INSTRUCTION_POINTER)
		return value - code - l->code_bytecode;
	value = (__u64)(__s64)(__s32)value;
	return l->instruction == PYTHON_INSTRUCTION_UNITS ? value * PYTHON_UNIT_BYTES : value;
}

/*
 * Adds a frame to the hash: one multiplication after another alone, that of the sum, waits for the frame before.
 * @version: code_version(); @is_entry: see frame_entry
 */
static __always_inline __u64 python_hash_add(__u64 hash, const struct stack_python *frame, __u64 version,
					     __u64 is_entry)
{
	return unwind_hash(
		hash, (frame->code + frame->instruction * 0xd6e8feb86659fd93ull + version * 0xa0761d6478bd642full) ^
			      is_entry << 63);
}

#define PYTHON_FRAMES_AT_ONCE 16

/* Takes the next frames. Return: enum stack_end; STACK_END_NONE: p->next is the next one */
VERIFIED_ALONE int python_frames_take(struct stack_scratch *s, struct interpreter *interpreter)
{
	__u64 code, instruction, is_entry, frame, next, hash;
	const struct python_layout *l;
	struct stack_python *to;
	int end = STACK_END_NONE;
	const __u8 *memory;
	__u32 i, n;

	if (!s || !interpreter)
		return STACK_END_UNREADABLE;
	l = &interpreter->layout;
	n = s->record.n_python;
	next = s->python.next;
	hash = s->python_hash;
	_Pragma("clang loop unroll(disable)") for (i = 0; i < PYTHON_FRAMES_AT_ONCE && n < STACK_PYTHON_MAX; i++)
	{
		frame = next;
		memory = frame & (sizeof(__u64) - 1) ? NULL : python_frame_find(s, interpreter, frame);
		if (!memory) {
			end = STACK_END_UNREADABLE;
			break;
		}
		code = *(__u64 *)(memory + (l->frame_code & (PYTHON_FRAME_BYTES - 1))) & ~(__u64)l->tag_mask;
		instruction = *(__u64 *)(memory + (l->frame_instruction & (PYTHON_FRAME_BYTES - 1)));
		next = *(__u64 *)(memory + (l->frame_link & (PYTHON_FRAME_BYTES - 1)));
		if (next == frame) {
			end = STACK_END_UNREADABLE;
			break;
		}
		if (l->shim && memory[l->frame_owner & (PYTHON_FRAME_BYTES - 1)] >= l->shim)
			code = 0;
		else if (!code) { /* only an entry from C has none */
			end = STACK_END_UNREADABLE;
			break;
		}
		is_entry = l->frame_entry ? memory[l->frame_entry & (PYTHON_FRAME_BYTES - 1)] != 0 : 0;
		keep(n);
		to = &s->record.python[n & (STACK_PYTHON_MAX - 1)];
		to->frame = frame;
		to->code = code;
		to->instruction = code ? python_instruction_of(l, instruction, code) : 0;
		hash = python_hash_add(hash, to, code ? code_version(s, interpreter, code) : 0, is_entry);
		n++;
		if (!next) {
			end = s->python.is_sub ? STACK_END_INTERPRETER : STACK_END_COMPLETE;
			break;
		}
	}
	s->record.n_python = n;
	s->python_hash = hash;
	s->python.next = next;
	return end;
}

static __always_inline int python_frames(struct stack_scratch *s, struct interpreter *interpreter)
{
	int end = STACK_END_NONE;
	__u32 i;

	for (i = 0; i < STACK_PYTHON_MAX / PYTHON_FRAMES_AT_ONCE && end == STACK_END_NONE; i++)
		end = python_frames_take(s, interpreter);
	return end == STACK_END_NONE ? STACK_END_DEPTH : end;
}

/* Fills in the frames of a process that may have an interpreter. @noted: interpreters_noted */
VERIFIED_ALONE int python_walk_process(struct stack_scratch *s, __u32 noted)
{
	struct interpreter *interpreter;
	struct python_scratch *p;
	__u64 state, slot;
	__u32 tgid;
	int end;

	if (!s)
		return 0;
	p = &s->python;
	tgid = code_tgid();
	interpreter = bpf_map_lookup_elem(&interpreters, &tgid);
	if (!interpreter) {
		p->none_of = tgid;
		p->none_at = noted;
		return 0;
	}
	if (!interpreter->layout.minor) {
		s->record.python_end = STACK_END_LAYOUT;
		return 0;
	}
	s->record.python_minor = interpreter->layout.minor;
	p->self = thread_pointer(bpf_get_current_task_btf());
	p->slot = 0;
	slot = READ_ONCE(interpreter->slot);
	state = slot ? python_read(p->self + slot) : python_thread_find(s, interpreter);
	if (!state)
		return 0;
	p->window = p->last = p->run = 0;
	p->n_window = 0;
	p->is_sub = 0;
	p->watch = code_watch_of(interpreter);
	p->frees_of = code_frees_of(tgid, s->record.slot);
	s->python_hash = code_base(s->record.exec_gen);
	end = python_thread_take(s, interpreter, state);
	if (end == STACK_END_COMPLETE)
		end = python_frames(s, interpreter);
	s->record.python_end = end;
	return 0;
}

/*
 * Fills in the Python frames of the record, without the runs, and what their hash is: of code objects and instructions,
 * and of what tells a code object from earlier ones at its address. The header of the record is set before. A process
 * without an interpreter has none until one is noted: nothing is looked up.
 */
static __always_inline void python_walk(struct stack_scratch *s)
{
	__u32 noted = READ_ONCE(interpreters_noted);

	s->record.n_python = 0;
	s->record.n_runs = 0;
	s->record.python_end = STACK_END_NONE;
	s->record.python_minor = 0;
	s->python_hash = 0;
	barrier();
	if (s->python.none_of != code_tgid() || s->python.none_at != noted)
		python_walk_process(s, noted);
}
