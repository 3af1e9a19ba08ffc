// SPDX-License-Identifier: Apache-2.0
/* A program that waits between its calls for a mutex that another thread holds for 5 ms at a time. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "cuda_calls.h"
#include "options.h"
#include "program.h"

#define HELD_NS (5 * NSEC_PER_MSEC)
#define RESTS_NS (2 * NSEC_PER_MSEC)

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_held;

static void *holder(void *data)
{
	for (;;) {
		pthread_mutex_lock(&turn);
		is_held = true;
		program_sleep_until(program_clock_ns(CLOCK_MONOTONIC) + HELD_NS);
		is_held = false;
		pthread_mutex_unlock(&turn);
		program_sleep_until(program_clock_ns(CLOCK_MONOTONIC) + RESTS_NS);
	}
	return data;
}

static __attribute__((noinline)) void wait_for_turn(void)
{
	while (!is_held)
		sched_yield();
	pthread_mutex_lock(&turn); /* waits: mutex */
	pthread_mutex_unlock(&turn);
}

int main(int argc, char **argv)
{
	uint64_t duration_ns = 3 * NSEC_PER_SEC, until_ns;
	pthread_t thread;
	const struct workload_option table[] = {
		{ "duration", "TIME", "3s", options_take_duration, &duration_ns, 0, 0 },
	};

	options_parse("waiting: waits for a mutex between its calls", NULL, table, ARRAY_SIZE(table), argc, argv);
	if (pthread_create(&thread, NULL, holder, NULL))
		return 1;
	until_ns = program_clock_ns(CLOCK_MONOTONIC) + duration_ns;
	while (program_clock_ns(CLOCK_MONOTONIC) < until_ns) {
		if (cudaFree(NULL) != 0)
			return 1;
		wait_for_turn();
	}
	return 0;
}
