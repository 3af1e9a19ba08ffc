// SPDX-License-Identifier: Apache-2.0
/*
 * Programs that are well have no finding above LOW, and most have none, whatever their percentiles look like.
 */
#include "play.h"

static void bimodal(struct play *p, int second)
{
	uint64_t slow = 40 + (uint64_t)(20 * play_random(p));

	(void)second;
	play_calls(p, "cudaLaunchKernel", 950, 5 * US, BLAME_ON_CPU);
	play_calls(p, "cudaLaunchKernel", slow, 60 * US, BLAME_ON_CPU);
	play_calls(p, "cudaStreamSynchronize", 95, 1 * MS, BLAME_DEVICE);
	play_calls(p, "cudaStreamSynchronize", 5, 100 * MS, BLAME_DEVICE);
}

static void bursty(struct play *p, int second)
{
	if (second % 5 < 2)
		play_calls(p, "cudaLaunchKernel", 20000 + (uint64_t)(5000 * play_random(p)), 5 * US, BLAME_ON_CPU);
	if (second % 5 == 2)
		play_calls(p, "cudaStreamSynchronize", 1, 800 * MS, BLAME_DEVICE);
}

static void sleeps(struct play *p, int second)
{
	(void)second;
	play_calls(p, "cudaLaunchKernel", 500, 5 * US, BLAME_ON_CPU);
	play_calls(p, "cudaStreamSynchronize", 57, 1 * MS, BLAME_SLEEP);
	play_calls(p, "cudaStreamSynchronize", 3, 12 * MS + (uint64_t)(2e6 * play_random(p)), BLAME_SLEEP);
}

static void spins(struct play *p, int second)
{
	(void)second;
	play_calls(p, "cudaStreamSynchronize", 320, 3 * MS, BLAME_ON_CPU);
	play_calls(p, "cudaLaunchKernel", 320, 5 * US, BLAME_ON_CPU);
}

static void blocks(struct play *p, int second)
{
	(void)second;
	play_calls(p, "cudaStreamSynchronize", 320, 3 * MS, BLAME_LOCK);
	play_calls(p, "cudaLaunchKernel", 320, 5 * US, BLAME_ON_CPU);
}

static void polls(struct play *p, int second)
{
	(void)second;
	play_calls(p, "cudaStreamSynchronize", 320, 3 * MS, BLAME_DEVICE);
	play_calls(p, "cudaLaunchKernel", 320, 5 * US, BLAME_ON_CPU);
}

static void launches(struct play *p, int second)
{
	(void)second;
	play_calls(p, "cudaLaunchKernel", 180000, 5 * US, BLAME_ON_CPU);
	/* the odd interrupt: 0.2 % of the time */
	play_waits(p, "cudaLaunchKernel", 2, 5 * US, 1 * MS, 0, BLAME_ON_CPU);
	play_behind(p, 23, "ksoftirqd/1", 2 * MS);
}

/* The neighbour is on another CPU; here and there it is in the way for a slice. */
static void hog_elsewhere(struct play *p, int second)
{
	play_training(p, second % 4 == 3 ? 0.012 * play_random(p) : 0.002 * play_random(p), 0);
}

/* One second in a minute is disturbed by something that came and went. */
static void hiccup(struct play *p, int second)
{
	play_training(p, second == 20 ? 0.09 : 0.001, 0);
}

/* loss.item(): four bytes that wait for the device, as most of the time. */
static void reads_a_number(struct play *p, int second)
{
	(void)second;
	play_calls(p, "cudaMemcpyAsync", 100, 9 * MS, BLAME_DEVICE);
	play_op(p, "cudaMemcpyAsync")->bytes += 400;
	play_calls(p, "cudaLaunchKernel", 2000, 5 * US, BLAME_ON_CPU);
}

static void many_threads(struct play *p, int second)
{
	for (int i = 0; i < 8; i++)
		polls(p, second);
	play_waits(p, "cudaStreamSynchronize", 8, 3 * MS, 2 * MS, 0, BLAME_DEVICE);
	play_behind(p, 99, "sshd", 16 * MS);
}

/* Memory is taken at the start and now and then: as a caching allocator does. */
static void caches(struct play *p, int second)
{
	play_calls(p, "cudaMalloc", second < 5 ? 200 : second % 7 == 0, 400 * US, BLAME_DEVICE);
	play_training(p, 0, 0);
}

/* A load of two seconds: its later cost is not known. */
static void short_process(struct play *p, int second)
{
	if (second == 0)
		play_calls(p, "cudaMalloc", 3, 300 * MS, BLAME_DEVICE);
	if (second == 1)
		play_calls(p, "cudaLaunchKernel", 40, 5 * US, BLAME_ON_CPU);
	if (second == 2)
		play_process(p)->gone_ns = p->now_ns;
}

static void idle(struct play *p, int second)
{
	(void)p;
	(void)second;
}

static const struct {
	const char *name;
	void (*second)(struct play *p, int second);
	enum finding_severity most; /* 0: nothing at all */
} cases[] = {
	{ "bimodal", bimodal, 0 },
	{ "bursty", bursty, 0 },
	{ "sleeps of its own will", sleeps, 0 },
	{ "spins", spins, 0 },
	{ "blocks", blocks, 0 },
	{ "polls", polls, 0 },
	{ "many short launches", launches, 0 },
	{ "hog elsewhere", hog_elsewhere, FINDING_LOW },
	{ "one disturbed second", hiccup, 0 },
	{ "reads a number", reads_a_number, 0 },
	{ "many threads", many_threads, 0 },
	{ "caching allocator", caches, 0 },
	{ "short process", short_process, 0 },
	{ "idle", idle, 0 },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (uint64_t seed = 0; seed < 10; seed++) {
			struct play *p = play_new(seed);

			for (int second = 0; second < 60; second++) {
				cases[i].second(p, second);
				CHECK_INT_EQ(cases[i].name, play_tick(p, S), 0);
			}
			for (size_t k = 0; k < p->n_findings; k++) {
				const struct finding *f = &p->findings[k];

				CHECK_STR_EQ(cases[i].name, f->severity <= cases[i].most ? "" : f->kind, "");
			}
			play_free(p);
		}
	}
	return check_result();
}
