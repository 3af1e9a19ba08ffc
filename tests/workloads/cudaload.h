// SPDX-License-Identifier: Apache-2.0
/*
 * What the parts of cudaload share: what was asked for, and what each thread saw.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "calls.h"
#include "standin/control.h"

#define LOAD_THREADS_MAX 256
#define LOAD_MIX_MAX 32

enum measure { MEASURE_NONE, MEASURE_WALL, MEASURE_CPU };

struct share {
	const struct call *call;
	uint64_t weight;
};

struct load_options {
	unsigned int n_threads;
	uint64_t rate;	      /* calls a second and thread; 0: flat out */
	uint64_t duration_ns; /* 0: by calls */
	uint64_t n_calls;     /* of each thread */
	struct share mix[LOAD_MIX_MAX];
	unsigned int n_mix;
	enum ingero_standin_how how;
	uint64_t kernel_us, inside_us, sync_us;
	uint64_t fail_every, fail_code; /* calls of the mix; 0: none fails */
	bool is_inside_runtime, has_device;
	uint64_t n_bytes;
	int cpus[LOAD_THREADS_MAX];
	unsigned int n_cpus;
	enum measure measure;
	uint64_t keep_over_us, keep_max;
	bool waits_for_stdin, waits_at_end, is_each, uses_default_stream;
	const char *report;
	const char *group_stat;	      /* cpu.stat of the control group */
	const char *runtime, *driver; /* files to open, where this build opens them */
};

extern struct load_options options;

/* What a thread saw of one row of the mix. */
struct tally {
	uint64_t n, n_errors, bytes;
	uint64_t wall_ns, cpu_ns, max_ns;
};

struct kept {
	const struct call *call;
	uint64_t start_ns, wall_ns, cpu_ns;
};

/* The thread's own accounts at a moment, and how long its control group was throttled. */
struct accounts {
	uint64_t at_ns, cpu_ns, run_delay_ns, throttled_ns;
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

/** load_options_parse() - from the command line; nonsense ends the program with 2 and a sentence */
void load_options_parse(int argc, char **argv);
/** load_report() - as JSON to where the options say. Return: exit status */
int load_report(const struct worker *workers);
/** load_control() - a stand-in's control by name; NULL where the libraries are foreign ones, which have none */
void *load_control(const char *name);
