// SPDX-License-Identifier: Apache-2.0
/*
 * The control group that limits the CPU time of a process.
 *
 * Names of groups come from users: they are text for people, and no decision depends on them.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#define CGROUP_PATH_BYTES PATH_MAX

/* A group of the CPU controller. */
struct cgroup_cpu {
	bool is_v1;		      /* in a tree of version 1; else of version 2 */
	char path[CGROUP_PATH_BYTES]; /* below the root of its tree: "/system.slice/train.service" */
};

/**
 * cgroup_cpu_parse() - find the group of the CPU controller in the text of /proc/PID/cgroup
 * Return: 0; -ENOENT if there is none, or if it is outside of the caller's namespace
 */
int cgroup_cpu_parse(const char *text, struct cgroup_cpu *ret_group);
/**
 * cgroup_cpu_limit() - go up to the nearest group that has a quota
 * @tree_fd: root of the tree of the group
 * @group:   changed only if a group has one
 */
void cgroup_cpu_limit(int tree_fd, struct cgroup_cpu *group);
/**
 * cgroup_cpu_read() - the nearest group with a quota, or else the own group, of the process of a directory handle of
 * /proc
 * Return: 0 or -errno
 */
int cgroup_cpu_read(int process_fd, struct cgroup_cpu *ret_group);
