// SPDX-License-Identifier: Apache-2.0
/*
 * Garbage collections in threads that make calls: their time on the CPU by the thread's own clock, their number and the
 * longest, whatever a finalizer does inside; by a function and by its two marks with semaphores.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "rig.h"
#include "tests/support/check.h"
#include "waits.h"
#include "tests/support/whole.h"

#define COLLECTIONS 5
#define SPIN_NS (10 * NSEC_PER_MSEC)
/* What a collection computes besides: the probes, and what comes before the clock is read. */
#define BESIDES_NS (NSEC_PER_MSEC / 2)

typedef void (*inside_func)(void);

/* ---- an interpreter: a function, and one that marks its collections ---- */

/* Set while somebody listens; of the file, as the kernel wants it. */
__attribute__((section(".data.semaphores"))) static volatile uint16_t begin_semaphore, end_semaphore;
extern const char collection_begins_here[], collection_ends_here[];

static WHOLE void collect(inside_func inside)
{
	inside();
	__asm__ volatile("" ::: "memory"); /* no call that is jumped to */
}

static WHOLE void collect_marked(inside_func inside)
{
	if (begin_semaphore)
		__asm__ volatile("collection_begins_here: nop" ::: "memory");
	inside();
	if (end_semaphore)
		__asm__ volatile("collection_ends_here: nop" ::: "memory");
}

static void (*const routes[])(inside_func) = { collect, collect_marked };
static const char *const route_names[] = { "function", "marks" };
static size_t route;

static struct probe_library *attach(struct rig *rig)
{
	const struct probe_site function = { .offset = rig_offset((const void *)collect) };
	const struct probe_site begin = { .offset = rig_offset(collection_begins_here),
					  .semaphore = rig_offset((const void *)&begin_semaphore) };
	const struct probe_site end = { .offset = rig_offset(collection_ends_here),
					.semaphore = rig_offset((const void *)&end_semaphore) };
	CLEANUP(closep) int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	struct probe_library *library = NULL;
	int r;

	r = route ? probe_set_attach_collector(rig->set, fd, &begin, 1, &end, 1, &library)
		  : probe_set_attach_collector(rig->set, fd, &function, 1, NULL, 0, &library);
	CHECK_INT_EQ("attached", r, 0);
	return library;
}

/* ---- what the programs do ---- */

/* Shared by the program and the test. */
static struct shared {
	uint64_t ns; /* computed in collections, by the thread's own clock */
	uint64_t longest_ns;
	uint64_t stolen_ns; /* by the machine's own host: on the CPU for the account, not for the thread's clock */
	uint32_t n;
} * shared;

static struct rig *tracer; /* in the test itself */
static int to_test[2], to_program[2];
static jmp_buf out;

static void inside_nothing(void)
{
}

static void compute(void)
{
	uint64_t blocked_ns = wait_blocked_ns();

	spin(SPIN_NS);
	shared->stolen_ns += wait_blocked_ns() - blocked_ns;
}

static void inside_computing(void)
{
	compute();
}

/* The lock of the interpreter is given away meanwhile, say. */
static void inside_sleeping(void)
{
	compute();
	wait_sleep();
	wait_futex();
}

static int func_spin(void *data)
{
	(void)data;
	spin(SPIN_NS);
	return 0;
}

static void inside_calling(void)
{
	uint64_t began;

	compute();
	began = rig_thread_cpu_ns();
	(void)subject_call(func_spin, NULL);
	shared->ns -= rig_thread_cpu_ns() - began; /* that is a call */
	wait_sleep();
}

/*
 * Asks for another one, which begins and returns at once, as it does in CPython 3.13. Between the two are the frames of
 * an interpreter, whatever the optimiser makes of ours.
 */
static void inside_collecting(void)
{
	volatile char frames[256];

	frames[0] = 0;
	compute();
	routes[route](inside_nothing);
	compute();
	frames[sizeof(frames) - 1] = frames[0];
}

/* The child returns from its parent's collection. */
static void inside_forking(void)
{
	pid_t pid = fork();

	if (pid)
		(void)waitpid(pid, NULL, 0);
	if (!pid)
		shared = calloc(1, sizeof(*shared));
	compute();
}

static void inside_leaving(void)
{
	compute();
	longjmp(out, 1);
}

static void *collect_and_end(void *data)
{
	(void)subject_empty();
	routes[route](*(inside_func *)data);
	return NULL;
}

static void inside_ending(void)
{
	pthread_exit(NULL);
}

static void inside_becoming_another(void)
{
	(void)execl("/bin/true", "true", (char *)NULL);
}

static void inside_detached(void)
{
	char byte;

	compute();
	if (write(to_test[1], "", 1) != 1 || read(to_program[0], &byte, 1) != 1)
		_exit(3);
	compute();
}

/* By its own clock. */
static void collect_measured(inside_func inside)
{
	uint64_t began = rig_thread_cpu_ns(), ns;

	routes[route](inside);
	ns = rig_thread_cpu_ns() - began;
	shared->ns += ns;
	shared->longest_ns = MAX(shared->longest_ns, ns);
	shared->n++;
}

static void collect_out_of(inside_func inside)
{
	if (setjmp(out) == 0)
		routes[route](inside);
}

static void end_thread(void)
{
	inside_func inside = inside_ending;
	pthread_t thread;

	if (pthread_create(&thread, NULL, collect_and_end, &inside) == 0)
		(void)pthread_join(thread, NULL);
}

static void become_another(void)
{
	routes[route](inside_becoming_another);
}

static void left_behind(void)
{
	collect_out_of(inside_leaving);
}

/* Probes go and come back while it goes on: it is not counted, the next ones are. */
static void detached(void)
{
	routes[route](inside_detached);
}

static const struct scenario {
	const char *name;
	inside_func inside;
	void (*first)(void); /* NULL: nothing */
	void (*last)(void);
	bool is_in_call;
	unsigned int n_more; /* collections that are counted with less than their time, or none */
	uint64_t more_ns;    /* that they may have, at most */
} scenarios[] = {
	{ "computes", inside_computing, NULL, NULL, false, 0, 0 },
	{ "computes, in a call", inside_computing, NULL, NULL, true, 0, 0 },
	{ "sleeps", inside_sleeping, NULL, NULL, false, 0, 0 },
	{ "sleeps, in a call", inside_sleeping, NULL, NULL, true, 0, 0 },
	{ "makes calls", inside_calling, NULL, NULL, false, 0, 0 },
	{ "asks for another", inside_collecting, NULL, NULL, false, 0, 0 },
	{ "forks", inside_forking, NULL, NULL, false, 0, 0 },
	{ "leaves one behind", inside_computing, left_behind, NULL, false, 1, 0 },
	{ "ends a thread in one", inside_computing, end_thread, NULL, false, 0, 0 },
	{ "becomes another program in one", inside_computing, NULL, become_another, false, 1, 0 },
	{ "is detached in one", inside_computing, detached, NULL, false, 1, SPIN_NS + BESIDES_NS },
};

static int func_collect(void *data)
{
	collect_measured(*(inside_func *)data);
	return 0;
}

static int run(void *data)
{
	const struct scenario *s = data;
	inside_func inside = s->inside;
	pid_t pid = getpid();

	(void)subject_empty();
	if (s->first)
		s->first();
	for (int i = 0; i < COLLECTIONS; i++) {
		if (s->is_in_call)
			(void)subject_call(func_collect, &inside);
		else
			collect_measured(inside);
		if (getpid() != pid)
			_exit(0);
		(void)subject_empty();
		wait_sleep();
	}
	if (s->last)
		s->last();
	return 0;
}

/* ---- what is told ---- */

struct told {
	uint32_t slot, tid, op;
	struct wait_value value;
	unsigned int n_rows;
};

static void told_add(const struct wait_key *key, const struct wait_value *value, void *data)
{
	struct told *told = data;

	if (key->slot != told->slot || key->kind != RESOURCE_GC || key->tid != told->tid)
		return;
	CHECK_INT_EQ("class", key->class, BLAME_ON_CPU);
	CHECK_INT_EQ("operation", key->op, told->op);
	CHECK_INT_EQ("nobody ends it", key->waker_tid, 0);
	told->value = *value;
	told->n_rows++;
}

static void on_cpu_note(const struct account_record *r, void *data)
{
	uint64_t *ns = data, sum = 0;

	if (r->tid != *ns || r->changes != r->account.changes)
		return;
	for (size_t i = 0; i < BLAME_COUNT; i++)
		sum += r->account.away_ns[i];
	for (size_t i = 0; i < ACCOUNT_OPS; i++)
		sum += r->account.ops[i].ns;
	*ns = r->now_ns - r->account.since_ns - sum - r->account.rest.ns;
}

static void *detach_in_one(void *data)
{
	struct probe_library **library = data;
	char byte;

	if (read(to_test[0], &byte, 1) != 1)
		return NULL;
	probe_set_detach_library(tracer->set, *library);
	*library = attach(tracer);
	(void)!write(to_program[1], "", 1);
	return NULL;
}

static void check_scenario(struct rig *rig, const struct scenario *s, struct probe_library **library)
{
	bool is_detached = s->first == detached;
	struct told told = { .op = s->is_in_call ? RIG_CALL : 0 };
	pthread_t thread;
	uint64_t on_cpu_ns;
	pid_t pid;

	*shared = (struct shared){ .n = 0 };
	if (is_detached)
		CHECK_INT_EQ(s->name, pthread_create(&thread, NULL, detach_in_one, library), 0);
	CHECK_INT_EQ(s->name, rig_child(rig, run, (void *)(uintptr_t)s, &pid), 0);
	if (is_detached)
		(void)pthread_join(thread, NULL);
	told.slot = rig_slot(rig, pid);
	told.tid = (uint32_t)pid;
	CHECK("rows are read", probe_set_waits(rig->set, told_add, &told) >= 0);
	CHECK_INT_EQ(s->name, told.n_rows, 1);
	CHECK_INT_EQ(s->name, shared->n, COLLECTIONS);
	CHECK_INT_EQ(s->name, told.value.count, COLLECTIONS + s->n_more);
	CHECK_INT_IN(s->name, told.value.ns, shared->ns - shared->ns / 50 - BESIDES_NS,
		     shared->ns + shared->ns / 50 + COLLECTIONS * BESIDES_NS + s->more_ns + shared->stolen_ns);
	if (s->inside != inside_calling)
		CHECK_INT_IN(s->name, told.value.max_ns, shared->longest_ns * 9 / 10,
			     shared->longest_ns + BESIDES_NS + s->more_ns + shared->stolen_ns);
	on_cpu_ns = (uint64_t)pid;
	CHECK("the account is read", probe_set_accounts(rig->set, on_cpu_note, &on_cpu_ns) >= 0);
	if (!s->is_in_call)
		CHECK_INT_IN("part of the time between calls", told.value.ns, 0, on_cpu_ns);
}

/* Nothing is counted of who makes no calls, nor once it is detached; semaphores are as before. */
static int without_calls(void *data)
{
	(void)data;
	routes[route](inside_computing);
	return 0;
}

static void rows_count(const struct wait_key *key, const struct wait_value *value, void *data)
{
	(void)value;
	*(unsigned int *)data += key->kind == RESOURCE_GC;
}

static void check_none(struct rig *rig, const char *name, int (*func)(void *), void *data)
{
	unsigned int before = 0, after = 0;
	pid_t pid;

	(void)probe_set_waits(rig->set, rows_count, &before);
	CHECK_INT_EQ(name, rig_child(rig, func, data, &pid), 0);
	(void)probe_set_waits(rig->set, rows_count, &after);
	CHECK_INT_EQ(name, after, before);
}

/* One that goes on is told so far, each time that accounts are read. */
static int one_long(void *data)
{
	(void)data;
	(void)subject_empty();
	collect_measured(inside_detached);
	return 0;
}

static void *look_in_one(void *data)
{
	uint64_t *ns = data, pid = 0;
	struct told told = { .slot = 0 };
	char byte;

	if (read(to_test[0], &byte, 1) != 1)
		return NULL;
	(void)probe_set_accounts(tracer->set, on_cpu_note, &pid);
	for (uint32_t i = 1; i < PROCESS_SLOTS; i++) {
		const struct process_slot *slot = &probe_set_slots(tracer->set)[i];

		if (slot->state != PROCESS_SLOT_LIVE)
			continue;
		told.slot = i;
		told.tid = slot->tgid;
		(void)probe_set_waits(tracer->set, told_add, &told);
	}
	*ns = told.value.ns;
	(void)!write(to_program[1], "", 1);
	return NULL;
}

static void check_open(struct rig *rig)
{
	struct told told = { .op = 0 };
	uint64_t so_far_ns = 0;
	pthread_t thread;
	pid_t pid;

	*shared = (struct shared){ .n = 0 };
	CHECK_INT_EQ("goes on", pthread_create(&thread, NULL, look_in_one, &so_far_ns), 0);
	CHECK_INT_EQ("goes on", rig_child(rig, one_long, NULL, &pid), 0);
	(void)pthread_join(thread, NULL);
	told.slot = rig_slot(rig, pid);
	told.tid = (uint32_t)pid;
	(void)probe_set_waits(rig->set, told_add, &told);
	CHECK_INT_IN("so far", so_far_ns, SPIN_NS * 9 / 10, SPIN_NS + 2 * BESIDES_NS + shared->stolen_ns);
	CHECK_INT_IN("and in all", told.value.ns, shared->ns - BESIDES_NS,
		     shared->ns + 2 * BESIDES_NS + shared->stolen_ns);
	CHECK_INT_IN("the longest", told.value.max_ns, shared->ns - BESIDES_NS,
		     shared->ns + 2 * BESIDES_NS + shared->stolen_ns);
	CHECK_INT_EQ("one", told.value.count, 1);
}

int main(int argc, char **argv)
{
	struct rig rig;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || pipe2(to_test, O_CLOEXEC) < 0 || pipe2(to_program, O_CLOEXEC) < 0)
		return 1;
	rig_open(&rig, rig_back_end(argc, argv), 0);
	tracer = &rig;
	for (route = 0; route < ARRAY_SIZE(routes); route++) {
		struct probe_library *library = attach(&rig);

		fprintf(stderr, "by its %s\n", route_names[route]);
		CHECK_INT_EQ("semaphores", begin_semaphore + end_semaphore, route ? 2 : 0);
		for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++)
			check_scenario(&rig, &scenarios[i], &library);
		check_open(&rig);
		check_none(&rig, "without calls", without_calls, NULL);
		probe_set_detach_library(rig.set, library);
		if (rig_back_end(argc, argv) != PROBE_BACK_END_PERF) /* there they go a while later */
			CHECK_INT_EQ("semaphores", begin_semaphore + end_semaphore, 0);
		check_none(&rig, "detached", run, (void *)(uintptr_t)&scenarios[0]);
	}
	CHECK_INT_EQ("no row is lost", rig_loss(&rig, LOSS_WAITS), 0);
	rig_close(&rig);
	return check_result();
}
