// SPDX-License-Identifier: Apache-2.0
/* Allocations that found no device memory; those that succeeded when tried again are less. */
#include "play.h"

#define CALLS 4
#define MIB 1048576ull

static const struct {
	const char *name;
	struct {
		const char *op;
		int32_t code;
		uint64_t bytes;
		unsigned int second;
	} calls[CALLS];
	const char *title; /* NULL: no finding */
	enum finding_severity severity;
	double failed, bytes;
	uint32_t recurrence;
	bool is_ended; /* it ends before the first tick */
} cases[] = {
	{ "none failed", { { "cudaMalloc", 0, MIB, 0 } }, NULL, 0, 0, 0, 0, false },
	{ "one failed",
	  { { "cudaMalloc", 0, MIB, 0 }, { "cudaMalloc", 2, 512 * MIB, 0 } },
	  "cudaMalloc failed: no device memory for 512.0 MiB",
	  FINDING_MEDIUM,
	  1,
	  512 * MIB,
	  0,
	  false },
	{ "one failed, and that was the end",
	  { { "cudaMalloc", 0, MIB, 0 }, { "cudaMalloc", 2, 512 * MIB, 0 } },
	  "cudaMalloc failed: no device memory for 512.0 MiB",
	  FINDING_MEDIUM,
	  1,
	  512 * MIB,
	  0,
	  true },
	{ "tried again",
	  { { "cudaMalloc", 2, 512 * MIB, 0 }, { "cudaFree", 0, 0, 0 }, { "cudaMalloc", 0, 512 * MIB, 0 } },
	  "cudaMalloc found no device memory for 512.0 MiB, and succeeded when tried again",
	  FINDING_LOW,
	  1,
	  512 * MIB,
	  0,
	  false },
	{ "tried again, in vain",
	  { { "cudaMalloc", 2, 512 * MIB, 0 }, { "cudaFree", 0, 0, 0 }, { "cudaMalloc", 2, 512 * MIB, 0 } },
	  "cudaMalloc failed: no device memory for 512.0 MiB",
	  FINDING_MEDIUM,
	  2,
	  512 * MIB,
	  0,
	  false },
	{ "only a smaller one succeeds",
	  { { "cudaMalloc", 2, 512 * MIB, 0 }, { "cudaMalloc", 0, MIB, 0 } },
	  "cudaMalloc failed: no device memory for 512.0 MiB",
	  FINDING_MEDIUM,
	  1,
	  512 * MIB,
	  0,
	  false },
	{ "again in a later second",
	  { { "cudaMalloc", 2, 512 * MIB, 0 }, { "cudaMalloc", 0, 512 * MIB, 0 }, { "cudaMalloc", 2, 256 * MIB, 1 } },
	  "cudaMalloc failed: no device memory for 512.0 MiB",
	  FINDING_MEDIUM,
	  2,
	  512 * MIB,
	  1,
	  false },
	{ "more than any device has",
	  { { "cudaMalloc", 2, 4096ull * 1024 * MIB, 0 } },
	  "cudaMalloc failed: no device memory for 4096.0 GiB",
	  FINDING_MEDIUM,
	  1,
	  4096.0 * 1024 * MIB,
	  0,
	  false },
	{ "a size computed as below 0, again and again",
	  { { "cudaMalloc", 2, UINT64_MAX, 0 },
	    { "cudaMalloc", 2, UINT64_MAX, 1 },
	    { "cudaMalloc", 2, UINT64_MAX, 2 } },
	  "cudaMalloc failed: no device memory for 17179869184.0 GiB",
	  FINDING_MEDIUM,
	  3,
	  18446744073709551616.0,
	  2,
	  false },
	{ "an invalid size", { { "cudaMalloc", 1, 512 * MIB, 0 } }, NULL, 0, 0, 0, 0, false },
	{ "pinned memory of the host", { { "cudaMallocHost", 2, 512 * MIB, 0 } }, NULL, 0, 0, 0, 0, false },
	{ "no allocation", { { "cudaLaunchKernel", 2, 0, 0 } }, NULL, 0, 0, 0, 0, false },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct play *p = play_new(i);
		const struct finding *f;

		for (unsigned int second = 0; second < 3; second++) {
			for (size_t k = 0; k < CALLS && cases[i].calls[k].op; k++) {
				if (cases[i].calls[k].second != second)
					continue;
				play_returned(p, cases[i].calls[k].op, cases[i].calls[k].code, cases[i].calls[k].bytes);
				play_calls(p, cases[i].calls[k].op, 1, US, BLAME_ON_CPU);
			}
			if (cases[i].is_ended && !second)
				play_exit(p);
			CHECK_INT_EQ(cases[i].name, play_tick(p, S), 0);
		}
		f = play_find(p, "device_oom");
		CHECK(cases[i].name, (f != NULL) == (cases[i].title != NULL));
		if (f) {
			CHECK_STR_EQ(cases[i].name, f->title, cases[i].title);
			CHECK_INT_EQ(cases[i].name, f->severity, cases[i].severity);
			CHECK_INT_EQ(cases[i].name, f->recurrence, cases[i].recurrence);
			CHECK_INT_EQ(cases[i].name, play_evidence(f, "failed_calls"), cases[i].failed);
			CHECK(cases[i].name, play_evidence(f, "requested_bytes") == cases[i].bytes);
			CHECK(cases[i].name, f->n_calls > 0);
		}
		play_free(p);
	}
	return check_result();
}
