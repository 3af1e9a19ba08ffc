// SPDX-License-Identifier: Apache-2.0
/* Files that look like /proc's, in a directory of the test's own. */
#include "cli/machine.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "tests/support/check.h"

static void file_write(int dirfd, const char *path, const char *text)
{
	CLEANUP(closep) int fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK_INT_EQ(path, fd_write_full(fd, text, strlen(text)), 0);
}

int main(void)
{
	const char *temporary = getenv("TMPDIR");
	char path[256];
	struct machine_sample none = { .cpu_total = 0 }, first, second;
	struct machine_load load;
	CLEANUP(closep) int dir = -1;

	(void)snprintf(path, sizeof(path), "%s/unit_cli_machine_XXXXXX", temporary ? temporary : P_tmpdir);
	CHECK("directory", mkdtemp(path) != NULL);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_INT_EQ("pressure", mkdirat(dir, "pressure", 0700), 0);

	first = machine_sample_read(dir, 0);
	load = machine_load_between(&none, &first);
	CHECK("nothing there: not known",
	      load.cpu_ratio < 0 && load.memory_ratio < 0 && load.load < 0 && load.pressure_ratio < 0);

	file_write(dir, "stat", "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 1 1 1\n");
	file_write(dir, "meminfo", "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    590 kB\n");
	file_write(dir, "loadavg", "6.10 5.00 4.00 2/345 6789\n");
	file_write(dir, "pressure/cpu",
		   "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\nfull avg10=0.00 total=7\n");
	first = machine_sample_read(dir, 1 * NSEC_PER_SEC);
	load = machine_load_between(&none, &first);
	CHECK("one sample says nothing of rates", load.cpu_ratio < 0 && load.pressure_ratio < 0);
	CHECK_INT_EQ("memory", load.memory_ratio * 1000 + 0.5, 410);
	CHECK_INT_EQ("load", load.load * 100 + 0.5, 610);

	file_write(dir, "stat", "cpu  150 10 118 722 100 0 0 0 0 0\n");
	file_write(dir, "pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1310000\n");
	second = machine_sample_read(dir, 2 * NSEC_PER_SEC);
	load = machine_load_between(&first, &second);
	CHECK_INT_EQ("78 of 100 ticks", load.cpu_ratio * 1000 + 0.5, 780);
	CHECK_INT_EQ("310 ms of a second", load.pressure_ratio * 1000 + 0.5, 310);
	load = machine_load_between(&second, &first);
	CHECK("time that runs backwards", load.cpu_ratio < 0 && load.pressure_ratio < 0);

	(void)unlinkat(dir, "stat", 0);
	(void)unlinkat(dir, "meminfo", 0);
	(void)unlinkat(dir, "loadavg", 0);
	(void)unlinkat(dir, "pressure/cpu", 0);
	(void)unlinkat(dir, "pressure", AT_REMOVEDIR);
	(void)rmdir(path);
	return check_result();
}
