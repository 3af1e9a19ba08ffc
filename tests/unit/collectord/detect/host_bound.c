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
	const char *script;
} cases[] = {
	{ "Python", 700, 50, 100, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "python3.11", "python", FINDING_MEDIUM, 100,
	  "python3.11 computed in Python between its calls", "" },
	{ "Python, all of the clock", 950, 50, 0, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "python", "python",
	  FINDING_MEDIUM, 100, "python computed in Python between its calls", "" },
	{ "Python of another name", 700, 50, 100, BLAME_LOCK, 1, 1000, RESOURCE_GIL, "vllm", "python", FINDING_MEDIUM,
	  100, "vllm computed in Python between its calls", "" },
	{ "no Python", 700, 50, 100, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "llama-server", "host_bound", FINDING_MEDIUM,
	  100, "llama-server computed on the CPU between its calls", "" },
	{ "a third of the clock", 330, 50, 0, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "python", "python", FINDING_LOW, 100,
	  "python computed in Python between its calls", "" },
	{ "some of it may be hidden", 600, 50, 250, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "python", "python",
	  FINDING_LOW, 100, "python computed in Python between its calls", "" },
	{ "a little waits, too", 700, 50, 50, BLAME_OTHER, 90, 1000, RESOURCE_NONE, "python", "python", FINDING_MEDIUM,
	  100, "python computed in Python between its calls", "" },
	{ "Python by its script", 700, 50, 100, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "pt_main_thread", "python",
	  FINDING_MEDIUM, 100, "train.py computed in Python between its calls", "train.py" },
	{ "another interpreter", 700, 50, 100, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "bash", "host_bound",
	  FINDING_MEDIUM, 100, "run.sh computed on the CPU between its calls", "run.sh" },
	/* The largest part, beside what other findings have. */
	{ "no CPU for a part", 500, 50, 0, BLAME_RUNNABLE, 400, 1000, RESOURCE_NONE, "python", "python", FINDING_LOW,
	  100, "python computed in Python between its calls", "" },
	{ "waits for data for a part", 600, 50, 0, BLAME_OTHER, 300, 1000, RESOURCE_NONE, "python", "python",
	  FINDING_LOW, 100, "python computed in Python between its calls", "" },
	/* Those are well, or somebody else's. */
	{ "waits for the device", 300, 50, 650, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "python", "", 0, 0, "", "" },
	{ "most may be hidden", 550, 50, 400, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "python", "", 0, 0, "", "" },
	{ "computes a little", 190, 50, 100, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "python", "", 0, 0, "", "" },
	{ "paced", 150, 20, 30, BLAME_SLEEP, 800, 1000, RESOURCE_NONE, "python", "", 0, 0, "", "" },
	{ "long calls", 500, 450, 0, BLAME_SLEEP, 0, 1000, RESOURCE_NONE, "python", "", 0, 0, "", "" },
	{ "hardly any calls", 900, 1, 0, BLAME_SLEEP, 0, 10, RESOURCE_NONE, "python", "", 0, 0, "", "" },
	{ "no CPU", 390, 50, 0, BLAME_RUNNABLE, 300, 1000, RESOURCE_NONE, "python", "", 0, 0, "", "" },
	{ "mostly no CPU", 420, 50, 0, BLAME_RUNNABLE, 430, 1000, RESOURCE_NONE, "python", "", 0, 0, "", "" },
	{ "waits for data", 390, 50, 0, BLAME_OTHER, 300, 1000, RESOURCE_NONE, "python", "", 0, 0, "", "" },
	{ "waits for data, and some of the rest may be hidden", 500, 50, 150, BLAME_OTHER, 250, 1000, RESOURCE_NONE,
	  "python", "", 0, 0, "", "" },
};

static void second_of(struct play *p, size_t i)
{
	struct account *a = play_account(p, PLAY_PID, true);

	play_calls(p, "cudaLaunchKernel", cases[i].calls, cases[i].launches * MS / cases[i].calls, BLAME_ON_CPU);
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

/* Collections of the main thread, in milliseconds of a second: part of what it computes, each `every` seconds. */
static const struct {
	const char *name;
	uint64_t collects;
	uint64_t computes; /* besides */
	uint64_t device;
	unsigned int every;
	uint64_t calls;
	enum finding_severity severity; /* of the collections; 0: no finding */
	bool is_python;			/* the other computing is told, too */
} collecting[] = {
	{ "a fifth of the clock", 200, 100, 50, 1, 1000, FINDING_MEDIUM, false },
	{ "most of the clock", 800, 100, 50, 1, 1000, FINDING_MEDIUM, false },
	{ "beside Python that computes", 200, 700, 50, 1, 1000, FINDING_MEDIUM, true },
	{ "beside a little", 400, 200, 50, 1, 1000, FINDING_MEDIUM, false },
	{ "hardly any calls meanwhile", 950, 0, 0, 1, 5, FINDING_MEDIUM, false },
	{ "a twentieth", 50, 100, 0, 1, 1000, FINDING_LOW, false },
	{ "nearly a tenth", 98, 100, 0, 1, 1000, FINDING_LOW, false },
	{ "every third second", 250, 100, 0, 3, 1000, FINDING_LOW, false },
	{ "hidden behind the device", 200, 100, 600, 1, 1000, FINDING_LOW, false },
	/* Those are well. */
	{ "just above the noise", 21, 100, 0, 1, 1000, 0, false },
	{ "1.9 % of the clock", 19, 100, 0, 1, 1000, 0, false },
	{ "once", 900, 100, 0, 100, 1000, 0, false },
	{ "between its phases", 900, 100, 0, 12, 1000, 0, false },
};

static void collecting_second(struct play *p, size_t i, int second, bool is_measured)
{
	struct account *a = play_account(p, PLAY_PID, true);
	uint64_t gc_ns =
		second % (int)collecting[i].every == (int)collecting[i].every / 2 ? collecting[i].collects * MS : 0;
	struct account_wait wait = { .ns = gc_ns,
				     .max_ns = gc_ns / 2,
				     .count = 10,
				     .tid = PLAY_PID,
				     .class = BLAME_ON_CPU,
				     .kind = RESOURCE_GC };

	play_calls(p, "cudaLaunchKernel", collecting[i].calls, 5 * US, BLAME_ON_CPU);
	a->calls = collecting[i].calls;
	play_in(a, "cudaStreamSynchronize", BLAME_DEVICE, collecting[i].device * MS);
	play_between(a, BLAME_ON_CPU, collecting[i].computes * MS + gc_ns);
	play_between(a, BLAME_SLEEP, S - a->wall_ns);
	play_process(p)->is_collected = is_measured;
	if (gc_ns && is_measured)
		play_wait(p, &wait);
	/* Of a thread that is not driving it is no loss. */
	wait.tid = 5000;
	wait.ns = S;
	if (is_measured)
		play_wait(p, &wait);
}

static const struct finding *finding_of(const struct play *p, const char *cause)
{
	for (size_t i = 0; i < p->n_findings; i++)
		if (strcmp(p->findings[i].kind, "host_bound") == 0 && strcmp(p->findings[i].cause.kind, cause) == 0)
			return &p->findings[i];
	return NULL;
}

static bool says_not_measured(const struct finding *f)
{
	for (size_t i = 0; i < f->n_advice; i++)
		if (strstr(f->advice[i], "garbage collection is not measured"))
			return true;
	return false;
}

static void check_collecting(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(collecting); i++) {
		struct play *p = play_new(i);
		const char *name = collecting[i].name;
		const struct finding *f, *python;

		for (int second = 0; second < BEGIN + SECONDS; second++) {
			collecting_second(p, i, second, /* is_measured= */ true);
			CHECK_INT_EQ(name, play_tick(p, S), 0);
		}
		f = finding_of(p, "gc");
		python = finding_of(p, "python");
		CHECK_INT_EQ(name, f ? f->severity : 0, collecting[i].severity);
		CHECK_INT_EQ(name, python != NULL, collecting[i].is_python);
		if (f) {
			CHECK_INT_EQ(name, f->lost_ns % (collecting[i].collects * MS), 0);
			CHECK_INT_IN(name, f->lost_ns, 1,
				     SECONDS * collecting[i].collects * MS + collecting[i].collects * MS);
			CHECK_INT_EQ(name, play_evidence(f, "gc_ns"), f->lost_ns);
			CHECK_INT_EQ(name, play_evidence(f, "longest_collection_ns"), collecting[i].collects * MS / 2);
			CHECK_INT_EQ(name, play_evidence(f, "collections"),
				     f->lost_ns / (collecting[i].collects * MS) * 10);
			CHECK_STR_EQ(name, f->title, "python collected garbage between its calls");
			CHECK(name, strstr(f->advice[0], "gc.freeze()") && !says_not_measured(f));
		}
		if (python)
			CHECK_INT_EQ(name, python->lost_ns, (SECONDS + 1) * collecting[i].computes * MS);
		CHECK(name, !python || !says_not_measured(python));
		play_free(p);
	}
}

/* Collections that are not known are reported as such. */
static void check_not_measured(void)
{
	struct play *p = play_new(1);
	const struct finding *f;

	for (int second = 0; second < BEGIN + SECONDS; second++) {
		collecting_second(p, 1, second, /* is_measured= */ false);
		CHECK_INT_EQ("not measured", play_tick(p, S), 0);
	}
	CHECK("no finding of its own", !finding_of(p, "gc"));
	f = finding_of(p, "python");
	CHECK("not measured", f && says_not_measured(f));
	play_free(p);
}

/* A second of the main thread with launches and waits for the device, in milliseconds: the rest it sleeps. */
static const struct {
	const char *name;
	uint64_t launches; /* number */
	uint64_t launching;
	uint64_t syncs; /* number */
	uint64_t device;
	uint64_t computes;
	uint64_t runnable; /* between calls */
	const char *op;	   /* of the launches */
	const char *cause; /* "": no finding */
	enum finding_severity severity;
	uint64_t lost, least;
	const char *title;
} device_cases[] = {
	{ "launches", 180000, 900, 10, 10, 50, 0, "cudaLaunchKernel", "launches", FINDING_MEDIUM, 900, 890,
	  "python spent its time in launches of short kernels" },
	{ "launches, some may be hidden", 120000, 600, 10, 250, 50, 0, "cudaLaunchKernel", "launches", FINDING_LOW, 600,
	  350, "python spent its time in launches of short kernels" },
	{ "waits after each launch", 1000, 5, 1000, 400, 590, 0, "cudaLaunchKernel", "syncs", FINDING_MEDIUM, 595, 297,
	  "python waited for the device after every launch or two" },
	{ "waits after every other one", 1000, 5, 500, 550, 390, 0, "cudaLaunchKernel", "syncs", FINDING_LOW, 395, 131,
	  "python waited for the device after every launch or two" },
	{ "waits after each graph", 100, 20, 100, 400, 580, 0, "cudaGraphLaunch", "syncs", FINDING_MEDIUM, 580, 290,
	  "python waited for the device after every launch or two" },
	/* Those are well, or somebody else's. */
	{ "launches, the queue is full", 20000, 900, 0, 0, 50, 0, "cudaLaunchKernel", "", 0, 0, 0, "" },
	{ "launches, the device has work", 100000, 500, 10, 450, 50, 0, "cudaLaunchKernel", "", 0, 0, 0, "" },
	{ "launches of graphs", 1000, 900, 0, 0, 50, 0, "cudaGraphLaunch", "", 0, 0, 0, "" },
	{ "launches, no CPU", 90000, 450, 0, 0, 50, 400, "cudaLaunchKernel", "", 0, 0, 0, "" },
	{ "many launches for a wait", 1000, 5, 200, 600, 390, 0, "cudaLaunchKernel", "", 0, 0, 0, "" },
	{ "waits of long kernels", 100, 1, 100, 900, 90, 0, "cudaLaunchKernel", "", 0, 0, 0, "" },
	{ "waits now and then", 10, 1, 10, 400, 590, 0, "cudaLaunchKernel", "", 0, 0, 0, "" },
	{ "waits, no CPU", 1000, 5, 1000, 300, 400, 250, "cudaLaunchKernel", "", 0, 0, 0, "" },
};

static void device_second(struct play *p, size_t i)
{
	struct account *a = play_account(p, PLAY_PID, true);
	uint64_t launches = device_cases[i].launches, syncs = device_cases[i].syncs;

	play_calls(p, device_cases[i].op, launches, device_cases[i].launching * MS / launches, BLAME_ON_CPU);
	if (syncs)
		play_waits(p, "cudaStreamSynchronize", syncs, 0, 0, 0, BLAME_DEVICE);
	a->calls = launches + syncs;
	play_in(a, device_cases[i].op, BLAME_ON_CPU, device_cases[i].launching * MS);
	play_in(a, "cudaStreamSynchronize", BLAME_DEVICE, device_cases[i].device * MS);
	play_between(a, BLAME_ON_CPU, device_cases[i].computes * MS);
	play_between(a, BLAME_RUNNABLE, device_cases[i].runnable * MS);
	play_between(a, BLAME_SLEEP, S - a->wall_ns);
}

static void check_device_calls(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(device_cases); i++) {
		struct play *p = play_new(i);
		const char *name = device_cases[i].name;
		const struct finding *f;

		for (int second = 0; second < BEGIN + SECONDS; second++) {
			device_second(p, i);
			CHECK_INT_EQ(name, play_tick(p, S), 0);
		}
		f = play_find(p, "host_bound");
		CHECK_STR_EQ(name, f ? f->cause.kind : "", device_cases[i].cause);
		CHECK_INT_EQ(name, f ? f->severity : 0, device_cases[i].severity);
		if (f) {
			CHECK_INT_EQ(name, f->lost_ns, (SECONDS + 1) * device_cases[i].lost * MS);
			CHECK_INT_EQ(name, (uint64_t)play_evidence(f, "lost_at_least_ns") / MS / (SECONDS + 1),
				     device_cases[i].least);
			CHECK_INT_EQ(name, (int)(f->confidence * 100 + 0.5), 70);
			CHECK_STR_EQ(name, f->title, device_cases[i].title);
			CHECK(name, f->op == NULL && f->n_advice > 0);
		}
		play_free(p);
	}
}

/* Where the kernel's clock tick finds the thread, in milliseconds of a second. */
static void check_kernel(void)
{
	static const struct {
		const char *name;
		uint64_t user, kernel;
		const char *cause, *title;
	} rows[] = {
		{ "not known", 0, 0, "python", "python3.11 computed in Python between its calls" },
		{ "all in the kernel", 0, 750, "kernel", "python3.11 computed in the kernel between its calls" },
		{ "most of it", 150, 600, "kernel", "python3.11 computed in the kernel between its calls" },
		{ "a half of it", 380, 370, "python", "python3.11 computed in Python between its calls" },
		{ "too few ticks", 0, 90, "python", "python3.11 computed in Python between its calls" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = play_new(i);
		const struct finding *f;

		(void)snprintf(p->identity.comm, sizeof(p->identity.comm), "%s", cases[0].comm);
		for (int second = 0; second < BEGIN + SECONDS; second++) {
			second_of(p, 0);
			play_process(p)->accounts.items[0].user_ns = rows[i].user * MS;
			play_process(p)->accounts.items[0].kernel_ns = rows[i].kernel * MS;
			CHECK_INT_EQ(rows[i].name, play_tick(p, S), 0);
		}
		f = play_find(p, "host_bound");
		CHECK_STR_EQ(rows[i].name, f ? f->cause.kind : "", rows[i].cause);
		CHECK_STR_EQ(rows[i].name, f ? f->title : "", rows[i].title);
		play_free(p);
	}
}

/* Launches that are left out to keep the budget look like computing: nothing is told while some are, and then again. */
static void check_thinned(void)
{
	struct play *p = play_new(0);

	memcpy(p->identity.comm, "python", sizeof("python"));
	for (int second = 0; second < BEGIN + 2 * SECONDS; second++) {
		p->tick.losses[LOSS_BUDGET] = second < BEGIN + SECONDS ? 1000 : 0;
		second_of(p, 0);
		CHECK_INT_EQ("thinned", play_tick(p, S), 0);
		if (second < BEGIN + SECONDS)
			CHECK("thinned", !play_find(p, "host_bound"));
	}
	CHECK("no longer thinned", play_find(p, "host_bound"));
	play_free(p);
}

/* A run that has ended is judged as a whole, so that a short one is not LOW for its shortness. */
static void check_runs(void)
{
	static const struct {
		const char *name;
		int seconds, from;		     /* it computes from then on */
		uint64_t computes, device, runnable; /* ms of a second */
		bool ends;
		enum finding_severity severity;
	} rows[] = {
		{ "a short run", 8, 0, 700, 100, 0, true, FINDING_MEDIUM },
		{ "half of a short run", 8, 0, 550, 0, 0, true, FINDING_MEDIUM },
		{ "it goes on", 8, 0, 700, 100, 0, false, FINDING_LOW },
		{ "less than half of it", 8, 0, 450, 0, 0, true, FINDING_LOW },
		{ "some of it may be hidden", 8, 0, 550, 150, 0, true, FINDING_LOW },
		{ "beside another delay", 8, 0, 700, 0, 250, true, FINDING_LOW },
		{ "too short to tell", 6, 0, 900, 0, 0, true, FINDING_LOW },
		{ "the end of a long run", 30, 26, 900, 0, 0, true, FINDING_LOW },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = play_new(i);
		const struct finding *f;

		for (int second = 0; second < rows[i].seconds; second++) {
			struct account *a = play_account(p, PLAY_PID, true);

			play_calls(p, "cudaLaunchKernel", 1000, 5 * US, BLAME_ON_CPU);
			play_in(a, "cudaStreamSynchronize", BLAME_DEVICE, rows[i].device * MS);
			play_between(a, BLAME_ON_CPU, second < rows[i].from ? 0 : rows[i].computes * MS);
			play_between(a, BLAME_RUNNABLE, rows[i].runnable * MS);
			play_between(a, BLAME_SLEEP, S - a->wall_ns);
			if (rows[i].ends && second == rows[i].seconds - 1)
				play_process(p)->gone_ns = p->now_ns + S;
			CHECK_INT_EQ(rows[i].name, play_tick(p, S), 0);
		}
		engine_finish(p->engine, p->now_ns);
		f = play_find(p, "host_bound");
		CHECK_INT_EQ(rows[i].name, f ? f->severity : 0, rows[i].severity);
		CHECK(rows[i].name, f && f->end_ns);
		play_free(p);
	}
}

int main(void)
{
	check_runs();
	check_thinned();
	check_kernel();
	check_device_calls();
	check_collecting();
	check_not_measured();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct play *p = play_new(i);
		const char *name = cases[i].name;
		const struct finding *f;

		memset(p->identity.comm, 0, sizeof(p->identity.comm));
		memcpy(p->identity.comm, cases[i].comm, strlen(cases[i].comm));
		(void)snprintf(p->identity.program.script, sizeof(p->identity.program.script), "%s", cases[i].script);
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
		play_free(p);
	}
	return check_result();
}
