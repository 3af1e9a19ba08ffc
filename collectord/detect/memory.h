// SPDX-License-Identifier: Apache-2.0
/*
 * What the engine remembers of processes: the incarnations that are there, what their
 * operations usually take, and what is being found in them. Bounded: when it is full the
 * process that was quiet for longest is forgotten.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "detect/detector.h"

struct track;

#define EXAMPLES_MAX FINDING_CALLS_MAX

/* The kept calls of a tick that a detector could show, those with most of what it is about first. */
struct examples {
	struct {
		struct finding_call call;
		const struct op *op;
		uint64_t ns;
	} items[EXAMPLES_MAX];
	size_t n;
};

#define CHILDREN_MAX 64

struct sites;

struct process_memory {
	struct process *process; /* a reference: this hangs on its entry */
	uint64_t first_call_ns;
	uint64_t called_ns;		 /* end of the last tick with calls */
	uint64_t gap_ns;		 /* longest time without calls between two ticks with some */
	uint64_t starved_ns;		 /* lost since then, in findings of starved */
	uint32_t children[CHILDREN_MAX]; /* that it forked, the latest */
	size_t n_children;		 /* ever */
	uint64_t seen_ns;		 /* end of the last tick with something of it */
	uint64_t quiet_wall_ns;		 /* how long it was watched undisturbed */
	bool has_oom;			 /* it was killed for want of memory since the last tick: */
	struct life_record oom;
	struct account_wait known[KNOWN_COUNT]; /* the longest waits whose file or device is known, .ns 0: none */
	struct futex_waits futexes[FUTEXES_MAX];
	size_t n_futexes;    /* ever */
	uint64_t n_findings; /* ever, less those that came back */
	uint32_t done;	     /* detectors with .is_once that have spoken: 1 << number */
	op_memories ops;
	ARRAY(struct track *) tracks;
	struct failed_calls failed;
	struct longest_calls longest;
	bool has_kept; /* a call of it was recorded: its figures come with a tick */
	struct examples examples[DETECTOR_COUNT];
	struct sites *sites;				  /* DETECTOR_COUNT; NULL: no call had a stack */
	ARRAY(const struct in_flight_record *) in_flight; /* of this tick; borrowed from it */
	const struct tick_process *in_tick;		  /* borrowed; NULL when the tick has nothing of it */
};

struct memory;

/** memory_new() - @table: borrowed. Return: 0 or -ENOMEM */
int memory_new(const struct process_table *table, struct memory **ret_memory);
/** memory_free() - tracks are freed, too */
void memory_free(struct memory *memory);
/** memory_take() - of an incarnation, made when it is new. Return: NULL without memory */
struct process_memory *memory_take(struct memory *memory, struct process *process);
/** memory_find_pid() - the newest incarnation with that process id, NULL if none */
struct process_memory *memory_find_pid(struct memory *memory, uint32_t tgid);
/** memory_forget() - NULL is fine */
void memory_forget(struct memory *memory, struct process_memory *process);
size_t memory_count(const struct memory *memory);
/** memory_quietest() - the one that was not seen for longest; NULL when there is none */
struct process_memory *memory_quietest(struct memory *memory);

typedef void (*memory_func)(struct process_memory *process, void *data);
/** memory_each() - func may forget the process it is given; the order is that of first sight */
void memory_each(struct memory *memory, memory_func func, void *data);

/** process_memory_early() - note the first ticks of each operation, before detectors look. Return: 0 or -ENOMEM */
int process_memory_early(struct process_memory *process, const struct tick *tick);
/** process_memory_waits() - note waits of the tick for known files, devices and futexes, before detectors look */
void process_memory_waits(struct process_memory *process);
/** process_memory_learn() - @is_quiet: nothing disturbs it, so that this tick says what is usual */
void process_memory_learn(struct process_memory *process, const struct tick *tick, bool is_quiet);
