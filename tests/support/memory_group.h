// SPDX-License-Identifier: Apache-2.0
/* A private control group with a memory limit, in the hierarchy that has the memory controller. */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct memory_group {
	char path[128];
};

static inline bool memory_group_write(const struct memory_group *group, const char *file, const char *text)
{
	char path[192];
	bool is_written;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", group->path, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		(void)close(fd);
	return is_written;
}

/* Return: whether it was made; false if root may not make control groups on this machine */
static inline bool memory_group_open(struct memory_group *group, unsigned long bytes)
{
	static const struct {
		const char *place, *limit;
	} kinds[] = {
		{ "/sys/fs/cgroup/memory", "memory.limit_in_bytes" },
		{ "/sys/fs/cgroup", "memory.max" },
		{ "/sys/fs/cgroup/unified", "memory.max" },
	};
	char text[32];

	(void)snprintf(text, sizeof(text), "%lu", bytes);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		(void)snprintf(group->path, sizeof(group->path), "%s/ingero-test-%d", kinds[i].place, (int)getpid());
		if (mkdir(group->path, 0755) < 0)
			continue;
		if (memory_group_write(group, kinds[i].limit, text)) {
			(void)memory_group_write(group, "memory.swap.max", "0"); /* may be missing */
			return true;
		}
		(void)rmdir(group->path);
	}
	return false;
}

/* Move the calling process into the group, with its later children. */
static inline bool memory_group_enter(const struct memory_group *group)
{
	return memory_group_write(group, "cgroup.procs", "0");
}

/* Remove the group, after all its processes have ended and were reaped. */
static inline void memory_group_close(struct memory_group *group)
{
	(void)rmdir(group->path);
}
