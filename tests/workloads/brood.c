// SPDX-License-Identifier: Apache-2.0
/*
 * Many processes that live shortly: each makes a few calls and ends. The parent makes
 * none and reports, as JSON lines, every child's pid and how it ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "cuda_calls.h"
#include "options.h"
#include "program.h"

struct options {
	uint64_t n_processes, n_calls, rate, at_once, linger_ns;
	bool is_forked_only, waits;
};

static int live_and_die(uint64_t n, uint64_t linger_ns)
{
	static const dim3 one = { 1, 1, 1 };
	struct timespec linger = { (time_t)(linger_ns / NSEC_PER_SEC), (long)(linger_ns % NSEC_PER_SEC) };

	for (uint64_t i = 0; i < n; i++) {
		if (cudaLaunchKernel((const void *)live_and_die, one, one, NULL, 0, NULL) != 0)
			return 1;
	}
	while (linger_ns && nanosleep(&linger, &linger) < 0 && errno == EINTR)
		;
	return 0;
}

static pid_t start_child(const struct options *options)
{
	char n[24], linger[24];
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (options->is_forked_only)
		_exit(live_and_die(options->n_calls, options->linger_ns));
	snprintf(n, sizeof(n), "%" PRIu64, options->n_calls);
	snprintf(linger, sizeof(linger), "%" PRIu64 "ns", options->linger_ns);
	execl("/proc/self/exe", "brood", "--one", n, linger, (char *)NULL);
	_exit(127);
}

static int wait_for_one(uint64_t n_calls)
{
	int status = 0;
	pid_t pid = wait(&status);

	if (pid < 0)
		return 1;
	printf("{\"pid\":%d,\"launches\":%" PRIu64 ",\"ok\":%s}\n", pid, n_calls, status == 0 ? "true" : "false");
	return status != 0;
}

static int run(const struct options *options)
{
	uint64_t gap_ns = options->rate ? NSEC_PER_SEC / options->rate : 0, n_alive = 0, next_ns;
	int failed = 0;

	next_ns = program_clock_ns(CLOCK_MONOTONIC);
	for (uint64_t i = 0; i < options->n_processes; i++) {
		if (n_alive == options->at_once) {
			failed |= wait_for_one(options->n_calls);
			n_alive--;
		}
		next_ns += gap_ns;
		if (gap_ns)
			program_sleep_until(next_ns);
		if (start_child(options) < 0) {
			perror("brood: cannot fork");
			failed = 1;
			break;
		}
		n_alive++;
	}
	for (; n_alive; n_alive--)
		failed |= wait_for_one(options->n_calls);
	return failed;
}

int main(int argc, char **argv)
{
	struct options options = { .n_processes = 199, .n_calls = 11, .at_once = 4 };
	const struct workload_option table[] = {
		{ "processes", "N", "199", options_take_count, &options.n_processes, 0, 1000000 },
		{ "calls", "N", "launches of each, 11", options_take_count, &options.n_calls, 0, UINT64_MAX },
		{ "rate", "N", "started a second; 0, the default, is as fast as they end", options_take_count,
		  &options.rate, 0, 1000000 },
		{ "at-once", "N", "alive at most, 4", options_take_count, &options.at_once, 1, 10000 },
		{ "linger", "TIME", "each lives on so long after its calls", options_take_duration, &options.linger_ns,
		  0, 0 },
		{ "no-exec", NULL, "forked alone, instead of started as a program", options_take_flag,
		  &options.is_forked_only, 0, 0 },
		{ "wait-for-stdin", NULL, "prints 'ready PID', reads a line before the first", options_take_flag,
		  &options.waits, 0, 0 },
	};
	uint64_t n = 0, linger_ns = 0;

	if (argc == 4 && strcmp(argv[1], "--one") == 0)
		return parse_u64(argv[2], UINT64_MAX, &n) < 0 || parse_duration(argv[3], &linger_ns) < 0
			       ? 2
			       : live_and_die(n, linger_ns);
	options_parse("brood: many short processes", NULL, table, ARRAY_SIZE(table), argc, argv);
	if (options.waits) {
		program_ready();
		program_wait_for_line();
	}
	return run(&options);
}
