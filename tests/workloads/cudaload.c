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
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
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
#include "calls.h"
#include "standin/control.h"

#define THREADS_MAX 256
#define MIX_MAX 32
#define CALLS_DEFAULT 10007
#define SIZE_DEFAULT 4099
#define SAMPLES_MAX (1u << 22) /* calls of a thread whose times are kept for percentiles */
#define KEEP_DEFAULT 4093

enum measure { MEASURE_NONE, MEASURE_WALL, MEASURE_CPU };

struct share {
	const struct call *call;
	uint64_t weight;
};

static struct options {
	unsigned int n_threads;
	uint64_t rate;	      /* calls a second and thread; 0: flat out */
	uint64_t duration_ns; /* 0: by calls */
	uint64_t n_calls;     /* of each thread */
	struct share mix[MIX_MAX];
	unsigned int n_mix;
	enum ingero_standin_how how;
	uint64_t kernel_us, inside_us, sync_us;
	bool is_inside_runtime, has_device;
	uint64_t n_bytes;
	int cpus[THREADS_MAX];
	unsigned int n_cpus;
	enum measure measure;
	uint64_t keep_over_us, keep_max;
	bool waits_for_stdin, waits_at_end, is_each, uses_default_stream;
	const char *report;
	const char *runtime, *driver; /* files to open, where this build opens them */
} options = {
	.n_threads = 1,
	.n_calls = CALLS_DEFAULT,
	.kernel_us = 2,
	.n_bytes = SIZE_DEFAULT,
	.keep_over_us = UINT64_MAX,
	.keep_max = KEEP_DEFAULT,
};

/* What a thread saw of one row of the mix. */
struct tally {
	uint64_t n, n_errors, bytes;
	uint64_t wall_ns, cpu_ns, max_ns;
};

struct kept {
	const struct call *call;
	uint64_t start_ns, wall_ns, cpu_ns;
};

/* The thread's own accounts at a moment. */
struct accounts {
	uint64_t at_ns, cpu_ns, run_delay_ns;
	int64_t n_voluntary, n_involuntary;
};

struct sample {
	uint32_t wall_ns;
	uint32_t row; /* of calls[] */
};

struct worker {
	pthread_t thread;
	unsigned int number;
	pid_t tid;
	struct caller caller;
	struct tally *tallies; /* by row of calls[] */
	struct sample *samples;
	uint32_t n_samples;
	struct kept *kept;
	uint64_t n_kept, n_not_kept;
	struct accounts before, after;
	int init_code;
};

static pthread_barrier_t lined_up;
static bool is_over; /* atomic: the time is up */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static uint64_t run_delay_ns(void)
{
	char path[64], text[128];
	uint64_t delay = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", gettid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return sscanf(text, "%*u %" SCNu64, &delay) == 1 ? delay : 0;
}

static struct accounts read_accounts(void)
{
	struct rusage usage = { 0 };
	struct accounts a;

	(void)getrusage(RUSAGE_THREAD, &usage);
	a.n_voluntary = usage.ru_nvcsw;
	a.n_involuntary = usage.ru_nivcsw;
	a.run_delay_ns = run_delay_ns();
	a.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	a.at_ns = clock_ns(CLOCK_MONOTONIC);
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
	struct call_args args = { CALL_NO_ARG, CALL_NO_ARG, CALL_NO_ARG, CALL_NO_ARG, CALL_NO_ARG };
	struct tally *tally = &worker->tallies[call - calls];
	uint64_t cpu_ns = 0, start_ns = 0, end_ns;
	int r;

	if (options.measure == MEASURE_CPU)
		cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (options.measure != MEASURE_NONE)
		start_ns = clock_ns(CLOCK_MONOTONIC);
	r = call->make(&worker->caller, &args);
	if (options.measure != MEASURE_NONE) {
		end_ns = clock_ns(CLOCK_MONOTONIC);
		if (options.measure == MEASURE_CPU)
			cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
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

static void wait_for_turn(uint64_t at_ns)
{
	struct timespec at = { (time_t)(at_ns / NSEC_PER_SEC), (long)(at_ns % NSEC_PER_SEC) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

static void make_calls(struct worker *worker)
{
	uint64_t gap_ns = options.rate ? NSEC_PER_SEC / options.rate : 0, next_ns = clock_ns(CLOCK_MONOTONIC);
	int64_t credit[MIX_MAX] = { 0 };
	uint64_t total = 0;

	for (unsigned int i = 0; i < options.n_mix; i++)
		total += options.mix[i].weight;
	for (uint64_t n = 0; options.duration_ns || n < options.n_calls; n++) {
		if (__atomic_load_n(&is_over, __ATOMIC_RELAXED))
			break;
		if (gap_ns) {
			next_ns += gap_ns;
			wait_for_turn(next_ns);
		}
		make_one(worker, calls_next(pick(credit, total), &worker->caller));
	}
}

/* Each row of calls.h once, its arguments as JSON lines on stdout. */
static void make_each(struct worker *worker)
{
	for (size_t i = 0; i < n_calls; i++) {
		struct call_args args = { CALL_NO_ARG, CALL_NO_ARG, CALL_NO_ARG, CALL_NO_ARG, CALL_NO_ARG };
		int r = calls[i].make(&worker->caller, &args);
		const struct {
			const char *name;
			uint64_t value;
		} fields[] = {
			{ "bytes", args.bytes },   { "pointer", args.pointer },	    { "function", args.function },
			{ "stream", args.stream }, { "copy_kind", args.copy_kind },
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

/* The report */

static int by_wall(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return (x->wall_ns > y->wall_ns) - (x->wall_ns < y->wall_ns);
}

/* Of all threads' samples of one row, sorted: the smallest value with at least that share at or below it. */
static void print_percentiles(FILE *out, const struct worker *workers, uint32_t row)
{
	static const unsigned int asked[] = { 50, 95, 99 };
	CLEANUP(freep) struct sample *all = NULL;
	size_t n = 0, room = 0;

	for (unsigned int i = 0; i < options.n_threads; i++)
		room += workers[i].n_samples;
	all = calloc(room ? room : 1, sizeof(*all));
	if (!all)
		return;
	for (unsigned int i = 0; i < options.n_threads; i++) {
		for (uint32_t k = 0; k < workers[i].n_samples; k++) {
			if (workers[i].samples[k].row == row)
				all[n++] = workers[i].samples[k];
		}
	}
	if (n == 0)
		return;
	qsort(all, n, sizeof(*all), by_wall);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		fprintf(out, ",\"p%u_ns\":%u", asked[i], all[(n * asked[i] + 99) / 100 - 1].wall_ns);
}

static void print_ops(FILE *out, const struct worker *workers)
{
	const char *comma = "";

	fprintf(out, "\"ops\":[");
	for (size_t row = 0; row < n_calls; row++) {
		struct tally sum = { 0 };

		for (unsigned int i = 0; i < options.n_threads; i++) {
			const struct tally *t = &workers[i].tallies[row];

			sum.n += t->n;
			sum.n_errors += t->n_errors;
			sum.bytes += t->bytes;
			sum.wall_ns += t->wall_ns;
			sum.cpu_ns += t->cpu_ns;
			sum.max_ns = MAX(sum.max_ns, t->max_ns);
		}
		if (sum.n == 0)
			continue;
		fprintf(out, "%s\n  {\"op\":\"%s\",\"count\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"bytes\":%" PRIu64,
			comma, calls[row].name, sum.n, sum.n_errors, sum.bytes);
		if (options.measure != MEASURE_NONE) {
			fprintf(out, ",\"wall_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64, sum.wall_ns, sum.max_ns);
			print_percentiles(out, workers, (uint32_t)row);
		}
		if (options.measure == MEASURE_CPU)
			fprintf(out, ",\"cpu_ns\":%" PRIu64, sum.cpu_ns);
		fprintf(out, "}");
		comma = ",";
	}
	fprintf(out, "],\n");
}

static void print_threads(FILE *out, const struct worker *workers)
{
	fprintf(out, "\"threads\":[");
	for (unsigned int i = 0; i < options.n_threads; i++) {
		const struct worker *w = &workers[i];

		fprintf(out,
			"%s\n  {\"tid\":%d,\"start_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64 ",\"cpu_ns\":%" PRIu64
			",\"run_delay_ns\":%" PRIu64 ",\"voluntary\":%" PRId64 ",\"involuntary\":%" PRId64
			",\"slow_not_kept\":%" PRIu64 "}",
			i ? "," : "", w->tid, w->before.at_ns, w->after.at_ns, w->after.cpu_ns - w->before.cpu_ns,
			w->after.run_delay_ns - w->before.run_delay_ns, w->after.n_voluntary - w->before.n_voluntary,
			w->after.n_involuntary - w->before.n_involuntary, w->n_not_kept);
	}
	fprintf(out, "],\n\"slow\":[");
	for (unsigned int i = 0, n = 0; i < options.n_threads; i++) {
		for (uint64_t k = 0; k < workers[i].n_kept; k++) {
			const struct kept *kept = &workers[i].kept[k];

			fprintf(out,
				"%s\n  {\"tid\":%d,\"op\":\"%s\",\"start_ns\":%" PRIu64 ",\"wall_ns\":%" PRIu64
				",\"cpu_ns\":%" PRIu64 "}",
				n++ ? "," : "", workers[i].tid, kept->call->name, kept->start_ns, kept->wall_ns,
				kept->cpu_ns);
		}
	}
	fprintf(out, "],\n");
}

/* A stand-in's control by name: foreign libraries have none, and then only what needs one is missing. */
static void *control(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

static void print_books(FILE *out)
{
	__typeof__(ingero_standin_next) *next = control("ingero_standin_next");
	__typeof__(ingero_standin_count) *count = control("ingero_standin_count");
	unsigned int n = 0;

	fprintf(out, "\"books\":[");
	for (const char *name = next ? next(NULL) : NULL; name && count; name = next(name)) {
		uint64_t entries = 0, returns = 0;

		(void)count(name, &entries, &returns); /* it just named the function */
		fprintf(out, "%s\n  {\"function\":\"%s\",\"entries\":%" PRIu64 ",\"returns\":%" PRIu64 "}",
			n++ ? "," : "", name, entries, returns);
	}
	fprintf(out, "]");
}

static int report(const struct worker *workers)
{
	CLEANUP(fclosep) FILE *out = NULL;

	if (!options.report)
		return 0;
	out = strcmp(options.report, "-") == 0 ? fdopen(dup(STDOUT_FILENO), "w") : fopen(options.report, "we");
	if (!out) {
		fprintf(stderr, "cudaload: cannot write '%s': %s\n", options.report, strerror(errno));
		return 1;
	}
	fprintf(out, "{\"program\":\"cudaload\",\"pid\":%d,\n", getpid());
	print_ops(out, workers);
	print_threads(out, workers);
	print_books(out);
	fprintf(out, "}\n");
	return ferror(out) ? 1 : 0;
}

/* Options */

static const char *const how_words[] = {
	[INGERO_STANDIN_SPIN] = "spin",	  [INGERO_STANDIN_BLOCK] = "block", [INGERO_STANDIN_POLL] = "poll",
	[INGERO_STANDIN_SLEEP] = "sleep", [INGERO_STANDIN_YIELD] = "yield",
};

static int parse_mix(char *text)
{
	char *rest = NULL;

	options.n_mix = 0;
	for (char *item = strtok_r(text, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
		struct share share = { .weight = 1 };
		char *weight = strchr(item, '=');

		if (weight)
			*weight++ = '\0';
		share.call = calls_find(item);
		if (!share.call || options.n_mix == MIX_MAX)
			return -EINVAL;
		if (weight && (parse_u64(weight, 1000000, &share.weight) < 0 || share.weight == 0))
			return -EINVAL;
		options.mix[options.n_mix++] = share;
	}
	return options.n_mix ? 0 : -EINVAL;
}

static int parse_cpus(char *text)
{
	char *rest = NULL;

	options.n_cpus = 0;
	for (char *item = strtok_r(text, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
		uint64_t cpu = 0;

		if (parse_u64(item, CPU_SETSIZE - 1, &cpu) < 0 || options.n_cpus == THREADS_MAX)
			return -EINVAL;
		options.cpus[options.n_cpus++] = (int)cpu;
	}
	return options.n_cpus ? 0 : -EINVAL;
}

static int parse_word(const char *text, const char *const *words, size_t n, unsigned int *ret_value)
{
	for (size_t i = 0; i < n; i++) {
		if (words[i] && strcmp(text, words[i]) == 0) {
			*ret_value = (unsigned int)i;
			return 0;
		}
	}
	return -EINVAL;
}

enum option_id {
	OPTION_THREADS = 1,
	OPTION_RATE,
	OPTION_DURATION,
	OPTION_CALLS,
	OPTION_MIX,
	OPTION_OP,
	OPTION_SYNC,
	OPTION_SYNC_US,
	OPTION_KERNEL_US,
	OPTION_INSIDE_US,
	OPTION_INSIDE_AT,
	OPTION_SIZE,
	OPTION_PIN,
	OPTION_MEASURE,
	OPTION_KEEP_OVER_US,
	OPTION_KEEP_MAX,
	OPTION_WAIT_FOR_STDIN,
	OPTION_WAIT_AT_END,
	OPTION_EACH,
	OPTION_DEFAULT_STREAM,
	OPTION_COMM,
	OPTION_REPORT,
	OPTION_RUNTIME,
	OPTION_DRIVER,
	OPTION_HELP,
};

static const char help[] =
	"cudaload: makes CUDA calls that are known exactly\n"
	"  --threads N          1\n"
	"  --rate N             calls a second and thread; 0, the default, is flat out\n"
	"  --calls N            of each thread, 10007\n"
	"  --duration TIME      instead of --calls: 30s\n"
	"  --mix OP=WEIGHT,...  launch=71,memcpy=13,sync=6,malloc=5,free=5\n"
	"  --op OP              this one alone; OP is a word as above or an export as cuLaunchKernel_ptsz\n"
	"  --each               instead: every known call once, its arguments as JSON lines on stdout\n"
	"  --sync HOW           spin, block, poll, sleep, yield: how a synchronise waits\n"
	"  --sync-us N          every synchronise waits this long at least\n"
	"  --kernel-us N        time of a kernel on the device, 2\n"
	"  --inside-us N        time spent inside every call, by spinning\n"
	"  --inside-at LAYER    driver, the default, or runtime\n"
	"  --size BYTES         of a copy or an allocation, 4099\n"
	"  --default-stream     instead of a stream for each thread\n"
	"  --pin CPU,...        threads in turn\n"
	"  --comm NAME          of the process\n"
	"  --measure WHAT       wall or cpu: times around every call, for the report\n"
	"  --keep-over-us N     report each call that took longer, with its times\n"
	"  --keep-max N         at most so many a thread, 4093\n"
	"  --report FILE        JSON at the end; - is stdout\n"
	"  --wait-for-stdin     prints 'ready PID', reads a line before the first call\n"
	"  --wait-at-end        prints 'done', reads a line before it exits\n"
	"  --runtime FILE, --driver FILE   libraries to open (cudaload-dlopen alone)\n";

static const struct option longs[] = {
	{ "threads", required_argument, NULL, OPTION_THREADS },
	{ "rate", required_argument, NULL, OPTION_RATE },
	{ "duration", required_argument, NULL, OPTION_DURATION },
	{ "calls", required_argument, NULL, OPTION_CALLS },
	{ "mix", required_argument, NULL, OPTION_MIX },
	{ "op", required_argument, NULL, OPTION_OP },
	{ "sync", required_argument, NULL, OPTION_SYNC },
	{ "sync-us", required_argument, NULL, OPTION_SYNC_US },
	{ "kernel-us", required_argument, NULL, OPTION_KERNEL_US },
	{ "inside-us", required_argument, NULL, OPTION_INSIDE_US },
	{ "inside-at", required_argument, NULL, OPTION_INSIDE_AT },
	{ "size", required_argument, NULL, OPTION_SIZE },
	{ "pin", required_argument, NULL, OPTION_PIN },
	{ "measure", required_argument, NULL, OPTION_MEASURE },
	{ "keep-over-us", required_argument, NULL, OPTION_KEEP_OVER_US },
	{ "keep-max", required_argument, NULL, OPTION_KEEP_MAX },
	{ "wait-for-stdin", no_argument, NULL, OPTION_WAIT_FOR_STDIN },
	{ "wait-at-end", no_argument, NULL, OPTION_WAIT_AT_END },
	{ "each", no_argument, NULL, OPTION_EACH },
	{ "default-stream", no_argument, NULL, OPTION_DEFAULT_STREAM },
	{ "comm", required_argument, NULL, OPTION_COMM },
	{ "report", required_argument, NULL, OPTION_REPORT },
	{ "runtime", required_argument, NULL, OPTION_RUNTIME },
	{ "driver", required_argument, NULL, OPTION_DRIVER },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ NULL, 0, NULL, 0 },
};

static int parse_option(enum option_id option, char *text)
{
	static const char *const measures[] = { "none", "wall", "cpu" };
	static const char *const layers[] = { "driver", "runtime" };
	unsigned int word = 0;
	uint64_t n = 0;
	int r = 0;

	switch (option) {
	case OPTION_THREADS:
		r = parse_u64(text, THREADS_MAX, &n);
		options.n_threads = (unsigned int)n;
		return r == 0 && n == 0 ? -EINVAL : r;
	case OPTION_RATE:
		return parse_u64(text, 1000000, &options.rate);
	case OPTION_DURATION:
		return parse_duration(text, &options.duration_ns);
	case OPTION_CALLS:
		return parse_u64(text, UINT64_MAX, &options.n_calls);
	case OPTION_MIX:
	case OPTION_OP:
		return parse_mix(text);
	case OPTION_SYNC:
		r = parse_word(text, how_words, ARRAY_SIZE(how_words), &word);
		options.how = word;
		options.has_device = true;
		return r;
	case OPTION_SYNC_US:
		return parse_u64(text, UINT32_MAX, &options.sync_us);
	case OPTION_KERNEL_US:
		options.has_device = true;
		return parse_u64(text, UINT32_MAX, &options.kernel_us);
	case OPTION_INSIDE_US:
		return parse_u64(text, UINT32_MAX, &options.inside_us);
	case OPTION_INSIDE_AT:
		r = parse_word(text, layers, ARRAY_SIZE(layers), &word);
		options.is_inside_runtime = word == 1;
		return r;
	case OPTION_SIZE:
		r = parse_size(text, &options.n_bytes);
		return r == 0 && options.n_bytes == 0 ? -EINVAL : r;
	case OPTION_PIN:
		return parse_cpus(text);
	case OPTION_MEASURE:
		r = parse_word(text, measures, ARRAY_SIZE(measures), &word);
		options.measure = word;
		return r;
	case OPTION_KEEP_OVER_US:
		return parse_u64(text, UINT32_MAX, &options.keep_over_us);
	case OPTION_KEEP_MAX:
		return parse_u64(text, 1000000, &options.keep_max);
	case OPTION_WAIT_FOR_STDIN:
		options.waits_for_stdin = true;
		return 0;
	case OPTION_WAIT_AT_END:
		options.waits_at_end = true;
		return 0;
	case OPTION_EACH:
		options.is_each = true;
		return 0;
	case OPTION_DEFAULT_STREAM:
		options.uses_default_stream = true;
		return 0;
	case OPTION_COMM:
		return prctl(PR_SET_NAME, text) < 0 ? -errno : 0;
	case OPTION_REPORT:
		options.report = text;
		return 0;
	case OPTION_RUNTIME:
		options.runtime = text;
		return 0;
	case OPTION_DRIVER:
		options.driver = text;
		return 0;
	case OPTION_HELP:
		fputs(help, stdout);
		exit(0);
	}
	return -EINVAL;
}

static void parse_options(int argc, char **argv)
{
	char mix[] = "launch=71,memcpy=13,sync=6,malloc=5,free=5";
	int option, at = 0;

	(void)parse_mix(mix);
	while ((option = getopt_long(argc, argv, "", longs, &at)) != -1) {
		if (option == '?')
			exit(2);
		if (parse_option((enum option_id)option, optarg) < 0) {
			fprintf(stderr, "cudaload: --%s: cannot use '%s'; --help lists what is known\n", longs[at].name,
				optarg);
			exit(2);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "cudaload: '%s' is no option; --help lists them\n", argv[optind]);
		exit(2);
	}
	if (options.keep_over_us != UINT64_MAX && options.measure == MEASURE_NONE)
		options.measure = MEASURE_CPU;
}

/* Tell the stand-in what this run is about; a foreign library cannot be told. */
static int set_up_standin(void)
{
	__typeof__(ingero_standin_device) *device = control("ingero_standin_device");
	__typeof__(ingero_standin_inside) *inside = control("ingero_standin_inside");

	if (!options.has_device && !options.inside_us && !options.sync_us)
		return 0;
	if (!device || !inside) {
		fprintf(stderr,
			"cudaload: --sync, --sync-us, --kernel-us and --inside-us need the stand-in libraries\n");
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

static void wait_for_line(void)
{
	int c;

	do
		c = getchar();
	while (c != '\n' && c != EOF);
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

	parse_options(argc, argv);
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
		printf("ready %d\n", getpid());
		fflush(stdout);
		wait_for_line();
	}
	pthread_barrier_wait(&lined_up);
	if (options.duration_ns) {
		wait_for_turn(clock_ns(CLOCK_MONOTONIC) + options.duration_ns);
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
	r = report(workers);
	if (options.waits_at_end) {
		printf("done\n");
		fflush(stdout);
		wait_for_line();
	}
	return r;
}
