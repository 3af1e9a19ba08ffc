// SPDX-License-Identifier: Apache-2.0
/*
 * What the stack of a recorded call costs, in interleaved rounds: untraced, empty programs at the same place (the
 * floor), a record without its stack, with a stack that the memo has, with one that it does not have. One thread,
 * thread CPU time, CPU 0; the rings are emptied before each part.
 *
 *   bench_stack [BACK_END [FRAMES [ROUNDS [CALLS]]]]
 *
 * Prints nanoseconds per call, and the cost of the stack as a ratio to the floor of the same round.
 */
#include <bpf/libbpf.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "bpf/stack_record.h"
#include "deep.h"
#include "floor.h"
#include "probes/probe_stacks.h"
#include "rig.h"
#include "rules.h"
#include "tests/support/check.h"
#include "tests/support/whole.h"

#define ROUNDS_MAX 101
#define PATHS 4096 /* more stacks than the memo has entries, all with the same registers */
#define PATH_FRAMES 12
#define WARM_CALLS 256u
#define FRAMES_BESIDE 8 /* of this program and the C library */

enum part { PART_UNTRACED, PART_FLOOR, PART_RECORD, PART_SEEN, PART_MISS, PART_COUNT };

static const char *const part_names[PART_COUNT] = {
	"untraced", "empty programs", "record", "stack, in the memo", "stack, not in the memo",
};

struct bench {
	struct rig rig;
	struct rules rules;
	struct ring_buffer *rings;
	struct floor *floor;
	struct probe_site site;
	int path_fd;
	uint64_t n_frames, n_rounds, n_calls;
	bool has_many_paths;
	unsigned int n_now; /* calls of the current part */
	unsigned int path;  /* of the next call */
	double ns;	    /* of the last part */
	size_t n_stacks, n_calls_lost;
	uint16_t n_native; /* frames of the last stack that was sent */
};

/* One of 2^n ways to the call: each bit selects the place of a call. */
static WHOLE int path_call(unsigned int bits, unsigned int n)
{
	int r;

	if (!n)
		return subject_empty();
	if (bits & 1)
		r = path_call(bits >> 1, n - 1);
	else
		r = path_call(bits >> 1, n - 1) + 1;
	__asm__ volatile("" : "+r"(r));
	return r;
}

static int calls_time(void *data)
{
	struct bench *b = data;
	unsigned int mask = b->has_many_paths ? PATHS - 1 : 0;
	uint64_t begin = rig_thread_cpu_ns();

	for (unsigned int i = 0; i < b->n_now; i++)
		(void)path_call(b->path++ & mask, PATH_FRAMES);
	b->ns = (double)(rig_thread_cpu_ns() - begin) / b->n_now;
	return 0;
}

static int on_any_call(void *data, void *record, size_t n)
{
	struct bench *b = data;
	struct call_record call = { .stack = 0 };

	memcpy(&call, record, MIN(n, sizeof(call)));
	b->n_calls_lost += !call.stack;
	return 0;
}

static int on_any_stack(void *data, void *record, size_t n)
{
	struct stack_record stack = { .n_native = 0 };
	struct bench *b = data;

	memcpy(&stack, record, MIN(n, sizeof(stack)));
	b->n_stacks++;
	b->n_native = stack.n_native;
	return 0;
}

/* @n_before: parts before the one that counts, all from one place of the program */
static double part_time(struct bench *b, unsigned int n_before)
{
	for (unsigned int i = 0; i <= n_before; i++) {
		(void)ring_buffer__consume(b->rings);
		b->n_stacks = b->n_calls_lost = 0;
		b->n_now = i < n_before ? WARM_CALLS : (unsigned int)b->n_calls;
		(void)deep_omit((unsigned int)b->n_frames, calls_time, b);
	}
	(void)ring_buffer__consume(b->rings);
	return b->ns;
}

static double floor_time(struct bench *b)
{
	double ns;

	if (floor_attach(b->floor, b->path_fd, &b->site, 1) < 0)
		exit(1);
	ns = part_time(b, 0);
	floor_detach(b->floor);
	while (waitpid(-1, NULL, 0) > 0)
		;
	return ns;
}

static void traced_times(struct bench *b, double ret_ns[PART_COUNT])
{
	struct process_wish wish = RIG_EVERY_CALL;
	struct probe_library *library;

	if (probe_set_attach_library(b->rig.set, b->path_fd, &b->site, 1, &library) < 0)
		exit(1);
	rig_target(&b->rig, 0, wish);
	ret_ns[PART_RECORD] = part_time(b, 0);
	wish.flags |= WISH_STACKS;
	rig_target(&b->rig, 0, wish);
	(void)subject_empty(); /* its process has an entry from now on */
	rules_put(&b->rules, &b->rig);
	for (int i = 0; i < 2; i++) {
		b->has_many_paths = i == 1;
		/* Before what counts each stack is sent, and the memo has those that it can keep. */
		ret_ns[PART_SEEN + i] = part_time(b, i ? 2 * PATHS / WARM_CALLS : 2);
		if (b->n_stacks || b->n_calls_lost)
			printf("%s: %zu stacks were sent, %zu calls have none\n", part_names[PART_SEEN + i],
			       b->n_stacks, b->n_calls_lost);
	}
	b->has_many_paths = false;
	probe_set_detach_library(b->rig.set, library);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static int compare_number(const void *a, const void *b)
{
	double x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

static double quantile_of(double *values, size_t n, unsigned int percent)
{
	qsort(values, n, sizeof(*values), compare_number);
	return values[(n - 1) * percent / 100];
}

static void rounds_run(struct bench *b)
{
	static double ns[PART_COUNT][ROUNDS_MAX], ratios[PART_COUNT][ROUNDS_MAX];
	struct probe_stacks_memo memo;

	for (size_t i = 0; i < b->n_rounds; i++) {
		double now[PART_COUNT], floor;

		now[PART_UNTRACED] = part_time(b, 0);
		now[PART_FLOOR] = floor_time(b);
		traced_times(b, now);
		floor = now[PART_FLOOR] - now[PART_UNTRACED];
		for (size_t k = 0; k < PART_COUNT; k++) {
			ns[k][i] = now[k];
			ratios[k][i] = (now[k] - now[k > PART_RECORD ? PART_RECORD : PART_UNTRACED]) / floor;
		}
	}
	for (size_t k = 0; k < PART_COUNT; k++)
		printf("%-24s %7.0f ns   %.2f (%.2f-%.2f)\n", part_names[k], quantile_of(ns[k], b->n_rounds, 50),
		       quantile_of(ratios[k], b->n_rounds, 50), quantile_of(ratios[k], b->n_rounds, 25),
		       quantile_of(ratios[k], b->n_rounds, 75));
	printf("%u native frames\n", b->n_native);
	probe_stacks_memo(b->rig.set, &memo);
	if (memo.n_hits || memo.n_misses)
		printf("memo: %ju hits, %ju misses, %ju wrong\n", (uintmax_t)memo.n_hits, (uintmax_t)memo.n_misses,
		       (uintmax_t)memo.n_wrong);
}

int main(int argc, char **argv)
{
	static struct bench b = { .rules = RULES_INIT, .n_frames = 30, .n_rounds = 21, .n_calls = PATHS };
	cpu_set_t cpus;

	if ((argc > 2 && parse_u64(argv[2], STACK_NATIVE_MAX, &b.n_frames) < 0) ||
	    b.n_frames < PATH_FRAMES + FRAMES_BESIDE || (argc > 3 && parse_u64(argv[3], ROUNDS_MAX, &b.n_rounds) < 0) ||
	    b.n_rounds == 0 || (argc > 4 && parse_u64(argv[4], PATHS, &b.n_calls) < 0) || b.n_calls == 0) {
		fprintf(stderr, "usage: bench_stack [BACK_END [FRAMES [ROUNDS [CALLS]]]]\n");
		return 2;
	}
	b.n_frames -= PATH_FRAMES + FRAMES_BESIDE;
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	(void)sched_setaffinity(0, sizeof(cpus), &cpus);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	rig_open_bare(&b.rig, rig_back_end(argc, argv), 0);
	if (floor_open(probe_set_back_end(b.rig.set), &b.floor) < 0)
		return 1;
	b.path_fd = rig_path_fd();
	b.site = (struct probe_site){ .offset = rig_offset((const void *)subject_empty),
				      .cookie = COOKIE(RIG_EMPTY, CALL_HEAD_PLAIN) };
	b.rings = ring_buffer__new(probe_set_stacks_fd(b.rig.set), on_any_stack, &b, NULL);
	if (!b.rings || ring_buffer__add(b.rings, probe_set_calls_fd(b.rig.set), on_any_call, &b) < 0)
		return 1;
	rounds_run(&b);
	ring_buffer__free(b.rings);
	floor_close(b.floor);
	rig_close(&b.rig);
	while (waitpid(-1, NULL, 0) > 0)
		;
	closep(&b.path_fd);
	return 0;
}
