// SPDX-License-Identifier: Apache-2.0
/*
 * Copies are told when they are most of the calls, cost real time, and their bytes explain it.
 */
#include "play.h"

static const struct {
	const char *name;
	const char *op;
	uint64_t calls; /* a second */
	uint64_t each_ns;
	uint64_t bytes; /* of each */
	uint64_t runnable_ns;
	uint64_t sync_ns;		/* in all, a second */
	enum finding_severity severity; /* 0: none */
} cases[] = {
	{ "copies all day", "cudaMemcpyAsync", 180, 5 * MS, 16 << 20, 0, 10 * MS, FINDING_HIGH },
	{ "half of the time", "cudaMemcpyAsync", 100, 5 * MS, 16 << 20, 0, 10 * MS, FINDING_MEDIUM },
	{ "without the runtime", "cuMemcpyHtoDAsync", 180, 5 * MS, 16 << 20, 0, 10 * MS, FINDING_HIGH },
	{ "a third of the calls", "cudaMemcpyAsync", 60, 5 * MS, 16 << 20, 0, 600 * MS, 0 },
	{ "all calls, and seldom", "cudaMemcpyAsync", 20, 5 * MS, 16 << 20, 0, 0, 0 },
	{ "four bytes that wait", "cudaMemcpyAsync", 180, 5 * MS, 4, 0, 10 * MS, 0 },
	{ "copies that wait for the CPU", "cudaMemcpyAsync", 180, 1 * MS, 16 << 20, 4 * MS, 10 * MS, 0 },
	{ "no copy at all", "cudaLaunchKernel", 180, 5 * MS, 0, 0, 0, 0 },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct play *p = play_new(i);
		const struct finding *f;

		for (int second = 0; second < 60; second++) {
			play_waits(p, cases[i].op, cases[i].calls, cases[i].each_ns, cases[i].runnable_ns, 0,
				   BLAME_ON_CPU);
			play_op(p, cases[i].op)->bytes += cases[i].calls * cases[i].bytes;
			if (strcmp(cases[i].op, "cudaMemcpyAsync") == 0) {
				/* what the runtime calls below itself */
				play_waits(p, "cuMemcpyHtoDAsync", cases[i].calls, cases[i].each_ns - 2 * US,
					   cases[i].runnable_ns, 0, BLAME_ON_CPU);
				play_op(p, "cuMemcpyHtoDAsync")->bytes += cases[i].calls * cases[i].bytes;
			}
			if (cases[i].sync_ns)
				play_calls(p, "cudaStreamSynchronize", 1, cases[i].sync_ns, BLAME_DEVICE);
			play_kept(p, cases[i].op, cases[i].each_ns, 0);
			CHECK_INT_EQ(cases[i].name, play_tick(p, S), 0);
		}
		f = play_find(p, "memcpy_share");
		CHECK_INT_EQ(cases[i].name, f ? f->severity : 0, cases[i].severity);
		if (f) {
			CHECK_STR_EQ(cases[i].name, f->op->name, cases[i].op);
			CHECK_INT_EQ(cases[i].name, f->lost_ns, 60 * cases[i].calls * cases[i].each_ns);
			CHECK_INT_IN(cases[i].name, play_evidence(f, "bytes_per_s"), 3200000000, 3400000000);
			CHECK_INT_EQ(cases[i].name, f->n_calls, FINDING_CALLS_MAX);
		}
		play_free(p);
	}
	return check_result();
}
