// SPDX-License-Identifier: Apache-2.0
#include "procs/system_sample.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define TEXT_BYTES 16384 /* vmstat, the longest, has about 5 KiB; of stat the first line is enough */

struct system_sampler {
	int proc_fd;
	uint64_t at_ns; /* 0: no previous sample */
	uint64_t busy_ticks;
	uint64_t all_ticks;
	uint64_t major_faults;
	uint64_t pressure_us[3]; /* cpu, memory, io */
};

int system_sampler_new(int proc_fd, struct system_sampler **ret_sampler)
{
	struct system_sampler *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->proc_fd = proc_fd;
	*ret_sampler = s;
	return 0;
}

void system_sampler_free(struct system_sampler *s)
{
	free(s);
}

/* Reads the start of a file, with a NUL after it. */
static int text_read(int proc_fd, const char *name, char text[TEXT_BYTES])
{
	ssize_t n = fd_read_file_at(proc_fd, name, text, TEXT_BYTES);

	return n < 0 ? (int)n : 0;
}

/* The number after a word at the start of a line. */
static bool field_find(const char *text, const char *word, uint64_t *ret_value)
{
	size_t n = strlen(word);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, word, n) == 0 && strchr(" :\t", line[n]) && line[n])
			return sscanf(line + n + 1, "%" SCNu64, ret_value) == 1;
	}
	return false;
}

static int cpu_read(int proc_fd, uint64_t *ret_busy, uint64_t *ret_all)
{
	char text[TEXT_BYTES];
	uint64_t user, nice, system, idle, iowait = 0, irq = 0, softirq = 0, steal = 0;
	int r = text_read(proc_fd, "stat", text);

	if (r < 0)
		return r;
	/* Guest time is included in user time. */
	if (sscanf(text,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal) < 4)
		return -EINVAL;
	*ret_busy = user + nice + system + irq + softirq + steal;
	*ret_all = *ret_busy + idle + iowait;
	return 0;
}

static int memory_read(int proc_fd, struct system_sample *sample)
{
	char text[TEXT_BYTES];
	uint64_t total, available, swap_total, swap_free;
	int r = text_read(proc_fd, "meminfo", text);

	if (r < 0)
		return r;
	if (!field_find(text, "MemTotal", &total) || !field_find(text, "MemAvailable", &available) ||
	    !field_find(text, "SwapTotal", &swap_total) || !field_find(text, "SwapFree", &swap_free))
		return -EINVAL;
	sample->memory_bytes = total * 1024;
	sample->available_bytes = available * 1024;
	sample->swap_used_bytes = swap_total > swap_free ? (swap_total - swap_free) * 1024 : 0;
	return 0;
}

static int load_read(int proc_fd, double *ret_load)
{
	char text[TEXT_BYTES], *end;
	int r = text_read(proc_fd, "loadavg", text);

	if (r < 0)
		return r;
	*ret_load = strtod(text, &end);
	return end == text ? -EINVAL : 0;
}

/* Time in which at least one task waited, microseconds since boot. -ENOENT, -EOPNOTSUPP: the kernel has no PSI. */
static int pressure_read(int proc_fd, const char *name, uint64_t *ret_us)
{
	char text[TEXT_BYTES];
	const char *total;
	int r = text_read(proc_fd, name, text);

	if (r < 0)
		return r;
	total = strstr(text, "total="); /* of the first line: "some" */
	return total && sscanf(total, "total=%" SCNu64, ret_us) == 1 ? 0 : -EINVAL;
}

static double ratio(uint64_t part, uint64_t whole)
{
	return whole ? MIN((double)part / (double)whole, 1) : 0;
}

static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0; /* iowait can decrease, and a CPU may go offline */
}

int system_sampler_take(struct system_sampler *s, uint64_t now_ns, struct system_sample *ret_sample)
{
	static const char *const pressures[] = { "pressure/cpu", "pressure/memory", "pressure/io" };
	struct system_sample sample = { .time_ns = now_ns, .has_pressure = true };
	struct system_sampler before = *s, now = { .proc_fd = s->proc_fd, .at_ns = now_ns };
	double waited[ARRAY_SIZE(pressures)];
	char text[TEXT_BYTES];
	int r = cpu_read(s->proc_fd, &now.busy_ticks, &now.all_ticks);

	if (r == 0)
		r = memory_read(s->proc_fd, &sample);
	if (r == 0)
		r = load_read(s->proc_fd, &sample.load_1min);
	if (r == 0)
		r = text_read(s->proc_fd, "vmstat", text);
	if (r == 0 && !field_find(text, "pgmajfault", &now.major_faults))
		r = -EINVAL;
	if (r < 0)
		return r;
	if (before.at_ns && now_ns - before.at_ns < SYSTEM_SAMPLE_LEAST_NS)
		return -EAGAIN;
	for (size_t i = 0; i < ARRAY_SIZE(pressures); i++)
		if (pressure_read(s->proc_fd, pressures[i], &now.pressure_us[i]) < 0)
			sample.has_pressure = false;
	*s = now;
	if (!before.at_ns)
		return -EAGAIN;

	sample.cpu_ratio = ratio(since(now.busy_ticks, before.busy_ticks), since(now.all_ticks, before.all_ticks));
	sample.major_faults = since(now.major_faults, before.major_faults);
	for (size_t i = 0; i < ARRAY_SIZE(pressures); i++)
		waited[i] = ratio(since(now.pressure_us[i], before.pressure_us[i]) * 1000, now_ns - before.at_ns);
	if (sample.has_pressure) {
		sample.pressure_cpu = waited[0];
		sample.pressure_memory = waited[1];
		sample.pressure_io = waited[2];
	}
	*ret_sample = sample;
	return 0;
}
