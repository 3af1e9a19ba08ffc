// SPDX-License-Identifier: Apache-2.0
/* Captures that fail, and graphs that are instantiated all the time; not those of the start, nor launches. */
#include "play.h"

static const struct {
	const char *name;
	const char *op;
	uint64_t calls; /* a second */
	uint64_t each_ns;
	int to_s; /* seconds with such calls */
	enum finding_severity severity;
} costs[] = {
	{ "one a step", "cudaGraphInstantiate", 10, 40 * MS, 60, FINDING_HIGH },
	{ "some", "cudaGraphInstantiateWithFlags", 10, 15 * MS, 60, FINDING_MEDIUM },
	{ "without the runtime", "cuGraphInstantiate", 10, 40 * MS, 60, FINDING_HIGH },
	{ "at the start alone", "cudaGraphInstantiate", 10, 40 * MS, 9, 0 },
	{ "once in a while", "cudaGraphInstantiate", 1, 20 * MS, 60, 0 },
	{ "launches", "cudaGraphLaunch", 10, 40 * MS, 60, 0 },
};

static void cost_test(size_t i)
{
	struct play *p = play_new(i);
	const struct finding *f;

	for (int second = 0; second < 60; second++) {
		play_calls(p, "cudaStreamSynchronize", 10, 10 * MS, BLAME_DEVICE);
		if (second < costs[i].to_s)
			play_calls(p, costs[i].op, costs[i].calls, costs[i].each_ns, BLAME_ON_CPU);
		CHECK_INT_EQ(costs[i].name, play_tick(p, S), 0);
	}
	f = play_find(p, "graph_capture");
	CHECK_INT_EQ(costs[i].name, f ? f->severity : 0, costs[i].severity);
	if (f) {
		CHECK_STR_EQ(costs[i].name, f->op->name, costs[i].op);
		CHECK_INT_EQ(costs[i].name, play_evidence(f, "instantiations"), 50 * costs[i].calls);
		CHECK_INT_EQ(costs[i].name, play_evidence(f, "failed_calls"), -1);
	}
	play_free(p);
}

static const struct {
	const char *name;
	const char *op, *next_op;
	int32_t code, next_code;
	bool is_instantiated;
	const char *title; /* NULL: no finding */
	enum finding_severity severity;
} failures[] = {
	{ "an allocation", "cudaMalloc", "cudaStreamSynchronize", 900, 901, false,
	  "cudaMalloc failed while a graph was captured: the capture is lost", FINDING_MEDIUM },
	{ "of the driver", "cuStreamSynchronize", "cudaFree", 906, 0, false,
	  "cuStreamSynchronize failed while a graph was captured: the capture is lost", FINDING_MEDIUM },
	{ "tried again", "cudaMalloc", "cudaStreamSynchronize", 900, 901, true,
	  "cudaMalloc failed while a graph was captured: the capture is lost", FINDING_LOW },
	{ "another code", "cudaMalloc", "cudaFree", 909, 1, false, NULL, 0 },
	{ "another library", "ncclAllReduce", "cudaFree", 900, 0, false, NULL, 0 },
	{ "none failed", "cudaMalloc", "cudaFree", 0, 0, true, NULL, 0 },
};

static void failure_test(size_t i)
{
	struct play *p = play_new(i);
	const struct finding *f;

	play_returned(p, failures[i].op, failures[i].code, 0);
	play_returned(p, failures[i].next_op, failures[i].next_code, 0);
	play_calls(p, failures[i].op, 1, US, BLAME_ON_CPU);
	play_calls(p, failures[i].next_op, 1, US, BLAME_ON_CPU);
	if (failures[i].is_instantiated)
		play_calls(p, "cudaGraphInstantiate", 1, MS, BLAME_ON_CPU);
	CHECK_INT_EQ(failures[i].name, play_tick(p, S), 0);
	CHECK_INT_EQ(failures[i].name, play_tick(p, S), 0);
	f = play_find(p, "graph_capture");
	CHECK(failures[i].name, (f != NULL) == (failures[i].title != NULL));
	if (f) {
		CHECK_STR_EQ(failures[i].name, f->title, failures[i].title);
		CHECK_INT_EQ(failures[i].name, f->severity, failures[i].severity);
		CHECK_INT_EQ(failures[i].name, play_evidence(f, "failed_calls"), 1);
		CHECK_INT_EQ(failures[i].name, f->n_calls, 1);
		CHECK_INT_EQ(failures[i].name, p->n_closed, 1);
	}
	play_free(p);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(costs); i++)
		cost_test(i);
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++)
		failure_test(i);
	return check_result();
}
