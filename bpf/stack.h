// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The stack of a call that becomes a record: made when the call returns, sent if no equal one was sent before. And of
 * some waits between calls: made when the thread leaves the CPU.
 *
 * The number of a stack is a hash of all that distinguishes it. A stack without the rules for it brings its memory,
 * once: the daemon unwinds it, and fills in the rules. Of what is unread on the ring, each process may have
 * STACK_COPIES_BYTES of such memory, and each user three quarters of it.
 */
#pragma once

#include "entry.h"
#include "python.h"
#include "stack_copy.h"
#include "stack_ring.h"
#include "thread_header.h"
#include "unwind.h"

#define STACKS_SEEN 32768
#define STACKS_NEAR_SETS 1024 /* a power of two */
#define STACKS_NEAR_WAYS 8    /* a power of two: a set is what one access brings */

/* Stacks that were sent. One that is evicted is sent again. */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, STACKS_SEEN);
	__type(key, struct stack_key);
	__type(value, __u32);
} stacks_seen SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STACK_SCRATCHES_PER_CPU); /* times the number of CPUs, set at load */
	__type(key, __u32);
	__type(value, struct stack_scratch);
} stack_scratches SEC(".maps");

/* Of some of them stack_near_value(), by the lower bits of their number: found without a look-up in that table. */
SHARED __u64 stacks_near[STACKS_NEAR_SETS][STACKS_NEAR_WAYS] __attribute__((aligned(64))) = {};
SHARED __u32 stacks_near_next = 0; /* way that is replaced next */
SHARED __u32 stacks_forgotten = 0; /* number of stacks that the daemon has removed from those that were sent */

SHARED struct ring_budget stack_copy_budgets[PROCESS_SLOTS] = {}; /* copies, by slot */
SHARED __u64 stacks_once = 0;					   /* number of stacks with a copy so far */

static __always_inline struct stack_scratch *stack_scratch_take(void)
{
	__u32 first = bpf_get_smp_processor_id() * STACK_SCRATCHES_PER_CPU, k, i;
	struct stack_scratch *s;

	_Pragma("clang loop unroll(full)") for (k = 0; k < STACK_SCRATCHES_PER_CPU; k++)
	{
		i = first + k;
		s = bpf_map_lookup_elem(&stack_scratches, &i);
		if (s && !__sync_val_compare_and_swap(&s->is_taken, 0, 1))
			return s;
	}
	return NULL;
}

/* ---- begin ---- */

struct stack_search {
	__u64 end;
};

static long stack_found(struct task_struct *task, struct vm_area_struct *vma, struct stack_search *search)
{
	(void)task;
	search->end = vma->vm_end;
	return 0;
}

/* End of the stack that has this address: the thread's own, its alternate stack, another one; 0: not known. */
VERIFIED_ALONE __u64 stack_top(struct thread_state *t, __u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_search search = {};

	if (!t)
		return 0;
	if (!t->home_high)
		home_find(t, task);
	if (is_home(t, sp))
		return t->home_high;
	if (sp - task->sas_ss_sp < task->sas_ss_size)
		return task->sas_ss_sp + task->sas_ss_size;
	if (has_find_vma)
		(void)bpf_find_vma(task, sp, stack_found, &search, 0);
	return search.end;
}

/*
 * Whether a list that is used for the first time is of now: a change of the dynamic loader between the reading of the
 * mappings and the writing of the list is seen in the numbers, a later one ends the list (loader.bpf.c).
 */
VERIFIED_ALONE int stack_maps_prove(struct stack_maps *maps, __u32 tgid)
{
	const struct process_entry *entry = bpf_map_lookup_elem(&processes, &tgid);

	if (!maps || !entry || maps->loader_changes != READ_ONCE(entry->loader_changes))
		return 0;
	WRITE_ONCE(maps->is_proved, 1);
	return 1;
}

/* The mappings of the process, if those that the daemon knows are those of now. */
static __always_inline struct stack_maps *stack_maps_of(struct thread_state *t, const struct stack_scratch *s)
{
	__u32 tgid = t->tgid; /* on the stack: Linux 6.1 takes a key from nowhere else */
	struct stack_maps *maps = bpf_map_lookup_elem(&stack_maps, &tgid);

	if (!maps || !maps->tag || maps->exec_gen != s->record.exec_gen || maps->exec_vm != s->record.exec_vm)
		return NULL;
	if (maps->changes != s->walk.changes && !mappings_hold(maps, s->walk.changes))
		return NULL;
	return maps->is_proved || stack_maps_prove(maps, tgid) ? maps : NULL;
}

/* What a walk needs of the record, and all that is needed to compare it. */
static __always_inline void stack_begin(struct stack_scratch *s, struct thread_state *t, struct task_struct *task)
{
	struct uprobe_task *utask = task->utask;
	struct stack_record *r = &s->record;
	struct stack_walk *w = &s->walk;
	__u64 n_most;

	thread_header_fill(&r->header, t, RECORD_STACK);
	r->exec_vm = task->mm ? task->mm->exec_vm : 0;
	w->changes = mappings_changes(task->mm);
	w->n_filled = 0;
	w->pass = READ_ONCE(unwind_pass);
	w->trampoline = utask && utask->return_instances ? trampoline_address(task) : 0;
	w->top = is_home(t, r->sp) ? t->home_high : stack_top(t, r->sp);
	n_most = ((w->top + UNWIND_PAGE - 1) >> UNWIND_PAGE_SHIFT << UNWIND_PAGE_SHIFT) - r->sp;
	w->n_most = w->top && n_most < STACK_COPY_MAX ? n_most : STACK_COPY_MAX;
}

/* What a comparison of stacks does not need, before the record is sent. */
static __always_inline void stack_fill_rest(struct stack_record *r, const struct thread_state *t)
{
	__u32 tgid = t->tgid;
	const struct process_entry *entry = bpf_map_lookup_elem(&processes, &tgid);

	r->loader_changes = entry ? entry->loader_changes : 0;
	r->time_ns = bpf_ktime_get_ns();
	r->n_memory = 0;
	r->n_traps = 0;
}

/* ---- end ---- */

/* Return: 0; negative: there is no room */
VERIFIED_ALONE int stack_send(struct stack_scratch *s)
{
	__u32 idx;
	__u64 n;

	if (!s)
		return -1;
	idx = s->record.slot;
	n = s->record.n_memory;
	keep(n);
	if (n > STACK_COPY_MAX)
		return -1;
	if (n && !stack_budget_take(&stack_copy_budgets[idx & (PROCESS_SLOTS - 1)], n, STACK_COPIES_BYTES))
		return -1;
	n += sizeof(s->record);
	if (!stacks_have_room(idx, n))
		return -1;
	return bpf_ringbuf_output(&stacks, &s->record, n, stacks_wake_flags(s->record.n_memory != 0)) ? -1 : 0;
}

/* The number of a stack that was walked to its end, or to where it can be walked. */
static __always_inline __u64 stack_number(const struct stack_scratch *s)
{
	const struct stack_record *r = &s->record;
	__u64 id = unwind_hash(s->walk.hash, r->native[0].ip);

	id = unwind_hash(id, s->python_hash);
	if (!ABI_HAS_RULES) /* mappings were not looked up */
		id = unwind_hash(id, r->tag);
	id = unwind_hash(id, (__u64)r->tgid << 32 | r->exec_gen);
	id = unwind_hash(id, (__u64)r->is_exact << 16 | (__u64)r->native_end << 8 | r->python_end);
	id &= STACK_ID_ONCE - 1;
	return id ? id : 1;
}

/* Another value for each stack, and after each that was forgotten. */
static __always_inline __u64 stack_near_value(__u64 id)
{
	return unwind_hash(id, READ_ONCE(stacks_forgotten));
}

/* Whether a stack is known to have been sent, without a look-up. */
static __always_inline bool stack_is_near(__u64 id)
{
	__u64 value = stack_near_value(id);
	const __u64 *set = stacks_near[id & (STACKS_NEAR_SETS - 1)];
	__u32 i;

	_Pragma("clang loop unroll(full)") for (i = 0; i < STACKS_NEAR_WAYS; i++)
	{
		if (READ_ONCE(set[i]) == value)
			return true;
	}
	return false;
}

static __always_inline void stack_note_near(__u64 id)
{
	__u64 *set = stacks_near[id & (STACKS_NEAR_SETS - 1)];

	WRITE_ONCE(set[stacks_near_next++ & (STACKS_NEAR_WAYS - 1)], stack_near_value(id));
}

/* Notes that a stack was sent. */
static __always_inline void stack_note_sent(const struct stack_key *key)
{
	const __u32 seen = 1;

	(void)bpf_map_update_elem(&stacks_seen, key, &seen, BPF_ANY);
}

/* A stack without the rules for it. @maps: NULL: not known. Return: its number, 0: it was not sent */
VERIFIED_ALONE __u64 stack_once(struct stack_scratch *s, const struct stack_maps *maps)
{
	struct stack_key key = {};
	int r;

	if (!s)
		return 0;
	if (!s->record.tag)
		mappings_send(s);
	stack_copy(s);
	key.id = copy_number(s, s->record.tag ? maps : NULL);
	key.tgid = s->record.tgid;
	key.exec_gen = s->record.exec_gen;
	if (key.id && bpf_map_lookup_elem(&stacks_seen, &key))
		return key.id;
	s->record.id = key.id ? key.id : STACK_ID_ONCE | __sync_fetch_and_add(&stacks_once, 1);
	if (!key.id && !s->record.native[0].ip)
		s->record.id |= STACK_ID_WAIT;
	stack_traps(s);
	python_runs(s);
	r = python_codes_send(s);
	if (stack_send(s))
		return 0;
	if (key.id && !r)
		stack_note_sent(&key);
	return s->record.id;
}

/* A stack that was not sent before. Return: as stack_once() */
VERIFIED_ALONE __u64 stack_first(struct stack_scratch *s)
{
	struct stack_key key = {};
	int r;

	if (!s)
		return 0;
	s->record.id = stack_number(s);
	python_runs(s);
	r = python_codes_send(s);
	if (stack_send(s))
		return 0;
	key.id = s->record.id;
	key.tgid = s->record.tgid;
	key.exec_gen = s->record.exec_gen;
	if (!r)
		stack_note_sent(&key);
	return key.id;
}

/* Walks the stack that the memo has found, too. Return: whether the memo was right */
static __always_inline bool memo_check(struct stack_scratch *s, const struct stack_maps *maps)
{
	__u64 hash = s->walk.hash;
	__u32 end = s->record.native_end;

	native_walk(s, maps);
	/* The mappings may have changed since. */
	if (s->record.native_end == STACK_END_RULE || (hash == s->walk.hash && end == s->record.native_end))
		return true;
	counter_add(COUNTER_MEMO_WRONG, 1);
	return false;
}

/* The number of the stack in the buffer, whose frames are there only if it was not sent before. @maps: NULL: not known
 */
static __always_inline __u64 stack_make(struct stack_scratch *s, const struct stack_maps *maps)
{
	struct stack_key key = {};
	bool is_known = s->record.tag && !s->record.is_exact && memo_find(s);

	if (!is_known) {
		native_walk(s, maps);
		memo_add(s);
	}
	if (checks_stacks) {
		counter_add(is_known ? COUNTER_MEMO_HIT : COUNTER_MEMO_MISS, 1);
		if (is_known)
			is_known = memo_check(s, maps);
	}
	python_walk(s);
	if (s->record.native_end == STACK_END_RULE)
		return 0;
	key.id = stack_number(s);
	if (stack_is_near(key.id))
		return key.id;
	key.tgid = s->record.tgid;
	key.exec_gen = s->record.exec_gen;
	if (bpf_map_lookup_elem(&stacks_seen, &key)) {
		stack_note_near(key.id);
		return key.id;
	}
	if (is_known)
		native_walk(s, maps);
	return 0;
}

/**
 * stack_take() - the stack of a call that returned, or of a wait, of the current thread
 * @function: address of the probe of the call; STACK_OF_WAIT: of a wait in a system call; STACK_OF_FAULT: in a page fault
 * @ip, @sp, @frame_pointer: registers after the return
 * Return: the number of the stack, which is on the ring or was before; 0: it is lost
 */
VERIFIED_ALONE __u64 stack_take(struct thread_state *t, __u64 function, __u64 ip, __u64 sp, __u64 frame_pointer)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_maps *maps;
	struct stack_scratch *s;
	__u64 id;

	if (!t)
		return 0;
	s = stack_scratch_take();
	if (!s)
		return 0;
	s->record.ip = ip;
	s->record.sp = sp;
	s->record.frame_pointer = frame_pointer;
	s->record.is_exact = function == STACK_OF_FAULT;
	s->record.native[0].ip = function == STACK_OF_FAULT ? STACK_OF_WAIT : function;
	s->record.native[0].cfa = sp;
	stack_begin(s, t, task);
	maps = stack_maps_of(t, s);
	s->record.tag = maps ? READ_ONCE(maps->tag) : 0;
	s->record.mappings = maps ? maps->all : 0;
	id = stack_make(s, maps);
	if (!id) {
		stack_fill_rest(&s->record, t);
		id = s->record.native_end == STACK_END_RULE ? stack_once(s, maps) : stack_first(s);
	}
	barrier();
	WRITE_ONCE(s->is_taken, 0);
	return id;
}
