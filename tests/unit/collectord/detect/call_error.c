// SPDX-License-Identifier: Apache-2.0
/* The first call that returned a code after which a process cannot go on is a finding; codes of trials are none. */
#include "play.h"

#define CALLS 3

static const struct {
	const char *name;
	struct {
		const char *op;
		int32_t code;
		unsigned int second;
		bool is_dropped; /* counted, but its record was lost */
	} calls[CALLS];
	const char *title; /* NULL: no finding */
	enum finding_severity severity;
	double failed; /* calls with the code */
} cases[] = {
	{ "no call failed", { { "cudaMalloc", 0, 0, false } }, NULL, 0, 0 },
	{ "a kernel's access",
	  { { "cudaStreamSynchronize", 700, 0, false } },
	  "cudaStreamSynchronize returned 700: a kernel used memory that is not its own",
	  FINDING_HIGH,
	  1 },
	{ "the first one of several, and those of a later second",
	  { { "cudaStreamSynchronize", 719, 0, false },
	    { "cudaLaunchKernel", 719, 0, false },
	    { "cudaMalloc", 719, 1, false } },
	  "cudaStreamSynchronize returned 719: a kernel failed",
	  FINDING_HIGH,
	  3 },
	{ "another code later",
	  { { "cudaStreamSynchronize", 719, 0, false }, { "cudaStreamSynchronize", 700, 1, false } },
	  "cudaStreamSynchronize returned 719: a kernel failed",
	  FINDING_HIGH,
	  1 },
	{ "of the driver",
	  { { "cuStreamSynchronize", 710, 0, false } },
	  "cuStreamSynchronize returned 710: an assertion failed in a kernel",
	  FINDING_HIGH,
	  1 },
	{ "versions",
	  { { "cudaMalloc", 35, 0, false } },
	  "cudaMalloc returned 35: the driver is older than the program's CUDA",
	  FINDING_MEDIUM,
	  1 },
	{ "damage",
	  { { "cudaMemcpy", 214, 0, false } },
	  "cudaMemcpy returned 214: device memory is damaged",
	  FINDING_HIGH,
	  1 },
	{ "its record was lost",
	  { { "cudaStreamSynchronize", 700, 0, true } },
	  "cudaStreamSynchronize returned 700: a kernel used memory that is not its own",
	  FINDING_HIGH,
	  1 },
	{ "a trial of what the device has",
	  { { "cudaMalloc", 1, 0, false }, { "cudaMemcpy", 801, 0, false } },
	  NULL,
	  0,
	  0 },
	{ "no device", { { "cudaMalloc", 100, 0, false } }, NULL, 0, 0 },
	{ "not ready yet", { { "cudaStreamSynchronize", 600, 0, false } }, NULL, 0, 0 },
	{ "out of memory is another finding's", { { "cudaMalloc", 2, 0, false } }, NULL, 0, 0 },
	{ "the same number means something else in another library",
	  { { "ncclAllReduce", 35, 0, false } },
	  NULL,
	  0,
	  0 },
};

static void call(struct play *p, size_t i, size_t k)
{
	struct op_figures *f = play_op(p, cases[i].calls[k].op);

	if (!cases[i].calls[k].is_dropped)
		play_returned(p, cases[i].calls[k].op, cases[i].calls[k].code, 0);
	play_calls(p, cases[i].calls[k].op, 1, US, BLAME_ON_CPU);
	if (!cases[i].calls[k].code)
		return;
	f->errors++;
	f->error_code = cases[i].calls[k].code;
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct play *p = play_new(i);
		uint64_t start_ns = p->now_ns;
		const struct finding *f;

		for (unsigned int second = 0; second < 3; second++) {
			for (size_t k = 0; k < CALLS && cases[i].calls[k].op; k++)
				if (cases[i].calls[k].second == second)
					call(p, i, k);
			CHECK_INT_EQ(cases[i].name, play_tick(p, S), 0);
		}
		f = play_find(p, "call_error");
		CHECK(cases[i].name, (f != NULL) == (cases[i].title != NULL));
		if (f) {
			CHECK_STR_EQ(cases[i].name, f->title, cases[i].title);
			CHECK_INT_EQ(cases[i].name, f->severity, cases[i].severity);
			CHECK_INT_EQ(cases[i].name, f->start_ns, start_ns);
			CHECK_INT_EQ(cases[i].name, f->recurrence, 0);
			CHECK_INT_EQ(cases[i].name, f->n_calls, cases[i].calls[0].is_dropped ? 0 : 1);
			CHECK_INT_EQ(cases[i].name, play_evidence(f, "error_code"), cases[i].calls[0].code);
			CHECK_INT_EQ(cases[i].name, play_evidence(f, "failed_calls"), cases[i].failed);
			CHECK(cases[i].name, f->n_advice > 0);
			CHECK_INT_EQ(cases[i].name, p->n_opened, 1);
			CHECK_INT_EQ(cases[i].name, p->n_closed, 0); /* not yet: it may go on */
		}
		play_free(p);
	}
	return check_result();
}
