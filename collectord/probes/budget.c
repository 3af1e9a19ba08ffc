// SPDX-License-Identifier: Apache-2.0
#include "probes/budget.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "clock.h"
#include "events/op.h"
#include "figures/account.h"
#include "probes/calibrate.h"
#include "probes/estimate.h"
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
#define ENDED_SAMPLES 80 /* with a step of 25 ms, two seconds: accounts are told each second */
/* Driver calls beyond those of the runtime by which a process makes driver calls of its own. */
#define ALONE_PERCENT 1
#define ALONE_LEAST 10

/* Last reading of one cell. */
struct cell_seen {
	uint64_t raw_ns, total_ns, bytes;
	uint32_t calls, untimed, abandoned;
	uint16_t slot, op;
	uint64_t new_calls, new_ns, new_bytes; /* since the last sample */
};

/* One process since the last sample. */
struct slot_load {
	uint64_t ns[PROBE_GROUP_COUNT]; /* time in probes, by the cost that decides */
	uint64_t least_ns;		/* the same of all groups, by the lowest cost */
	uint64_t n_calls[PROBE_GROUP_COUNT];
	uint64_t n_outer;		    /* calls at depth 0 */
	double expected[PROBE_GROUP_COUNT]; /* calls, by the rates of earlier windows */
	double probe_share;		    /* of its threads, by their part in its calls: time in probes / own time */
};

struct thread_seen {
	uint64_t calls, runtime_ns;
	uint64_t new_calls, new_ns; /* since the last sample */
	uint32_t tid, slot;
	struct estimate_rate rates[PROBE_GROUP_COUNT];
	uint64_t between_ns[BLAME_COUNT]; /* between seen calls, by class */
	uint64_t unseen_ns[BLAME_COUNT];  /* of that, what may be in calls that were left out */
	uint32_t n_missed;		  /* samples without it, since it ended */
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
	uint32_t whole; /* groups that have been attached in all libraries since then */
	double worst;	/* of that, of all groups together, and the slot of its process */
	uint32_t worst_slot;
	struct budget_forcing forcing; /* tgid 0: not known */
	double rate;	  /* time in probes in the last sample, of the process with most, as part of its time */
	uint64_t told_ns; /* LOSS_BUDGET has the time until then */
	struct cell_seen cells[PROCESS_CELLS];
	struct estimate estimates[PROCESS_CELLS];
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

static void cell_forget(struct budget *b, struct cell_seen *seen, uint32_t slot, uint32_t op)
{
	*seen = (struct cell_seen){ .slot = (uint16_t)slot, .op = (uint16_t)op };
	b->estimates[seen - b->cells] = (struct estimate){ .calls = 0 };
}

static void cell_take(struct budget *b, const struct figure_cell *cell, struct cell_seen *seen)
{
	uint32_t slot = __atomic_load_n(&cell->slot, __ATOMIC_ACQUIRE), op = cell->op;
	struct cell_seen now = { .raw_ns = __atomic_load_n(&cell->raw_ns, __ATOMIC_RELAXED),
				 .total_ns = __atomic_load_n(&cell->total_ns, __ATOMIC_RELAXED),
				 .bytes = __atomic_load_n(&cell->bytes, __ATOMIC_RELAXED),
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
		cell_forget(b, seen, slot, op);
	if (seen->raw_ns == now.raw_ns && seen->untimed == now.untimed && seen->abandoned == now.abandoned)
		return;
	now.calls = cell_calls(cell);
	if (now.calls < seen->calls) /* the cell was used anew */
		cell_forget(b, seen, slot, op);
	fresh = now.calls - seen->calls;
	now.new_calls = seen->new_calls + fresh;
	now.new_ns = seen->new_ns + now.total_ns - seen->total_ns;
	now.new_bytes = seen->new_bytes + now.bytes - seen->bytes;
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

/*
 * Whether time of a class between seen calls may be in a call that is left out. A launch computes, or waits in the GPU
 * driver; a synchronise may wait in any way. How long a thread was ready to run is the same in and between calls.
 */
static bool is_unseen(const struct budget *b, enum blame_class class)
{
	if (class == BLAME_ON_CPU || class == BLAME_DEVICE)
		return !(b->whole & PROBE_GROUP_BIT(PROBE_GROUP_RUNTIME));
	return class != BLAME_RUNNABLE && class != BLAME_QUOTA && !(b->whole & PROBE_GROUP_BIT(PROBE_GROUP_ALWAYS));
}

/* Advances the times between calls to those of an account, and what was not seen of them. */
static void thread_unseen_take(const struct budget *b, const struct account_record *record, struct thread_seen *thread)
{
	struct account_part parts[ACCOUNT_PARTS_MOST];
	uint64_t between_ns[BLAME_COUNT] = { 0 };
	size_t n;

	if (account_is_torn(record))
		return;
	n = account_read(record, parts);
	for (size_t i = 0; i < n; i++)
		if (parts[i].where == ACCOUNT_BETWEEN)
			between_ns[parts[i].class] = parts[i].ns;
	for (int i = 0; i < BLAME_COUNT; i++)
		if (is_unseen(b, (enum blame_class)i))
			thread->unseen_ns[i] += between_ns[i] - MIN(thread->between_ns[i], between_ns[i]);
	memcpy(thread->between_ns, between_ns, sizeof(between_ns));
}

/* An account is about to be told: what was not seen of it, up to the moment. */
static void account_mark(struct account_record *record, void *data)
{
	const struct budget *b = data;
	const struct thread_seen *seen = thread_seen_find(&b->threads, record->tid);
	struct thread_seen now;

	if (!seen || seen->slot != record->slot)
		return;
	now = *seen;
	thread_unseen_take(b, record, &now);
	for (int i = 0; i < BLAME_COUNT; i++)
		record->unseen_ns[i] = now.unseen_ns[i];
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
		memcpy(now.rates, before->rates, sizeof(now.rates));
		memcpy(now.between_ns, before->between_ns, sizeof(now.between_ns));
		memcpy(now.unseen_ns, before->unseen_ns, sizeof(now.unseen_ns));
	}
	thread_unseen_take(reading->budget, record, &now);
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

static void threads_sort(thread_list *list)
{
	if (list->n)
		qsort(list->items, list->n, sizeof(*list->items), thread_order);
}

/* Threads that have ended stay until their last account was told. */
static void ended_keep(const thread_list *before, thread_list *now)
{
	size_t n = now->n;

	for (size_t i = 0; i < before->n; i++) {
		const thread_list running = { .items = now->items, .n = n };
		struct thread_seen ended = before->items[i];

		if (ended.n_missed++ >= ENDED_SAMPLES || thread_seen_find(&running, ended.tid))
			continue;
		ended.new_calls = ended.new_ns = 0;
		(void)ARRAY_PUSH(now, ended); /* otherwise the end of its account is told as time between calls */
	}
}

/* A record that changed while it was written comes several times: the last one counts. */
static void threads_take(struct budget *b)
{
	struct threads_reading reading = { .budget = b, .list = { .items = NULL } };

	(void)probe_set_accounts_running(b->probes, thread_seen_take, &reading);
	threads_sort(&reading.list);
	ended_keep(&b->threads, &reading.list);
	threads_sort(&reading.list);
	ARRAY_DONE(&b->threads);
	b->threads = reading.list;
}

/* CPU time without the thread's part of the time that its process spent in probes. */
static double own_time(const struct slot_load *slot, double part, double cpu_ns)
{
	return MAX(cpu_ns - part * (double)slot->least_ns, cpu_ns / OWN_LEAST_PART);
}

/* What is expected of a thread in its own CPU time, and what it did in it. */
static void rates_take(struct budget *b, struct thread_seen *thread, double part)
{
	struct slot_load *slot = &b->slots[thread->slot];
	double own_ns = own_time(slot, part, (double)thread->new_ns);
	double share = own_ns > 0 ? part * (double)slot->least_ns / own_ns : 0;

	for (int i = 0; i < PROBE_GROUP_COUNT; i++) {
		slot->expected[i] += estimate_rate_calls(&thread->rates[i], own_ns);
		if (b->whole & PROBE_GROUP_BIT(i))
			estimate_rate_add(&thread->rates[i], part * (double)slot->n_calls[i], own_ns, share);
	}
	slot->probe_share += part * share;
}

/* Adds a thread to the sample, with its part of the time that its process spent in probes. */
static void load_add(struct budget *b, struct thread_seen *thread, uint64_t interval_ns, struct governor_sample *sample)
{
	const struct slot_load *slot = &b->slots[thread->slot];
	double part = slot->n_outer ? (double)thread->new_calls / (double)slot->n_outer : 0;
	double own_ns = own_time(slot, part, (double)MAX(thread->new_ns, interval_ns / CPU_LEAST_PART));

	double sum = 0;

	for (int i = 0; i < PROBE_GROUP_COUNT && own_ns > 0; i++) {
		double load = part * (double)slot->ns[i] / own_ns;

		sample->load[i] = MAX(sample->load[i], load);
		sum += load;
	}
	if (sum > b->worst) {
		b->worst = sum;
		b->worst_slot = thread->slot;
	}
	rates_take(b, thread, part);
}

/*
 * The group that the calls of a group follow: those inside or beside runtime calls are counted against these, whose
 * rate is known better, since they are sampled alone, too.
 */
static enum probe_group leader_of(const struct slot_load *slot, enum probe_group group)
{
	bool has_runtime = slot->n_calls[PROBE_GROUP_RUNTIME] || slot->expected[PROBE_GROUP_RUNTIME] > 0;

	return (group == PROBE_GROUP_DRIVER || group == PROBE_GROUP_REQUEST) && has_runtime ? PROBE_GROUP_RUNTIME
											    : group;
}

/* One cell: what was seen of it since the last sample, and what was not. */
static void cell_estimate(struct budget *b, uint32_t i, uint64_t ms)
{
	struct left_out *left = &probe_set_left_out(b->probes)[i];
	struct cell_seen *seen = &b->cells[i];
	struct estimate *estimate = &b->estimates[i];
	const struct slot_load *slot = &b->slots[seen->slot];
	enum probe_group group = probe_group_of(seen->op), leader = leader_of(slot, group);
	const struct estimate_interval interval = { .calls = (double)seen->new_calls,
						    .ns = (double)seen->new_ns,
						    .bytes = (double)seen->new_bytes,
						    .group_calls = (double)slot->n_calls[leader],
						    .group_expected = slot->expected[leader],
						    .probe_share = slot->probe_share,
						    .ms = ms };

	if (left->ms < estimate->told.ms) /* the cell was freed */
		*estimate = (struct estimate){ .calls = 0 };
	if (b->whole & PROBE_GROUP_BIT(group) && b->whole & PROBE_GROUP_BIT(leader))
		estimate_window(estimate, &interval);
	else
		estimate_left(estimate, &interval);
	*left = estimate->told;
	seen->new_calls = seen->new_ns = seen->new_bytes = 0;
}

/* Whether a cell belongs to the same process as when it was last read, and that runs. */
static bool cell_is_live(const struct budget *b, uint32_t i)
{
	const struct figure_cell *cell = &probe_set_cells(b->probes)[i];
	uint32_t slot = __atomic_load_n(&cell->slot, __ATOMIC_ACQUIRE);

	return slot && slot == b->cells[i].slot && cell->op == b->cells[i].op &&
	       __atomic_load_n(&probe_set_slots(b->probes)[slot].state, __ATOMIC_RELAXED) == PROCESS_SLOT_LIVE;
}

static void cells_estimate(struct budget *b, uint64_t interval_ns)
{
	uint32_t n = probe_set_cells_used(b->probes);

	for (uint32_t i = 1; i < n; i++)
		if (cell_is_live(b, i))
			cell_estimate(b, i, interval_ns / NSEC_PER_MSEC + 1);
}

/* Before figures are read: what is not attached at this moment is not exact, though the next sample is still to come.
 */
static void cells_mark(void *data)
{
	struct budget *b = data;
	uint32_t n = probe_set_cells_used(b->probes);

	for (uint32_t i = 1; i < n; i++)
		if (cell_is_live(b, i) && !(b->whole & PROBE_GROUP_BIT(probe_group_of(b->cells[i].op))))
			probe_set_left_out(b->probes)[i].ms = ++b->estimates[i].told.ms;
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
	b->worst = b->worst_slot = 0;
	threads_take(b);
	for (size_t i = 0; i < b->threads.n; i++)
		load_add(b, &b->threads.items[i], interval_ns, &b->sample);
	for (size_t i = 1; i < PROCESS_SLOTS && sees_both; i++)
		b->sample.is_driver_alone |= is_driver_alone(&b->slots[i]);
	cells_estimate(b, interval_ns);
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
static void loss_note(struct budget *b, enum governor_rung rung, uint64_t now_ns)
{
	uint64_t n_ms = (now_ns - b->told_ns) / NSEC_PER_MSEC;

	if (rung != GOVERNOR_ALL)
		probe_set_loss_add(b->probes, LOSS_BUDGET, n_ms);
	b->told_ns += n_ms * NSEC_PER_MSEC;
}

/* Of the process that loses most, in a sample that may change the rung: while launches are seen. */
static void forcing_note(struct budget *b)
{
	const struct process_slot *slot = &probe_set_slots(b->probes)[b->worst_slot];

	if (b->worst_slot && b->whole & PROBE_GROUP_BIT(PROBE_GROUP_RUNTIME))
		b->forcing = (struct budget_forcing){ .tgid = slot->tgid,
						      .uid = slot->uid,
						      .is_guarded = slot->flags & PROCESS_GUARDED };
}

/*
 * The next sample is of the time in which all of them are attached; those attached first have cost more by then.
 * @before: groups that were and stay attached
 */
static void attached_note(struct budget *b, uint32_t before, uint64_t begin_ns)
{
	uint64_t now_ns = clock_now_ns();

	b->governor.limits.lag_ns = b->lag_ns + now_ns - begin_ns;
	b->whole &= before;
	sample_measure(b, now_ns, cells_take(b));
}

static void budget_step(struct budget *b)
{
	uint64_t now_ns = clock_now_ns();
	enum governor_rung rung = b->governor.rung;
	uint32_t before = b->governor.groups;
	struct governor_step step;

	sample_take(b, now_ns);
	forcing_note(b);
	step = governor_step(&b->governor, &b->sample);
	target_set_thin(b->targets, step.groups);
	probe_set_thin_records(b->probes, step.rung >= GOVERNOR_DUTY);
	loss_note(b, rung, now_ns);
	if (step.groups & ~before)
		attached_note(b, before & step.groups, now_ns);
	b->whole = step.groups & target_set_attached(b->targets);
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
	b->whole = PROBE_GROUPS_ALL;
	b->sampled_ns = b->told_ns = clock_now_ns();
	governor_begin(&b->governor, &limits, b->sampled_ns);
	(void)uv_timer_init(loop, &b->timer);
	b->timer.data = b;
	(void)uv_timer_start(&b->timer, budget_timer_fired, 1, 0);
	probe_set_left_out_mark(probes, cells_mark, b);
	probe_set_unseen(probes, account_mark, b);
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
	if (!b)
		return;
	probe_set_left_out_mark(b->probes, NULL, NULL);
	probe_set_unseen(b->probes, NULL, NULL);
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

bool budget_forced_by(const struct budget *b, struct budget_forcing *ret)
{
	*ret = b->forcing;
	return b->governor.rung != GOVERNOR_ALL && b->forcing.tgid;
}

double budget_share_kept(const struct budget *b)
{
	return b->governor.rung == GOVERNOR_DUTY_ALL ? governor_share_kept(&b->governor) : 0;
}

const char *budget_rung_name(enum governor_rung rung)
{
	static const char *const names[GOVERNOR_RUNG_COUNT] = {
		[GOVERNOR_ALL] = "all",	  [GOVERNOR_NO_REQUEST] = "no_request", [GOVERNOR_NO_DRIVER] = "no_driver",
		[GOVERNOR_DUTY] = "duty", [GOVERNOR_DUTY_ALL] = "duty_all",
	};

	return names[rung];
}
