// SPDX-License-Identifier: Apache-2.0
/*
 * A program that keeps its own time: it makes CUDA calls as told, reads the clocks right
 * before and right after each, and writes what it saw as one line of JSON (--report FILE). Traced or not it
 * does the same, so it is the second opinion on everything that Ingero reports. How long calls take and how they wait
 * is said to the stand-in libraries, in the environment.
 *
 * --log FILE keeps every call: start, wall time and thread CPU time, nanoseconds, as three
 * 64-bit words and the function's number in a fourth.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"

struct dim3 {
	unsigned int x, y, z;
};

/* By hand, as the runtime's own headers have them. */
int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments, size_t shared,
		     void *stream);
int cudaStreamSynchronize(void *stream);

enum function { LAUNCH, SYNCHRONIZE, FUNCTION_COUNT };

static const char *const function_names[] = { [LAUNCH] = "cudaLaunchKernel", [SYNCHRONIZE] = "cudaStreamSynchronize" };
_Static_assert(ARRAY_SIZE(function_names) == FUNCTION_COUNT, "every function has its name");

struct call {
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t wall_ns;
	uint64_t cpu_ns; /* of the thread; 0 unless asked for */
	uint64_t function;
};

struct options {
	uint64_t per_second; /* launches; 0: one after another */
	uint64_t every;	     /* launches between two synchronises; 0: none */
	uint64_t calls;	     /* launches in all */
	uint64_t warm_up;    /* launches before the first that is kept */
	const char *log;
	const char *report; /* default: standard output, which under trace is not ours */
	bool is_cpu_kept;
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static void kernel(void)
{
}

static int call_function(enum function function)
{
	struct dim3 one = { 1, 1, 1 };

	if (function == SYNCHRONIZE)
		return cudaStreamSynchronize(NULL);
	return cudaLaunchKernel((const void *)(uintptr_t)kernel, one, one, NULL, 0, NULL);
}

/* Two loops' worth of clocks: the thread's CPU clock is a system call, so it is read outside the wall clock. */
static int call_clocked(const struct options *options, enum function function, struct call *ret_call)
{
	uint64_t cpu_ns = 0;
	int r;

	if (options->is_cpu_kept)
		cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	ret_call->start_ns = now_ns(CLOCK_MONOTONIC);
	r = call_function(function);
	ret_call->wall_ns = now_ns(CLOCK_MONOTONIC) - ret_call->start_ns;
	ret_call->cpu_ns = options->is_cpu_kept ? now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns : 0;
	ret_call->function = function;
	return r;
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec t = { .tv_sec = (time_t)(at_ns / NSEC_PER_SEC), .tv_nsec = (long)(at_ns % NSEC_PER_SEC) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static int compare_wall(const void *a, const void *b)
{
	uint64_t x = ((const struct call *)a)->wall_ns, y = ((const struct call *)b)->wall_ns;

	return (x > y) - (x < y);
}

static int compare_function(const void *a, const void *b)
{
	uint64_t x = ((const struct call *)a)->function, y = ((const struct call *)b)->function;

	return x != y ? (x > y) - (x < y) : compare_wall(a, b);
}

/* Of calls sorted by time: the smallest that at least this share does not exceed. */
static uint64_t quantile(const struct call *calls, size_t n, double ratio)
{
	size_t rank = (size_t)(ratio * (double)n + 0.999999);

	return n ? calls[rank ? rank - 1 : 0].wall_ns : 0;
}

static void print_function(FILE *out, const struct call *calls, size_t n, enum function function)
{
	uint64_t total_ns = 0, cpu_ns = 0;

	for (size_t i = 0; i < n; i++) {
		total_ns += calls[i].wall_ns;
		cpu_ns += calls[i].cpu_ns;
	}
	fprintf(out,
		"\"%s\": {\"count\": %zu, \"total_ns\": %" PRIu64 ", \"cpu_ns\": %" PRIu64 ", \"p50_ns\": %" PRIu64
		", \"p95_ns\": %" PRIu64 ", \"p99_ns\": %" PRIu64 ", \"max_ns\": %" PRIu64 "}, ",
		function_names[function], n, total_ns, cpu_ns, quantile(calls, n, 0.50), quantile(calls, n, 0.95),
		quantile(calls, n, 0.99), n ? calls[n - 1].wall_ns : 0);
}

/* Time this thread waited for a CPU since it was born. */
static uint64_t run_delay_ns(void)
{
	CLEANUP(fclosep) FILE *file = fopen("/proc/thread-self/schedstat", "re");
	uint64_t ran_ns, waited_ns = 0;

	if (!file || fscanf(file, "%" SCNu64 " %" SCNu64, &ran_ns, &waited_ns) != 2)
		return 0;
	return waited_ns;
}

static int save(const char *path, const struct call *calls, size_t n)
{
	CLEANUP(fclosep) FILE *file = fopen(path, "we");

	return file && fwrite(calls, sizeof(*calls), n, file) == n ? 0 : -1;
}

static int run(const struct options *options)
{
	size_t n_max = options->calls + (options->every ? options->calls / options->every + 1 : 0), n = 0,
	       n_launches = 0;
	CLEANUP(freep) struct call *calls = calloc(n_max, sizeof(*calls));
	CLEANUP(fclosep) FILE *out = options->report ? fopen(options->report, "we") : fdopen(dup(STDOUT_FILENO), "w");
	struct rusage before, after;
	uint64_t begin_ns, end_ns, delay_ns, next_ns, cpu_ns;
	struct call discarded;

	if (!calls)
		return -1;
	memset(calls, 1, n_max * sizeof(*calls)); /* no page faults inside the measured part */
	for (uint64_t i = 0; i < options->warm_up; i++)
		call_clocked(options, LAUNCH, &discarded);
	if (options->warm_up)
		call_clocked(options, SYNCHRONIZE, &discarded);

	getrusage(RUSAGE_THREAD, &before);
	delay_ns = run_delay_ns();
	cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	begin_ns = next_ns = now_ns(CLOCK_MONOTONIC);
	for (uint64_t i = 0; i < options->calls; i++) {
		if (options->per_second) {
			sleep_until(next_ns);
			next_ns += NSEC_PER_SEC / options->per_second;
		}
		call_clocked(options, LAUNCH, &calls[n++]);
		n_launches++;
		if (options->every && (i + 1) % options->every == 0)
			call_clocked(options, SYNCHRONIZE, &calls[n++]);
	}
	end_ns = now_ns(CLOCK_MONOTONIC);
	cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	delay_ns = run_delay_ns() - delay_ns;
	getrusage(RUSAGE_THREAD, &after);

	if (options->log && save(options->log, calls, n) < 0) {
		fprintf(stderr, "clocked: %s could not be written\n", options->log);
		return -1;
	}
	qsort(calls, n, sizeof(*calls), compare_function);
	if (!out) {
		fprintf(stderr, "clocked: %s could not be written\n", options->report);
		return -1;
	}
	fprintf(out, "{");
	print_function(out, calls, n_launches, LAUNCH);
	print_function(out, calls + n_launches, n - n_launches, SYNCHRONIZE);
	fprintf(out,
		"\"wall_ns\": %" PRIu64 ", \"cpu_ns\": %" PRIu64 ", \"run_delay_ns\": %" PRIu64
		", \"involuntary\": %ld, \"voluntary\": %ld}\n",
		end_ns - begin_ns, cpu_ns, delay_ns, after.ru_nivcsw - before.ru_nivcsw,
		after.ru_nvcsw - before.ru_nvcsw);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option rows[] = {
		{ "per-second", required_argument, NULL, 'r' },
		{ "every", required_argument, NULL, 'e' },
		{ "calls", required_argument, NULL, 'n' },
		{ "warm-up", required_argument, NULL, 'w' },
		{ "log", required_argument, NULL, 'l' },
		{ "report", required_argument, NULL, 'o' },
		{ "cpu", no_argument, NULL, 'c' },
		{ 0 },
	};
	struct options options = { .calls = 1000 };
	int c, r = 0;

	while (r == 0 && (c = getopt_long(argc, argv, "", rows, NULL)) != -1) {
		switch (c) {
		case 'r':
			r = parse_u64(optarg, NSEC_PER_SEC, &options.per_second);
			break;
		case 'e':
			r = parse_u64(optarg, UINT32_MAX, &options.every);
			break;
		case 'n':
			r = parse_u64(optarg, UINT32_MAX, &options.calls);
			break;
		case 'w':
			r = parse_u64(optarg, UINT32_MAX, &options.warm_up);
			break;
		case 'l':
			options.log = optarg;
			break;
		case 'o':
			options.report = optarg;
			break;
		case 'c':
			options.is_cpu_kept = true;
			break;
		default:
			return 2;
		}
	}
	if (r < 0) {
		fprintf(stderr, "clocked: '%s' is no number that makes sense here\n", optarg);
		return 2;
	}
	return run(&options) < 0 ? 1 : 0;
}
