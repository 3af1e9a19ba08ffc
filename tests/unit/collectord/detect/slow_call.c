// SPDX-License-Identifier: Apache-2.0
/*
 * A call that took seconds and returned is told as it was observed; a wait as long as usual, or for a kernel of unknown
 * length, is not.
 */
#include "play.h"

/* A kept call that returned in the tick that is being made. */
static void returned(struct play *p, const char *name, uint64_t duration_ns, enum blame_class class, uint64_t bytes,
		     uint8_t depth)
{
	struct call_record call = { .start_ns = p->now_ns + S / 2 - duration_ns,
				    .duration_ns = duration_ns,
				    .raw_ns = duration_ns,
				    .tgid = p->identity.tgid,
				    .tid = 5000,
				    .reason = RECORD_REASON_SLOW,
				    .depth = depth,
				    .args = { bytes } };
	struct event event = {
		.call = &call, .process = play_entry(p), .op = play_find_op(name), .measured = p->tick.measured
	};

	if (strncmp(name, "cudaMemcpy", 10) == 0)
		call.args[0] = bytes;
	call.op = event.op->id;
	if (class != BLAME_ON_CPU)
		call.blame_ns[class] = duration_ns;
	engine_call(p->engine, &event);
	play_calls(p, name, 1, duration_ns, class);
}

static const struct {
	const char *name;
	const char *op;
	uint64_t known_calls; /* before */
	uint64_t longest_ns;  /* of them */
	uint64_t takes_ns;
	enum blame_class class;
	uint64_t bytes;
	enum finding_severity severity; /* 0: nothing */
	int confidence;			/* percent */
} cases[] = {
	{ "a copy behind a lock, always short", "cudaMemcpy", 200, 5 * MS, 6 * S, BLAME_LOCK, 0, FINDING_MEDIUM, 100 },
	{ "not so long", "cudaMemcpy", 200, 5 * MS, 3 * S, BLAME_LOCK, 0, FINDING_LOW, 100 },
	{ "the first of its kind", "cudaMemcpy", 0, 0, 6 * S, BLAME_LOCK, 0, FINDING_LOW, 60 },
	{ "a copy that slept", "cudaMemcpy", 0, 0, 6 * S, BLAME_SLEEP, 0, FINDING_LOW, 60 },
	{ "the first one computed", "cuInit", 0, 0, 6 * S, BLAME_ON_CPU, 0, FINDING_LOW, 60 },
	{ "a synchronise, always short", "cudaStreamSynchronize", 200, 20 * MS, 6 * S, BLAME_DEVICE, 0, FINDING_LOW,
	  60 },
	{ "an allocation in the driver, always short", "cudaMalloc", 200, 20 * MS, 6 * S, BLAME_DEVICE, 0, FINDING_LOW,
	  60 },
	{ "a synchronise that waited for a disk", "cudaStreamSynchronize", 3, 1 * MS, 6 * S, BLAME_BLOCK_IO, 0,
	  FINDING_LOW, 60 },
	/* Nothing is wrong, or somebody else tells it. */
	{ "short", "cudaMemcpy", 200, 5 * MS, 1900 * MS, BLAME_LOCK, 0, 0, 0 },
	{ "as long as others before", "cudaMemcpy", 200, 2 * S, 6 * S, BLAME_LOCK, 0, 0, 0 },
	{ "a long kernel, nothing known", "cudaStreamSynchronize", 3, 1 * MS, 6 * S, BLAME_DEVICE, 0, 0, 0 },
	{ "a long kernel, spinning", "cudaStreamSynchronize", 0, 0, 6 * S, BLAME_ON_CPU, 0, 0, 0 },
	{ "a long kernel, blocked", "cudaStreamSynchronize", 0, 0, 6 * S, BLAME_LOCK, 0, 0, 0 },
	{ "a long kernel, asleep", "cudaStreamSynchronize", 0, 0, 6 * S, BLAME_SLEEP, 0, 0, 0 },
	{ "a kernel like others before", "cudaStreamSynchronize", 200, 5 * S, 6 * S, BLAME_DEVICE, 0, 0, 0 },
	{ "a copy behind a long kernel", "cudaMemcpy", 3, 5 * MS, 6 * S, BLAME_DEVICE, 0, 0, 0 },
	{ "a launch, the queue is full", "cudaLaunchKernel", 50, 5 * US, 6 * S, BLAME_ON_CPU, 0, 0, 0 },
	{ "a large copy", "cudaMemcpy", 200, 5 * MS, 6 * S, BLAME_DEVICE, 7000000000, 0, 0 },
	{ "no CPU", "cudaMemcpy", 200, 5 * MS, 6 * S, BLAME_RUNNABLE, 0, 0, 0 },
};

#define SYNC_CASE 7 /* "a synchronise that waited for a disk": few calls before */

static struct play *played(size_t i)
{
	struct play *p = play_new(i);

	play_calls(p, "cudaFree", 1, US, BLAME_ON_CPU);
	if (cases[i].known_calls) {
		play_calls(p, cases[i].op, cases[i].known_calls, 5 * US, BLAME_ON_CPU);
		play_op(p, cases[i].op)->max_ns = cases[i].longest_ns;
	}
	CHECK_INT_EQ(cases[i].name, play_tick(p, S), 0);
	for (int second = 0; second < 6; second++)
		CHECK_INT_EQ(cases[i].name, play_tick(p, S), 0);
	return p;
}

static void check_cases(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct play *p = played(i);
		const char *name = cases[i].name;
		uint64_t start_ns = p->now_ns + S / 2 - cases[i].takes_ns;
		const struct finding *f;
		char title[64];

		returned(p, cases[i].op, cases[i].takes_ns, cases[i].class, cases[i].bytes, 0);
		returned(p, "cuMemcpyHtoD", cases[i].takes_ns, cases[i].class, cases[i].bytes, 1); /* inside it */
		CHECK_INT_EQ(name, play_tick(p, S), 0);
		f = play_find(p, "slow_call");
		CHECK_INT_EQ(name, f ? f->severity : 0, cases[i].severity);
		if (f) {
			(void)snprintf(title, sizeof(title), "%s took %.1f s", cases[i].op,
				       (double)cases[i].takes_ns / (double)S);
			CHECK_STR_EQ(name, f->title, title);
			CHECK_STR_EQ(name, f->op->name, cases[i].op);
			CHECK_INT_EQ(name, f->start_ns, start_ns);
			CHECK_INT_EQ(name, f->lost_ns, cases[i].takes_ns - cases[i].longest_ns);
			CHECK(name, f->lost_ns <= f->present_ns);
			CHECK_INT_EQ(name, play_evidence(f, "duration_ns"), cases[i].takes_ns);
			CHECK_INT_EQ(name, play_evidence(f, "longest_before_ns"), cases[i].longest_ns);
			CHECK_INT_EQ(name, f->blame_ns[cases[i].class], cases[i].takes_ns);
			CHECK_INT_EQ(name, f->n_calls ? f->call[0].start_ns : 0, start_ns);
			CHECK_INT_EQ(name, f->tid, 5000);
			CHECK_INT_EQ(name, (int)(f->confidence * 100 + 0.5), cases[i].confidence);
		}
		/* Once more: now it is usual. */
		CHECK_INT_EQ(name, play_tick(p, S), 0);
		CHECK_INT_EQ(name, play_tick(p, S), 0);
		returned(p, cases[i].op, cases[i].takes_ns, cases[i].class, cases[i].bytes, 0);
		CHECK_INT_EQ(name, play_tick(p, S), 0);
		f = play_find(p, "slow_call");
		CHECK_INT_EQ(name, f ? f->recurrence : 0, 0);
		CHECK(name, !f || f->end_ns);
		play_free(p);
	}
}

/* A call that was hung has a finding already. */
static void check_hung(void)
{
	struct play *p = played(0);
	uint64_t start_ns = p->now_ns;

	for (int second = 0; second < 12; second++) {
		play_in_flight(p, cases[0].op, 5000, start_ns, BLAME_LOCK);
		CHECK_INT_EQ("hung", play_tick(p, S), 0);
	}
	CHECK("hung", play_find(p, "hung_call"));
	returned(p, cases[0].op, p->now_ns + S / 2 - start_ns, BLAME_LOCK, 0, 0);
	CHECK_INT_EQ("hung", play_tick(p, S), 0);
	CHECK("hung: not twice", !play_find(p, "slow_call"));
	play_free(p);
}

/* Its record may come a tick after its figures: it is not what was usual before. */
static void check_late(void)
{
	struct play *p = played(0);

	returned(p, cases[0].op, 6 * S, BLAME_LOCK, 0, 1); /* of the figures alone */
	CHECK_INT_EQ("late", play_tick(p, S), 0);
	CHECK("late", !play_find(p, "slow_call"));
	p->now_ns -= S;
	returned(p, cases[0].op, 6 * S, BLAME_LOCK, 0, 0);
	p->now_ns += S;
	tick_done(&p->tick); /* without its figures */
	p->tick = (struct tick){ .measured = ALL_CLASSES };
	play_calls(p, "cudaFree", 1, US, BLAME_ON_CPU);
	CHECK_INT_EQ("late", play_tick(p, S), 0);
	CHECK("late", play_find(p, "slow_call"));
	play_free(p);
}

/* What it waited for, where that is known. */
static void check_advice(void)
{
	static const struct {
		size_t of; /* index of the case with the operation */
		struct account_wait wait;
		const char *want;
	} rows[] = {
		{ 0,
		  { .class = BLAME_BLOCK_IO, .kind = RESOURCE_INODE, .name = "/data/my set", .device_name = "sda" },
		  "it waited for '/data/my set' on sda: keep that in memory or on a faster disk" },
		{ 0,
		  { .class = BLAME_OTHER, .kind = RESOURCE_STOPPED, .resource = STOP_SIGNAL },
		  "if it is still stopped (ps -o stat= -p 4711 shows T): kill -CONT 4711" },
		{ SYNC_CASE,
		  { .class = BLAME_OTHER, .kind = RESOURCE_STOPPED, .resource = STOP_SIGNAL },
		  "if it is still stopped (ps -o stat= -p 4711 shows T): kill -CONT 4711" },
		{ 0, { .class = BLAME_MEMORY, .kind = RESOURCE_NONE }, "touch or lock the memory before the calls" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = played(rows[i].of);
		struct account_wait wait = rows[i].wait;
		const struct finding *f;

		returned(p, cases[rows[i].of].op, 6 * S, (enum blame_class)wait.class, 0, 0);
		wait.ns = S / 2;
		wait.earlier_ns = 5 * S + S / 2;
		wait.max_ns = 6 * S;
		wait.count = 1;
		wait.tid = 5000;
		wait.op = play_find_op(cases[rows[i].of].op)->id;
		play_wait(p, &wait);
		CHECK_INT_EQ(rows[i].want, play_tick(p, S), 0);
		f = play_find(p, "slow_call");
		CHECK_STR_EQ(rows[i].want, f && f->n_advice ? f->advice[0] : "", rows[i].want);
		play_free(p);
	}
}

int main(void)
{
	check_cases();
	check_hung();
	check_late();
	check_advice();
	return check_result();
}
