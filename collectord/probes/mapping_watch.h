// SPDX-License-Identifier: Apache-2.0
/*
 * Executable mappings that processes make, reported by the kernel (perf's mmap records). They reveal libraries that no
 * dynamic loader reports: the program has no loader, a loader without the debuggers' interface, or maps files by
 * itself.
 *
 * This needs no probe and no BPF program: each exec or dlopen on the machine writes one or two records into a ring,
 * which is read ten times a second.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct mapping_watch;

struct mapping_seen {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t start;	  /* address of the mapping */
	uint64_t device;  /* of the file itself: major << 32 | minor */
	uint64_t inode;
	uint32_t tgid;
};

typedef void (*mapping_seen_func)(const struct mapping_seen *seen, void *data);
/** typedef mapping_lost_func - records were lost, or there was no time for them: the mappings of processes must be
 * scanned */
typedef void (*mapping_lost_func)(void *data);

/**
 * mapping_watch_open() - open it; before mapping_watch_set() it reports nothing and holds no memory
 * Everything that needs privilege is done here.
 * Return: 0; -errno if the kernel or our permissions do not allow it
 */
int mapping_watch_open(uv_loop_t *loop, mapping_seen_func seen, mapping_lost_func lost, void *data,
		       struct mapping_watch **ret_watch);
/** mapping_watch_set() - switch reports on or off. Return: 0, or -errno: it is off then */
int mapping_watch_set(struct mapping_watch *watch, bool is_on);
/** mapping_watch_close() - close it; NULL is allowed. The memory is freed by the next turn of the loop */
void mapping_watch_close(struct mapping_watch *watch);
