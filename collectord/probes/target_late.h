// SPDX-License-Identifier: Apache-2.0
/*
 * Libraries that ran in a process before they were attached: their calls until then are missing, which is counted as
 * LOSS_LATE_LOAD, once for each process and file. Libraries that are not attached for lack of room are counted, too.
 *
 * A mapping reported by the kernel may be seen before the loader reports the same load. Then no code of the library has
 * run, and the process may still be stopped for it. So if the process has a loader that reports loads, that report is
 * awaited.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "probes/target.h"

struct target_file;

#define TARGET_LATES_EVENTS 4096
#define TARGET_LATES_TOLD 256 /* number of counted pairs that are kept, so that none is counted twice */

/* A process and a file. */
struct target_late_pair {
	uint64_t device;
	uint64_t inode;
	uint32_t tgid;
};

/*
 * A load that a loader has reported. If the kernel half could not identify the file, only the address is known at
 * first.
 */
struct target_late_told {
	struct target_late_pair pair; /* inode 0: file unknown */
	uint64_t base;
	bool is_counted; /* was counted before its file was known */
};

struct target_suspect {
	struct target_late_pair pair;
	uint64_t base; /* address of the mapping that made it a suspect */
	uint64_t loaded_ns, attached_ns;
	uint64_t seen_ns;
	bool is_gone; /* its process has ended: what its loader reported is on the ring or read */
};

struct target_lates {
	struct probe_set *probes;			/* borrowed */
	int proc_fd;					/* borrowed */
	struct target_late events[TARGET_LATES_EVENTS]; /* counted losses in order; the oldest are overwritten */
	uint64_t n_events;
	ARRAY(struct target_suspect) suspects;
	struct target_late_pair counted[TARGET_LATES_TOLD];
	size_t n_counted;
	struct target_late_told told[TARGET_LATES_TOLD];
	size_t n_told;
};

void target_lates_done(struct target_lates *lates);
/** target_lates_told() - the loader has reported a load: its mapping is no longer a suspect */
void target_lates_told(struct target_lates *lates, const struct target_load *load);
/** target_lates_found() - the file of a load that the loader has reported is known now */
void target_lates_found(struct target_lates *lates, const struct target_load *load, const struct target_file *file);
/**
 * target_lates_judge() - decide whether a load was late, when its file was found
 * @load: base 0: the load is of another file, or its address is unknown
 * @has_loader: the process has a loader that reports loads
 */
void target_lates_judge(struct target_lates *lates, const struct target_load *load, struct target_file *file,
			bool has_loader);
/** target_lates_turned_away() - count a process that runs with a file refused for lack of room */
void target_lates_turned_away(struct target_lates *lates, uint32_t tgid, const struct target_file *file);
/** target_lates_missed() - count a load reported by a loader whose file could not be examined any more */
void target_lates_missed(struct target_lates *lates, const struct target_load *load);
/** target_lates_count() - count a loss without further data. @owner: NULL: read from /proc; @tgid: 0: unknown */
void target_lates_count(struct target_lates *lates, uint32_t tgid, const struct target_owner *owner);
/** target_lates_seen() - as target_set_lates() */
uint64_t target_lates_seen(const struct target_lates *lates, uint64_t from, target_sees_func sees, void *data);
/** target_lates_look() - note which suspects' processes are gone. The ring is to be drained before
 * target_lates_settle(). */
void target_lates_look(struct target_lates *lates);
/** target_lates_settle() - count suspects whose process was gone at the look: no loader will report them any more */
void target_lates_settle(struct target_lates *lates);
/** target_lates_second() - count suspects that no loader has reported in time */
void target_lates_second(struct target_lates *lates, uint64_t now_ns);
