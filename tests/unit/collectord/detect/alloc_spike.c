// SPDX-License-Identifier: Apache-2.0
/*
 * Allocating is told when it suddenly costs much, or is done all the time, and not at the start.
 */
#include "play.h"

/* Calls of cudaMalloc in each second, and what one costs. */
static const struct {
	const char *name;
	uint64_t at_start; /* in each of the first five seconds */
	uint64_t usual;	   /* in each second after that */
	uint64_t usual_ns;
	uint64_t spike; /* in each of seconds 30 to 32 */
	uint64_t spike_ns;
	uint64_t runnable_ns; /* of each call in the spike */
	enum finding_severity severity;
} cases[] = {
	{ "never", 0, 0, 0, 0, 0, 0, 0 },
	{ "at the start alone", 300, 0, 2 * MS, 0, 0, 0, 0 },
	{ "cheap in the loop", 100, 100, 50 * US, 0, 0, 0, 0 },
	{ "dear in the loop", 100, 100, 2 * MS, 0, 0, 0, FINDING_MEDIUM },
	{ "very dear in the loop", 100, 100, 6 * MS, 0, 0, 0, FINDING_HIGH },
	{ "a spike", 10, 10, 100 * US, 10, 25 * MS, 0, FINDING_MEDIUM },
	{ "the first ever, late", 0, 0, 0, 10, 25 * MS, 0, FINDING_MEDIUM },
	{ "a small spike", 10, 10, 100 * US, 10, 5 * MS, 0, 0 },
	{ "as dear as ever", 10, 10, 5 * MS, 10, 6 * MS, 0, 0 },
	{ "a spike of waiting for the CPU", 10, 10, 100 * US, 10, 100 * US, 25 * MS, 0 },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct play *p = play_new(i);
		const struct finding *f;

		for (int second = 0; second < 45; second++) {
			bool is_spike = cases[i].spike && second >= 30 && second < 33;
			uint64_t n = second < 5 ? cases[i].at_start : is_spike ? cases[i].spike : cases[i].usual;
			uint64_t each_ns = is_spike ? cases[i].spike_ns : cases[i].usual_ns;

			if (n)
				play_waits(p, "cudaMalloc", n, each_ns, is_spike ? cases[i].runnable_ns : 0, 0,
					   BLAME_DEVICE);
			play_calls(p, "cudaStreamSynchronize", 50, 3 * MS, BLAME_DEVICE);
			CHECK_INT_EQ(cases[i].name, play_tick(p, S), 0);
		}
		f = play_find(p, "alloc_spike");
		CHECK_INT_EQ(cases[i].name, f ? f->severity : 0, cases[i].severity);
		if (f) {
			CHECK_STR_EQ(cases[i].name, f->op->name, "cudaMalloc");
			CHECK_INT_EQ(cases[i].name, f->start_ns, (cases[i].spike ? 1030 : 1010) * S);
			CHECK_INT_EQ(cases[i].name, play_evidence(f, "alloc_calls"), cases[i].spike ? 30 : 3500);
		}
		play_free(p);
	}
	return check_result();
}
