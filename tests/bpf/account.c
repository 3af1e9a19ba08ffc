// SPDX-License-Identifier: Apache-2.0
/*
 * The account of a thread, between two witnesses: its operations have the time of their cells and its waits between
 * calls that of theirs, to the nanosecond; what is left of the wall clock is what the scheduler says the thread had of
 * a CPU.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "rig.h"
#include "tests/support/check.h"
#include "waits.h"

#define CALLS 20
#define ASKED_NS (CALLS * WAIT_NS)
#define LEAST_NS (ASKED_NS - ASKED_NS / 10)
/* What the two clocks may differ by: see the model in docs/rooms/bpf.md. */
#define CLOCKS_NS (10 * NSEC_PER_MSEC)
#define CLOCK_NS NSEC_PER_MSEC
#define OPEN_NS (WAIT_OPEN_NS + 30 * NSEC_PER_MSEC)
#define PATIENCE_NS (20 * NSEC_PER_SEC)

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

/* Operations of one place: one of the two is elsewhere. */
static void call_two(void)
{
	(void)subject_empty();
	(void)subject_arguments(NULL, 1, 0);
}

static int func_leave(void *data)
{
	(void)data;
	wait_sleep();
	_exit(0);
}

static void call_leave(void)
{
	(void)subject_call(func_leave, NULL);
}

static void become_another(void)
{
	(void)execl("/bin/true", "true", (char *)NULL);
}

enum who { MAIN, THREAD };

static const struct scenario {
	const char *name;
	void (*wait)(void);
	void (*end)(void); /* the last that it does */
	enum who who;
	enum blame_class class; /* of its waits between calls; BLAME_ON_CPU: it has none */
	unsigned int op;	/* in whose calls it sleeps; 0: in none */
	uint64_t inside_ns;	/* how long at least */
	unsigned int n_calls;
} scenarios[] = {
	{ "sleeps", wait_sleep, NULL, MAIN, BLAME_SLEEP, 0, 0, CALLS + 1 },
	{ "polls a pipe", wait_poll, NULL, MAIN, BLAME_OTHER, 0, 0, CALLS + 1 },
	{ "waits for a lock", wait_futex, NULL, MAIN, BLAME_LOCK, 0, 0, CALLS + 1 },
	{ "computes", wait_spin, NULL, MAIN, BLAME_ON_CPU, 0, 0, CALLS + 1 },
	{ "sleeps in its calls", call_sleep, NULL, MAIN, BLAME_ON_CPU, RIG_CALL, ASKED_NS, 2 * CALLS + 1 },
	{ "calls two that share a place", call_two, NULL, MAIN, BLAME_ON_CPU, 0, 0, 3 * CALLS + 1 },
	{ "ends in a call", wait_sleep, call_leave, MAIN, BLAME_SLEEP, RIG_CALL, WAIT_NS, CALLS + 2 },
	{ "becomes another program", wait_sleep, become_another, MAIN, BLAME_SLEEP, 0, 0, CALLS + 1 },
	{ "another thread sleeps", wait_sleep, NULL, THREAD, BLAME_SLEEP, 0, 0, CALLS + 1 },
	{ "another thread computes", wait_spin, NULL, THREAD, BLAME_ON_CPU, 0, 0, CALLS + 1 },
};

/* ---- what is read ---- */

/* The last account told of one process. */
struct found {
	uint32_t tgid;
	unsigned int n, n_told; /* of one moment, and all */
	struct account_record record;
};

static void found_note(const struct account_record *record, void *data)
{
	struct found *found = data;

	if (record->tgid != found->tgid)
		return;
	found->n_told++;
	if (record->changes != record->account.changes)
		return;
	found->n++;
	found->record = *record;
}

static struct found account_of(const struct rig *rig, pid_t pid)
{
	struct found found = { .tgid = (uint32_t)pid };

	CHECK("accounts are read", probe_set_accounts(rig->set, found_note, &found) >= 0);
	return found;
}

static uint64_t sum_of(const __u64 ns[BLAME_COUNT])
{
	uint64_t sum = 0;

	CHECK_INT_EQ("never stored", ns[BLAME_ON_CPU], 0);
	for (int class = 1; class < BLAME_COUNT; class ++)
		sum += ns[class];
	return sum;
}

static const struct account_op *op_of(const struct thread_account *account, unsigned int op)
{
	for (size_t i = 0; i < ACCOUNT_OPS; i++)
		if (account->ops[i].op == op)
			return &account->ops[i];
	return NULL;
}

/* ---- accounts that are complete ---- */

static void *calls(void *data)
{
	const struct scenario *s = data;

	(void)subject_empty();
	for (int i = 0; i < CALLS; i++) {
		s->wait();
		(void)subject_empty();
	}
	if (s->end)
		s->end();
	return NULL;
}

static int run(void *data)
{
	const struct scenario *s = data;
	pthread_t thread;

	if (s->who == MAIN)
		(void)calls(data);
	else if (pthread_create(&thread, NULL, calls, data) || pthread_join(thread, NULL))
		return 1;
	return 0;
}

/* Operations as their cells have them. Return: time in calls; @ret_on_cpu_ns: of it, on the CPU */
static uint64_t check_ops(const struct rig *rig, const struct scenario *s, const struct account_record *r,
			  uint64_t *ret_on_cpu_ns)
{
	uint64_t sum = 0, blame;

	*ret_on_cpu_ns = 0;
	for (size_t i = 0; i < ACCOUNT_OPS; i++) {
		const struct account_op *o = &r->account.ops[i];
		struct rig_figures f;

		if (!o->op)
			continue;
		f = rig_figures(rig, (pid_t)r->tgid, o->op);
		if (!f.abandoned)
			CHECK_INT_EQ(s->name, o->ns, f.raw_ns);
		for (int class = 1; class < BLAME_COUNT && !f.abandoned; class ++)
			CHECK_INT_EQ(s->name, o->blame_ns[class], f.blame_ns[class]);
		blame = sum_of(o->blame_ns);
		CHECK("not longer away than it took", blame <= o->ns);
		sum += o->ns;
		*ret_on_cpu_ns += o->ns - blame;
	}
	CHECK_INT_EQ(s->name, r->account.rest.ns, 0);
	return sum;
}

static void check_scenario(struct rig *rig, const struct scenario *s)
{
	static const unsigned int waits[] = { [MAIN] = OP_EVENT_wait_main, [THREAD] = OP_EVENT_wait_threads };
	uint64_t wall, account_wall, in_calls, in_calls_on_cpu, away, on_cpu, runtime;
	const struct thread_account *a;
	struct rig_figures f;
	struct found found;
	pid_t pid;

	wall = rig_now_ns();
	CHECK_INT_EQ(s->name, rig_child(rig, run, (void *)(uintptr_t)s, &pid), 0);
	wall = rig_now_ns() - wall;
	found = account_of(rig, pid);
	CHECK_INT_EQ(s->name, found.n, 1);
	CHECK_INT_EQ("and only once", account_of(rig, pid).n, 0);
	if (found.n != 1)
		return;
	a = &found.record.account;
	f = rig_figures(rig, pid, waits[s->who]);

	CHECK_INT_EQ(s->name, found.record.tid == found.record.tgid, s->who == MAIN);
	CHECK_INT_EQ(s->name, a->calls, s->n_calls);
	CHECK_INT_EQ("it is over", found.record.open_since_ns, 0);
	for (int class = 1; class < BLAME_COUNT; class ++)
		CHECK_INT_EQ(s->name, a->away_ns[class], f.blame_ns[class]);
	account_wall = found.record.now_ns - a->since_ns;
	in_calls = check_ops(rig, s, &found.record, &in_calls_on_cpu);
	away = sum_of(a->away_ns);
	CHECK_INT_IN(s->name, account_wall, s->class == BLAME_ON_CPU ? in_calls + away : in_calls + LEAST_NS, wall);
	CHECK("its parts are not more", in_calls + away <= account_wall);

	/* What is left it was on the CPU, between calls. */
	on_cpu = account_wall - away - in_calls + in_calls_on_cpu;
	runtime = found.record.runtime_ns - a->since_runtime_ns;
	CHECK_INT_IN(s->name, on_cpu, runtime - MIN(runtime, CLOCKS_NS), runtime + CLOCKS_NS + account_wall / 200);

	if (s->class != BLAME_ON_CPU)
		CHECK_INT_IN(s->name, a->away_ns[s->class], LEAST_NS, away);
	for (int class = BLAME_RUNNABLE + 1; class < BLAME_COUNT; class ++)
		if (class != (int)s->class)
			CHECK_INT_IN(s->name, a->away_ns[class], 0, account_wall / 20);
	if (s->op) {
		const struct account_op *o = op_of(a, s->op);

		CHECK(s->name, o != NULL);
		CHECK_INT_IN(s->name, o ? o->blame_ns[BLAME_SLEEP] : 0, s->inside_ns - s->inside_ns / 10, in_calls);
	}
}

/* ---- what goes on ---- */

struct gate {
	int open[2]; /* a byte lets the child go */
};

static int func_gate(void *data)
{
	const struct gate *gate = data;
	char byte;

	return read(gate->open[0], &byte, 1) != 1;
}

static int wait_outside(void *data)
{
	(void)subject_empty();
	(void)func_gate(data);
	(void)subject_empty();
	return 0;
}

static int hide_outside(void *data)
{
	(void)subject_empty();
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)func_gate(data);
	(void)subject_empty();
	return 0;
}

static int wait_inside(void *data)
{
	(void)subject_empty();
	(void)subject_call(func_gate, data);
	return 0;
}

static int func_compute(void *data)
{
	const struct gate *gate = data;
	char byte;

	(void)fcntl(gate->open[0], F_SETFL, O_NONBLOCK);
	while (read(gate->open[0], &byte, 1) != 1)
		;
	return 0;
}

static int compute_outside(void *data)
{
	(void)subject_empty();
	return func_compute(data);
}

static int sleep_then_compute_inside(void *data)
{
	(void)subject_empty();
	wait_sleep();
	return subject_call(func_compute, data);
}

static const struct {
	const char *name;
	int (*run)(void *data);
	unsigned int op; /* in whose call */
	bool is_waiting;
	uint64_t slept_ns; /* between calls, before */
	uint32_t flags;	   /* of the process, while it goes on */
} open_cases[] = {
	{ "waits between calls", wait_outside, 0, true, 0, 0 },
	{ "hides, then waits between calls", hide_outside, 0, true, 0, PROCESS_GUARDED },
	{ "waits in a call", wait_inside, RIG_CALL, true, 0, 0 },
	{ "computes between calls", compute_outside, 0, false, 0, 0 },
	{ "sleeps, then computes in a call", sleep_then_compute_inside, RIG_CALL, false, WAIT_NS, 0 },
};

static pid_t gate_child(struct rig *rig, int (*func)(void *data), struct gate *gate)
{
	pid_t pid;
	char byte;

	if (pipe2(gate->open, O_CLOEXEC) < 0)
		CHECK_SKIP("no pipe");
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (read(gate->open[0], &byte, 1) != 1)
			_exit(99);
		_exit(func(gate));
	}
	rig_target(rig, pid, RIG_NO_CALL);
	CHECK_INT_EQ("go", write(gate->open[1], "", 1), 1);
	return pid;
}

static void gate_end(struct gate *gate, pid_t pid)
{
	int status = -1;

	CHECK_INT_EQ("go on", write(gate->open[1], "", 1), 1);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	CHECK_INT_EQ("child", status, 0);
	(void)close(gate->open[0]);
	(void)close(gate->open[1]);
}

/* A thread that waits is seen to wait while it does, all of the time since it left the CPU. */
static void check_open(struct rig *rig, size_t i)
{
	uint64_t began = rig_now_ns(), wait_ns = 0, wall = 0, last_ns = 0;
	const char *name = open_cases[i].name;
	const struct account_record *r;
	struct found found = {};
	struct gate gate;
	struct stat pipe;
	pid_t pid;

	pid = gate_child(rig, open_cases[i].run, &gate);
	while (wall < OPEN_NS && rig_now_ns() - began < PATIENCE_NS) {
		uint64_t wait;

		found = account_of(rig, pid);
		if (!found.n || found.record.account.calls != 1)
			continue;
		r = &found.record;
		wait = sum_of(r->open_ns) + sum_of(r->account.away_ns);
		/* What goes on is measured by another clock than what is over. */
		CHECK_INT_IN("it never gets less", wait, last_ns - MIN(last_ns, CLOCK_NS), UINT64_MAX / 2);
		last_ns = wait;
		wait_ns = r->open_ns[BLAME_OTHER];
		wall = open_cases[i].is_waiting ? wait_ns : r->now_ns - r->account.since_ns;
	}
	r = &found.record;
	CHECK_INT_EQ(name, found.n, 1);
	CHECK_INT_EQ(name, r->open_op, open_cases[i].op);
	CHECK_INT_EQ(name, probe_set_slots(rig->set)[r->slot].flags, open_cases[i].flags);
	CHECK_INT_EQ(name, r->account.calls, 1);
	CHECK_INT_IN(name, r->account.away_ns[BLAME_SLEEP], open_cases[i].slept_ns, r->now_ns - r->account.since_ns);
	if (open_cases[i].is_waiting) {
		CHECK_INT_IN(name, wait_ns, OPEN_NS, r->now_ns - r->open_since_ns);
		CHECK_INT_IN(name, sum_of(r->open_ns) + CLOCKS_NS, r->now_ns - r->open_since_ns,
			     r->now_ns - r->account.since_ns + CLOCKS_NS);
		CHECK_INT_EQ("what it is for", fstat(gate.open[0], &pipe), 0);
		CHECK_INT_IN("since", r->wait_since_ns, r->open_since_ns, r->now_ns - WAIT_OPEN_NS);
		CHECK_INT_IN("so far", r->wait_ns, WAIT_OPEN_NS, wait_ns);
		CHECK_INT_EQ("what it is for", r->wait_class, BLAME_OTHER);
		CHECK_INT_EQ("what it is for", r->wait_kind, RESOURCE_PIPE);
		CHECK_INT_EQ("what it is for", r->wait_resource, pipe.st_ino);
	} else {
		CHECK_INT_EQ(name, r->open_ns[BLAME_OTHER], 0);
		CHECK_INT_EQ(name, r->wait_since_ns, 0);
	}
	gate_end(&gate, pid);
	CHECK_INT_EQ("its last account", account_of(rig, pid).n, 1);
}

/* ---- a thread that calls all the while ---- */

#define READS 200

static int call_always(void *data)
{
	const struct gate *gate = data;
	char byte;

	(void)fcntl(gate->open[0], F_SETFL, O_NONBLOCK);
	do {
		for (int i = 0; i < 1000; i++)
			(void)subject_empty();
	} while (read(gate->open[0], &byte, 1) != 1);
	return 0;
}

static void check_busy(struct rig *rig)
{
	uint64_t began = rig_now_ns(), calls = 0;
	unsigned int n_whole = 0;
	struct gate gate;
	pid_t pid = gate_child(rig, call_always, &gate);

	while (!account_of(rig, pid).n && rig_now_ns() - began < PATIENCE_NS)
		;
	for (int i = 0; i < READS; i++) {
		struct found found = account_of(rig, pid);
		const struct thread_account *a = &found.record.account;

		CHECK("always told", found.n_told > 0);
		if (!found.n)
			continue;
		n_whole++;
		CHECK("calls are not forgotten", a->calls >= calls);
		calls = a->calls;
		CHECK("not more than the time since",
		      op_of(a, RIG_EMPTY) &&
			      op_of(a, RIG_EMPTY)->ns + sum_of(a->away_ns) + sum_of(found.record.open_ns) <=
				      found.record.now_ns - a->since_ns + CLOCKS_NS);
	}
	CHECK_INT_IN("of one moment", n_whole, READS * 9 / 10, READS);
	gate_end(&gate, pid);
	CHECK_INT_EQ("its last account", account_of(rig, pid).n, 1);
}

/* ---- who has none ---- */

static void check_not_traced(struct rig *rig)
{
	struct gate gate;
	struct found found = {};
	uint64_t began = rig_now_ns();
	pid_t pid = gate_child(rig, wait_outside, &gate);

	while (!found.n && rig_now_ns() - began < PATIENCE_NS)
		found = account_of(rig, pid);
	CHECK_INT_EQ("traced", found.n, 1);
	CHECK_INT_EQ("remove", probe_set_target_remove(rig->set, (uint32_t)pid), 0);
	CHECK_INT_EQ("not traced any more", account_of(rig, pid).n, 0);
	gate_end(&gate, pid);
	CHECK_INT_EQ("calibration has none", account_of(rig, getpid()).n, 0);
}

/* ---- more threads that end than there is room for ---- */

#define THREADS (ACCOUNTS_ENDED + 10)
#define SHARE (ACCOUNTS_ENDED * 3 / 4) /* of one user, while no other user has any */

static void *call_once(void *data)
{
	(void)subject_empty();
	return data;
}

static int many_threads(void *data)
{
	(void)data;
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, call_once, NULL) || pthread_join(thread, NULL))
			return 1;
	}
	return 0;
}

static void check_many(struct rig *rig)
{
	pid_t pid;

	CHECK_INT_EQ("none is lost before", rig_loss(rig, LOSS_ACCOUNTS), 0);
	CHECK_INT_EQ("threads", rig_child(rig, many_threads, NULL, &pid), 0);
	CHECK_INT_EQ("accounts", account_of(rig, pid).n, SHARE);
	CHECK_INT_EQ("what is lost is counted", rig_loss(rig, LOSS_ACCOUNTS), THREADS - SHARE);
	CHECK_INT_EQ("threads", rig_child(rig, many_threads, NULL, &pid), 0);
	CHECK_INT_EQ("release", probe_set_slot_release(rig->set, rig_slot(rig, pid)), 0);
	CHECK_INT_EQ("nobody's account", account_of(rig, pid).n, 0);
}

/* Calls are counted, and nothing is said of where their time went. */
static void check_blind(struct rig *rig)
{
	const struct scenario *s = &scenarios[0];
	pid_t pid;

	CHECK_INT_EQ("blind", rig_child(rig, run, (void *)(uintptr_t)s, &pid), 0);
	CHECK_INT_EQ("blind", account_of(rig, pid).n_told, 0);
	CHECK_INT_EQ("blind", rig_figures(rig, pid, RIG_EMPTY).count, CALLS + 1);
	for (int class = 0; class < BLAME_COUNT; class ++)
		CHECK("blind", !probe_set_measures(rig->set, (enum blame_class) class));
	CHECK_INT_EQ("blind", rig_loss(rig, LOSS_ACCOUNTS), 0);
}

int main(int argc, char **argv)
{
	struct rig rig;

	rig_open(&rig, rig_back_end(argc, argv), 0);
	if (!probe_set_measures(rig.set, BLAME_RUNNABLE)) {
		check_blind(&rig);
		rig_close(&rig);
		return check_result();
	}
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++)
		check_scenario(&rig, &scenarios[i]);
	for (size_t i = 0; i < ARRAY_SIZE(open_cases); i++)
		check_open(&rig, i);
	check_busy(&rig);
	check_not_traced(&rig);
	check_many(&rig);
	CHECK_INT_EQ("no wait is missing", rig_loss(&rig, LOSS_SWITCH_UNSEEN), 0);
	rig_close(&rig);
	return check_result();
}
