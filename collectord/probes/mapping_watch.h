// SPDX-License-Identifier: Apache-2.0
/*
 * Executable mappings that processes make, told by the kernel (perf's mmap records): the
 * way to libraries that no dynamic loader tells of, because a program has none, one
 * without the debuggers' interface, or maps files by itself.
 *
 * No probe and no program of ours: an exec or a dlopen by anybody writes a line or two
 * into a ring, which is looked at ten times a second.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct mapping_watch;

struct mapping_seen {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t start;	  /* address */
	uint64_t device;  /* of the file itself: major << 32 | minor */
	uint64_t inode;
	uint32_t tgid;
};

typedef void (*mapping_seen_func)(const struct mapping_seen *seen, void *data);
/** typedef mapping_lost_func - some were not told: what processes map must be looked at */
typedef void (*mapping_lost_func)(void *data);

/**
 * mapping_watch_open() - nothing is told before mapping_watch_set(), and no memory is held for it
 * All that needs privilege is done here.
 * Return: 0; -errno when this kernel, or what we may do, does not allow it
 */
int mapping_watch_open(uv_loop_t *loop, mapping_seen_func seen, mapping_lost_func lost, void *data,
		       struct mapping_watch **ret_watch);
/** mapping_watch_set() - Return: 0, or -errno: it is off then */
int mapping_watch_set(struct mapping_watch *watch, bool is_on);
/** mapping_watch_drain() - tell what waits now, instead of at the next look */
void mapping_watch_drain(struct mapping_watch *watch);
/** mapping_watch_close() - NULL is fine; freed by the loop's next turn */
void mapping_watch_close(struct mapping_watch *watch);
