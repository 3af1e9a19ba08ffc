// SPDX-License-Identifier: Apache-2.0
/* Load of this machine, from /proc: the bar above the live table. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct machine_sample {
	uint64_t cpu_busy; /* clock ticks since boot, all CPUs */
	uint64_t cpu_total;
	uint64_t memory_bytes;
	uint64_t memory_available_bytes;
	uint64_t pressure_us; /* time in which at least one task waited for a CPU */
	uint64_t at_ns;	      /* CLOCK_MONOTONIC */
	double load;	      /* average over one minute */
	bool has_pressure;
	bool has_load;
};

struct machine_load {
	double cpu_ratio; /* below 0: unknown */
	double memory_ratio;
	double load;
	double pressure_ratio;
};

/** machine_sample_read() - read counters from /proc (a directory handle); unreadable ones are 0 */
struct machine_sample machine_sample_read(int proc_fd, uint64_t now_ns);
/** machine_load_between() - compute ratios between two samples; without time between them such ratios are unknown */
struct machine_load machine_load_between(const struct machine_sample *before, const struct machine_sample *now);
