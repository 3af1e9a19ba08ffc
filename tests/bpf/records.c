// SPDX-License-Identifier: Apache-2.0
/* Which calls become records, what is in them, and that none is lost without being counted. */
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "rig.h"
#include "tests/support/check.h"

#define TIMES 100
#define RING_SMALL 4096
#define FAILURES_KEPT 64 /* of a process, in a second (bpf/thinning.h) */

struct drained {
	unsigned int n;
	unsigned int n_by_reason[6]; /* bit by bit */
	unsigned int n_empty;
	struct call_record last;
	bool is_sane;
};

static int on_record(void *context, void *data, size_t bytes)
{
	struct drained *d = context;
	unsigned int i;

	memcpy(&d->last, data, MIN(bytes, sizeof(d->last)));
	d->n++;
	d->n_empty += d->last.op == RIG_EMPTY;
	for (i = 0; i < ARRAY_SIZE(d->n_by_reason); i++)
		d->n_by_reason[i] += (d->last.reason >> i) & 1;
	if (bytes != CALL_RECORD_SHORT || d->last.type != RECORD_CALL || d->last.tgid != (uint32_t)getpid() ||
	    d->last.duration_ns > d->last.raw_ns || d->last.start_ns + d->last.raw_ns > rig_now_ns())
		d->is_sane = false;
	return 0;
}

static struct drained drain(struct ring_buffer *ring, struct drained *d)
{
	*d = (struct drained){ .is_sane = true };
	(void)ring_buffer__consume(ring);
	return *d;
}

static int call_plain(int i)
{
	(void)i;
	return subject_empty();
}

/* Longer than any limit here, on its own clock. */
static int func_spin(void *data)
{
	uint64_t until = rig_now_ns() + 50000;

	(void)data;
	while (rig_now_ns() < until)
		;
	return 0;
}

static int call_slow(int i)
{
	(void)i;
	return subject_driver(func_spin, NULL);
}

static int call_fail_half(int i)
{
	return subject_fail(i & 1 ? 700 : 0);
}

static int call_sync(int i)
{
	(void)i;
	return subject_call(NULL, NULL);
}

static int call_alloc(int i)
{
	void *p;

	return subject_alloc(&p, (unsigned long)i);
}

static int call_copy(int i)
{
	return subject_arguments(NULL, (unsigned long)i, 4096);
}

static const struct {
	const char *name;
	int (*call)(int i);
	struct process_wish wish;
	uint64_t slow_ns; /* of RIG_DRIVER */
	unsigned int n, n_slow, n_error, n_sync, n_alloc, n_sample, n_all;
} cases[] = {
	{ "off", call_alloc, { .flags = WISH_EVERY_CALL }, 0, 0, 0, 0, 0, 0, 0, 0 },
	{ "nothing about them", call_plain, { .flags = WISH_RECORDS }, 0, 0, 0, 0, 0, 0, 0, 0 },
	{ "slow", call_slow, { .flags = WISH_RECORDS }, 10000, TIMES, TIMES, 0, 0, 0, 0, 0 },
	{ "not slow", call_slow, { .flags = WISH_RECORDS }, NSEC_PER_SEC * 10, 0, 0, 0, 0, 0, 0, 0 },
	{ "errors", call_fail_half, { .flags = WISH_RECORDS }, 0, TIMES / 2, 0, TIMES / 2, 0, 0, 0, 0 },
	{ "synchronising", call_sync, { .flags = WISH_RECORDS }, 0, TIMES, 0, 0, TIMES, 0, 0, 0 },
	{ "allocating", call_alloc, { .flags = WISH_RECORDS }, 0, TIMES, 0, 0, 0, TIMES, 0, 0 },
	{ "one in ten",
	  call_plain,
	  { .flags = WISH_RECORDS, .sample_every = 10 },
	  0,
	  TIMES / 10,
	  0,
	  0,
	  0,
	  0,
	  TIMES / 10,
	  0 },
	{ "all", call_copy, { .flags = WISH_RECORDS | WISH_EVERY_CALL }, 0, TIMES, 0, 0, 0, 0, 0, TIMES },
};

static void slow_set(struct rig *rig, uint64_t slow_ns)
{
	struct figure_cell *cells = probe_set_cells(rig->set);
	uint32_t i, n = probe_set_cells_used(rig->set);

	for (i = 1; i < n; i++)
		if (cells[i].op == RIG_DRIVER)
			cells[i].slow_ns = slow_ns;
}

static void check_contents(struct rig *rig, struct ring_buffer *ring, struct drained *d)
{
	void *p = NULL;

	rig_target(rig, 0, RIG_EVERY_CALL);
	(void)subject_alloc(&p, 12345);
	drain(ring, d);
	CHECK_INT_EQ("contents", d->last.op, RIG_ALLOC);
	CHECK_INT_EQ("contents", d->last.args[0], 12345);
	CHECK_INT_EQ("contents: read behind the pointer", d->last.args[1], 0x5eed);
	CHECK_INT_EQ("contents", d->last.uid, getuid());
	CHECK_INT_EQ("contents", d->last.tid, gettid());
	CHECK_INT_EQ("contents", d->last.slot, rig_slot(rig, getpid()));
	CHECK_STR_EQ("contents", d->last.comm, "bpf_records");
	(void)subject_fail(-7);
	drain(ring, d);
	CHECK_INT_EQ("returned", d->last.ret, -7);
	(void)subject_runtime(NULL, NULL);
	drain(ring, d);
	CHECK_INT_EQ("nested", d->n, 2);
	CHECK_INT_EQ("nested, the last one to return", d->last.op, RIG_RUNTIME);
	CHECK_INT_EQ("nested, the last one to return", d->last.depth, 0);
}

static double removed_ns(struct rig *rig, struct ring_buffer *ring, struct drained *d, struct process_wish wish)
{
	struct rig_figures before, after;

	rig_target(rig, 0, wish);
	(void)subject_runtime(NULL, NULL);
	before = rig_figures(rig, getpid(), RIG_RUNTIME);
	for (int i = 0; i < TIMES; i++) {
		(void)subject_runtime(NULL, NULL);
		drain(ring, d);
	}
	after = rig_figures(rig, getpid(), RIG_RUNTIME);
	return (double)(after.raw_ns - before.raw_ns - (after.total_ns - before.total_ns)) / TIMES;
}

/* A record of a call inside another one is made within the duration of that: it is subtracted like the inner probes. */
static void check_nested_cost(struct rig *rig, struct ring_buffer *ring, struct drained *d)
{
	double plain_ns = removed_ns(rig, ring, d, RIG_NO_CALL), recorded_ns = removed_ns(rig, ring, d, RIG_EVERY_CALL);

	CHECK("nested: the record is subtracted from the outer call", recorded_ns > plain_ns + 1);
}

/* Two operations in turn, of which every second call would be the same one. Each is sampled: not once in 2^100 runs. */
static void check_turns(struct rig *rig, struct ring_buffer *ring, struct drained *d)
{
	rig_target(rig, 0, (struct process_wish){ .flags = WISH_RECORDS, .sample_every = 10 });
	for (int i = 0; i < TIMES * 10; i++)
		(void)(i % 2 ? subject_empty() : subject_fail(0));
	drain(ring, d);
	CHECK_INT_EQ("in turn", d->n, TIMES);
	CHECK("in turn: both", d->n_empty > 0 && d->n_empty < d->n);
}

/* To keep a budget: no sample and no stacks, but the calls that always become records. */
static void check_thinned(struct rig *rig, struct ring_buffer *ring, struct drained *d)
{
	void *p = NULL;

	rig_target(rig, 0, (struct process_wish){ .flags = WISH_RECORDS | WISH_STACKS, .sample_every = 10 });
	for (int k = 0; k < 3; k++) {
		bool is_thinned = k == 1;

		probe_set_thin_records(rig->set, is_thinned);
		for (int i = 0; i < TIMES; i++)
			(void)subject_empty();
		drain(ring, d);
		CHECK_INT_EQ(is_thinned ? "thinned: no sample" : "not thinned: a sample", d->n,
			     is_thinned ? 0 : TIMES / 10);
		(void)subject_alloc(&p, 64);
		drain(ring, d);
		CHECK_INT_EQ("what always becomes a record", d->n_by_reason[3], 1);
		CHECK_INT_EQ(is_thinned ? "thinned: no stack" : "not thinned: a stack", d->last.stack != 0,
			     !is_thinned);
	}
}

/* Of a user whose records are thinned the first failures of a second are kept, and of other calls a part. */
static void check_failures(struct rig *rig, struct ring_buffer *ring, struct drained *d)
{
	static uint32_t keep[USER_SHARES];
	uint64_t from_s, seconds;

	for (size_t i = 0; i < USER_SHARES; i++)
		keep[i] = 1; /* of 2^32 */
	rig_target(rig, 0, RIG_EVERY_CALL);
	probe_set_thin_shares(rig->set, keep, true);
	from_s = rig_now_ns() / NSEC_PER_SEC;
	for (int i = 0; i < 2 * TIMES; i++)
		(void)subject_fail(700);
	seconds = rig_now_ns() / NSEC_PER_SEC - from_s + 1;
	for (int i = 0; i < TIMES; i++)
		(void)subject_fail(0);
	drain(ring, d);
	CHECK_INT_IN("of a thinned user: failures", d->n_by_reason[1], FAILURES_KEPT, seconds * FAILURES_KEPT);
	CHECK_INT_EQ("of a thinned user: nothing else", d->n, d->n_by_reason[1]);
	memset(keep, 0, sizeof(keep));
	probe_set_thin_shares(rig->set, keep, false);
}

/* On its own clock. */
static int func_spin_long(void *data)
{
	uint64_t until = rig_now_ns() + RECORD_LONG_NS + 50000;

	(void)data;
	while (rig_now_ns() < until)
		;
	return 0;
}

/* The first calls of an operation, of which it is not known which are slow. */
static void check_long(struct rig *rig, struct ring_buffer *ring, struct drained *d)
{
	rig_target(rig, 0, (struct process_wish){ .flags = WISH_RECORDS });
	(void)subject_driver(func_spin, NULL);
	(void)subject_driver(func_spin_long, NULL);
	drain(ring, d);
	CHECK_INT_EQ("a long call without a limit", d->n, 1);
	CHECK_INT_EQ("a long call without a limit", d->n_by_reason[0], 1);
	CHECK_INT_IN("a long call without a limit", d->last.duration_ns, RECORD_LONG_NS, 10 * RECORD_LONG_NS);
}

/* Nobody drains a ring that holds 23 of them: the rest is lost, counted, and in the figures all the same. */
static void check_loss(enum probe_back_end back_end)
{
	struct ring_buffer *ring;
	struct drained d;
	struct rig rig;
	int i;

	rig_open(&rig, back_end, RING_SMALL);
	rig_target(&rig, 0, RIG_EVERY_CALL);
	ring = ring_buffer__new(probe_set_calls_fd(rig.set), on_record, &d, NULL);
	for (i = 0; i < TIMES; i++)
		(void)subject_empty();
	drain(ring, &d);
	CHECK("small ring", d.n > 0 && d.n < TIMES);
	CHECK("small ring", d.is_sane);
	CHECK_INT_EQ("small ring: kept and lost", d.n + rig_loss(&rig, LOSS_RING_FULL), TIMES);
	CHECK_INT_EQ("small ring: figures", rig_figures(&rig, getpid(), RIG_EMPTY).timed, TIMES);
	ring_buffer__free(ring);
	rig_close(&rig);
}

int main(int argc, char **argv)
{
	enum probe_back_end back_end = rig_back_end(argc, argv);
	struct ring_buffer *ring;
	struct drained d;
	struct rig rig;
	size_t i;
	int k;

	rig_open(&rig, back_end, 0);
	rig_target(&rig, 0, RIG_NO_CALL);
	ring = ring_buffer__new(probe_set_calls_fd(rig.set), on_record, &d, NULL);
	CHECK("ring", ring != NULL);
	check_long(&rig, ring, &d); /* its cell is there from now on */
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		slow_set(&rig, cases[i].slow_ns);
		rig_target(&rig, 0, cases[i].wish);
		for (k = 0; k < TIMES; k++)
			(void)cases[i].call(k);
		drain(ring, &d);
		CHECK_INT_EQ(cases[i].name, d.n, cases[i].n);
		CHECK_INT_EQ(cases[i].name, d.n_by_reason[0], cases[i].n_slow);
		CHECK_INT_EQ(cases[i].name, d.n_by_reason[1], cases[i].n_error);
		CHECK_INT_EQ(cases[i].name, d.n_by_reason[2], cases[i].n_sync);
		CHECK_INT_EQ(cases[i].name, d.n_by_reason[3], cases[i].n_alloc);
		CHECK_INT_EQ(cases[i].name, d.n_by_reason[4], cases[i].n_sample);
		CHECK_INT_EQ(cases[i].name, d.n_by_reason[5], cases[i].n_all);
		CHECK(cases[i].name, d.is_sane);
	}
	check_turns(&rig, ring, &d);
	check_thinned(&rig, ring, &d);
	check_failures(&rig, ring, &d);
	check_contents(&rig, ring, &d);
	check_nested_cost(&rig, ring, &d);
	CHECK_INT_EQ("nothing lost", rig_loss(&rig, LOSS_RING_FULL), 0);
	ring_buffer__free(ring);
	rig_close(&rig);
	check_loss(back_end);
	return check_result();
}
