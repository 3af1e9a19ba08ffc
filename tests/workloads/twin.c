// SPDX-License-Identifier: Apache-2.0
/*
 * Steps of work and calls, and at each tenth of a second how many steps there were and what CPU time they took. Two of
 * it on one CPU, of which one is traced, tell what tracing costs: whatever else changes the speed of the machine
 * changes both (tests/bench/budget.py).
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cuda_calls.h"
#include "options.h"
#include "program.h"

#define THREADS_MAX 16
#define REPORT_NS 100000000ull
#define LOOK_NS 1000000ull /* between two looks at the clock */

static struct {
	uint64_t work;	   /* rounds of computing in a step */
	uint64_t launches; /* in a step */
	uint64_t pause_ns; /* after a step */
	uint64_t busy_ns, quiet_ns;
	uint64_t time_ns;
	uint64_t cpu;
	uint64_t n_threads;
	bool synchronises;
} options = { .launches = 1, .time_ns = 10000000000ull, .n_threads = 1 };

static const struct workload_option table[] = {
	{ "work", "ROUNDS", "rounds of computing in a step", options_take_count, &options.work, 0, 1u << 30 },
	{ "launches", "N", "kernels that a step launches (default 1)", options_take_count, &options.launches, 0,
	  1u << 20 },
	{ "sync", NULL, "a step ends with a synchronise", options_take_flag, &options.synchronises, 0, 0 },
	{ "pause", "DURATION", "rest after each step", options_take_duration, &options.pause_ns, 0, 0 },
	{ "busy", "DURATION", "steps for so long, then rest as long as --quiet says", options_take_duration,
	  &options.busy_ns, 0, 0 },
	{ "quiet", "DURATION", "rest after --busy", options_take_duration, &options.quiet_ns, 0, 0 },
	{ "time", "DURATION", "the whole (default 10s)", options_take_duration, &options.time_ns, 0, 0 },
	{ "cpu", "N", "run on this CPU alone", options_take_count, &options.cpu, 0, 1023 },
	{ "threads", "N", "that do the same (default 1)", options_take_count, &options.n_threads, 1, THREADS_MAX },
};

static pthread_mutex_t one_line = PTHREAD_MUTEX_INITIALIZER;
static uint64_t begin_ns;
static volatile uint64_t computed; /* of the last step: nothing is optimised away */

static void kernel(void)
{
}

static uint64_t compute(uint64_t rounds)
{
	uint64_t x = rounds;

	for (uint64_t i = 0; i < rounds; i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	return x;
}

static void step(void)
{
	const dim3 one = { 1, 1, 1 };

	computed = compute(options.work);
	for (uint64_t i = 0; i < options.launches; i++)
		(void)cudaLaunchKernel((const void *)kernel, one, one, NULL, 0, NULL);
	if (options.synchronises)
		(void)cudaDeviceSynchronize();
	if (options.pause_ns)
		program_sleep_until(program_clock_ns(CLOCK_MONOTONIC) + options.pause_ns);
}

static void report(uint64_t thread, uint64_t at_ns, uint64_t n_steps)
{
	pthread_mutex_lock(&one_line);
	printf("{\"thread\": %" PRIu64 ", \"t\": %" PRIu64 ", \"steps\": %" PRIu64 ", \"cpu_ns\": %" PRIu64 "}\n",
	       thread, at_ns, n_steps, program_clock_ns(CLOCK_THREAD_CPUTIME_ID));
	(void)fflush(stdout);
	pthread_mutex_unlock(&one_line);
}

static void *work_thread(void *data)
{
	uint64_t thread = (uint64_t)(uintptr_t)data, now_ns = begin_ns, told_ns = begin_ns, n = 0, period_ns;

	while (now_ns < begin_ns + options.time_ns) {
		uint64_t look_ns = now_ns + LOOK_NS, in_ns;

		/* A look takes less than a step, or a step more than the time between looks. */
		do {
			step();
			n++;
			now_ns = program_clock_ns(CLOCK_MONOTONIC);
		} while (now_ns < look_ns);
		period_ns = options.busy_ns + options.quiet_ns;
		in_ns = period_ns ? (now_ns - begin_ns) % period_ns : 0;
		if (options.busy_ns && in_ns >= options.busy_ns) {
			program_sleep_until(now_ns + period_ns - in_ns);
			now_ns = program_clock_ns(CLOCK_MONOTONIC);
		}
		if (now_ns - told_ns >= REPORT_NS) {
			report(thread, now_ns, n);
			told_ns = now_ns;
		}
	}
	report(thread, now_ns, n);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	cpu_set_t cpus;

	options.cpu = UINT64_MAX;
	options_parse("twin: steps of work and calls, and what they cost", NULL, table, ARRAY_SIZE(table), argc, argv);
	if (options.cpu != UINT64_MAX) {
		CPU_ZERO(&cpus);
		CPU_SET((int)options.cpu, &cpus);
		if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0) {
			perror("twin: --cpu");
			return 1;
		}
	}
	(void)cudaFree(NULL);
	program_ready();
	program_wait_for_line();
	begin_ns = program_clock_ns(CLOCK_MONOTONIC);
	for (uint64_t i = 0; i < options.n_threads; i++) {
		if (pthread_create(&threads[i], NULL, work_thread, (void *)(uintptr_t)i) != 0) {
			fputs("twin: no thread\n", stderr);
			return 1;
		}
	}
	for (uint64_t i = 0; i < options.n_threads; i++)
		(void)pthread_join(threads[i], NULL);
	return 0;
}
