// SPDX-License-Identifier: Apache-2.0
/*
 * A thread that computes between its short calls is told, never above MEDIUM; one whose computing the device may hide,
 * or that waits for something, is not.
 */
#include "play.h"

#define SECONDS 20
#define BEGIN 5 /* seconds that are not looked at */

/* A second of the main thread, in milliseconds: the rest it sleeps. */
static const struct {
	const char *name;
	uint64_t computes;	/* between calls */
	uint64_t launches;	/* in calls, on the CPU */
	uint64_t device;	/* in cudaStreamSynchronize, half of it spinning */
	enum blame_class class; /* of .away between calls */
	uint64_t away;
	uint64_t calls;		 /* in the second */
	enum resource_kind kind; /* of a short wait of another thread; RESOURCE_NONE: none */
	const char *comm;
	const char *cause; /* "": no finding */
	enum finding_severity severity;
	int confidence; /* percent */
	const char *title;
} cases[] = {
	{ "Python", 700, 50, 100, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "python3.11", "python", FINDING_MEDIUM, 100,
	  "python3.11 computed in Python between its calls" },
	{ "Python, all of the clock", 950, 50, 0, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "python", "python",
	  FINDING_MEDIUM, 100, "python computed in Python between its calls" },
	{ "Python of another name", 700, 50, 100, BLAME_LOCK, 1, 1000, RESOURCE_GIL, "vllm", "python", FINDING_MEDIUM,
	  100, "vllm computed in Python between its calls" },
	{ "no Python", 700, 50, 100, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "llama-server", "host_bound", FINDING_MEDIUM,
	  100, "llama-server computed on the CPU between its calls" },
	{ "a third of the clock", 330, 50, 0, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "python", "python", FINDING_LOW, 100,
	  "python computed in Python between its calls" },
	{ "some of it may be hidden", 600, 50, 250, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "python", "python",
	  FINDING_LOW, 100, "python computed in Python between its calls" },
	{ "a little waits, too", 700, 50, 50, BLAME_OTHER, 90, 1000, RESOURCE_NONE, "python", "python", FINDING_MEDIUM,
	  100, "python computed in Python between its calls" },
	/* Those are well, or somebody else's. */
	{ "waits for the device", 300, 50, 650, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "python", "", 0, 0, "" },
	{ "most may be hidden", 550, 50, 400, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "python", "", 0, 0, "" },
	{ "computes a little", 190, 50, 100, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "python", "", 0, 0, "" },
	{ "paced", 150, 20, 30, BLAME_SLEEP, 800, 1000, RESOURCE_NONE, "python", "", 0, 0, "" },
	{ "launches all the time", 50, 900, 0, BLAME_SLEEP, 0, 180000, RESOURCE_NONE, "python", "", 0, 0, "" },
	{ "long calls", 500, 450, 0, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "python", "", 0, 0, "" },
	{ "hardly any calls", 900, 1, 0, BLAME_SLEEP, 0, 10, RESOURCE_NONE, "python", "", 0, 0, "" },
	{ "no CPU", 500, 50, 0, BLAME_RUNNABLE, 300, 1000, RESOURCE_NONE, "python", "", 0, 0, "" },
	{ "waits for data", 600, 50, 0, BLAME_OTHER, 300, 1000, RESOURCE_NONE, "python", "", 0, 0, "" },
};

static void second_of(struct play *p, size_t i)
{
	struct account *a = play_account(p, PLAY_PID, true);

	play_calls(p, "cudaLaunchKernel", cases[i].calls, 5 * US, BLAME_ON_CPU);
	a->calls = cases[i].calls;
	play_in(a, "cudaLaunchKernel", BLAME_ON_CPU, cases[i].launches * MS);
	play_in(a, "cudaStreamSynchronize", BLAME_DEVICE, cases[i].device / 2 * MS);
	play_in(a, "cudaStreamSynchronize", BLAME_ON_CPU, (cases[i].device - cases[i].device / 2) * MS);
	play_between(a, BLAME_ON_CPU, cases[i].computes * MS);
	play_between(a, cases[i].class, cases[i].away * MS);
	play_between(a, BLAME_SLEEP, S - a->wall_ns);
	/* A thread that calls little and computes: no driving one, no loss. */
	a = play_account(p, 5000, false);
	play_rest(a, S);
	if (cases[i].kind)
		play_wait(p, &(struct account_wait){ .ns = 1 * MS,
						     .max_ns = 1 * MS,
						     .count = 1,
						     .tid = 5000,
						     .class = BLAME_LOCK,
						     .kind = (uint8_t)cases[i].kind });
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct play *p = malloc(sizeof(*p));
		const char *name = cases[i].name;
		const struct finding *f;

		play_begin(p, i);
		memset(p->identity.comm, 0, sizeof(p->identity.comm));
		memcpy(p->identity.comm, cases[i].comm, strlen(cases[i].comm));
		for (int second = 0; second < BEGIN + SECONDS; second++) {
			if (second == BEGIN - 1)
				CHECK(name, !play_find(p, "host_bound"));
			second_of(p, i);
			CHECK_INT_EQ(name, play_tick(p, S), 0);
		}
		f = play_find(p, "host_bound");
		CHECK_STR_EQ(name, f ? f->cause.kind : "", cases[i].cause);
		CHECK_INT_EQ(name, f ? f->severity : 0, cases[i].severity);
		if (f) {
			uint64_t seconds = SECONDS + 1, least = cases[i].computes - cases[i].device;

			CHECK_INT_EQ(name, f->lost_ns, seconds * cases[i].computes * MS);
			CHECK_INT_EQ(name, play_evidence(f, "on_cpu_ns"), f->lost_ns);
			CHECK_INT_EQ(name, play_evidence(f, "lost_at_least_ns"), seconds * least * MS);
			CHECK_INT_EQ(name, play_evidence(f, "on_cpu_per_call_ns"),
				     cases[i].computes * MS / cases[i].calls);
			CHECK_INT_EQ(name, (int)(f->confidence * 100 + 0.5), cases[i].confidence);
			CHECK_INT_EQ(name, f->cause.pid, 0);
			CHECK_STR_EQ(name, f->title, cases[i].title);
			CHECK(name, f->op == NULL && f->n_advice > 0);
		}
		play_end(p);
		free(p);
	}
	return check_result();
}
