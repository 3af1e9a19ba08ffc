// SPDX-License-Identifier: Apache-2.0
/*
 * cudaload's options.
 */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "cudaload.h"
#include "standin/how.h"

#define CALLS_DEFAULT 10007
#define SIZE_DEFAULT 4099
#define KEEP_DEFAULT 4093

struct load_options options = {
	.n_threads = 1,
	.n_calls = CALLS_DEFAULT,
	.kernel_us = 2,
	.fail_code = 2, /* out of memory */
	.n_bytes = SIZE_DEFAULT,
	.keep_over_us = UINT64_MAX,
	.keep_max = KEEP_DEFAULT,
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
		if (!share.call || options.n_mix == LOAD_MIX_MAX)
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

		if (parse_u64(item, CPU_SETSIZE - 1, &cpu) < 0 || options.n_cpus == LOAD_THREADS_MAX)
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
	OPTION_FAIL_EVERY,
	OPTION_FAIL_CODE,
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
	OPTION_GROUP_STAT,
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
	"  --fail-every N       every so many calls of each operation of the mix fail\n"
	"  --fail-code N        with this code; 2, out of memory\n"
	"  --size BYTES         of a copy or an allocation, 4099\n"
	"  --default-stream     instead of a stream for each thread\n"
	"  --pin CPU,...        threads in turn\n"
	"  --comm NAME          of the process\n"
	"  --measure WHAT       wall or cpu: times around every call, for the report\n"
	"  --keep-over-us N     report each call that took longer, with its times\n"
	"  --keep-max N         at most so many a thread, 4093\n"
	"  --report FILE        JSON at the end; - is stdout\n"
	"  --group-stat FILE    cpu.stat of its control group: time throttled, for the report\n"
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
	{ "fail-every", required_argument, NULL, OPTION_FAIL_EVERY },
	{ "fail-code", required_argument, NULL, OPTION_FAIL_CODE },
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
	{ "group-stat", required_argument, NULL, OPTION_GROUP_STAT },
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
		r = parse_u64(text, LOAD_THREADS_MAX, &n);
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
		options.has_device = true;
		return how_parse(text, &options.how);
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
	case OPTION_FAIL_EVERY:
		return parse_u64(text, UINT32_MAX, &options.fail_every);
	case OPTION_FAIL_CODE:
		return parse_u64(text, INT32_MAX, &options.fail_code);
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
	case OPTION_GROUP_STAT:
		options.group_stat = text;
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

void load_options_parse(int argc, char **argv)
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
