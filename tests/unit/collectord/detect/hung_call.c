// SPDX-License-Identifier: Apache-2.0
/*
 * A call that does not return grows worse with its age; a long wait for a kernel is no alarm.
 */
#include "play.h"

static const struct {
	const char *name;
	const char *op;
	uint64_t known_calls;	/* that returned before, in a second of their own */
	uint64_t longest_ns;	/* of them */
	enum blame_class waits; /* of the call that hangs */
	int seconds;		/* it lasts */
	enum finding_severity severity;
	double confidence; /* at most */
	bool is_stopped;
} cases[] = {
	{ "young", "cudaLaunchKernel", 200, 10 * US, BLAME_DEVICE, 9, 0, 0, false },
	{ "a launch", "cudaLaunchKernel", 200, 10 * US, BLAME_DEVICE, 12, FINDING_LOW, 1, false },
	{ "older", "cudaLaunchKernel", 200, 10 * US, BLAME_LOCK, 40, FINDING_MEDIUM, 1, false },
	{ "older still", "cudaLaunchKernel", 200, 10 * US, BLAME_LOCK, 100, FINDING_HIGH, 1, false },
	{ "forever", "cudaLaunchKernel", 200, 10 * US, BLAME_ON_CPU, 700, FINDING_CRITICAL, 1, false },
	{ "the first of its kind", "cudaMalloc", 0, 0, BLAME_DEVICE, 100, FINDING_HIGH, 0.6, false },
	{ "a kernel like others before", "cudaStreamSynchronize", 200, 30 * S, BLAME_DEVICE, 500, 0, 0, false },
	{ "a long kernel, nothing known", "cudaStreamSynchronize", 3, 1 * MS, BLAME_DEVICE, 700, FINDING_MEDIUM, 0.3,
	  false },
	{ "a long kernel, spinning", "cudaStreamSynchronize", 3, 1 * MS, BLAME_ON_CPU, 700, FINDING_MEDIUM, 0.3,
	  false },
	{ "a wait for the device, always short", "cudaStreamSynchronize", 200, 20 * MS, BLAME_DEVICE, 700, FINDING_HIGH,
	  0.6, false },
	{ "a synchronise behind a lock", "cudaStreamSynchronize", 200, 20 * MS, BLAME_LOCK, 100, FINDING_HIGH, 1,
	  false },
	{ "a stop in a launch", "cudaLaunchKernel", 200, 10 * US, BLAME_OTHER, 40, FINDING_MEDIUM, 1, true },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct play *p = play_new(i);
		enum finding_severity before = 0;
		const struct finding *f;
		uint64_t start_ns;

		play_calls(p, "cudaFree", 1, US, BLAME_ON_CPU);
		if (cases[i].known_calls) {
			play_calls(p, cases[i].op, cases[i].known_calls, 5 * US, BLAME_ON_CPU);
			play_op(p, cases[i].op)->max_ns = cases[i].longest_ns;
		}
		CHECK_INT_EQ(cases[i].name, play_tick(p, S), 0);
		start_ns = p->now_ns;
		for (int second = 0; second < cases[i].seconds; second++) {
			play_in_flight(p, cases[i].op, 5000, start_ns, cases[i].waits);
			/* the driver's call inside it */
			play_in_flight(p, "cuStreamSynchronize", 5000, start_ns, cases[i].waits);
			p->in_flight[1].depth = 1;
			if (cases[i].is_stopped)
				play_wait(p, &(struct account_wait){ .ns = S,
								     .max_ns = S,
								     .is_open = true,
								     .tid = 5000,
								     .op = p->in_flight[0].op,
								     .class = BLAME_OTHER,
								     .kind = RESOURCE_STOPPED,
								     .resource = STOP_SIGNAL });
			CHECK_INT_EQ(cases[i].name, play_tick(p, S), 0);
			f = play_find(p, "hung_call");
			CHECK(cases[i].name, !f || f->severity >= before);
			before = f ? f->severity : before;
			CHECK(cases[i].name, !f || f->end_ns == 0);
		}
		f = play_find(p, "hung_call");
		CHECK_INT_EQ(cases[i].name, f ? f->severity : 0, cases[i].severity);
		CHECK_INT_EQ(cases[i].name, p->n_findings, cases[i].severity ? 1 : 0);
		if (f) {
			CHECK_INT_EQ(cases[i].name, f->start_ns, start_ns);
			CHECK_STR_EQ(cases[i].name, f->op->name, cases[i].op);
			CHECK(cases[i].name,
			      f->confidence <= cases[i].confidence && f->confidence > cases[i].confidence - 0.01);
			CHECK_INT_EQ(cases[i].name, f->call[0].tid, 5000);
			CHECK_INT_EQ(cases[i].name, f->tid, 5000);
			if (cases[i].is_stopped)
				CHECK_STR_EQ(cases[i].name, f->advice[0],
					     "if it is still stopped (ps -o stat= -p 4711 shows T): kill -CONT 4711");
			if (cases[i].waits == BLAME_LOCK)
				CHECK_STR_EQ(
					cases[i].name, f->advice[0],
					"see which thread holds the lock (this stops the process meanwhile): sudo gdb "
					"-p 4711 -batch -ex 'thread apply "
					"all bt'; thread (LWP) 5000 waits for it, and __data.__owner of its mutex is "
					"the thread that holds it");
		}

		/* It returns, and has a length: that is no usual one. */
		play_calls(p, cases[i].op, 1, (uint64_t)cases[i].seconds * S, cases[i].waits);
		CHECK_INT_EQ(cases[i].name, play_tick(p, S), 0);
		CHECK_INT_EQ(cases[i].name, p->n_closed, cases[i].severity ? 1 : 0);
		if (f) {
			CHECK_INT_EQ(cases[i].name, f->end_ns, p->now_ns - S);
			CHECK_INT_EQ(cases[i].name, f->lost_ns, (uint64_t)cases[i].seconds * S - cases[i].longest_ns);
			CHECK_INT_EQ(cases[i].name, play_evidence(f, "age_ns"), (uint64_t)cases[i].seconds * S);
			CHECK_INT_EQ(cases[i].name, f->blame_ns[cases[i].waits], (uint64_t)cases[i].seconds * S);
			CHECK_STR_EQ(cases[i].name, f->title + strlen(f->title) - 15, "for a long time");
		}
		play_free(p);
	}
	return check_result();
}
