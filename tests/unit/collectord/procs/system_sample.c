// SPDX-License-Identifier: Apache-2.0
/*
 * A directory that looks like /proc, read twice a second apart, and too early for a sample between.
 */
#include "procs/system_sample.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "tests/support/check.h"

#define MEMINFO                                                                                                        \
	"MemTotal:        1000 kB\nMemFree: 5 kB\nMemAvailable:     250 kB\nSwapTotal: 100 kB\nSwapFree:  60 kB\n"
#define LOAD "6.10 0.48 1.24 2/96 14872\n"

enum { STAT, MEMORY, LOADAVG, VMSTAT, CPU, PSI_MEMORY, IO, FILE_COUNT };
static const char *const names[] = { "stat",	     "meminfo",		"loadavg",    "vmstat",
				     "pressure/cpu", "pressure/memory", "pressure/io" };

struct row {
	const char *name;
	const char *before[FILE_COUNT]; /* NULL: no such file */
	const char *after[FILE_COUNT];	/* NULL: as before */
	int want_r;
	struct system_sample want;
};

#define PSI "some avg10=1.85 avg60=0 avg300=0 total=500\nfull avg10=0.00 avg60=0 avg300=0 total=9\n"
#define PSI_LATER "some avg10=1.85 avg60=0 avg300=0 total=250500\nfull avg10=0.00 avg60=0 avg300=0 total=9\n"

static const struct row rows[] = {
	{ "a busy second",
	  { "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1\n", MEMINFO, LOAD, "x 1\npgmajfault 10\npgmajfault_a 9\n", PSI, PSI,
	    PSI },
	  { NULL },
	  0,
	  { .load_1min = 6.1,
	    .memory_bytes = 1024000,
	    .available_bytes = 256000,
	    .swap_used_bytes = 40960,
	    .has_pressure = true } },
	{ "shares of the time since",
	  { "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1\n", MEMINFO, LOAD, "pgmajfault 10\n", PSI, PSI, PSI },
	  { [STAT] = "cpu  160 5 110 810 10 2 2 1 7 7\ncpu0 1\n", [VMSTAT] = "pgmajfault 17\n", [CPU] = PSI_LATER },
	  0,
	  { .cpu_ratio = 0.8,
	    .load_1min = 6.1,
	    .memory_bytes = 1024000,
	    .available_bytes = 256000,
	    .swap_used_bytes = 40960,
	    .major_faults = 7,
	    .has_pressure = true,
	    .pressure_cpu = 0.25 } },
	{ "a kernel without pressure",
	  { "cpu  100 0 100 800\n", MEMINFO, LOAD, "pgmajfault 10\n", NULL, NULL, NULL },
	  { NULL },
	  0,
	  { .load_1min = 6.1, .memory_bytes = 1024000, .available_bytes = 256000, .swap_used_bytes = 40960 } },
	{ "a counter that ran backwards",
	  { "cpu  100 0 100 800 50 0 0 0 0 0\n", MEMINFO, LOAD, "pgmajfault 10\n", PSI, PSI, PSI },
	  { [STAT] = "cpu  100 0 100 800 20 0 0 0 0 0\n", [VMSTAT] = "pgmajfault 3\n" },
	  0,
	  { .load_1min = 6.1,
	    .memory_bytes = 1024000,
	    .available_bytes = 256000,
	    .swap_used_bytes = 40960,
	    .has_pressure = true } },
	{ "no memory line",
	  { "cpu  100 0 100 800\n", "MemTotal: 5 kB\n", LOAD, "pgmajfault 10\n", PSI, PSI, PSI },
	  { NULL },
	  -EINVAL,
	  { .cpu_ratio = 0 } },
	{ "nothing there", { NULL }, { NULL }, -ENOENT, { .cpu_ratio = 0 } },
};

static void files_write(int dir_fd, const char *const texts[FILE_COUNT])
{
	for (int i = 0; i < FILE_COUNT; i++) {
		CLEANUP(closep) int fd = -1;

		if (!texts[i])
			continue;
		fd = openat(dir_fd, names[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		CHECK("written", fd >= 0 && write(fd, texts[i], strlen(texts[i])) == (ssize_t)strlen(texts[i]));
	}
}

static bool near(double a, double b)
{
	return a - b < 1e-9 && b - a < 1e-9;
}

static void row_check(const struct row *row)
{
	const char *temporary = getenv("TMPDIR");
	char path[256];
	const struct system_sample *want = &row->want;
	struct system_sample got = { .time_ns = 0 };
	struct system_sampler *sampler;
	CLEANUP(closep) int dir_fd = -1;
	int r;

	(void)snprintf(path, sizeof(path), "%s/system_sample_XXXXXX", temporary ? temporary : P_tmpdir);
	if (!mkdtemp(path))
		CHECK_SKIP("no temporary directory");
	dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)mkdirat(dir_fd, "pressure", 0700);
	(void)system_sampler_new(dir_fd, &sampler);

	files_write(dir_fd, row->before);
	r = system_sampler_take(sampler, 1000000000, &got);
	CHECK_INT_EQ(row->name, r, row->want_r ? row->want_r : -EAGAIN);
	files_write(dir_fd, row->after);
	/* Of some milliseconds, as at the end of a trace: no sample, and the next one has their share. */
	r = system_sampler_take(sampler, 1018000000, &got);
	CHECK_INT_EQ(row->name, r, row->want_r ? row->want_r : -EAGAIN);
	CHECK_INT_EQ(row->name, got.time_ns, 0);
	r = system_sampler_take(sampler, 2000000000, &got);
	CHECK_INT_EQ(row->name, r, row->want_r);
	if (r == 0) {
		CHECK_INT_EQ(row->name, got.time_ns, 2000000000);
		CHECK(row->name, near(got.cpu_ratio, want->cpu_ratio));
		CHECK(row->name, near(got.load_1min, want->load_1min));
		CHECK_INT_EQ(row->name, got.memory_bytes, want->memory_bytes);
		CHECK_INT_EQ(row->name, got.available_bytes, want->available_bytes);
		CHECK_INT_EQ(row->name, got.swap_used_bytes, want->swap_used_bytes);
		CHECK_INT_EQ(row->name, got.major_faults, want->major_faults);
		CHECK_INT_EQ(row->name, got.has_pressure, want->has_pressure);
		CHECK(row->name, near(got.pressure_cpu, want->pressure_cpu));
		CHECK(row->name, near(got.pressure_memory, want->pressure_memory));
	}

	system_sampler_free(sampler);
	for (int i = 0; i < FILE_COUNT; i++)
		(void)unlinkat(dir_fd, names[i], 0);
	(void)unlinkat(dir_fd, "pressure", AT_REMOVEDIR);
	(void)rmdir(path);
}

/* What this machine says makes sense. */
static void the_real_one(void)
{
	CLEANUP(closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct system_sample sample;
	struct system_sampler *sampler;

	(void)system_sampler_new(proc_fd, &sampler);
	CHECK_INT_EQ("first", system_sampler_take(sampler, 1, &sample), -EAGAIN);
	CHECK_INT_EQ("too early", system_sampler_take(sampler, 1 + SYSTEM_SAMPLE_LEAST_NS - 1, &sample), -EAGAIN);
	CHECK_INT_EQ("second", system_sampler_take(sampler, 1 + SYSTEM_SAMPLE_LEAST_NS, &sample), 0);
	CHECK("shares are shares", sample.cpu_ratio >= 0 && sample.cpu_ratio <= 1 && sample.load_1min >= 0);
	CHECK("memory", sample.memory_bytes > sample.available_bytes && sample.available_bytes > 0);
	system_sampler_free(sampler);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		row_check(&rows[i]);
	the_real_one();
	return check_result();
}
