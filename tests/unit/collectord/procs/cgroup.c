// SPDX-License-Identifier: Apache-2.0
/* The control group of a process's CPU time, of both versions, and the nearest one with a quota. */
#include "procs/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

static void parse_test(void)
{
	static const struct {
		const char *name, *text;
		int r;
		bool is_v1;
		const char *path;
	} rows[] = {
		{ "version 2", "0::/system.slice/train.service\n", 0, false, "/system.slice/train.service" },
		{ "version 1", "5:memory:/m\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/s\n", 0, true, "/docker/abc" },
		{ "both", "0::/user.slice\n1:cpu:/lab\n", 0, true, "/lab" },
		{ "both, the other way around", "1:cpu:/lab\n0::/user.slice\n", 0, true, "/lab" },
		{ "another controller", "3:cpuset:/a\n2:cpuacct:/b\n0::/c\n", 0, false, "/c" },
		{ "colons in a name", "0::/a:cpu:/b\n", 0, false, "/a:cpu:/b" },
		{ "no line end", "0::/a", 0, false, "/a" },
		{ "the root", "0::/\n", 0, false, "/" },
		{ "of another namespace", "0::/../a\n", -ENOENT, false, "" },
		{ "no such controller", "3:cpuset:/a\n", -ENOENT, false, "" },
		{ "no lines", "", -ENOENT, false, "" },
		{ "half a line", "0::", -ENOENT, false, "" },
		{ "no path", "0::a\n4:cpu\n::\n:\n", -ENOENT, false, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cgroup_cpu group = { .path = "" };

		CHECK_INT_EQ(rows[i].name, cgroup_cpu_parse(rows[i].text, &group), rows[i].r);
		CHECK_INT_EQ(rows[i].name, group.is_v1, rows[i].is_v1);
		CHECK_STR_EQ(rows[i].name, group.path, rows[i].path);
	}
}

static void file_write(int dir, const char *path, const char *text)
{
	CLEANUP(closep) int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(path, fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

/* A directory that looks like a tree of groups. */
static void limit_test(void)
{
	static const struct {
		const char *name;
		bool is_v1;
		const char *root, *above, *own; /* texts of the file of each */
		const char *group, *want;
	} rows[] = {
		{ "its own", false, "max 100000\n", "max 100000\n", "30000 100000\n", "/a/b", "/a/b" },
		{ "of the one above", false, "max 100000\n", "30000 100000\n", "max 100000\n", "/a/b", "/a" },
		{ "of the root", false, "30000 100000\n", "max 100000\n", "max 100000\n", "/a/b", "/" },
		{ "of none", false, "max 100000\n", "max 100000\n", "max 100000\n", "/a/b", "/a/b" },
		{ "version 1", true, "-1\n", "30000\n", "-1\n", "/a/b", "/a" },
		{ "version 1, of none", true, "-1\n", "-1\n", "-1\n", "/a/b", "/a/b" },
		{ "a group that is gone", false, "max 100000\n", "30000 100000\n", "max\n", "/a/c", "/a" },
		{ "in the root", true, "30000\n", "-1\n", "-1\n", "/", "/" },
	};
	const char *temporary = getenv("TMPDIR");
	char dir[256], command[300];
	CLEANUP(closep) int fd = -1;

	(void)snprintf(dir, sizeof(dir), "%.200s/unit_procs_cgroup_XXXXXX", temporary ? temporary : P_tmpdir);
	CHECK("directory", mkdtemp(dir) != NULL);
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK("directory", fd >= 0 && mkdirat(fd, "a", 0700) == 0 && mkdirat(fd, "a/b", 0700) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		static const char *const places[] = { "", "a/", "a/b/" };
		const char *const texts[] = { rows[i].root, rows[i].above, rows[i].own };
		struct cgroup_cpu group = { .is_v1 = rows[i].is_v1 };

		for (size_t k = 0; k < ARRAY_SIZE(places); k++) {
			char path[64];

			(void)snprintf(path, sizeof(path), "%s%s", places[k],
				       rows[i].is_v1 ? "cpu.cfs_quota_us" : "cpu.max");
			file_write(fd, path, texts[k]);
		}
		(void)snprintf(group.path, sizeof(group.path), "%s", rows[i].group);
		cgroup_cpu_limit(fd, &group);
		CHECK_STR_EQ(rows[i].name, group.path, rows[i].want);
	}
	(void)snprintf(command, sizeof(command), "rm -r '%s'", dir);
	CHECK("removed", system(command) == 0);
}

/* This process is in some group, unless the machine has none. */
static void read_test(void)
{
	CLEANUP(closep) int fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	static struct cgroup_cpu group;
	int r = cgroup_cpu_read(fd, &group);

	CHECK("own", r == -ENOENT || (r == 0 && group.path[0] == '/'));
}

int main(void)
{
	parse_test();
	limit_test();
	read_test();
	return check_result();
}
