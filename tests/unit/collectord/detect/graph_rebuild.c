// SPDX-License-Identifier: Apache-2.0
/*
 * Graphs that are made ready all the time are told, those of the start and those that are launched are not.
 */
#include "play.h"

static const struct {
	const char *name;
	const char *op;
	uint64_t calls; /* a second */
	uint64_t each_ns;
	int from_s, to_s; /* seconds with such calls */
	enum finding_severity severity;
} cases[] = {
	{ "one a step", "cudaGraphInstantiate", 10, 40 * MS, 0, 60, FINDING_HIGH },
	{ "some", "cudaGraphInstantiateWithFlags", 10, 15 * MS, 0, 60, FINDING_MEDIUM },
	{ "without the runtime", "cuGraphInstantiate", 10, 40 * MS, 0, 60, FINDING_HIGH },
	{ "at the start alone", "cudaGraphInstantiate", 10, 40 * MS, 0, 9, 0 },
	{ "once in a while", "cudaGraphInstantiate", 1, 20 * MS, 0, 60, 0 },
	{ "launches", "cudaGraphLaunch", 10, 40 * MS, 0, 60, 0 },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct play *p = malloc(sizeof(*p));
		const struct finding *f;

		play_begin(p, i);
		for (int second = 0; second < 60; second++) {
			play_calls(p, "cudaStreamSynchronize", 10, 10 * MS, BLAME_DEVICE);
			if (second >= cases[i].from_s && second < cases[i].to_s)
				play_calls(p, cases[i].op, cases[i].calls, cases[i].each_ns, BLAME_ON_CPU);
			CHECK_INT_EQ(cases[i].name, play_tick(p, S), 0);
		}
		f = play_find(p, "graph_rebuild");
		CHECK_INT_EQ(cases[i].name, f ? f->severity : 0, cases[i].severity);
		if (f) {
			CHECK_STR_EQ(cases[i].name, f->op->name, cases[i].op);
			CHECK_INT_EQ(cases[i].name, play_evidence(f, "instantiations"), 50 * cases[i].calls);
		}
		play_end(p);
		free(p);
	}
	return check_result();
}
