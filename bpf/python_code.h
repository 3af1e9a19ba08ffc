// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Code objects of Python: what tells two of them at one address apart, and the copy of one that was not sent yet.
 *
 * A code object that was freed may be followed by another one at its address. A probe in the function of the
 * interpreter that frees them counts by address. While that probe is not attached, each code object of a stack is read
 * instead, and its numbers and pointers tell.
 */
#pragma once

#include "code_watch.h"
#include "stack_ring.h"
#include "stack_scratch.h"

struct code_key {
	__u64 code; /* address */
	__u32 tgid;
	__u32 pad;
};

/* Code objects that were sent: their mark. One that is evicted is sent again. */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct code_key);
	__type(value, __u64);
} codes_seen SEC(".maps");

/* Hash of what tells the current process from others, also from earlier ones with its number. */
static __always_inline __u64 code_base(__u32 exec_gen)
{
	struct task_struct *leader = bpf_get_current_task_btf()->group_leader;

	return unwind_hash(leader ? leader->start_boottime : 0, (__u64)exec_gen << 32 | code_tgid());
}

/* Hash of the numbers and pointers in a code object. Return: 0 if it cannot be read */
VERIFIED_ALONE __u64 code_identity(struct stack_scratch *s, struct interpreter *interpreter, __u64 code)
{
	__u64 hash = 0;
	__u32 i, n;

	if (!s || !interpreter)
		return 0;
	n = interpreter->layout.n_identity * (__u32)sizeof(s->python.words[0]);
	keep(n);
	if (n > sizeof(s->python.words))
		return 0;
	if (bpf_probe_read_user(s->python.words, n, (void *)(code + interpreter->layout.code_identity)))
		return 0;
	for (i = 0; i < PYTHON_IDENTITY_WORDS; i++)
		hash = unwind_hash(hash, i < interpreter->layout.n_identity ? s->python.words[i] : 0);
	return hash;
}

/* What tells a code object from those that were or will be at its address in this process. */
static __always_inline __u64 code_version(struct stack_scratch *s, struct interpreter *interpreter, __u64 code)
{
	struct python_scratch *p = &s->python;

	if (p->watch)
		return (__u64)p->watch << 32 | READ_ONCE(*code_freed_count(p->frees_of, code));
	return code_identity(s, interpreter, code);
}

/* The same, for all processes. Return: 0 if it cannot be read */
static __always_inline __u64 code_mark(struct stack_scratch *s, struct interpreter *interpreter, __u64 code)
{
	__u64 version = code_version(s, interpreter, code);

	return version ? unwind_hash(code_base(s->record.exec_gen), version) | 1 : 0;
}

/*
 * Copies a string object behind the parts copied so far.
 * @at: their bytes; @is_missed: set if the object could not be read
 * Return: its bytes; 0: it is none, or is not in one piece
 */
static __always_inline __u32 code_text_copy(struct python_scratch *p, const struct python_layout *l, __u64 object,
					    __u32 at, bool *is_missed)
{
	struct {
		__u64 n_references, type, length, hash, state;
	} head;
	__u32 state, kind, n;

	if (!object)
		return 0;
	if (bpf_probe_read_user(&head, sizeof(head), (void *)object)) {
		*is_missed = true;
		return 0;
	}
	state = (__u32)head.state;
	kind = PYTHON_TEXT_KIND(state);
	if (head.type != l->text_type || !PYTHON_TEXT_IS_COMPACT(state))
		return 0;
	n = PYTHON_TEXT_HEAD(l->minor, PYTHON_TEXT_IS_ASCII(state));
	n += (head.length < CODE_TEXT_MAX ? (__u32)head.length : CODE_TEXT_MAX) * kind;
	if (n > CODE_TEXT_MAX)
		n = CODE_TEXT_MAX;
	keep(n);
	if (n > CODE_TEXT_MAX)
		return 0;
	if (bpf_probe_read_user(CODE_PARTS(p) + (at & (CODE_TEXTS_MAX - 1)), n, (void *)object)) {
		*is_missed = true;
		return 0;
	}
	return n;
}

/* Copies the line table, likewise. */
static __always_inline __u32 code_lines_copy(struct python_scratch *p, const struct python_layout *l, __u64 object,
					     __u32 at, bool *is_missed)
{
	struct {
		__u64 n_references, type, length;
	} head;
	__u32 n;

	CODE_COPY(p)->n_lines_all = 0;
	if (!object)
		return 0;
	if (bpf_probe_read_user(&head, sizeof(head), (void *)object)) {
		*is_missed = true;
		return 0;
	}
	if (head.type != l->bytes_type || head.length > 0xffffffff)
		return 0;
	CODE_COPY(p)->n_lines_all = (__u32)head.length;
	n = CODE_COPY(p)->n_lines_all < CODE_LINES_MAX ? CODE_COPY(p)->n_lines_all : CODE_LINES_MAX;
	keep(n);
	if (n > CODE_LINES_MAX)
		return 0;
	if (bpf_probe_read_user(CODE_PARTS(p) + (at & (CODE_TEXTS_MAX - 1)), n, (void *)(object + PYTHON_BYTES_DATA))) {
		*is_missed = true;
		return 0;
	}
	return n;
}

#define CODE_BYTES_WITHOUT_CODE 176 /* of a code object of 3.9 or 3.10 */
#define CODE_WORD(p, offset) (*(__u64 *)(CODE_PARTS(p) + CODE_TEXTS_MAX + ((offset) & (PYTHON_CODE_BYTES - 1))))

/*
 * Copies a code object into the scratch.
 * Return: bytes of the record; 0: it is no code object; negative: a part could not be read, and is missing
 */
VERIFIED_ALONE long code_copy(struct stack_scratch *s, struct interpreter *interpreter, __u64 code)
{
	__u64 name, qualname, file, lines;
	const struct python_layout *l;
	struct python_scratch *p;
	bool is_missed = false;
	__u32 at, n;

	if (!s || !interpreter)
		return 0;
	l = &interpreter->layout;
	p = &s->python;
	n = l->code_bytecode ? l->code_bytecode : CODE_BYTES_WITHOUT_CODE;
	if (bpf_probe_read_user(CODE_PARTS(p) + CODE_TEXTS_MAX, n & (PYTHON_CODE_BYTES - 1), (void *)code) ||
	    CODE_WORD(p, PYTHON_OBJECT_TYPE) != l->code_type)
		return 0;
	CODE_COPY(p)->header = s->record.header;
	CODE_COPY(p)->type = RECORD_CODE;
	CODE_COPY(p)->code = code;
	CODE_COPY(p)->minor = l->minor;
	CODE_COPY(p)->first_line = (__u32)CODE_WORD(p, l->code_first_line);
	CODE_COPY(p)->traceable = l->code_traceable ? (__u32)CODE_WORD(p, l->code_traceable) * PYTHON_UNIT_BYTES : 0;
	CODE_COPY(p)->pad[0] = CODE_COPY(p)->pad[1] = 0;
	name = CODE_WORD(p, l->code_name);
	qualname = l->code_qualname ? CODE_WORD(p, l->code_qualname) : 0;
	file = CODE_WORD(p, l->code_file);
	lines = CODE_WORD(p, l->code_lines);
	at = n = code_text_copy(p, l, name, 0, &is_missed);
	CODE_COPY(p)->n_name = n;
	n = code_text_copy(p, l, qualname, at, &is_missed);
	CODE_COPY(p)->n_qualname = n;
	at += n;
	n = code_text_copy(p, l, file, at, &is_missed);
	CODE_COPY(p)->n_file = n;
	at += n;
	CODE_COPY(p)->n_lines = code_lines_copy(p, l, lines, at, &is_missed);
	return is_missed ? -1 : 1;
}

/* Sends a code object unless it was sent. @i: index of its frame. Return: enum code_sent */
enum code_sent { CODE_SENT, CODE_IS_NONE, CODE_LOST };

VERIFIED_ALONE int code_send(struct stack_scratch *s, struct interpreter *interpreter, __u32 i)
{
	struct code_key key = {};
	struct python_scratch *p;
	__u64 mark, *seen;
	long copied;
	__u32 n;

	if (!s || !interpreter)
		return CODE_LOST;
	p = &s->python;
	i &= STACK_PYTHON_MAX - 1;
	key.code = s->record.python[i].code;
	key.tgid = code_tgid();
	if (!key.code)
		return CODE_SENT;
	mark = code_mark(s, interpreter, key.code);
	if (!mark)
		return CODE_IS_NONE;
	seen = bpf_map_lookup_elem(&codes_seen, &key);
	if (seen && *seen == mark)
		return CODE_SENT;
	copied = code_copy(s, interpreter, key.code);
	if (!copied)
		return CODE_IS_NONE;
	n = CODE_COPY(p)->n_name + CODE_COPY(p)->n_qualname + CODE_COPY(p)->n_file + CODE_COPY(p)->n_lines;
	keep(n);
	if (n > CODE_TEXTS_MAX + CODE_LINES_MAX)
		return CODE_LOST;
	n += sizeof(struct code_record);
	if (!stacks_have_room(s->record.slot, n) || bpf_ringbuf_output(&stacks, p->copy, n, stacks_wake_flags(false)))
		return CODE_LOST;
	/* If a part is missing, it is tried again with the next new stack. */
	if (copied > 0)
		(void)bpf_map_update_elem(&codes_seen, &key, &mark, BPF_ANY);
	return CODE_SENT;
}

/*
 * Sends the code objects of a new stack that were not sent yet, after python_walk() in the same scratch. At an address
 * without a code object the Python part ends.
 * Return: 0; negative: there is no room on the ring for one
 */
VERIFIED_ALONE int python_codes_send(struct stack_scratch *s)
{
	__u32 tgid = code_tgid(), i;
	struct interpreter *interpreter;
	int sent;

	if (!s || !s->record.n_python)
		return 0;
	interpreter = bpf_map_lookup_elem(&interpreters, &tgid);
	if (!interpreter)
		return -1;
	for (i = 0; i < STACK_PYTHON_MAX; i++) {
		if (i >= s->record.n_python)
			break;
		sent = code_send(s, interpreter, i);
		if (sent == CODE_LOST)
			return -1;
		if (sent == CODE_IS_NONE) {
			s->record.n_python = i;
			s->record.python_end = STACK_END_UNREADABLE;
		}
	}
	return 0;
}
