// SPDX-License-Identifier: Apache-2.0
/*
 * The file system below SQLite, with accidents: the process dies inside a write, the disk is
 * full, or everything written is noted so that a loss of power can be played later.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a write does when its number comes; numbers count from 1 from fault_vfs_reset() on. */
enum fault_kind {
	FAULT_NONE,
	FAULT_KILL, /* part of it is done, then the process ends without another word */
	FAULT_FULL, /* it finds no space, once */
	FAULT_FULL_FOREVER,
	FAULT_STALL, /* it does not come back until another kind is set */
};

/** fault_vfs_install() - becomes SQLite's default for this process */
void fault_vfs_install(void);
/** fault_vfs_set() - counts from 0 again */
void fault_vfs_set(enum fault_kind kind, uint32_t at_write);
/** fault_vfs_writes() - so far */
uint32_t fault_vfs_writes(void);
/** fault_vfs_reads() - since the start of the process */
uint64_t fault_vfs_reads(void);
/** fault_vfs_is_hit() - whether the accident has happened */
bool fault_vfs_is_hit(void);

/** fault_vfs_trace() - note every write, truncation, sync and rename of files from now on; NULL: stop */
struct fault_trace;
struct fault_trace *fault_trace_new(void);
void fault_trace_free(struct fault_trace *trace);
void fault_vfs_trace(struct fault_trace *trace);
/** fault_trace_mark() - position in the trace, for fault_trace_replay() */
size_t fault_trace_mark(struct fault_trace *trace);

enum replay_kind {
	REPLAY_LOST,  /* nothing unsynced is there */
	REPLAY_KEPT,  /* all of it */
	REPLAY_MIXED, /* some, in any order, some of it torn at 512 bytes */
};
/**
 * fault_trace_replay() - the files as a loss of power at a position would leave them
 * @directory: gets them, under their own last names
 * Return: 0 or -errno
 */
int fault_trace_replay(const struct fault_trace *trace, size_t position, enum replay_kind kind, uint32_t seed,
		       const char *directory);
