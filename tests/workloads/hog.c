// SPDX-License-Identifier: Apache-2.0
/*
 * A neighbour that wants the CPU: computes without end, or in bursts. Makes no CUDA
 * call and prints what it really used, which is what others may have waited for.
 */
#include <errno.h>
#include <getopt.h>
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
#include "program.h"

static volatile sig_atomic_t is_over;

static const char help[] = "hog: uses the CPU\n"
			   "  --pin CPU            nowhere in particular\n"
			   "  --duration TIME      until a signal; 10s\n"
			   "  --bursts ON,OFF      compute for the one time, sleep for the other: 50ms,50ms\n"
			   "  --nice N             -20 to 19\n"
			   "  --comm NAME          of the process\n"
			   "Prints 'ready PID' first and what it used last.\n";

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

static int refuse(const char *option, const char *text)
{
	fprintf(stderr, "hog: --%s: cannot use '%s'; --help lists what is known\n", option, text);
	return 2;
}

static int pin(const char *text)
{
	uint64_t cpu = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	if (parse_u64(text, CPU_SETSIZE - 1, &cpu) < 0)
		return -EINVAL;
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) < 0 ? -errno : 0;
}

static int be_nice(const char *text)
{
	const char *digits = text[0] == '-' ? text + 1 : text;
	uint64_t n = 0;

	if (parse_u64(digits, 20, &n) < 0)
		return -EINVAL;
	return setpriority(PRIO_PROCESS, 0, digits == text ? (int)n : -(int)n) < 0 ? -errno : 0;
}

static int parse_bursts(char *text, uint64_t *ret_on_ns, uint64_t *ret_off_ns)
{
	char *comma = strchr(text, ',');

	if (!comma)
		return -EINVAL;
	*comma = '\0';
	if (parse_duration(text, ret_on_ns) < 0 || parse_duration(comma + 1, ret_off_ns) < 0 || *ret_on_ns == 0)
		return -EINVAL;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "pin", required_argument, NULL, 'p' },
		{ "duration", required_argument, NULL, 'd' },
		{ "bursts", required_argument, NULL, 'b' },
		{ "nice", required_argument, NULL, 'n' },
		{ "comm", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	uint64_t duration_ns = 0, on_ns = 0, off_ns = 0, start_ns, end_ns;
	struct sigaction action = { .sa_handler = on_signal };
	struct timespec off;
	int option, at = 0, r = 0;

	while ((option = getopt_long(argc, argv, "", longs, &at)) != -1) {
		switch (option) {
		case 'p':
			r = pin(optarg);
			break;
		case 'd':
			r = parse_duration(optarg, &duration_ns);
			break;
		case 'b':
			r = parse_bursts(optarg, &on_ns, &off_ns);
			break;
		case 'n':
			r = be_nice(optarg);
			break;
		case 'c':
			r = prctl(PR_SET_NAME, optarg);
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return 2;
		}
		if (r < 0)
			return refuse(longs[at].name, optarg);
	}

	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	program_ready();
	start_ns = program_clock_ns(CLOCK_MONOTONIC);
	end_ns = duration_ns ? start_ns + duration_ns : UINT64_MAX;
	off = (struct timespec){ (time_t)(off_ns / NSEC_PER_SEC), (long)(off_ns % NSEC_PER_SEC) };
	while (program_clock_ns(CLOCK_MONOTONIC) < end_ns &&
	       compute_until(on_ns ? MIN(end_ns, program_clock_ns(CLOCK_MONOTONIC) + on_ns) : end_ns)) {
		if (off_ns)
			(void)nanosleep(&off, NULL);
	}
	printf("{\"program\":\"hog\",\"pid\":%d,\"wall_ns\":%" PRIu64 ",\"cpu_ns\":%" PRIu64 "}\n", getpid(),
	       program_clock_ns(CLOCK_MONOTONIC) - start_ns, program_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
