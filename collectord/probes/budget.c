// SPDX-License-Identifier: Apache-2.0
#include "probes/budget.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "clock.h"
#include "events/op.h"
#include "probes/calibrate.h"
#include "probes/probe_parts.h"
#include "probes/probe_set.h"
#include "probes/target.h"

/* Length of a window, and time from the begin of a detach to the last trap, medians on Linux 6.18. */
#define SESSION_WINDOW_NS (20 * NSEC_PER_MSEC)
#define SESSION_LAG_NS (8 * NSEC_PER_MSEC)
#define MULTI_WINDOW_NS (60 * NSEC_PER_MSEC)
#define MULTI_LAG_NS (40 * NSEC_PER_MSEC)

/*
 * A thread that uses less of a CPU than this part is judged as if it used so much: with a budget of 2 % it loses a
 * thousandth of its time. (Guess: nobody notices.)
 */
#define CPU_LEAST_PART 20
/* Own time is at least this part of CPU time: the calibrated cost may exceed what a flat-out thread really pays. */
#define OWN_LEAST_PART 50
/* Time between two samples while little changes, and how many times the calls of the last one are more. */
#define SAMPLE_NS (500 * NSEC_PER_MSEC)
#define MORE_CALLS 1.2
/* Driver calls beyond those of the runtime by which a process makes driver calls of its own. */
#define ALONE_PERCENT 1
#define ALONE_LEAST 10

/* Last reading of one cell. */
struct cell_seen {
	uint64_t raw_ns;
	uint32_t calls, untimed, abandoned;
	uint16_t slot, op;
};

/* One process since the last sample. */
struct slot_load {
	uint64_t ns[PROBE_GROUP_COUNT]; /* time in probes, by the cost that decides */
	uint64_t least_ns;		/* the same of all groups, by the lowest cost */
	uint64_t n_calls[PROBE_GROUP_COUNT];
	uint64_t n_outer; /* calls at depth 0 */
};

struct thread_seen {
	uint64_t calls, runtime_ns;
	uint64_t new_calls, new_ns; /* since the last sample */
	uint32_t tid, slot;
};

typedef ARRAY(struct thread_seen) thread_list;

struct budget {
	uv_timer_t timer;
	struct probe_set *probes;
	struct target_set *targets;
	struct governor governor;
	double share;
	uint64_t lag_ns; /* from the begin of a detach to the last trap */
	struct governor_sample sample;
	uint64_t sampled_ns;
	double rate;	  /* time in probes in the last sample, of the process with most, as part of its time */
	uint64_t told_ns; /* LOSS_BUDGET has the time until then */
	uint64_t left_out_ns[PROBE_GROUP_COUNT]; /* when the group was last seen not attached; 0: never */
	struct cell_seen cells[PROCESS_CELLS];
	struct slot_load slots[PROCESS_SLOTS];
	thread_list threads; /* of the last sample, by thread id */
};

/* ---- measuring ---- */

static uint32_t cell_calls(const struct figure_cell *cell)
{
	uint32_t n = __atomic_load_n(&cell->untimed, __ATOMIC_RELAXED);

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		n += __atomic_load_n(&cell->buckets[i], __ATOMIC_RELAXED);
	return n + __atomic_load_n(&cell->abandoned, __ATOMIC_RELAXED);
}

static void cell_take(struct budget *b, const struct figure_cell *cell, struct cell_seen *seen)
{
	uint32_t slot = __atomic_load_n(&cell->slot, __ATOMIC_ACQUIRE), op = cell->op;
	struct cell_seen now = { .raw_ns = __atomic_load_n(&cell->raw_ns, __ATOMIC_RELAXED),
				 .untimed = __atomic_load_n(&cell->untimed, __ATOMIC_RELAXED),
				 .abandoned = __atomic_load_n(&cell->abandoned, __ATOMIC_RELAXED),
				 .slot = (uint16_t)slot,
				 .op = (uint16_t)op };
	struct slot_load *load;
	enum probe_group group;
	enum call_head head;
	uint32_t fresh;

	if (!slot || slot >= PROCESS_SLOTS || !op_is_call(op_get(op)))
		return;
	if (seen->slot != slot || seen->op != op)
		*seen = (struct cell_seen){ .slot = (uint16_t)slot, .op = (uint16_t)op };
	if (seen->raw_ns == now.raw_ns && seen->untimed == now.untimed && seen->abandoned == now.abandoned)
		return;
	now.calls = cell_calls(cell);
	fresh = now.calls - (now.calls < seen->calls ? 0 : seen->calls); /* fewer: the cell was used anew */
	*seen = now;
	group = probe_group_of(op);
	head = target_set_head(b->targets, probe_set_slots(b->probes)[slot].tgid, op);
	load = &b->slots[slot];
	load->n_calls[group] += fresh;
	load->ns[group] += fresh * calibrate_added_most_ns(head);
	load->least_ns += fresh * calibrate_added_ns(head);
}

/* Adds the calls since the last look. Return: time in probes of the process with most since the last sample */
static uint64_t cells_take(struct budget *b)
{
	const struct figure_cell *cells = probe_set_cells(b->probes);
	uint32_t n = probe_set_cells_used(b->probes);
	uint64_t most_ns = 0;

	for (uint32_t i = 1; i < n; i++)
		cell_take(b, &cells[i], &b->cells[i]);
	for (size_t i = 1; i < PROCESS_SLOTS; i++)
		most_ns = MAX(most_ns, b->slots[i].least_ns);
	return most_ns;
}

static const struct thread_seen *thread_seen_find(const thread_list *list, uint32_t tid)
{
	size_t place = SORTED_PLACE(list->n, i, list->items[i].tid < tid);

	return place < list->n && list->items[place].tid == tid ? &list->items[place] : NULL;
}

struct threads_reading {
	struct budget *budget;
	thread_list list;
};

static void thread_seen_take(const struct account_record *record, void *data)
{
	struct threads_reading *reading = data;
	const struct thread_seen *before = thread_seen_find(&reading->budget->threads, record->tid);
	struct thread_seen now = { .calls = record->account.calls,
				   .runtime_ns = record->runtime_ns,
				   .tid = record->tid,
				   .slot = record->slot };
	uint64_t calls = 0, runtime_ns = record->account.since_runtime_ns;

	if (!record->slot || record->slot >= PROCESS_SLOTS)
		return;
	if (before && before->slot == record->slot && before->calls <= now.calls) {
		calls = before->calls;
		runtime_ns = before->runtime_ns;
	}
	now.new_calls = now.calls - calls;
	now.new_ns = now.runtime_ns - MIN(runtime_ns, now.runtime_ns);
	if (ARRAY_PUSH(&reading->list, now) == 0) /* otherwise it is judged in the next one */
		reading->budget->slots[record->slot].n_outer += now.new_calls;
}

static int thread_order(const void *a, const void *b)
{
	const struct thread_seen *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* A record that changed while it was written comes several times: the last one counts. */
static void threads_take(struct budget *b)
{
	struct threads_reading reading = { .budget = b, .list = { .items = NULL } };

	(void)probe_set_accounts_running(b->probes, thread_seen_take, &reading);
	if (reading.list.n)
		qsort(reading.list.items, reading.list.n, sizeof(*reading.list.items), thread_order);
	ARRAY_DONE(&b->threads);
	b->threads = reading.list;
}

/* Adds a thread to the sample, with its part of the time that its process spent in probes. */
static void load_add(const struct budget *b, const struct thread_seen *thread, uint64_t interval_ns,
		     struct governor_sample *sample)
{
	const struct slot_load *slot = &b->slots[thread->slot];
	double part = slot->n_outer ? (double)thread->new_calls / (double)slot->n_outer : 0;
	double cpu_ns = (double)MAX(thread->new_ns, interval_ns / CPU_LEAST_PART);
	double own_ns = MAX(cpu_ns - part * (double)slot->least_ns, cpu_ns / OWN_LEAST_PART);

	for (int i = 0; i < PROBE_GROUP_COUNT && own_ns > 0; i++)
		sample->load[i] = MAX(sample->load[i], part * (double)slot->ns[i] / own_ns);
}

static bool is_driver_alone(const struct slot_load *slot)
{
	uint64_t runtime = slot->n_calls[PROBE_GROUP_RUNTIME], driver = slot->n_calls[PROBE_GROUP_DRIVER];

	return driver > runtime + runtime * ALONE_PERCENT / 100 + ALONE_LEAST;
}

/* @most_ns: as returned by cells_take() */
static void sample_measure(struct budget *b, uint64_t now_ns, uint64_t most_ns)
{
	uint64_t interval_ns = MAX(now_ns - b->sampled_ns, 1);
	uint32_t both = PROBE_GROUP_BIT(PROBE_GROUP_RUNTIME) | PROBE_GROUP_BIT(PROBE_GROUP_DRIVER);
	bool sees_both = (b->governor.groups & both) == both;

	b->sample = (struct governor_sample){ .now_ns = now_ns };
	threads_take(b);
	for (size_t i = 0; i < b->threads.n; i++)
		load_add(b, &b->threads.items[i], interval_ns, &b->sample);
	for (size_t i = 1; i < PROCESS_SLOTS && sees_both; i++)
		b->sample.is_driver_alone |= is_driver_alone(&b->slots[i]);
	b->rate = (double)most_ns / (double)interval_ns;
	b->sampled_ns = now_ns;
	memset(b->slots, 0, sizeof(b->slots));
}

/*
 * Reading the threads takes ten times as long as reading the cells: while everything is attached and there are no more
 * calls than in the last sample, that sample stands.
 */
static void sample_take(struct budget *b, uint64_t now_ns)
{
	uint64_t most_ns = cells_take(b), interval_ns = now_ns - b->sampled_ns;

	if (b->governor.rung != GOVERNOR_ALL || interval_ns >= SAMPLE_NS ||
	    (double)most_ns > b->rate * MORE_CALLS * (double)interval_ns)
		sample_measure(b, now_ns, most_ns);
	b->sample.now_ns = now_ns;
}

/* ---- acting ---- */

/* @rung: until now */
static void left_out_note(struct budget *b, enum governor_rung rung, uint32_t groups, uint64_t now_ns)
{
	uint64_t n_ms = (now_ns - b->told_ns) / NSEC_PER_MSEC;

	for (int i = 0; i < PROBE_GROUP_COUNT; i++)
		if (!(groups & PROBE_GROUP_BIT(i)))
			b->left_out_ns[i] = now_ns;
	if (rung != GOVERNOR_ALL)
		probe_set_loss_add(b->probes, LOSS_BUDGET, n_ms);
	b->told_ns += n_ms * NSEC_PER_MSEC;
}

/* The next sample is of the time in which all of them are attached; those attached first have cost more by then. */
static void attached_note(struct budget *b, uint64_t begin_ns)
{
	uint64_t now_ns = clock_now_ns();

	b->governor.limits.lag_ns = b->lag_ns + now_ns - begin_ns;
	sample_measure(b, now_ns, cells_take(b));
}

static void budget_step(struct budget *b)
{
	uint64_t now_ns = clock_now_ns();
	enum governor_rung rung = b->governor.rung;
	uint32_t before = b->governor.groups;
	struct governor_step step;

	sample_take(b, now_ns);
	step = governor_step(&b->governor, &b->sample);
	target_set_thin(b->targets, step.groups);
	probe_set_thin_records(b->probes, step.rung == GOVERNOR_DUTY);
	left_out_note(b, rung, before & step.groups, now_ns);
	if (step.groups & ~before)
		attached_note(b, now_ns);
	(void)uv_timer_start(&b->timer, b->timer.timer_cb, MAX(step.after_ns / NSEC_PER_MSEC, 1), 0);
}

static void budget_timer_fired(uv_timer_t *timer)
{
	budget_step(timer->data);
}

int budget_open(uv_loop_t *loop, struct probe_set *probes, struct target_set *targets, double share,
		struct budget **ret_budget)
{
	bool is_session = probe_set_back_end(probes) == PROBE_BACK_END_SESSION;
	const struct governor_limits limits = { .budget = share,
						.window_ns = is_session ? SESSION_WINDOW_NS : MULTI_WINDOW_NS,
						.lag_ns = is_session ? SESSION_LAG_NS : MULTI_LAG_NS };
	struct budget *b;

	if (probe_set_back_end(probes) == PROBE_BACK_END_PERF || !probe_set_measures(probes, BLAME_RUNNABLE))
		return -EOPNOTSUPP;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->probes = probes;
	b->targets = targets;
	b->share = share;
	b->lag_ns = limits.lag_ns;
	b->sampled_ns = b->told_ns = clock_now_ns();
	governor_begin(&b->governor, &limits, b->sampled_ns);
	(void)uv_timer_init(loop, &b->timer);
	b->timer.data = b;
	(void)uv_timer_start(&b->timer, budget_timer_fired, 1, 0);
	*ret_budget = b;
	return 0;
}

static void budget_timer_closed(uv_handle_t *timer)
{
	struct budget *b = timer->data;

	ARRAY_DONE(&b->threads);
	free(b);
}

void budget_close(struct budget *b)
{
	if (b)
		uv_close((uv_handle_t *)&b->timer, budget_timer_closed);
}

double budget_share(const struct budget *b)
{
	return b->share;
}

enum governor_rung budget_rung(const struct budget *b)
{
	return b->governor.rung;
}

const char *budget_rung_name(enum governor_rung rung)
{
	static const char *const names[GOVERNOR_RUNG_COUNT] = {
		[GOVERNOR_ALL] = "all",
		[GOVERNOR_NO_REQUEST] = "no_request",
		[GOVERNOR_NO_DRIVER] = "no_driver",
		[GOVERNOR_DUTY] = "duty",
	};

	return names[rung];
}

bool budget_left_out(const struct budget *b, uint32_t op, uint64_t since_ns)
{
	enum probe_group group = probe_group_of(op);

	return !(b->governor.groups & PROBE_GROUP_BIT(group)) || b->left_out_ns[group] > since_ns;
}
