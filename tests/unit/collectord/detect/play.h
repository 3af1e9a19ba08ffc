// SPDX-License-Identifier: Apache-2.0
/*
 * A small stage for detectors: ticks and kept calls made by hand, an engine that looks
 * at them, and the findings as they were last told.
 */
#pragma once

#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "detect/engine.h"
#include "events/op.h"
#include "procs/system_sample.h"
#include "tests/support/check.h"

#define PLAY_FINDINGS 64
#define PLAY_PID 4711u
#define PLAY_UID 1000u
#define PLAY_HOG 6603u
#define MS NSEC_PER_MSEC
#define US NSEC_PER_USEC
#define S NSEC_PER_SEC
#define ALL_CLASSES ((uint16_t)((1u << BLAME_COUNT) - 1))

struct play {
	struct process_table *table;
	ARRAY(struct process *) entries; /* a reference each time that one was taken */
	struct engine *engine;
	struct process_identity identity; /* of the process that play_calls() adds to */
	uint64_t first_call_ns;
	uint64_t now_ns;
	struct tick tick; /* the one that is being made */
	struct in_flight_record in_flight[64];
	struct finding findings[PLAY_FINDINGS]; /* in order of opening */
	size_t n_findings;
	unsigned int n_returned; /* calls of play_returned() */
	unsigned int n_opened, n_updated, n_closed;
	uint64_t random;
	uint32_t behind_tgids[256]; /* that ran, in the order of their first time */
	const char *but; /* findings of this kind are not looked at: the accounts compute where nothing else is said */
};

static inline void play_told(const struct finding *finding, enum engine_change change, void *data)
{
	struct play *p = data;
	size_t i = 0;

	if (p->but && strcmp(finding->kind, p->but) == 0)
		return;

	while (i < p->n_findings && p->findings[i].id != finding->id)
		i++;
	CHECK("engine", i < PLAY_FINDINGS);
	CHECK("engine", finding->id != 0);
	CHECK("engine", (i == p->n_findings) <= (change == ENGINE_OPENED));
	CHECK("engine", (finding->end_ns != 0) == (change == ENGINE_CLOSED));
	if (i == p->n_findings)
		p->n_findings++;
	p->findings[i] = *finding;
	p->n_opened += change == ENGINE_OPENED;
	p->n_updated += change == ENGINE_UPDATED;
	p->n_closed += change == ENGINE_CLOSED;
}

static inline struct play *play_new(uint64_t seed)
{
	struct play *p = calloc(1, sizeof(*p));

	if (!p)
		abort();
	p->now_ns = 1000 * S;
	p->random = seed * 2654435761u + 1;
	p->identity = (struct process_identity){
		.start_boot_ns = p->now_ns - S, .tgid = PLAY_PID, .uid = PLAY_UID, .exec_gen = 1, .comm = "python"
	};
	p->first_call_ns = p->now_ns;
	p->tick.measured = ALL_CLASSES;
	CHECK_INT_EQ("table", process_table_new(&p->table), 0);
	CHECK_INT_EQ("engine", engine_new(p->table, play_told, p, &p->engine), 0);
	engine_set_facts(p->engine, &(struct detector_facts){ .n_cpus = 16 });
	return p;
}

static inline void play_free(struct play *p)
{
	engine_finish(p->engine, p->now_ns);
	engine_free(p->engine);
	tick_done(&p->tick);
	for (size_t i = 0; i < p->entries.n; i++)
		(void)process_unref(p->entries.items[i]);
	ARRAY_DONE(&p->entries);
	process_table_free(p->table);
	free(p);
}

/* Its entry, which stays. */
static inline struct process *play_entry(struct play *p)
{
	struct process *entry = process_table_take(p->table, &p->identity);

	CHECK_INT_EQ("entry", ARRAY_PUSH(&p->entries, entry), 0);
	return entry;
}

/* 0 ... 1, the same each time for one seed */
static inline double play_random(struct play *p)
{
	p->random = p->random * 6364136223846793005u + 1442695040888963407u;
	return (double)(p->random >> 11) / (double)(1ull << 53);
}

static inline struct tick_process *play_process(struct play *p)
{
	struct tick_process fresh = { .process = play_entry(p), .first_call_ns = p->first_call_ns };

	for (size_t i = 0; i < p->tick.processes.n; i++)
		if (p->tick.processes.items[i].process == fresh.process)
			return &p->tick.processes.items[i];
	CHECK_INT_EQ("tick", ARRAY_PUSH(&p->tick.processes, fresh), 0);
	return &p->tick.processes.items[p->tick.processes.n - 1];
}

static inline const struct op *play_find_op(const char *name)
{
	const struct op *op = op_find(name);

	CHECK(name, op);
	if (!op)
		abort();
	return op;
}

static inline struct op_figures *play_op(struct play *p, const char *name)
{
	struct tick_process *process = play_process(p);
	struct tick_op fresh = { .op = play_find_op(name) };

	for (size_t i = 0; i < process->ops.n; i++)
		if (process->ops.items[i].op == fresh.op)
			return &process->ops.items[i].figures;
	CHECK_INT_EQ("tick", ARRAY_PUSH(&process->ops, fresh), 0);
	return &process->ops.items[process->ops.n - 1].figures;
}

/* n calls of `own_ns` each, plus what they waited for beyond that, each. */
static inline void play_waits(struct play *p, const char *name, uint64_t n, uint64_t own_ns, uint64_t runnable_ns,
			      uint64_t quota_ns, enum blame_class own)
{
	struct op_figures *f = play_op(p, name);
	uint64_t each_ns = own_ns + runnable_ns + quota_ns;

	f->raw_ns += n * each_ns;
	f->total_ns += n * each_ns;
	f->max_ns = MAX(f->max_ns, each_ns);
	f->blame_ns[own] += n * own_ns;
	f->blame_ns[BLAME_RUNNABLE] += n * runnable_ns;
	f->blame_ns[BLAME_QUOTA] += n * quota_ns;
	CHECK_INT_EQ("tick", histogram_add(&f->durations, histogram_bucket_of(each_ns), n), 0);
}

static inline void play_calls(struct play *p, const char *name, uint64_t n, uint64_t own_ns, enum blame_class own)
{
	play_waits(p, name, n, own_ns, 0, 0, own);
}

static inline void play_behind(struct play *p, uint32_t tgid, const char *comm, uint64_t ns)
{
	struct behind_figures who = { .ns = ns, .tgid = tgid };

	while (tgid && p->behind_tgids[who.number] && p->behind_tgids[who.number] != tgid)
		who.number++;
	CHECK("room", who.number + 1 < ARRAY_SIZE(p->behind_tgids));
	p->behind_tgids[who.number++] = tgid;
	(void)snprintf(who.comm, sizeof(who.comm), "%s", comm);
	CHECK_INT_EQ("tick", ARRAY_PUSH(&play_process(p)->behind, who), 0);
}

/* A thread's account of this tick, to be filled. Valid until the next is made. */
static inline struct account *play_account(struct play *p, uint32_t tid, bool is_driving)
{
	struct tick_process *process = play_process(p);
	struct account fresh = {
		.tid = tid, .is_driving = is_driving, .calls = is_driving ? 1000 : 0, .comm = "python"
	};

	CHECK_INT_EQ("tick", ARRAY_PUSH(&process->accounts, fresh), 0);
	return &process->accounts.items[process->accounts.n - 1];
}

static inline void play_part(struct account *a, enum account_where where, const char *op, enum blame_class class,
			     uint64_t ns)
{
	struct account_part part = { .ns = ns,
				     .op = op ? play_find_op(op)->id : 0,
				     .where = (uint8_t)where,
				     .class = (uint8_t) class };

	if (ns)
		CHECK_INT_EQ("tick", ARRAY_PUSH(&a->parts, part), 0);
	a->wall_ns += ns;
}

static inline void play_between(struct account *a, enum blame_class class, uint64_t ns)
{
	play_part(a, ACCOUNT_BETWEEN, NULL, class, ns);
}

static inline void play_in(struct account *a, const char *op, enum blame_class class, uint64_t ns)
{
	play_part(a, ACCOUNT_IN, op, class, ns);
}

/* What is left of the tick it computed between its calls. */
static inline void play_rest(struct account *a, uint64_t length_ns)
{
	play_between(a, BLAME_ON_CPU, length_ns - a->wall_ns);
}

/* What a thread waited for between its calls. */
static inline void play_wait(struct play *p, const struct account_wait *wait)
{
	CHECK_INT_EQ("tick", ARRAY_PUSH(&play_process(p)->waits, *wait), 0);
}

static inline void play_fork(struct play *p, uint32_t child)
{
	struct life_record life = { .type = RECORD_FORK, .tgid = p->identity.tgid, .fork = { .child = child } };
	struct event event = { .life = &life, .process = play_entry(p) };

	engine_host(p->engine, &event);
}

static inline void play_exit(struct play *p)
{
	struct life_record life = { .type = RECORD_EXIT, .tgid = p->identity.tgid };
	struct event event = { .life = &life, .process = play_entry(p) };

	engine_host(p->engine, &event);
}

static inline void play_in_flight(struct play *p, const char *name, uint32_t tid, uint64_t start_ns,
				  enum blame_class waits)
{
	struct in_flight_record *r = &p->in_flight[p->tick.n_in_flight++];

	*r = (struct in_flight_record){
		.start_ns = start_ns, .tgid = p->identity.tgid, .tid = tid, .op = play_find_op(name)->id
	};
	if (waits != BLAME_ON_CPU)
		r->blame_ns[waits] = 1; /* all of the age: set when the tick is played */
}

/* A kept call of the tick that is being made. */
static inline void play_kept_at(struct play *p, const char *name, uint64_t duration_ns, uint64_t runnable_ns,
				struct stack *stack)
{
	struct call_record call = { .start_ns = p->now_ns,
				    .duration_ns = duration_ns,
				    .raw_ns = duration_ns,
				    .tgid = p->identity.tgid,
				    .tid = p->identity.tgid };
	struct event event = { .call = &call,
			       .process = play_entry(p),
			       .op = play_find_op(name),
			       .measured = p->tick.measured,
			       .stack = stack };

	call.op = event.op->id;
	call.blame_ns[BLAME_RUNNABLE] = runnable_ns;
	engine_call(p->engine, &event);
}

static inline void play_kept(struct play *p, const char *name, uint64_t duration_ns, uint64_t runnable_ns)
{
	play_kept_at(p, name, duration_ns, runnable_ns, NULL);
}

/* A kept call of the tick that is being made: it returned a code, 0: it succeeded. */
static inline void play_returned(struct play *p, const char *name, int32_t code, uint64_t bytes)
{
	struct call_record call = { .start_ns = p->now_ns + p->n_returned++ * US,
				    .duration_ns = US,
				    .raw_ns = US,
				    .tgid = p->identity.tgid,
				    .tid = p->identity.tgid,
				    .ret = code,
				    .reason = code ? RECORD_REASON_ERROR : RECORD_REASON_ALLOC,
				    .args = { bytes } };
	struct event event = {
		.call = &call, .process = play_entry(p), .op = play_find_op(name), .measured = p->tick.measured
	};

	call.op = event.op->id;
	engine_call(p->engine, &event);
}

/* Look at what was made, which took so long, and begin the next tick. */
static inline int play_tick(struct play *p, uint64_t length_ns)
{
	uint16_t measured = p->tick.measured;
	int r;

	p->tick.from_ns = p->now_ns;
	p->now_ns += length_ns;
	p->tick.to_ns = p->now_ns;
	p->tick.in_flight = p->in_flight;
	for (size_t i = 0; i < p->tick.n_in_flight; i++) {
		p->in_flight[i].now_ns = p->now_ns;
		for (int class = 0; class < BLAME_COUNT; class ++)
			if (p->in_flight[i].blame_ns[class])
				p->in_flight[i].blame_ns[class] = p->now_ns - p->in_flight[i].start_ns;
	}
	r = engine_tick(p->engine, &p->tick);
	tick_done(&p->tick);
	p->tick = (struct tick){ .measured = measured };
	return r;
}

/* What people would see first: the worst, then what lost most. */
static inline const struct finding *play_first(const struct play *p)
{
	const struct finding *first = NULL;

	for (size_t i = 0; i < p->n_findings; i++) {
		const struct finding *f = &p->findings[i];

		if (!first || f->severity > first->severity ||
		    (f->severity == first->severity && f->lost_ns > first->lost_ns))
			first = f;
	}
	return first;
}

static inline const struct finding *play_find(const struct play *p, const char *kind)
{
	for (size_t i = 0; i < p->n_findings; i++)
		if (strcmp(p->findings[i].kind, kind) == 0)
			return &p->findings[i];
	return NULL;
}

static inline double play_evidence(const struct finding *f, const char *name)
{
	for (size_t i = 0; i < f->n_evidence; i++)
		if (strcmp(f->evidence[i].name, name) == 0)
			return f->evidence[i].value;
	return -1;
}

static inline uint64_t play_blame_sum(const struct finding *f)
{
	uint64_t ns = 0;

	for (int class = 0; class < BLAME_COUNT; class ++)
		ns += f->blame_ns[class];
	return ns;
}

/*
 * A second of a training loop on one thread: launches, a copy, a wait for the device,
 * over and over. A neighbour takes the share `hog` of it, the control group `quota`.
 */
static inline void play_training(struct play *p, double hog, double quota)
{
	uint64_t step_ns = 10 * 5 * US + 20 * US + 3 * MS;
	uint64_t hog_ns = (uint64_t)(hog * (double)S), quota_ns = (uint64_t)(quota * (double)S);
	uint64_t n = (uint64_t)((double)(S - hog_ns - quota_ns) * (0.9 + 0.1 * play_random(p)) / (double)step_ns) + 1;

	play_calls(p, "cudaLaunchKernel", 10 * n, 5 * US, BLAME_ON_CPU);
	play_calls(p, "cuLaunchKernel", 10 * n, 4 * US, BLAME_ON_CPU);
	play_calls(p, "cudaMemcpyAsync", n, 20 * US, BLAME_ON_CPU);
	play_op(p, "cudaMemcpyAsync")->bytes += n * 65536;
	play_waits(p, "cudaStreamSynchronize", n, 3 * MS, hog_ns / n, quota_ns / n, BLAME_DEVICE);
	play_waits(p, "cuStreamSynchronize", n, 3 * MS, hog_ns / n, quota_ns / n, BLAME_DEVICE);
	if (!hog_ns)
		return;
	play_behind(p, PLAY_HOG, "logrotate", hog_ns / 10 * 9);
	play_behind(p, 17, "kworker/0:1", hog_ns / 10);
	play_kept(p, "cudaStreamSynchronize", 3 * MS + hog_ns / n, hog_ns / n);
}
