// SPDX-License-Identifier: Apache-2.0
/* Every call is counted, once, whatever the number of threads. */
#include <pthread.h>

#include "base/cleanup.h"
#include "rig.h"
#include "tests/support/check.h"

#define THREADS_MAX 8

struct thread_work {
	pthread_barrier_t *start;
	unsigned int n_calls;
};

static void *thread_main(void *data)
{
	const struct thread_work *work = data;
	unsigned int i;

	(void)pthread_barrier_wait(work->start);
	for (i = 0; i < work->n_calls; i++) {
		(void)subject_empty();
		(void)subject_jump_head();
		(void)subject_runtime(NULL, NULL);
		(void)subject_arguments(NULL, 3, 5);
		(void)subject_fail((int)(i & 1));
	}
	return NULL;
}

static void run(unsigned int n_threads, unsigned int n_calls)
{
	pthread_t threads[THREADS_MAX];
	pthread_barrier_t start;
	struct thread_work work = { &start, n_calls };
	unsigned int i;

	(void)pthread_barrier_init(&start, NULL, n_threads);
	for (i = 0; i < n_threads; i++)
		(void)pthread_create(&threads[i], NULL, thread_main, &work);
	for (i = 0; i < n_threads; i++)
		(void)pthread_join(threads[i], NULL);
	(void)pthread_barrier_destroy(&start);
}

static const struct {
	const char *name;
	unsigned int n_threads;
	unsigned int n_calls; /* of each thread and function; primes */
} cases[] = {
	{ "one thread", 1, 9973 },
	{ "two threads", 2, 7919 },
	{ "eight threads", 8, 2503 },
};

static const struct {
	unsigned int op;
	unsigned int errors_of_two;
	unsigned int bytes_per_call;
} expected[] = {
	{ RIG_EMPTY, 0, 0 },  { RIG_JUMP_HEAD, 0, 0 }, { RIG_RUNTIME, 0, 0 },
	{ RIG_DRIVER, 0, 0 }, { RIG_COPY, 0, 5 },      { RIG_FAIL, 1, 0 },
};

int main(int argc, char **argv)
{
	struct rig_figures before[ARRAY_SIZE(expected)];
	struct rig rig;
	size_t i, k;

	rig_open(&rig, rig_back_end(argc, argv), 0);
	run(2, 100); /* not a target yet */
	for (k = 0; k < ARRAY_SIZE(expected); k++)
		CHECK_INT_EQ("not traced", rig_figures(&rig, 0, expected[k].op).count, 0);
	CHECK_INT_EQ("not traced: calls of bystanders", probe_set_bystander_calls(rig.set), 2 * 100 * 6);

	rig_target(&rig, 0, RIG_NO_CALL);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t calls = (uint64_t)cases[i].n_threads * cases[i].n_calls;

		for (k = 0; k < ARRAY_SIZE(expected); k++)
			before[k] = rig_figures(&rig, getpid(), expected[k].op);
		run(cases[i].n_threads, cases[i].n_calls);
		for (k = 0; k < ARRAY_SIZE(expected); k++) {
			struct rig_figures f = rig_figures(&rig, getpid(), expected[k].op);
			char name[64];

			(void)snprintf(name, sizeof(name), "%s, op %u", cases[i].name, expected[k].op);
			CHECK_INT_EQ(name, f.count - before[k].count, calls);
			CHECK_INT_EQ(name, f.untimed, 0);
			CHECK_INT_EQ(name, f.abandoned, 0);
			CHECK_INT_EQ(name, f.bytes - before[k].bytes, calls * expected[k].bytes_per_call);
			CHECK_INT_EQ(name, f.errors - before[k].errors,
				     expected[k].errors_of_two * cases[i].n_threads * (cases[i].n_calls / 2));
		}
	}

	probe_set_target_remove(rig.set, (uint32_t)getpid());
	before[0] = rig_figures(&rig, getpid(), RIG_EMPTY);
	run(2, 100);
	CHECK_INT_EQ("no target any more", rig_figures(&rig, getpid(), RIG_EMPTY).count - before[0].count, 0);
	for (k = 0; k < LOSS_COUNT; k++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "nothing is lost: reason %zu", k);
		/* A wait behind more switches than are remembered has no name: on a busy machine it comes to that. */
		if (k != LOSS_SWITCH_UNSEEN && k != LOSS_BEHIND)
			CHECK_INT_EQ(name, rig_loss(&rig, (enum loss_reason)k), 0);
	}
	rig_close(&rig);
	return check_result();
}
