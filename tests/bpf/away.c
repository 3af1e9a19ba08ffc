// SPDX-License-Identifier: Apache-2.0
/*
 * What threads that make calls wait for outside of them, between two witnesses: not less than they asked to wait, and
 * not more than the wall clock around the whole process without the CPU time that the thread had by its own clock.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "rig.h"
#include "tests/support/check.h"
#include "waits.h"

#define CALLS 20
#define ASKED_NS (CALLS * WAIT_NS)
/* Between asking for it and leaving the CPU there are some microseconds, or a hypervisor's pause. */
#define LEAST_NS (ASKED_NS - ASKED_NS / 10)

static int func_sleep(void *data)
{
	(void)data;
	wait_sleep();
	return 0;
}

static void call_sleep(void)
{
	(void)subject_call(func_sleep, NULL);
}

enum who { MAIN, THREAD };

static const struct scenario {
	const char *name;
	void (*wait)(void);
	enum who who;
	enum blame_class class; /* of what is waited for; BLAME_ON_CPU: nothing is, outside of calls */
	uint64_t inside_ns;	/* asked for inside of calls */
} scenarios[] = {
	{ "sleeps", wait_sleep, MAIN, BLAME_SLEEP, 0 },
	{ "polls a pipe", wait_poll, MAIN, BLAME_OTHER, 0 },
	{ "waits for a lock", wait_futex, MAIN, BLAME_LOCK, 0 },
	{ "computes", wait_spin, MAIN, BLAME_ON_CPU, 0 },
	{ "sleeps in its calls", call_sleep, MAIN, BLAME_ON_CPU, LEAST_NS },
	{ "another thread sleeps", wait_sleep, THREAD, BLAME_SLEEP, 0 },
	{ "another thread computes", wait_spin, THREAD, BLAME_ON_CPU, 0 },
};

/* Shared with the child. */
struct shared {
	const struct scenario *scenario;
	uint64_t cpu_ns; /* that the calling thread had between its first call and its last */
};

static void *calls(void *data)
{
	struct shared *shared = data;
	uint64_t cpu;

	(void)subject_empty();
	cpu = rig_thread_cpu_ns();
	for (int i = 0; i < CALLS; i++) {
		shared->scenario->wait();
		(void)subject_empty();
	}
	shared->cpu_ns = rig_thread_cpu_ns() - cpu;
	return NULL;
}

static int run(void *data)
{
	const struct shared *shared = data;
	pthread_t thread;

	if (shared->scenario->who == MAIN)
		(void)calls(data);
	else if (pthread_create(&thread, NULL, calls, data) || pthread_join(thread, NULL))
		return 1;
	return 0;
}

static void check_scenario(struct rig *rig, struct shared *shared, const struct scenario *s)
{
	static const unsigned int ops[] = { [MAIN] = OP_EVENT_wait_main, [THREAD] = OP_EVENT_wait_threads };
	struct rig_figures f, nobody;
	uint64_t wall, sum = 0;
	pid_t pid;

	*shared = (struct shared){ .scenario = s };
	wall = rig_now_ns();
	CHECK_INT_EQ(s->name, rig_child(rig, run, shared, &pid), 0);
	wall = rig_now_ns() - wall;
	f = rig_figures(rig, pid, ops[s->who]);
	nobody = rig_figures(rig, pid, ops[!s->who]);

	CHECK_INT_EQ(s->name, rig_figures(rig, pid, RIG_EMPTY).count, CALLS + 1);
	CHECK_INT_IN(s->name, f.total_ns, s->class == BLAME_ON_CPU ? 0 : LEAST_NS,
		     wall - shared->cpu_ns - s->inside_ns);
	CHECK_INT_EQ(s->name, f.total_ns, f.raw_ns);
	CHECK_INT_EQ(s->name, f.count, f.timed);
	if (s->class != BLAME_ON_CPU) {
		CHECK_INT_IN(s->name, f.blame_ns[s->class], LEAST_NS, f.total_ns);
		CHECK("at least one for each wait", f.count >= CALLS);
	}
	for (int class = BLAME_ON_CPU + 1; class < BLAME_COUNT; class ++)
		sum += f.blame_ns[class];
	CHECK_INT_EQ("its parts are the whole", sum, f.total_ns);
	CHECK_INT_EQ("nobody else makes calls", nobody.count, 0);
}

/* ---- a process that makes no further call ---- */

#define OTHER_UID 65534

static void hide(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0);
}

static void hide_then_wait(void)
{
	hide();
	wait_sleep();
}

static void *wait_then_hide(void *data)
{
	for (int i = 0; i < CALLS; i++) /* long enough for the other one to wait, too */
		wait_sleep();
	hide();
	return data;
}

static void wait_for_who_hides(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, wait_then_hide, NULL) == 0)
		(void)pthread_join(thread, NULL);
}

static void become_another_users(void)
{
	if (setresuid(OTHER_UID, OTHER_UID, OTHER_UID) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0)
		wait_sleep();
}

static const struct owned {
	const char *name;
	void (*wait)(void);
	uint32_t flags; /* of the process, then */
} owned[] = {
	{ "its user's", wait_sleep, 0 },
	{ "hides, then waits", hide_then_wait, PROCESS_GUARDED },
	{ "hides while a thread of it waits", wait_for_who_hides, PROCESS_GUARDED },
	{ "becomes another user's", become_another_users, PROCESS_GUARDED },
};

static int run_owned(void *data)
{
	const struct owned *o = data;

	(void)subject_empty();
	o->wait();
	return 0;
}

static void check_owned(struct rig *rig, const struct owned *o)
{
	pid_t pid;

	CHECK_INT_EQ(o->name, rig_child(rig, run_owned, (void *)(uintptr_t)o, &pid), 0);
	CHECK_INT_EQ(o->name, probe_set_slots(rig->set)[rig_slot(rig, pid)].flags, o->flags);
}

int main(int argc, char **argv)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct rig rig;

	if (shared == MAP_FAILED)
		CHECK_SKIP("no memory to share");
	rig_open(&rig, rig_back_end(argc, argv), 0);
	if (!probe_set_measures(rig.set, BLAME_RUNNABLE))
		CHECK_SKIP("this kernel does not tell of task switches");
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++)
		check_scenario(&rig, shared, &scenarios[i]);
	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		check_owned(&rig, &owned[i]);
	CHECK_INT_EQ("no wait is missing", rig_loss(&rig, LOSS_SWITCH_UNSEEN), 0);
	rig_close(&rig);
	return check_result();
}
