// SPDX-License-Identifier: Apache-2.0
#include "cli/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define NOT_KNOWN (-1.0)
#define FILE_BYTES 4096 /* enough for the first line of /proc/stat and for the other files */

static void machine_cpu_read(int proc_fd, struct machine_sample *sample)
{
	char text[FILE_BYTES];
	uint64_t ticks[8] = { 0 }; /* user nice system idle iowait irq softirq steal: proc_stat(5) */

	if (fd_read_file_at(proc_fd, "stat", text, sizeof(text)) <= 0)
		return;
	if (sscanf(text,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]) < 4)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(ticks); i++)
		sample->cpu_total += ticks[i];
	sample->cpu_busy = sample->cpu_total - ticks[3] - ticks[4];
}

static uint64_t memory_field(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	uint64_t kib;

	return at && sscanf(at + strlen(name), " %" SCNu64, &kib) == 1 ? kib * 1024 : 0;
}

struct machine_sample machine_sample_read(int proc_fd, uint64_t now_ns)
{
	struct machine_sample sample = { .at_ns = now_ns };
	char text[FILE_BYTES];
	const char *total;

	machine_cpu_read(proc_fd, &sample);
	if (fd_read_file_at(proc_fd, "meminfo", text, sizeof(text)) > 0) {
		sample.memory_bytes = memory_field(text, "MemTotal:");
		sample.memory_available_bytes = memory_field(text, "MemAvailable:");
	}
	if (fd_read_file_at(proc_fd, "loadavg", text, sizeof(text)) > 0)
		sample.has_load = sscanf(text, "%lf", &sample.load) == 1;
	if (fd_read_file_at(proc_fd, "pressure/cpu", text, sizeof(text)) > 0) {
		total = strstr(text, "total="); /* the first line is "some" */
		sample.has_pressure = total && sscanf(total, "total=%" SCNu64, &sample.pressure_us) == 1;
	}
	return sample;
}

static double ratio_of(uint64_t part, uint64_t whole)
{
	return whole ? (double)MIN(part, whole) / (double)whole : NOT_KNOWN;
}

struct machine_load machine_load_between(const struct machine_sample *before, const struct machine_sample *now)
{
	struct machine_load load = {
		.cpu_ratio = NOT_KNOWN, .memory_ratio = NOT_KNOWN, .load = NOT_KNOWN, .pressure_ratio = NOT_KNOWN
	};

	if (now->cpu_total > before->cpu_total && now->cpu_busy >= before->cpu_busy && before->cpu_total)
		load.cpu_ratio = ratio_of(now->cpu_busy - before->cpu_busy, now->cpu_total - before->cpu_total);
	if (now->memory_bytes)
		load.memory_ratio = ratio_of(now->memory_bytes - MIN(now->memory_bytes, now->memory_available_bytes),
					     now->memory_bytes);
	if (now->has_load)
		load.load = now->load;
	if (now->has_pressure && before->has_pressure && now->at_ns > before->at_ns &&
	    now->pressure_us >= before->pressure_us)
		load.pressure_ratio =
			ratio_of((now->pressure_us - before->pressure_us) * NSEC_PER_USEC, now->at_ns - before->at_ns);
	return load;
}
