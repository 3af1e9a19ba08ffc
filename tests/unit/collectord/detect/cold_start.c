// SPDX-License-Identifier: Apache-2.0
/*
 * Slow first calls are told once, when later ones have shown what is usual, and only at the start of a process.
 */
#include "play.h"

static const struct {
	const char *name;
	uint64_t first_ns;	  /* of each of the first 5 allocations */
	uint64_t first_launch_ns; /* of the first 3 launches */
	uint64_t steady_allocs;	  /* in each second after that */
	int seconds;
	uint64_t hog_ns; /* of first_ns: waited for the CPU */
	uint64_t age_ns; /* of the process when it first called */
	enum finding_severity severity;
	const char *op;
} cases[] = {
	{ "contexts and modules", 180 * MS, 90 * MS, 15, 20, 0, S, FINDING_LOW, "cudaMalloc" },
	{ "worse", 700 * MS, 90 * MS, 15, 20, 0, S, FINDING_MEDIUM, "cudaMalloc" },
	{ "launches alone", 60 * US, 90 * MS, 15, 20, 0, S, FINDING_LOW, "cudaLaunchKernel" },
	{ "never allocates again", 180 * MS, 90 * MS, 0, 20, 0, S, FINDING_LOW, "cudaLaunchKernel" },
	{ "as fast as ever", 60 * US, 15 * US, 15, 20, 0, S, 0, NULL },
	{ "too little to feel", 10 * MS, 5 * MS, 15, 20, 0, S, 0, NULL },
	{ "merely short", 180 * MS, 90 * MS, 15, 1, 0, S, 0, NULL },
	{ "waited for the CPU", 180 * MS, 15 * US, 15, 20, 179900 * US, S, 0, NULL },
	{ "was running before", 180 * MS, 90 * MS, 15, 20, 0, 900 * S, 0, NULL },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct play *p = play_new(i);
		const struct finding *f;

		p->identity.start_boot_ns = p->now_ns - cases[i].age_ns;
		for (int second = 0; second < cases[i].seconds; second++) {
			if (second == 0) {
				play_waits(p, "cudaMalloc", 5, cases[i].first_ns - cases[i].hog_ns, cases[i].hog_ns, 0,
					   BLAME_DEVICE);
				play_calls(p, "cudaLaunchKernel", 3, cases[i].first_launch_ns, BLAME_ON_CPU);
				play_kept(p, "cudaMalloc", cases[i].first_ns, cases[i].hog_ns);
			} else if (cases[i].steady_allocs) {
				play_calls(p, "cudaMalloc", cases[i].steady_allocs, 50 * US, BLAME_ON_CPU);
			}
			play_calls(p, "cudaLaunchKernel", 100, 14 * US, BLAME_ON_CPU);
			play_calls(p, "cudaStreamSynchronize", 40, 1 * MS, BLAME_DEVICE);
			if (second == cases[i].seconds - 1)
				play_process(p)->gone_ns = p->now_ns + S;
			CHECK_INT_EQ(cases[i].name, play_tick(p, S), 0);
		}
		f = play_find(p, "cold_start");
		CHECK_INT_EQ(cases[i].name, f ? f->severity : 0, cases[i].severity);
		if (f) {
			CHECK_INT_EQ(cases[i].name, p->n_opened + p->n_updated, 1);
			CHECK_INT_EQ(cases[i].name, p->n_closed, 1);
			CHECK_STR_EQ(cases[i].name, f->op->name, cases[i].op);
			CHECK_INT_EQ(cases[i].name, f->start_ns, p->first_call_ns);
			CHECK_INT_EQ(cases[i].name, f->end_ns, 1001 * S);
			CHECK_INT_EQ(cases[i].name, f->measured, 0);
		}
		play_free(p);
	}
	return check_result();
}
