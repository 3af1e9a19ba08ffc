// SPDX-License-Identifier: Apache-2.0
/*
 * A neighbour that wants the CPU: computes without end, or in bursts. Makes no CUDA
 * call and prints what it really used, which is what others may have waited for.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "options.h"
#include "program.h"

static volatile sig_atomic_t is_over;

static void on_signal(int number)
{
	(void)number;
	is_over = 1;
}

/* Uses the CPU until a time comes; returns whether to go on. */
static int compute_until(uint64_t at_ns)
{
	volatile uint64_t work = 1;

	while (!is_over && program_clock_ns(CLOCK_MONOTONIC) < at_ns) {
		for (int i = 0; i < 1000; i++)
			work = work * 6364136223846793005u + 1442695040888963407u;
	}
	return !is_over;
}

static int take_pin(const struct workload_option *option, char *text)
{
	uint64_t cpu = 0;
	cpu_set_t set;

	(void)option;
	CPU_ZERO(&set);
	if (parse_u64(text, CPU_SETSIZE - 1, &cpu) < 0)
		return -EINVAL;
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) < 0 ? -errno : 0;
}

static int take_nice(const struct workload_option *option, char *text)
{
	const char *digits = text[0] == '-' ? text + 1 : text;
	uint64_t n = 0;

	(void)option;
	if (parse_u64(digits, 20, &n) < 0)
		return -EINVAL;
	return setpriority(PRIO_PROCESS, 0, digits == text ? (int)n : -(int)n) < 0 ? -errno : 0;
}

struct bursts {
	uint64_t on_ns, off_ns;
};

static int take_bursts(const struct workload_option *option, char *text)
{
	struct bursts *bursts = option->into;
	char *comma = strchr(text, ',');

	if (!comma)
		return -EINVAL;
	*comma = '\0';
	if (parse_duration(text, &bursts->on_ns) < 0 || parse_duration(comma + 1, &bursts->off_ns) < 0 ||
	    bursts->on_ns == 0)
		return -EINVAL;
	return 0;
}

static int take_comm(const struct workload_option *option, char *text)
{
	(void)option;
	return prctl(PR_SET_NAME, text) < 0 ? -errno : 0;
}

int main(int argc, char **argv)
{
	uint64_t duration_ns = 0, start_ns, end_ns;
	struct bursts bursts = { 0 };
	const struct workload_option table[] = {
		{ "pin", "CPU", "nowhere in particular", take_pin, NULL, 0, 0 },
		{ "duration", "TIME", "until a signal; 10s", options_take_duration, &duration_ns, 0, 0 },
		{ "bursts", "ON,OFF", "compute for the one time, sleep for the other: 50ms,50ms", take_bursts, &bursts,
		  0, 0 },
		{ "nice", "N", "-20 to 19", take_nice, NULL, 0, 0 },
		{ "comm", "NAME", "of the process", take_comm, NULL, 0, 0 },
	};
	struct sigaction action = { .sa_handler = on_signal };
	struct timespec off;

	options_parse("hog: uses the CPU", "Prints 'ready PID' first and what it used last.", table, ARRAY_SIZE(table),
		      argc, argv);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	program_ready();
	start_ns = program_clock_ns(CLOCK_MONOTONIC);
	end_ns = duration_ns ? start_ns + duration_ns : UINT64_MAX;
	off = (struct timespec){ (time_t)(bursts.off_ns / NSEC_PER_SEC), (long)(bursts.off_ns % NSEC_PER_SEC) };
	while (program_clock_ns(CLOCK_MONOTONIC) < end_ns &&
	       compute_until(bursts.on_ns ? MIN(end_ns, program_clock_ns(CLOCK_MONOTONIC) + bursts.on_ns) : end_ns)) {
		if (bursts.off_ns)
			(void)nanosleep(&off, NULL);
	}
	printf("{\"program\":\"hog\",\"pid\":%d,\"wall_ns\":%" PRIu64 ",\"cpu_ns\":%" PRIu64 "}\n", getpid(),
	       program_clock_ns(CLOCK_MONOTONIC) - start_ns, program_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
