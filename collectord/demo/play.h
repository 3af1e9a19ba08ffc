// SPDX-License-Identifier: Apache-2.0
/*
 * The process of a demo: its next steps, its cells, its slot. It has no loop and no clock: the caller plays it up to a
 * time.
 *
 * Each thread has one call in progress or to come. Playing up to a time finishes the calls that end by then, the
 * earliest first, and begins the next ones. So records have the order in which the kernel half would write them,
 * whatever the pace, and the calls in progress at any moment are known. Randomness comes from the seed alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "demo/scenarios.h"

struct op;

#define DEMO_SLOT 1
#define DEMO_TGID DEMO_PID(4711)

struct demo_turn {
	const struct demo_call *call; /* NULL: this thread is done */
	const struct op *op;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t blame_ns[BLAME_COUNT]; /* ON_CPU 0 */
	uint64_t between_ns;		/* end of the previous call; of the first call its start */
	uint64_t away_ns[BLAME_COUNT];	/* parts of the time from there to the start; ON_CPU 0 */
};

struct demo_thread {
	uint32_t tid;
	uint32_t sample; /* calls since the last one recorded as a sample */
	uint32_t phase;
	uint32_t step;	 /* index of the step in the phase */
	uint32_t call;	 /* index of the call in the step */
	uint32_t repeat; /* repetition of the call */
	struct demo_turn turn;
	uint64_t end_ns; /* end of its last call, once this thread is done */
	struct thread_account account;
};

/* Waits of its threads by thread, operation and class, in the format of the kernel half's map. */
struct demo_wait {
	struct wait_key key;
	struct wait_value value;
};

#define DEMO_WAITS 32 /* more than any scenario has */

struct demo_play {
	const struct demo_scenario *scenario;
	uint64_t random;
	uint64_t start_ns;
	uint64_t now_ns; /* time up to which it was played */
	struct demo_thread threads[DEMO_THREADS];
	struct process_slot *slots; /* PROCESS_SLOTS */
	struct figure_cell *cells;
	uint32_t cells_used;
	uint64_t behind_ns[DEMO_HOGS];	       /* in calls */
	uint64_t behind_between_ns[DEMO_HOGS]; /* between calls */
	struct demo_wait waits[DEMO_WAITS];
	size_t n_waits;
	/* Which calls become records: may be changed at any time. */
	bool records_any;
	bool records_all;
	uint32_t sample_every;
	void (*on_call)(const struct call_record *call, void *data);
	void *data;
};

/** demo_play_length_ns() - length of a scenario; its last step may take a little longer */
uint64_t demo_play_length_ns(const struct demo_scenario *scenario);
/** demo_play_init() - Return: 0 or -ENOMEM */
int demo_play_init(struct demo_play *p, const struct demo_scenario *scenario, uint64_t seed);
void demo_play_done(struct demo_play *p);
/** demo_play_begin() - the process starts; @start_boot_ns: the same moment by CLOCK_BOOTTIME */
void demo_play_begin(struct demo_play *p, uint64_t start_ns, uint64_t start_boot_ns, uint32_t uid);
/**
 * demo_play_until() - play up to a time. Return: whether more follows; if not its slot is marked as gone since now_ns
 */
bool demo_play_until(struct demo_play *p, uint64_t until_ns);
/** demo_play_release() - free the slot and its cells after the end. Return: 0 or -EINVAL */
int demo_play_release(struct demo_play *p, uint32_t slot);
/** demo_play_in_flight() - list calls in progress. Return: their number; the first `room` are written */
size_t demo_play_in_flight(const struct demo_play *p, struct in_flight_record *ret, size_t room);
/** demo_play_account() - account of thread @i of DEMO_THREADS, up to now or its end. Return: whether it has one */
bool demo_play_account(const struct demo_play *p, size_t i, struct account_record *ret);
