// SPDX-License-Identifier: Apache-2.0
#include "stacks/process_stacks.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "clock.h"
#include "events/stack.h"
#include "probes/probe_stacks.h"
#include "procs/procfs.h"
#include "stacks/id_map.h"
#include "stacks/process_maps.h"
#include "stacks/stack_file.h"

#define PROCESS_BUCKETS 1024
#define GONE_NS (3 * NSEC_PER_SEC)
/* Minimum time between two readings of the mappings of one process; a guess: a reading takes about a millisecond. */
#define MAPS_PERIOD_NS 5000000ull
#define WAITS_KEPT 64 /* copies of waits of one process: of those that are short nobody asks for it */
#define MAPS_KEPT 4   /* lists of one process: records on the ring may be older than the newest */

struct stacked {
	struct stacked *next; /* in its bucket */
	uint32_t tgid, exec_gen, uid;
	uint64_t gone_ns; /* 0: it runs */
	uint64_t maps_read_ns;
	struct process_maps *maps[MAPS_KEPT]; /* newest first */
	struct id_map stacks;		      /* references */
	size_t n_bytes;			      /* of those that are named */
	uint64_t copied[WAITS_KEPT];	      /* ids of the last copies of waits */
	size_t n_copied;		      /* ever */
};

struct process_stacks {
	struct stack_files *files;
	struct probe_set *probes;
	int proc_fd;
	struct stacked *buckets[PROCESS_BUCKETS];
	size_t n;	/* stacks of all */
	size_t n_bytes; /* of those that are named */
};

int process_stacks_new(struct stack_files *files, struct probe_set *probes, struct process_stacks **ret_processes)
{
	struct process_stacks *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->files = files;
	p->probes = probes;
	p->proc_fd = procfs_open();
	if (p->proc_fd < 0) {
		int r = p->proc_fd;

		free(p);
		return r;
	}
	*ret_processes = p;
	return 0;
}

static void id_stack_drop(uint64_t id, void *value, void *data)
{
	(void)id;
	(void)data;
	(void)stack_unref(value);
}

static void stacked_empty(struct process_stacks *p, struct stacked *process)
{
	p->n -= process->stacks.n;
	p->n_bytes -= process->n_bytes;
	process->n_bytes = 0;
	id_map_each(&process->stacks, id_stack_drop, NULL);
	id_map_done(&process->stacks);
}

static void stacked_free(struct process_stacks *p, struct stacked *process)
{
	stacked_empty(p, process);
	for (size_t i = 0; i < MAPS_KEPT; i++)
		process_maps_unref(process->maps[i]);
	free(process);
}

void process_stacks_free(struct process_stacks *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < PROCESS_BUCKETS; i++) {
		while (p->buckets[i]) {
			struct stacked *process = p->buckets[i];

			p->buckets[i] = process->next;
			stacked_free(p, process);
		}
	}
	closep(&p->proc_fd);
	free(p);
}

/* @uid: a number may be given again, to a process of somebody else */
static struct stacked *stacked_find(struct process_stacks *p, uint32_t tgid, uint32_t exec_gen, uint32_t uid)
{
	for (struct stacked *process = p->buckets[tgid % PROCESS_BUCKETS]; process; process = process->next)
		if (process->tgid == tgid && process->exec_gen == exec_gen && process->uid == uid)
			return process;
	return NULL;
}

static struct stacked *stacked_take(struct process_stacks *p, uint32_t tgid, uint32_t exec_gen, uint32_t uid)
{
	struct stacked *process = stacked_find(p, tgid, exec_gen, uid);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->tgid = tgid;
	process->exec_gen = exec_gen;
	process->uid = uid;
	process->next = p->buckets[tgid % PROCESS_BUCKETS];
	p->buckets[tgid % PROCESS_BUCKETS] = process;
	return process;
}

/* ---- mappings ---- */

static bool maps_hold(const struct process_maps *maps, const struct stack_record *record)
{
	return maps && maps->exec_gen == record->exec_gen && maps->loader_changes == record->loader_changes &&
	       maps->exec_vm == record->exec_vm &&
	       (!record->n_memory || record->mappings == STACK_MAPPINGS_UNCOUNTED || maps->all == record->mappings);
}

static struct process_maps *maps_of_tag(const struct stacked *process, uint32_t tag)
{
	for (size_t i = 0; i < MAPS_KEPT; i++)
		if (process->maps[i] && process->maps[i]->tag == tag)
			return process->maps[i];
	return NULL;
}

/* Takes the reference. */
static void maps_add(struct process_stacks *p, struct stacked *process, struct process_maps *maps)
{
	struct stack_maps kernel;

	process_maps_unref(process->maps[MAPS_KEPT - 1]);
	memmove(&process->maps[1], &process->maps[0], (MAPS_KEPT - 1) * sizeof(process->maps[0]));
	process->maps[0] = maps;
	if (maps->exec_gen != process->exec_gen)
		return;
	process_maps_want(maps);
	process_maps_to_kernel(maps, &kernel);
	(void)probe_stacks_maps_put(p->probes, process->tgid, &kernel);
}

static void maps_read(struct process_stacks *p, struct stacked *process)
{
	struct process_maps *maps;
	uint64_t now_ns = clock_now_ns();

	if (now_ns - process->maps_read_ns < MAPS_PERIOD_NS || process->gone_ns)
		return;
	process->maps_read_ns = now_ns;
	if (process_maps_read(p->files, p->proc_fd, process->tgid, process->uid, &maps) == 0)
		maps_add(p, process, maps);
}

void process_stacks_mappings(struct process_stacks *p, const struct mappings_record *record)
{
	struct stacked *process = stacked_take(p, record->tgid, record->exec_gen, record->uid);
	struct process_maps *maps;

	if (process && process_maps_take(p->files, p->proc_fd, record, &maps) == 0)
		maps_add(p, process, maps);
}

/* The list that the kernel half walked with, or, if it had none that holds, the one of the same moment. */
static struct process_maps *maps_for(struct process_stacks *p, struct stacked *process,
				     const struct stack_record *record)
{
	struct process_maps *maps = record->tag ? maps_of_tag(process, record->tag) : NULL;

	if (maps && (!record->n_memory || maps_hold(maps, record)))
		return maps;
	if (!maps_hold(process->maps[0], record))
		maps_read(p, process);
	return maps_hold(process->maps[0], record) ? process->maps[0] : NULL;
}

void process_stacks_reset(struct process_stacks *p)
{
	for (size_t i = 0; i < PROCESS_BUCKETS; i++) {
		for (struct stacked *process = p->buckets[i]; process; process = process->next) {
			for (size_t k = 0; k < MAPS_KEPT; k++) {
				process_maps_unref(process->maps[k]);
				process->maps[k] = NULL;
			}
			process->maps_read_ns = 0;
		}
	}
}

void process_stacks_look(struct process_stacks *p, uint32_t tgid, uint32_t exec_gen, uint32_t uid)
{
	struct stacked *process = stacked_take(p, tgid, exec_gen, uid);

	if (process)
		maps_read(p, process);
}

/* ---- stacks ---- */

/* What is kept of a user. */
struct stacks_use {
	uint32_t uid;
	size_t n, n_bytes;
};

static struct stacks_use use_of(const struct process_stacks *p, uint32_t uid)
{
	struct stacks_use use = { .uid = uid };

	for (size_t i = 0; i < PROCESS_BUCKETS; i++) {
		for (const struct stacked *process = p->buckets[i]; process; process = process->next) {
			use.n += process->uid == uid ? process->stacks.n : 0;
			use.n_bytes += process->uid == uid ? process->n_bytes : 0;
		}
	}
	return use;
}

static struct stacks_use use_largest(const struct process_stacks *p)
{
	struct stacks_use largest = { .n = 0 };

	for (size_t i = 0; i < PROCESS_BUCKETS; i++) {
		for (const struct stacked *process = p->buckets[i]; process; process = process->next) {
			struct stacks_use use = process->stacks.n ? use_of(p, process->uid) : largest;

			if (use.n > largest.n)
				largest = use;
		}
	}
	return largest;
}

/* The kernel half sends them again when they are met. */
static void user_forget(struct process_stacks *p, uint32_t uid)
{
	for (size_t i = 0; i < PROCESS_BUCKETS; i++) {
		for (struct stacked *process = p->buckets[i]; process; process = process->next) {
			if (process->uid != uid)
				continue;
			for (size_t k = 0; k < process->stacks.room; k++)
				if (process->stacks.ids[k])
					probe_stacks_forget(p->probes, process->tgid, process->exec_gen,
							    process->stacks.ids[k]);
			stacked_empty(p, process);
		}
	}
}

/* Counted anew only where there is little room. */
static void stacks_make_room(struct process_stacks *p, uint32_t uid)
{
	struct stacks_use use;

	if (p->n < STACKS_OF_USER_MAX && p->n_bytes < STACKS_OF_USER_BYTES_MAX)
		return;
	use = use_of(p, uid);
	if (use.n >= STACKS_OF_USER_MAX || use.n_bytes >= STACKS_OF_USER_BYTES_MAX)
		user_forget(p, uid);
	else if (p->n >= STACKS_MAX)
		user_forget(p, use_largest(p).uid);
}

/* The caller has the reference now. */
static void stack_take_out(struct process_stacks *p, struct stacked *process, uint64_t id, const struct stack *stack)
{
	size_t n_bytes = stack->is_ready ? stack_bytes(stack) : 0;

	id_map_remove(&process->stacks, id);
	p->n--;
	p->n_bytes -= n_bytes;
	process->n_bytes -= n_bytes;
}

static void wait_copy_note(struct process_stacks *p, struct stacked *process, uint64_t id)
{
	uint64_t *place = &process->copied[process->n_copied++ % WAITS_KEPT];
	struct stack *oldest = *place ? id_map_find(&process->stacks, *place) : NULL;

	if (oldest) {
		stack_take_out(p, process, *place, oldest);
		(void)stack_unref(oldest);
	}
	*place = id;
}

struct stack *process_stacks_note(struct process_stacks *p, const struct stack_record *record,
				  struct process_maps **ret_maps)
{
	struct stacked *process = stacked_take(p, record->tgid, record->exec_gen, record->uid);
	struct stack *stack = process ? id_map_find(&process->stacks, record->id) : NULL;
	struct process_maps *maps;

	if (!process || (stack && stack->is_complete))
		return NULL;
	if (stack) {
		stack_take_out(p, process, record->id, stack);
		(void)stack_unref(stack);
	}
	stacks_make_room(p, record->uid);
	stack = stack_new(record->uid);
	if (!stack)
		return NULL;
	if (id_map_put(&process->stacks, record->id, stack) < 0) {
		(void)stack_unref(stack);
		return NULL;
	}
	p->n++;
	if (record->id & STACK_ID_ONCE && record->id & STACK_ID_WAIT)
		wait_copy_note(p, process, record->id);
	maps = ret_maps ? maps_for(p, process, record) : NULL;
	if (maps)
		*ret_maps = process_maps_ref(maps);
	return stack;
}

struct stack *process_stacks_find(struct process_stacks *p, const struct record_header *of, uint64_t id)
{
	struct stacked *process = id ? stacked_find(p, of->tgid, of->exec_gen, of->uid) : NULL;
	struct stack *stack = process ? id_map_find(&process->stacks, id) : NULL;

	if (!stack)
		return NULL;
	/* The id of a copy is of this call alone; a wait in progress is told again and again. */
	if (id & STACK_ID_ONCE && !(id & STACK_ID_WAIT)) {
		stack_take_out(p, process, id, stack);
		return stack;
	}
	return stack_ref(stack);
}

void process_stacks_ready(struct process_stacks *p, const struct stack_record *record, const struct stack *stack)
{
	struct stacked *process;

	if (p->n_bytes >= STACKS_OF_USER_BYTES_MAX)
		stacks_make_room(p, record->uid);
	process = stacked_find(p, record->tgid, record->exec_gen, record->uid);
	if (!process || id_map_find(&process->stacks, record->id) != stack)
		return;
	process->n_bytes += stack_bytes(stack);
	p->n_bytes += stack_bytes(stack);
}

void process_stacks_gone(struct process_stacks *p, uint32_t tgid, uint32_t exec_gen)
{
	for (struct stacked *process = p->buckets[tgid % PROCESS_BUCKETS]; process; process = process->next)
		if (process->tgid == tgid && process->exec_gen <= exec_gen && !process->gone_ns)
			process->gone_ns = clock_now_ns();
}

/* The record of its end may have been lost, or read before its first stack. */
static bool stacked_is_gone(const struct stacked *process)
{
	return kill((pid_t)process->tgid, 0) < 0 && errno == ESRCH;
}

void process_stacks_second(struct process_stacks *p, uint64_t now_ns)
{
	for (size_t i = 0; i < PROCESS_BUCKETS; i++) {
		for (struct stacked **at = &p->buckets[i]; *at;) {
			struct stacked *process = *at;

			if (!process->gone_ns && stacked_is_gone(process))
				process->gone_ns = now_ns;
			if (!process->gone_ns || now_ns - process->gone_ns < GONE_NS) {
				at = &process->next;
				continue;
			}
			*at = process->next;
			stacked_free(p, process);
		}
	}
}
