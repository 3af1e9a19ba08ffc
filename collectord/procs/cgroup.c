// SPDX-License-Identifier: Apache-2.0
#include "procs/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define TEXT_BYTES 8192
#define LIMIT_BYTES 64
#define FILE_NAME_BYTES 24 /* of "/cpu.cfs_quota_us" */

/* Where a tree with the CPU controller is mounted, most usual first. */
static const char *const trees_v1[] = { "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct" };
static const char *const trees_v2[] = { "/sys/fs/cgroup" };

/* Whether a list "cpu,cpuacct" names the CPU controller. */
static bool has_cpu(const char *list, size_t n)
{
	const char *end = list + n;

	while (list < end) {
		size_t word = 0;

		while (list + word < end && list[word] != ',')
			word++;
		if (word == 3 && strncmp(list, "cpu", 3) == 0)
			return true;
		list += word + 1;
	}
	return false;
}

/* One line, "4:cpu,cpuacct:/group" or "0::/group", without its line end. */
static bool line_parse(const char *line, size_t n, struct cgroup_cpu *group)
{
	const char *list = memchr(line, ':', n), *path;

	list = list ? list + 1 : NULL;
	path = list ? memchr(list, ':', n - (size_t)(list - line)) : NULL;
	if (!path)
		return false;
	path++;
	n -= (size_t)(path - line);
	if (n == 0 || n >= sizeof(group->path) || path[0] != '/')
		return false;
	if (strncmp(line, "0::", 3) == 0)
		group->is_v1 = false;
	else if (has_cpu(list, (size_t)(path - 1 - list)))
		group->is_v1 = true;
	else
		return false;
	memcpy(group->path, path, n);
	group->path[n] = '\0';
	return true;
}

int cgroup_cpu_parse(const char *text, struct cgroup_cpu *ret_group)
{
	struct cgroup_cpu group = { .path = "" };
	bool is_found = false;

	while (*text) {
		size_t n = strcspn(text, "\n");
		struct cgroup_cpu one;

		/* If both trees are mounted, a controller is in one of them: one of version 1 has it for certain. */
		if (line_parse(text, n, &one) && (!is_found || one.is_v1)) {
			group = one;
			is_found = true;
		}
		text += n + (text[n] == '\n');
	}
	if (!is_found || strncmp(group.path, "/..", 3) == 0)
		return -ENOENT;
	*ret_group = group;
	return 0;
}

/* Whether the file of a quota has one: "max 100000" and "-1" are none. */
static bool is_limited(int tree_fd, const struct cgroup_cpu *group, const char *path)
{
	char name[CGROUP_PATH_BYTES + FILE_NAME_BYTES], text[LIMIT_BYTES];
	int n = snprintf(name, sizeof(name), ".%s/%s", path, group->is_v1 ? "cpu.cfs_quota_us" : "cpu.max");

	if (n < 0 || (size_t)n >= sizeof(name) || fd_read_file_at(tree_fd, name, text, sizeof(text)) < 0)
		return false;
	return text[0] >= '0' && text[0] <= '9';
}

void cgroup_cpu_limit(int tree_fd, struct cgroup_cpu *group)
{
	char path[CGROUP_PATH_BYTES];
	char *slash;

	(void)snprintf(path, sizeof(path), "%s", strcmp(group->path, "/") == 0 ? "" : group->path);
	while (!is_limited(tree_fd, group, path)) {
		slash = strrchr(path, '/');
		if (!slash)
			return;
		*slash = '\0';
	}
	(void)snprintf(group->path, sizeof(group->path), "%s", path[0] ? path : "/");
}

int cgroup_cpu_read(int process_fd, struct cgroup_cpu *ret_group)
{
	char text[TEXT_BYTES];
	int r;
	ssize_t n = fd_read_file_at(process_fd, "cgroup", text, sizeof(text));

	if (n < 0)
		return (int)n;
	r = cgroup_cpu_parse(text, ret_group);
	if (r < 0)
		return r;
	for (size_t i = 0; i < (ret_group->is_v1 ? ARRAY_SIZE(trees_v1) : ARRAY_SIZE(trees_v2)); i++) {
		CLEANUP(closep)
		int tree_fd = open(ret_group->is_v1 ? trees_v1[i] : trees_v2[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (tree_fd < 0)
			continue;
		cgroup_cpu_limit(tree_fd, ret_group);
		break;
	}
	return 0;
}
