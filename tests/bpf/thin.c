// SPDX-License-Identifier: Apache-2.0
/*
 * Groups of operations are detached and attached again while threads call flat out, with calls open meanwhile: what
 * stays attached is counted to the call, a call whose begin was seen is counted once, and no time is wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/cleanup.h"
#include "probes/governor.h"
#include "rig.h"
#include "tests/support/check.h"

#define CHANGES 100
#define THREADS 2
#define CALLS 1000
#define RUNTIME PROBE_GROUP_BIT(PROBE_GROUP_RUNTIME)
#define DRIVER PROBE_GROUP_BIT(PROBE_GROUP_DRIVER)

static atomic_bool is_over;
static atomic_ulong n_allocs, n_runtime;
static int to_thread[2], to_test[2];

static void thin(struct rig *rig, uint32_t groups)
{
	int r;

	do {
		r = probe_set_library_thin(rig->set, rig->library, groups);
		(void)sched_yield();
	} while (r == -EAGAIN);
	CHECK_INT_EQ("thin", r, 0);
}

static void open_thinned(struct rig *rig, enum probe_back_end back_end)
{
	const struct probe_set_options options = { .back_end = back_end, .is_thinned = true };
	struct probe_site sites[RIG_SITES_MAX];
	CLEANUP(closep) int fd = -1;
	char why[256];

	if (geteuid() != 0)
		CHECK_SKIP("loading BPF programs needs root");
	*rig = (struct rig){ .set = NULL };
	if (probe_set_open(&options, why, sizeof(why), &rig->set) < 0)
		CHECK_SKIP("this machine cannot do it: %s", why);
	fd = rig_path_fd();
	CHECK_INT_EQ("attach", probe_set_attach_library(rig->set, fd, sites, rig_sites(sites), &rig->library), 0);
	rig_target(rig, 0, RIG_NO_CALL);
}

static void *call_flat_out(void *data)
{
	unsigned long allocs = 0, runtime = 0;
	void *pointer;

	while (!is_over) {
		(void)subject_alloc(&pointer, 64);
		allocs++;
		(void)subject_runtime(NULL, NULL);
		runtime++;
	}
	n_allocs += allocs;
	n_runtime += runtime;
	return data;
}

static int wait_for_test(void *data)
{
	rig_byte_give(to_test[1]);
	rig_byte_take(to_thread[0]);
	return data ? 1 : 0;
}

/* Is in a runtime call, and in a driver call there, whenever the test wants it. */
static void *call_and_wait(void *data)
{
	rig_byte_take(to_thread[0]);
	while (!is_over) {
		(void)subject_runtime(wait_for_test, NULL);
		n_runtime++;
		rig_byte_give(to_test[1]);
		rig_byte_take(to_thread[0]);
	}
	return data;
}

static void exact_check(const char *name, const struct rig_figures *f, uint64_t calls)
{
	CHECK_INT_EQ(name, f->timed, calls);
	CHECK_INT_EQ(name, f->untimed, 0);
	CHECK_INT_EQ(name, f->abandoned, 0);
}

static void changes_test(struct rig *rig)
{
	static const uint32_t all = PROBE_GROUPS_ALL,
			      steps[] = { all & ~RUNTIME, all, all & ~DRIVER, all & ~DRIVER & ~RUNTIME };
	uint64_t begin_ns = rig_now_ns(), took_ns;
	struct rig_figures f;
	pthread_t threads[THREADS];

	is_over = false;
	for (int i = 0; i < THREADS; i++)
		CHECK_INT_EQ("thread", pthread_create(&threads[i], NULL, call_flat_out, NULL), 0);
	for (int i = 0; i < CHANGES; i++)
		thin(rig, steps[i % (int)ARRAY_SIZE(steps)]);
	is_over = true;
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	thin(rig, all);
	took_ns = rig_now_ns() - begin_ns;

	f = rig_figures(rig, 0, RIG_ALLOC);
	exact_check("what stays attached", &f, n_allocs);
	CHECK_INT_IN("no time is wrong", f.max_ns, 0, took_ns);
	CHECK_INT_IN("no sum is wrong", f.raw_ns, 0, THREADS * took_ns);
	for (unsigned int op = RIG_RUNTIME; op; op = op == RIG_RUNTIME ? RIG_DRIVER : 0) {
		f = rig_figures(rig, 0, op);
		CHECK_INT_IN("some are counted, none twice", f.count, 1, n_runtime - 1);
		CHECK_INT_EQ("none is said never to have returned", f.abandoned, 0);
		CHECK_INT_IN("no time is wrong", f.max_ns, 0, took_ns);
		CHECK_INT_IN("no sum is wrong", f.raw_ns, 0, THREADS * took_ns);
	}
}

/* With everything attached, and with one group missing: what is counted of the same calls. */
static void counted_test(struct rig *rig)
{
	static const struct {
		const char *name;
		uint32_t groups;
		uint64_t runtime, driver, alloc;
	} rows[] = {
		{ "all", PROBE_GROUPS_ALL, CALLS, CALLS, CALLS },
		{ "without the driver", PROBE_GROUPS_ALL & ~DRIVER, CALLS, 0, CALLS },
		{ "without the runtime", PROBE_GROUPS_ALL & ~RUNTIME, 0, CALLS, CALLS },
		{ "tier always", PROBE_GROUP_BIT(PROBE_GROUP_ALWAYS), 0, 0, CALLS },
		{ "nothing", 0, 0, 0, 0 },
		{ "all again", PROBE_GROUPS_ALL, CALLS, CALLS, CALLS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rig_figures runtime = rig_figures(rig, 0, RIG_RUNTIME), driver = rig_figures(rig, 0, RIG_DRIVER);
		struct rig_figures alloc = rig_figures(rig, 0, RIG_ALLOC);
		void *pointer;

		thin(rig, rows[i].groups);
		CHECK_INT_EQ(rows[i].name, probe_set_library_groups(rig->library), rows[i].groups);
		for (int k = 0; k < CALLS; k++) {
			(void)subject_alloc(&pointer, 64);
			(void)subject_runtime(NULL, NULL);
		}
		CHECK_INT_EQ(rows[i].name, rig_figures(rig, 0, RIG_RUNTIME).timed - runtime.timed, rows[i].runtime);
		CHECK_INT_EQ(rows[i].name, rig_figures(rig, 0, RIG_DRIVER).timed - driver.timed, rows[i].driver);
		CHECK_INT_EQ(rows[i].name, rig_figures(rig, 0, RIG_ALLOC).timed - alloc.timed, rows[i].alloc);
	}
}

/* Calls that are open when their group is detached, and return before it is attached again, or after. */
static void open_test(struct rig *rig)
{
	struct rig_figures runtime = rig_figures(rig, 0, RIG_RUNTIME), driver = rig_figures(rig, 0, RIG_DRIVER), f;
	uint64_t begin_ns = rig_now_ns();
	pthread_t thread;

	is_over = false;
	CHECK_INT_EQ("pipes", pipe2(to_thread, O_CLOEXEC) | pipe2(to_test, O_CLOEXEC), 0);
	CHECK_INT_EQ("thread", pthread_create(&thread, NULL, call_and_wait, NULL), 0);
	for (int i = 0; i < 3; i++) {
		rig_byte_give(to_thread[1]);
		rig_byte_take(to_test[0]); /* inside both calls */
		if (i != 1)
			thin(rig, PROBE_GROUP_BIT(PROBE_GROUP_ALWAYS));
		if (i != 0)
			thin(rig, PROBE_GROUPS_ALL);
		rig_byte_give(to_thread[1]);
		rig_byte_take(to_test[0]); /* and outside */
		thin(rig, PROBE_GROUPS_ALL);
	}
	is_over = true;
	rig_byte_give(to_thread[1]);
	(void)pthread_join(thread, NULL);
	for (unsigned int op = RIG_RUNTIME; op; op = op == RIG_RUNTIME ? RIG_DRIVER : 0) {
		const struct rig_figures *before = op == RIG_RUNTIME ? &runtime : &driver;

		f = rig_figures(rig, 0, op);
		CHECK_INT_EQ("each is counted once", f.count - before->count, 3);
		CHECK_INT_EQ("two of them without a time", f.untimed - before->untimed, 2);
		CHECK_INT_EQ("none is said never to have returned", f.abandoned, 0);
		CHECK_INT_IN("no time is wrong", f.raw_ns - before->raw_ns, 0, rig_now_ns() - begin_ns);
	}
	CHECK_INT_EQ("none goes on", probe_set_in_flight(rig->set, NULL, 0), 0);
}

int main(int argc, char **argv)
{
	enum probe_back_end back_end = rig_back_end(argc, argv);
	struct rig rig;

	open_thinned(&rig, back_end);
	if (back_end == PROBE_BACK_END_PERF) {
		thin(&rig, PROBE_GROUP_BIT(PROBE_GROUP_ALWAYS));
		CHECK_INT_EQ("perf events stay", probe_set_library_groups(rig.library), PROBE_GROUPS_ALL);
	} else {
		counted_test(&rig);
		open_test(&rig);
		rig_close(&rig);
		open_thinned(&rig, back_end);
		n_runtime = 0;
		changes_test(&rig);
	}
	rig_close(&rig);
	return check_result();
}
