// SPDX-License-Identifier: Apache-2.0
/*
 * A file system below SQLite with faults: the process is killed inside a write, the disk is full, a write blocks, or
 * all writes are recorded so that a loss of power can be simulated later.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fault of the write with a given number; writes are counted from 1 since fault_vfs_set(). */
enum fault_kind {
	FAULT_NONE,
	FAULT_KILL, /* part of it is done, then the process is killed */
	FAULT_FULL, /* it fails with a full disk, once */
	FAULT_FULL_FOREVER,
	FAULT_STALL, /* it blocks until another kind is set */
};

/** fault_vfs_install() - make it SQLite's default for this process */
void fault_vfs_install(void);
/** fault_vfs_set() - set the fault, and restart the count of writes */
void fault_vfs_set(enum fault_kind kind, uint32_t at_write);
/** fault_vfs_writes() - number of writes so far */
uint32_t fault_vfs_writes(void);
/** fault_vfs_reads() - number of reads since the start of the process */
uint64_t fault_vfs_reads(void);
/** fault_vfs_is_hit() - whether the fault has happened */
bool fault_vfs_is_hit(void);

/** fault_vfs_trace() - note every write, truncation, sync and rename of files from now on; NULL: stop */
struct fault_trace;
struct fault_trace *fault_trace_new(void);
void fault_trace_free(struct fault_trace *trace);
void fault_vfs_trace(struct fault_trace *trace);
/** fault_trace_mark() - position in the trace, for fault_trace_replay() */
size_t fault_trace_mark(struct fault_trace *trace);

enum replay_kind {
	REPLAY_LOST,  /* no unsynced write was kept */
	REPLAY_KEPT,  /* all unsynced writes were kept */
	REPLAY_MIXED, /* some unsynced writes were kept, in any order, some torn at 512 bytes */
};
/**
 * fault_trace_replay() - write the files as a loss of power at a position would leave them
 * @directory: where to write them, under their file names
 * Return: 0 or -errno
 */
int fault_trace_replay(const struct fault_trace *trace, size_t position, enum replay_kind kind, uint32_t seed,
		       const char *directory);
