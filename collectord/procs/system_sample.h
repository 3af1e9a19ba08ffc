// SPDX-License-Identifier: Apache-2.0
/* State of the whole machine at one moment, from /proc. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The kernel counts CPU time in ticks of 1 to 10 ms: shares of a shorter time say little. (Guess.) */
#define SYSTEM_SAMPLE_LEAST_NS (250ull * 1000000)

struct system_sample {
	uint64_t time_ns;      /* monotonic */
	double cpu_ratio;      /* busy share of all CPUs since the previous sample, 0...1; idle and iowait are idle */
	double load_1min;      /* first value of /proc/loadavg */
	uint64_t memory_bytes; /* MemTotal */
	uint64_t available_bytes; /* MemAvailable */
	uint64_t swap_used_bytes;
	uint64_t major_faults; /* since the previous sample */
	bool has_pressure;     /* the kernel has PSI: the three below are valid */
	double pressure_cpu; /* share of the time since the previous sample in which at least one task waited, 0...1 */
	double pressure_memory;
	double pressure_io;
};

struct system_sampler;

/**
 * system_sampler_new() - create a sampler. @proc_fd: directory handle of /proc or a test's copy, borrowed. Return: 0 or
 * -ENOMEM
 */
int system_sampler_new(int proc_fd, struct system_sampler **ret_sampler);
void system_sampler_free(struct system_sampler *sampler);
/**
 * system_sampler_take() - take a sample
 * Return: 0; -EAGAIN the first time, and less than SYSTEM_SAMPLE_LEAST_NS after the previous one: the next one has that
 * time, too; -errno
 */
int system_sampler_take(struct system_sampler *sampler, uint64_t now_ns, struct system_sample *ret_sample);
