// SPDX-License-Identifier: Apache-2.0
/*
 * Findings open, come back, close and are told alike for the same ticks; what is usual is learned in quiet times alone.
 */
#include "play.h"

static void seconds_of(struct play *p, int n, double hog)
{
	for (int i = 0; i < n; i++) {
		play_training(p, hog, 0);
		CHECK_INT_EQ("tick", play_tick(p, S), 0);
	}
}

/* Seconds of a hog of a half, seconds without, and again. */
static const struct {
	const char *name;
	int seconds[6];
	size_t n_findings;
	uint32_t recurrence;
	int present; /* seconds in all, of all */
} lives[] = {
	{ "a pause is the same", { 10, 5, 10 }, 1, 0, 20 },
	{ "comes back", { 10, 60, 10 }, 1, 1, 20 },
	{ "comes back twice", { 10, 60, 10, 60, 10 }, 1, 2, 30 },
	{ "another one, much later", { 10, 400, 10 }, 2, 0, 20 },
	{ "bursts of a second", { 1, 3, 1, 3, 1, 3 }, 1, 0, 3 },
};

static void check_lives(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(lives); i++) {
		struct play *p = play_new(i);
		uint32_t recurrence = 0;
		uint64_t present_ns = 0, id = 0;

		seconds_of(p, 5, 0);
		for (size_t k = 0; k < ARRAY_SIZE(lives[i].seconds); k++) {
			seconds_of(p, lives[i].seconds[k], k % 2 ? 0 : 0.5);
			if (p->n_findings == 1)
				CHECK(lives[i].name, !id || id == p->findings[0].id);
			id = p->n_findings ? p->findings[0].id : 0;
		}
		seconds_of(p, 12, 0);
		CHECK_INT_EQ(lives[i].name, p->n_findings, lives[i].n_findings);
		for (size_t k = 0; k < p->n_findings; k++) {
			recurrence += p->findings[k].recurrence;
			present_ns += p->findings[k].present_ns;
			CHECK(lives[i].name, p->findings[k].end_ns != 0);
			CHECK_INT_IN(lives[i].name, p->findings[k].usual_ns, 2900 * US, 3100 * US);
		}
		CHECK_INT_EQ(lives[i].name, recurrence, lives[i].recurrence);
		CHECK_INT_EQ(lives[i].name, present_ns, (uint64_t)lives[i].present * S);
		CHECK_INT_EQ(lives[i].name, p->n_opened, lives[i].n_findings + lives[i].recurrence);
		CHECK_INT_EQ(lives[i].name, p->n_closed, p->n_opened);
		play_free(p);
	}
}

/* Ends where it was last seen: 10 s quiet is what it takes to know. */
static void check_ends(void)
{
	struct play *p = play_new(1);

	seconds_of(p, 10, 0.5);
	CHECK_INT_EQ("goes on", p->findings[0].end_ns, 0);
	seconds_of(p, 12, 0);
	CHECK_INT_EQ("quiet", p->findings[0].end_ns, 1010 * S);

	seconds_of(p, 10, 0.5);
	play_process(p)->gone_ns = p->now_ns + S / 2;
	CHECK_INT_EQ("gone", play_tick(p, S), 0);
	CHECK_INT_EQ("gone", p->findings[0].end_ns, 1032 * S);
	CHECK_INT_EQ("gone", p->n_closed, p->n_opened);

	/* The next one with its number is another. */
	p->identity.start_boot_ns++;
	seconds_of(p, 10, 0.5);
	CHECK_INT_EQ("another", p->n_findings, 2);
	CHECK("another", p->findings[0].id != p->findings[1].id);
	engine_finish(p->engine, p->now_ns);
	CHECK_INT_EQ("the source ends", p->findings[1].end_ns, p->now_ns);
	CHECK_INT_EQ("the source ends", p->n_closed, p->n_opened);
	play_free(p);
}

/* A finding is as bad as it was at its worst. */
static void check_worst(void)
{
	struct play *p = play_new(1);

	seconds_of(p, 10, 0.5);
	CHECK_INT_EQ("at its worst", p->findings[0].severity, FINDING_HIGH);
	seconds_of(p, 60, 0.02);
	CHECK_INT_EQ("weaker", p->n_findings, 1);
	CHECK_INT_EQ("weaker", p->findings[0].severity, FINDING_HIGH);
	CHECK_INT_EQ("weaker", p->findings[0].end_ns, 0);
	play_free(p);
}

/* Two incarnations of one process id in one tick: what one does is not the other's. */
static void check_incarnations(void)
{
	struct play *p = play_new(1);

	for (int second = 0; second < 10; second++) {
		p->identity.exec_gen = 1;
		play_training(p, 0.5, 0);
		p->identity.exec_gen = 2;
		play_training(p, 0, 0);
		CHECK_INT_EQ("incarnations", play_tick(p, S), 0);
	}
	CHECK_INT_EQ("incarnations", p->n_findings, 1);
	CHECK_INT_EQ("incarnations", p->findings[0].process.exec_gen, 1);
	CHECK_INT_IN("incarnations", p->findings[0].lost_ns, 9 * S / 2, 5 * S);
	play_free(p);
}

/* Whoever takes over is another finding. */
static void check_takes_over(void)
{
	struct play *p = play_new(1);

	for (int second = 0; second < 60; second++) {
		play_waits(p, "cudaStreamSynchronize", 100, 4 * MS, 5 * MS, 0, BLAME_DEVICE);
		play_behind(p, second < 30 ? 7 : 8, "x", 500 * MS);
		CHECK_INT_EQ("takes over", play_tick(p, S), 0);
	}
	CHECK_INT_EQ("takes over", p->n_findings, 2);
	CHECK_INT_EQ("takes over", p->findings[0].cause.pid, 7);
	CHECK_INT_EQ("takes over", p->findings[1].cause.pid, 8);
	CHECK("takes over", p->findings[0].end_ns && !p->findings[1].end_ns);
	play_free(p);
}

/* A reader who may not know the culprit's pid cannot compute it from the id, which does not depend on it. */
static void check_id(void)
{
	static const uint32_t culprits[] = { 7, 8 };
	uint64_t ids[ARRAY_SIZE(culprits)][2];

	for (size_t i = 0; i < ARRAY_SIZE(culprits); i++) {
		struct play *p = play_new(1);

		for (int second = 0; second < 60; second++) {
			play_waits(p, "cudaStreamSynchronize", 100, 4 * MS, 5 * MS, 0, BLAME_DEVICE);
			play_behind(p, second < 30 ? culprits[i] : 9, "x", 500 * MS);
			CHECK_INT_EQ("id", play_tick(p, S), 0);
		}
		CHECK_INT_EQ("id", p->n_findings, 2);
		CHECK_INT_EQ("id", p->findings[0].cause.pid, culprits[i]);
		CHECK("id", p->findings[0].id != p->findings[1].id);
		ids[i][0] = p->findings[0].id;
		ids[i][1] = p->findings[1].id;
		play_free(p);
	}
	CHECK("id", ids[0][0] == ids[1][0] && ids[0][1] == ids[1][1]);
}

static const struct {
	const char *name;
	enum loss_reason reason;
	uint64_t n; /* in each tick */
	double low, high;
} losses[] = {
	{ "nothing lost", LOSS_RING_FULL, 0, 1, 1 },
	{ "records alone", LOSS_RING_FULL, 1000, 1, 1 },
	{ "calls not counted", LOSS_PROCESS_SLOTS, 2000, 0.3, 0.8 },
	{ "waits not seen", LOSS_SWITCH_UNSEEN, 1000, 0.4, 0.95 },
};

static void check_losses(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		struct play *p = play_new(1);

		for (int second = 0; second < 10; second++) {
			p->tick.losses[losses[i].reason] = losses[i].n;
			play_training(p, 0.5, 0);
			CHECK_INT_EQ(losses[i].name, play_tick(p, S), 0);
		}
		CHECK(losses[i].name, p->findings[0].confidence >= losses[i].low);
		CHECK(losses[i].name, p->findings[0].confidence <= losses[i].high);
		play_free(p);
	}
}

/* The same ticks and calls: the same findings, byte for byte. */
static void check_same(void)
{
	struct play *a = play_new(3), *b = play_new(3);

	for (int second = 0; second < 200; second++) {
		double hog = second % 50 < 20 ? 0.3 : 0;

		play_training(a, hog, second > 100 ? 0.2 : 0);
		play_training(b, hog, second > 100 ? 0.2 : 0);
		CHECK_INT_EQ("same", play_tick(a, S), 0);
		CHECK_INT_EQ("same", play_tick(b, S), 0);
	}
	CHECK_INT_EQ("same", a->n_findings, b->n_findings);
	CHECK("same", a->n_findings >= 2);
	CHECK("same", memcmp(a->findings, b->findings, a->n_findings * sizeof(*a->findings)) == 0);
	CHECK_INT_EQ("same", a->n_updated, b->n_updated);
	play_free(a);
	play_free(b);
}

/* More processes than there is room for: the quiet ones are forgotten, and counted. */
static void check_bounded(void)
{
	struct play *p = play_new(1);
	struct engine_counts counts;

	for (uint32_t i = 0; i < 3 * PROCESS_SLOTS; i++) {
		p->identity.tgid = 100 + i;
		play_calls(p, "cudaLaunchKernel", 10, 5 * US, BLAME_ON_CPU);
		CHECK_INT_EQ("bounded", play_tick(p, S), 0);
	}
	engine_counts(p->engine, &counts);
	CHECK_INT_EQ("bounded", counts.processes, PROCESS_SLOTS);
	CHECK_INT_EQ("bounded", counts.forgotten_processes, 2 * PROCESS_SLOTS);
	CHECK_INT_EQ("bounded", counts.open, 0);
	play_free(p);
}

/* Ticks without length, without processes, with calls that have no operation. */
static void check_odd(void)
{
	struct play *p = play_new(1);

	CHECK_INT_EQ("empty", play_tick(p, S), 0);
	CHECK_INT_EQ("no length", play_tick(p, 0), 0);
	play_training(p, 0.5, 0);
	play_process(p)->ops.items[0].op = NULL;
	CHECK_INT_EQ("no operation", play_tick(p, 0), 0);
	play_in_flight(p, "cudaMalloc", 1, p->now_ns + S, BLAME_DEVICE);
	p->in_flight[0].tgid = 99;
	CHECK_INT_EQ("in flight, of nobody known", play_tick(p, S), 0);
	play_free(p);
}

/* One user with very many processes that find something takes no room of another one, nor memory without end. */
static void check_shares(void)
{
	static const char *const allocations[] = { "cudaMalloc",      "cudaMallocAsync", "cudaMallocManaged",
						   "cudaMallocPitch", "cuMemAlloc",	 "cuMemAllocAsync" };
	struct play *p = play_new(1);
	struct engine_counts counts;

	p->but = "device_oom";
	for (uint32_t i = 0; i < 700; i++) {
		p->identity.tgid = 100000 + i;
		for (size_t k = 0; k < ARRAY_SIZE(allocations); k++) {
			play_calls(p, allocations[k], 1, US, BLAME_ON_CPU);
			play_returned(p, allocations[k], 2, 4096);
			CHECK_INT_EQ("shares", play_tick(p, MS), 0);
		}
	}
	engine_counts(p->engine, &counts);
	CHECK_INT_EQ("shares: three quarters", counts.found, 3072);
	CHECK("shares: the rest is refused, or instead of an older one",
	      counts.refused_findings || counts.forgotten_findings);
	p->identity.tgid = PLAY_PID;
	p->identity.uid = PLAY_UID + 1;
	play_calls(p, "cudaMalloc", 1, US, BLAME_ON_CPU);
	play_returned(p, "cudaMalloc", 700, 4096);
	CHECK_INT_EQ("shares", play_tick(p, S), 0);
	CHECK("shares: of another user", play_find(p, "call_error") != NULL);
	play_free(p);
}

int main(void)
{
	check_lives();
	check_ends();
	check_worst();
	check_incarnations();
	check_takes_over();
	check_id();
	check_losses();
	check_same();
	check_bounded();
	check_odd();
	check_shares();
	return check_result();
}
