// SPDX-License-Identifier: Apache-2.0
/*
 * What a traced call costs, in interleaved rounds: untraced, empty programs at the same
 * place (the floor), all of ours. Prints the median of the rounds and the ratio to the
 * floor of the same round with its quartiles. One thread, thread CPU time, CPU 0; where caches
 * are swept before each call, the median of the calls by the clock. Task switches: of two threads that
 * take turns on that CPU, by the clock; an empty program in a call has no part in them.
 *
 * Then how true reported durations are: calls of 0, 5 and 50 us, one traced call inside
 * another, against the program's own clock in untraced rounds between the traced ones.
 *
 * Perf events are closed slowly, by a process of their own, and slow down every call until they
 * are gone: each step waits for its end.
 *
 *   bench_call [BACK_END [ROUNDS [CALLS [VARIANT]]]]   VARIANT: one row's name, and no durations
 *   bench_call --list                                  names of the rows
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "floor.h"
#include "rig.h"
#include "tests/support/check.h"

#define ROUNDS_MAX 101

static int call_nested(void)
{
	return subject_runtime(NULL, NULL);
}

static int call_refused(void)
{
	return subject_empty();
}

#if defined(__x86_64__)
#define JUMP_DELTA 10
#else
#define JUMP_DELTA 4
#endif

typedef void (*func)(void);

enum turns {
	NO_TURNS,      /* calls are timed */
	TURNS_IN_CALL, /* task switches of a thread inside a traced call */
	TURNS_ALONE,   /* of threads that never made one */
	TURNS_OF_USER, /* the same of threads that are not root's */
	TURNS_BETWEEN, /* of threads that made a call before */
};

#define NESTED (func) subject_runtime, (func)subject_driver

/* One round: the floor, ours, and nothing, one after the other at the same offsets. */
static const struct {
	const char *name;
	int (*call)(void);
	func at[2]; /* probed functions */
	uint32_t delta;
	uint64_t cookie_bits;
	bool is_target;
	bool record_all;
	bool is_swept; /* caches, before each call */
	enum turns turns;
} cases[] = {
	{ "push head", subject_empty, { (func)subject_empty }, .is_target = true },
	{ "jump head", subject_jump_head, { (func)subject_jump_head }, .delta = JUMP_DELTA, .is_target = true },
	{ "jump head at the symbol", subject_jump_head, { (func)subject_jump_head }, .is_target = true },
	{ "nested, two traced calls", call_nested, { NESTED }, .is_target = true },
	{ "nested, caches swept", call_nested, { NESTED }, .is_target = true, .is_swept = true },
	{ "push head, every call recorded",
	  subject_empty,
	  { (func)subject_empty },
	  .is_target = true,
	  .record_all = true },
	{ "entry only", call_refused, { (func)subject_empty }, .cookie_bits = COOKIE_ENTRY_ONLY, .is_target = true },
	{ "bystander", call_refused, { (func)subject_empty }, .turns = NO_TURNS },
	{ "task switch in a call", NULL, { NESTED }, .is_target = true, .turns = TURNS_IN_CALL },
	{ "task switch between calls", NULL, { NESTED }, .is_target = true, .turns = TURNS_BETWEEN },
	{ "task switch, no call", NULL, { NESTED }, .is_target = true, .turns = TURNS_ALONE },
	{ "task switch, no call, a user's", NULL, { NESTED }, .is_target = true, .turns = TURNS_OF_USER },
};

static int compare_double(const void *a, const void *b)
{
	double x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

static double quantile(double *values, size_t n, unsigned int percent)
{
	qsort(values, n, sizeof(*values), compare_double);
	return values[(n - 1) * percent / 100];
}

/* Processes that close probes are ours to wait for: main() makes us the one that inherits them. */
static void probes_gone(void)
{
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

static double time_call(int (*call)(void), unsigned int n_calls)
{
	uint64_t begin;
	unsigned int i;

	for (i = 0; i < n_calls / 16; i++)
		(void)call();
	begin = rig_thread_cpu_ns();
	for (i = 0; i < n_calls; i++)
		(void)call();
	return (double)(rig_thread_cpu_ns() - begin) / n_calls;
}

#define SWEEP_BYTES (4u << 20) /* more than a core's own caches */
#define SWEPT_CALLS 400

/* Of a program that works between its calls: each is timed by itself, the median of them counts. */
static double time_swept(int (*call)(void))
{
	static volatile char memory[SWEEP_BYTES];
	static double ns[SWEPT_CALLS];

	for (size_t i = 0; i < SWEPT_CALLS; i++) {
		uint64_t begin;

		for (size_t k = 0; k < SWEEP_BYTES; k += 64)
			memory[k]++;
		begin = rig_now_ns();
		(void)call();
		ns[i] = (double)(rig_now_ns() - begin);
	}
	return quantile(ns, SWEPT_CALLS, 50);
}

struct turns_of {
	int there[2], back[2]; /* pipes */
	unsigned int n;
	enum turns turns;
	double ns; /* of one switch */
};

#define USER 65534

/* The system calls alone: the C library's would change the ids of every thread. */
static void user_become(enum turns turns)
{
	if (turns != TURNS_OF_USER)
		return;
	if (syscall(SYS_setresgid, USER, USER, USER) || syscall(SYS_setresuid, USER, USER, USER) ||
	    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)) /* a change of ids ends it, for the whole process */
		abort();
}

static int func_turns(void *data)
{
	struct turns_of *t = data;
	char byte = 0;

	for (unsigned int i = 0; i < t->n; i++)
		if (write(t->there[1], &byte, 1) != 1 || read(t->back[0], &byte, 1) != 1)
			abort();
	return 0;
}

static void call_before(enum turns turns)
{
	if (turns == TURNS_BETWEEN)
		(void)subject_runtime(NULL, NULL);
}

static void *thread_first(void *data)
{
	struct turns_of *t = data;
	uint64_t begin;

	user_become(t->turns);
	call_before(t->turns);
	begin = rig_now_ns();
	(void)(t->turns == TURNS_IN_CALL ? subject_runtime(func_turns, t) : func_turns(t));
	t->ns = (double)(rig_now_ns() - begin) / (2.0 * t->n);
	return NULL;
}

static void *thread_second(void *data)
{
	const struct turns_of *t = data;
	char byte;

	user_become(t->turns);
	call_before(t->turns);
	for (unsigned int i = 0; i < t->n; i++)
		if (read(t->there[0], &byte, 1) != 1 || write(t->back[1], &byte, 1) != 1)
			abort();
	return NULL;
}

static double time_turns(enum turns turns, unsigned int n)
{
	struct turns_of t = { .n = n, .turns = turns };
	pthread_t first, second;

	if (pipe2(t.there, O_CLOEXEC) < 0 || pipe2(t.back, O_CLOEXEC) < 0 ||
	    pthread_create(&second, NULL, thread_second, &t) || pthread_create(&first, NULL, thread_first, &t))
		abort();
	(void)pthread_join(first, NULL);
	(void)pthread_join(second, NULL);
	for (size_t i = 0; i < 2; i++) {
		(void)close(t.there[i]);
		(void)close(t.back[i]);
	}
	return t.ns;
}

static double time_case(size_t i, unsigned int n_calls)
{
	if (cases[i].turns)
		return time_turns(cases[i].turns, n_calls);
	return cases[i].is_swept ? time_swept(cases[i].call) : time_call(cases[i].call, n_calls);
}

#define SAMPLES_MAX (ROUNDS_MAX * 200)

static uint64_t spin_until_ns;

/* A fixed number of steps, so that it takes the same time whoever looks. */
static int func_spin(void *data)
{
	uint64_t i;

	for (i = 0; i < spin_until_ns; i++)
		__asm__ volatile("");
	return data ? 1 : 0;
}

static uint64_t spin_steps(uint64_t ns)
{
	uint64_t begin, best = UINT64_MAX;
	int i;

	spin_until_ns = 100000;
	for (i = 0; i < 20; i++) {
		begin = rig_now_ns();
		(void)func_spin(NULL);
		best = MIN(best, rig_now_ns() - begin);
	}
	return ns * spin_until_ns / best;
}

static void buckets_copy(const struct rig *rig, unsigned int op, uint32_t ret_buckets[HISTOGRAM_BUCKETS])
{
	const struct figure_cell *cells = probe_set_cells(rig->set);
	uint32_t i, n = probe_set_cells_used(rig->set);

	memset(ret_buckets, 0, HISTOGRAM_BUCKETS * sizeof(*ret_buckets));
	for (i = 1; i < n; i++)
		if (cells[i].slot && cells[i].op == op)
			memcpy(ret_buckets, cells[i].buckets, sizeof(cells[i].buckets));
}

/* Linear inside the bucket. */
static double buckets_quantile(const uint32_t before[], const uint32_t after[], unsigned int percent)
{
	uint64_t n = 0, seen = 0, want;
	unsigned int i;

	for (i = 0; i < HISTOGRAM_BUCKETS; i++)
		n += after[i] - before[i];
	want = (n * percent + 99) / 100;
	for (i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t in = after[i] - before[i];
		unsigned int octave = (i >> HISTOGRAM_SUB_BITS) + HISTOGRAM_FIRST_OCTAVE;
		double width = (double)(1ull << (octave - HISTOGRAM_SUB_BITS));
		double low = (double)(1ull << octave) + width * (i & ((1u << HISTOGRAM_SUB_BITS) - 1));

		if (i == 0) {
			low = 0; /* everything shorter is in here */
			width = 68;
		}
		if (in && seen + in >= want)
			return low + width * (double)(want - seen) / (double)in;
		seen += in;
	}
	return 0;
}

static void durations(struct rig *rig, int fd, uint64_t n_rounds)
{
	static const uint64_t lengths_ns[] = { 0, 5000, 50000 };
	static uint32_t before[2][HISTOGRAM_BUCKETS], after[HISTOGRAM_BUCKETS];
	static double own[SAMPLES_MAX];
	static const unsigned int ops[2] = { RIG_RUNTIME, RIG_DRIVER };
	struct probe_library *library;
	struct probe_site sites[2] = {
		{ rig_offset((const void *)subject_runtime), COOKIE(RIG_RUNTIME, CALL_HEAD_PLAIN), 0 },
		{ rig_offset((const void *)subject_driver), COOKIE(RIG_DRIVER, CALL_HEAD_PLAIN), 0 },
	};
	size_t i, k, n;
	uint64_t round;

	printf("\nreported duration of nested calls minus the program's own, ns\n%-12s %10s %10s %16s %16s\n", "",
	       "own p50", "own p95", "outer p50 / p95", "inner p50 / p95");
	rig_target(rig, 0, RIG_NO_CALL);
	for (i = 0; i < ARRAY_SIZE(lengths_ns); i++) {
		double p50, p95, error[2][2];

		spin_until_ns = spin_steps(lengths_ns[i]);
		for (k = 0; k < 2; k++)
			buckets_copy(rig, ops[k], before[k]);
		n = 0;
		for (round = 0; round < n_rounds; round++) {
			for (k = 0; k < 200; k++) {
				uint64_t begin = rig_now_ns();

				(void)subject_runtime(func_spin, NULL);
				own[n++] = (double)(rig_now_ns() - begin);
			}
			if (probe_set_attach_library(rig->set, fd, sites, 2, &library) < 0)
				return;
			for (k = 0; k < 200; k++)
				(void)subject_runtime(func_spin, NULL);
			probe_set_detach_library(rig->set, library);
			probes_gone();
		}
		p50 = quantile(own, n, 50);
		p95 = quantile(own, n, 95);
		for (k = 0; k < 2; k++) {
			buckets_copy(rig, ops[k], after);
			error[k][0] = buckets_quantile(before[k], after, 50) - p50;
			error[k][1] = buckets_quantile(before[k], after, 95) - p95;
		}
		printf("%5ju us     %10.0f %10.0f %7.0f / %6.0f %7.0f / %6.0f\n", (uintmax_t)(lengths_ns[i] / 1000),
		       p50, p95, error[0][0], error[0][1], error[1][0], error[1][1]);
	}
}

struct bench {
	struct rig rig;
	struct floor *floor;
	int path_fd;
	uint64_t n_rounds;
	unsigned int n_calls;
};

static double time_floor(struct bench *b, const struct probe_site *sites, size_t n_sites, size_t i)
{
	struct probe_site plain[2];
	double ns;

	/* The floor always sees both ends: that is what ours is compared with. */
	for (size_t k = 0; k < n_sites; k++) {
		plain[k] = sites[k];
		plain[k].cookie &= ~COOKIE_ENTRY_ONLY;
	}
	if (floor_attach(b->floor, b->path_fd, plain, n_sites) < 0)
		return -1;
	ns = time_case(i, b->n_calls);
	floor_detach(b->floor);
	probes_gone();
	return ns;
}

static double time_ours(struct bench *b, const struct probe_site *sites, size_t n_sites, size_t i)
{
	struct probe_library *library;
	double ns;

	if (probe_set_attach_library(b->rig.set, b->path_fd, sites, n_sites, &library) < 0)
		return -1;
	ns = time_case(i, b->n_calls);
	probe_set_detach_library(b->rig.set, library);
	probes_gone();
	return ns;
}

static int variant_run(struct bench *b, size_t i)
{
	static double untraced[ROUNDS_MAX], floors[ROUNDS_MAX], full[ROUNDS_MAX], ratios[ROUNDS_MAX];
	struct process_wish wish = cases[i].record_all ? RIG_EVERY_CALL : RIG_NO_CALL;
	struct probe_site sites[2] = { { .semaphore = 0 } };
	size_t n_sites = 0;

	for (size_t k = 0; k < 2 && cases[i].at[k]; k++) {
		sites[n_sites].offset = rig_offset((const void *)cases[i].at[k]) + cases[i].delta;
		sites[n_sites++].cookie = COOKIE(RIG_EMPTY + (unsigned int)k, CALL_HEAD_PLAIN) | cases[i].cookie_bits;
	}
	if (cases[i].is_target)
		rig_target(&b->rig, 0, wish);
	else
		(void)probe_set_target_remove(b->rig.set, (uint32_t)getpid());
	for (size_t round = 0; round < b->n_rounds; round++) {
		double floor_ns = 0, ours_ns = 0;

		untraced[round] = time_case(i, b->n_calls);
		/* In turns, which of the two comes first. */
		for (size_t step = 0; step < 2; step++) {
			if ((step ^ round) & 1)
				floor_ns = time_floor(b, sites, n_sites, i);
			else
				ours_ns = time_ours(b, sites, n_sites, i);
		}
		if (floor_ns < 0 || ours_ns < 0) {
			fprintf(stderr, "%s: cannot be attached\n", cases[i].name);
			return 1;
		}
		floors[round] = floor_ns - untraced[round];
		full[round] = ours_ns - untraced[round];
		ratios[round] = full[round] / floors[round];
	}
	printf("%-32s %9.1f %9.0f %9.0f   %.2f (%.2f-%.2f)\n", cases[i].name, quantile(untraced, b->n_rounds, 50),
	       quantile(floors, b->n_rounds, 50), quantile(full, b->n_rounds, 50), quantile(ratios, b->n_rounds, 50),
	       quantile(ratios, b->n_rounds, 25), quantile(ratios, b->n_rounds, 75));
	(void)fflush(stdout);
	return 0;
}

static int list(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		puts(cases[i].name);
	return 0;
}

/* Return: whether it is the name of a row, or NULL */
static bool variant_is_known(const char *variant)
{
	bool is_known = !variant;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		is_known |= variant && strcmp(variant, cases[i].name) == 0;
	return is_known;
}

int main(int argc, char **argv)
{
	const char *variant = argc > 4 ? argv[4] : NULL;
	struct bench b = { .n_rounds = 21, .path_fd = -1 };
	enum probe_back_end back_end;
	uint64_t n_calls = 4000;
	cpu_set_t cpus;
	int r;

	if (argc == 2 && strcmp(argv[1], "--list") == 0)
		return list();
	back_end = rig_back_end(argc, argv);
	if ((argc > 2 && parse_u64(argv[2], ROUNDS_MAX, &b.n_rounds) < 0) || b.n_rounds == 0 ||
	    (argc > 3 && parse_u64(argv[3], 1u << 20, &n_calls) < 0) || !variant_is_known(variant)) {
		fprintf(stderr, "usage: bench_call [BACK_END [ROUNDS [CALLS [VARIANT]]]] | --list\n");
		return 2;
	}
	b.n_calls = (unsigned int)n_calls;
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	(void)sched_setaffinity(0, sizeof(cpus), &cpus);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	rig_open_bare(&b.rig, back_end, 0);
	back_end = probe_set_back_end(b.rig.set);
	r = floor_open(back_end, &b.floor);
	if (r < 0) {
		fprintf(stderr, "empty programs: %s\n", strerror(-r));
		return 1;
	}
	b.path_fd = rig_path_fd();
	printf("%s back end, %ju rounds of %ju calls; ns added to a call, medians; ratio to the floor: median "
	       "(quartiles)\n",
	       probe_back_end_to_string(back_end), (uintmax_t)b.n_rounds, (uintmax_t)n_calls);
	printf("%-32s %9s %9s %9s   %s\n", "", "untraced", "floor", "ours", "ratio");
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(cases); i++)
		if (!variant || strcmp(variant, cases[i].name) == 0)
			r = variant_run(&b, i);
	floor_close(b.floor);
	(void)probe_set_target_remove(b.rig.set, (uint32_t)getpid());
	if (r == 0 && !variant)
		durations(&b.rig, b.path_fd, b.n_rounds);
	rig_close(&b.rig);
	probes_gone(); /* whoever measures next finds none of ours */
	closep(&b.path_fd);
	return r;
}
