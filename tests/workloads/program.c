// SPDX-License-Identifier: Apache-2.0
/*
 * See program.h.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "program.h"

void program_ready(void)
{
	printf("ready %d\n", getpid());
	fflush(stdout);
}

void program_wait_for_line(void)
{
	int c;

	do
		c = getchar();
	while (c != '\n' && c != EOF);
}

uint64_t program_clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

void program_sleep_until(uint64_t at_ns)
{
	struct timespec at = { (time_t)(at_ns / NSEC_PER_SEC), (long)(at_ns % NSEC_PER_SEC) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}
