// SPDX-License-Identifier: Apache-2.0
/*
 * A CUDA program whose every call is known: threads that make calls from calls.h
 * in a fixed order, as fast or as slowly as asked, and report by their own clocks
 * what the calls cost. The other side of every comparison with the tracer.
 *
 * Numbers are primes where nothing else asks otherwise, so that a count that is
 * off by a batch or doubled never looks right.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cudaload.h"
#include "program.h"

#define SAMPLES_MAX (1u << 22) /* calls of a thread whose times are kept for percentiles */

static pthread_barrier_t lined_up;
static bool is_over; /* atomic: the time is up */

/* Version 2 of control groups counts microseconds, version 1 nanoseconds. */
static uint64_t throttled_ns(void)
{
	char text[1024];
	const char *at;
	uint64_t n;

	if (!options.group_stat || fd_read_file_at(AT_FDCWD, options.group_stat, text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, "throttled_usec ");
	if (at && sscanf(at, "%*s %" SCNu64, &n) == 1)
		return n * 1000;
	at = strstr(text, "throttled_time ");
	return at && sscanf(at, "%*s %" SCNu64, &n) == 1 ? n : 0;
}

static uint64_t run_delay_ns(void)
{
	char path[64], text[128];
	uint64_t delay = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", gettid());
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return 0;
	return sscanf(text, "%*u %" SCNu64, &delay) == 1 ? delay : 0;
}

static struct accounts read_accounts(void)
{
	struct rusage usage = { 0 };
	struct accounts a;

	(void)getrusage(RUSAGE_THREAD, &usage);
	a.n_voluntary = usage.ru_nvcsw;
	a.n_involuntary = usage.ru_nivcsw;
	a.throttled_ns = throttled_ns();
	a.run_delay_ns = run_delay_ns();
	a.cpu_ns = program_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	a.at_ns = program_clock_ns(CLOCK_MONOTONIC);
	return a;
}

/* The calls */

static void keep_times(struct worker *worker, const struct call *call, uint64_t start_ns, uint64_t wall_ns,
		       uint64_t cpu_ns)
{
	struct tally *tally = &worker->tallies[call - calls];

	tally->wall_ns += wall_ns;
	tally->cpu_ns += cpu_ns;
	tally->max_ns = MAX(tally->max_ns, wall_ns);
	if (worker->n_samples < SAMPLES_MAX)
		worker->samples[worker->n_samples++] =
			(struct sample){ (uint32_t)MIN(wall_ns, UINT32_MAX), (uint32_t)(call - calls) };
	if (options.keep_over_us == UINT64_MAX || wall_ns < options.keep_over_us * NSEC_PER_USEC)
		return;
	if (worker->n_kept == options.keep_max) {
		worker->n_not_kept++;
		return;
	}
	worker->kept[worker->n_kept++] = (struct kept){ call, start_ns, wall_ns, cpu_ns };
}

/* Clocks are read next to the call, the thread's CPU clock outermost: it is the dearer one. */
static void make_one(struct worker *worker, const struct call *call)
{
	struct call_args args = CALL_NO_ARGS;
	struct tally *tally = &worker->tallies[call - calls];
	uint64_t cpu_ns = 0, start_ns = 0, end_ns;
	int r;

	if (options.measure == MEASURE_CPU)
		cpu_ns = program_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (options.measure != MEASURE_NONE)
		start_ns = program_clock_ns(CLOCK_MONOTONIC);
	r = call->make(&worker->caller, &args);
	if (options.measure != MEASURE_NONE) {
		end_ns = program_clock_ns(CLOCK_MONOTONIC);
		if (options.measure == MEASURE_CPU)
			cpu_ns = program_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
		keep_times(worker, call, start_ns, end_ns - start_ns, cpu_ns);
	}
	tally->n++;
	tally->n_errors += r != 0;
	tally->bytes += args.bytes == CALL_NO_ARG ? 0 : args.bytes;
}

/* Always the same order: each row gains its weight at every step, the richest is called and pays for all. */
static const struct call *pick(int64_t *credit, uint64_t total)
{
	unsigned int best = 0;

	for (unsigned int i = 0; i < options.n_mix; i++) {
		credit[i] += (int64_t)options.mix[i].weight;
		if (credit[i] > credit[best])
			best = i;
	}
	credit[best] -= (int64_t)total;
	return options.mix[best].call;
}

static void make_calls(struct worker *worker)
{
	uint64_t gap_ns = options.rate ? NSEC_PER_SEC / options.rate : 0, next_ns = program_clock_ns(CLOCK_MONOTONIC);
	int64_t credit[LOAD_MIX_MAX] = { 0 };
	uint64_t total = 0;

	for (unsigned int i = 0; i < options.n_mix; i++)
		total += options.mix[i].weight;
	for (uint64_t n = 0; options.duration_ns || n < options.n_calls; n++) {
		if (__atomic_load_n(&is_over, __ATOMIC_RELAXED))
			break;
		if (gap_ns) {
			next_ns += gap_ns;
			program_sleep_until(next_ns);
		}
		make_one(worker, calls_next(pick(credit, total), &worker->caller));
	}
}

/* Each row of calls.h once, its arguments as JSON lines on stdout. */
static void make_each(struct worker *worker)
{
	for (size_t i = 0; i < n_calls; i++) {
		struct call_args args = CALL_NO_ARGS;
		int r = calls[i].make(&worker->caller, &args);
		const struct {
			const char *name;
			uint64_t value;
		} fields[] = {
			{ "bytes", args.bytes },
			{ "pointer", args.pointer },
			{ "function", args.function },
			{ "stream", args.stream },
			{ "event", args.event },
			{ "copy_kind", args.copy_kind },
			{ "communicator", args.communicator },
			{ "rank", args.rank },
		};

		worker->tallies[i].n++;
		worker->tallies[i].n_errors += r != 0;
		printf("{\"op\":\"%s\",\"ret_code\":%d", calls[i].name, r);
		for (size_t k = 0; k < ARRAY_SIZE(fields); k++) {
			if (fields[k].value != CALL_NO_ARG)
				printf(",\"%s\":%" PRIu64, fields[k].name, fields[k].value);
		}
		printf("}\n");
	}
	fflush(stdout);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	cpu_set_t set;

	worker->tid = gettid();
	if (options.n_cpus) {
		CPU_ZERO(&set);
		CPU_SET(options.cpus[worker->number % options.n_cpus], &set);
		if (sched_setaffinity(0, sizeof(set), &set) < 0)
			perror("cudaload: cannot pin a thread");
	}
	pthread_barrier_wait(&lined_up); /* everybody exists */
	pthread_barrier_wait(&lined_up); /* go */

	worker->init_code = caller_init(&worker->caller, options.n_bytes, !options.uses_default_stream);
	pthread_barrier_wait(&lined_up); /* everybody has a stream */
	pthread_barrier_wait(&lined_up); /* failures may begin */
	if (worker->init_code)
		return NULL;
	worker->before = read_accounts();
	if (options.is_each)
		make_each(worker);
	else
		make_calls(worker);
	worker->after = read_accounts();
	return NULL;
}

void *load_control(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

/* Tell the stand-in what this run is about; a foreign library cannot be told. */
static int set_up_standin(void)
{
	__typeof__(ingero_standin_device) *device = load_control("ingero_standin_device");
	__typeof__(ingero_standin_inside) *inside = load_control("ingero_standin_inside");

	if (!options.has_device && !options.inside_us && !options.sync_us && !options.fail_every)
		return 0;
	if (!device || !inside) {
		fprintf(stderr, "cudaload: --sync, --kernel-us, --inside-us, --sync-us, --fail-every need the stand-in "
				"libraries\n");
		return 2;
	}
	if (options.has_device)
		device(options.kernel_us * NSEC_PER_USEC, 0, options.how);
	for (size_t i = 0; options.inside_us && i < n_calls; i++) {
		bool is_runtime = strncmp(calls[i].name, "cu", 2) != 0 || strncmp(calls[i].name, "cuda", 4) == 0;

		if (is_runtime == options.is_inside_runtime)
			(void)inside(calls[i].name, options.inside_us * NSEC_PER_USEC, INGERO_STANDIN_SPIN);
	}
	if (options.sync_us) {
		(void)inside("cuStreamSynchronize", options.sync_us * NSEC_PER_USEC, options.how);
		(void)inside("cuStreamSynchronize_ptsz", options.sync_us * NSEC_PER_USEC, options.how);
	}
	return 0;
}

/* Only now, so that the calls that a thread needs to begin neither fail nor are numbered. */
static void let_calls_fail(void)
{
	__typeof__(ingero_standin_fail) *fail = load_control("ingero_standin_fail");

	for (unsigned int i = 0; fail && options.fail_every && i < options.n_mix; i++)
		(void)fail(options.mix[i].call->name, 0, options.fail_every, (int)options.fail_code);
}

static struct worker *start_workers(void)
{
	struct worker *workers = calloc(options.n_threads, sizeof(*workers));

	if (!workers)
		return NULL;
	pthread_barrier_init(&lined_up, NULL, options.n_threads + 1);
	for (unsigned int i = 0; i < options.n_threads; i++) {
		struct worker *w = &workers[i];

		w->number = i;
		w->tallies = calloc(n_calls, sizeof(*w->tallies));
		/* touched page by page as it fills, none where nothing is measured */
		w->samples = calloc(options.measure == MEASURE_NONE ? 1 : SAMPLES_MAX, sizeof(*w->samples));
		w->kept = calloc(options.keep_max + 1, sizeof(*w->kept));
		if (!w->tallies || !w->samples || !w->kept || pthread_create(&w->thread, NULL, work, w) != 0)
			return NULL;
	}
	return workers;
}

int main(int argc, char **argv)
{
	struct worker *workers;
	const char *failed;
	int r;

	load_options_parse(argc, argv);
	failed = calls_load(options.runtime, options.driver);
	if (failed) {
		fprintf(stderr, "cudaload: %s\n", failed);
		return 2;
	}
	r = set_up_standin();
	if (r)
		return r;
	workers = start_workers();
	if (!workers) {
		fprintf(stderr, "cudaload: no memory or no threads\n");
		return 1;
	}

	pthread_barrier_wait(&lined_up);
	if (options.waits_for_stdin) {
		program_ready();
		program_wait_for_line();
	}
	pthread_barrier_wait(&lined_up);
	pthread_barrier_wait(&lined_up);
	let_calls_fail();
	pthread_barrier_wait(&lined_up);
	if (options.duration_ns) {
		program_sleep_until(program_clock_ns(CLOCK_MONOTONIC) + options.duration_ns);
		__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	}
	for (unsigned int i = 0; i < options.n_threads; i++)
		pthread_join(workers[i].thread, NULL);

	for (unsigned int i = 0; i < options.n_threads; i++) {
		if (workers[i].init_code) {
			fprintf(stderr, "cudaload: cannot begin: error %d\n", workers[i].init_code);
			return 1;
		}
	}
	r = load_report(workers);
	if (options.waits_at_end) {
		printf("done\n");
		fflush(stdout);
		program_wait_for_line();
	}
	return r;
}
