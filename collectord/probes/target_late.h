// SPDX-License-Identifier: Apache-2.0
/*
 * Libraries that ran in a process before they were attached: their calls until then are
 * missing, which is counted as LOSS_LATE_LOAD, once for each process and file. So are those
 * that are not attached for want of room.
 *
 * A mapping that the kernel told of may be seen before the loader tells of the same load,
 * which has not run any code then, and may still be stopped for it. So where there is
 * such a loader, it is waited for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "probes/target.h"

struct target_file;

#define TARGET_LATES_EVENTS 4096
#define TARGET_LATES_TOLD 256 /* remembered, so that none is counted twice */

/* A process and a file. */
struct target_late_pair {
	uint64_t device;
	uint64_t inode;
	uint32_t tgid;
};

/* A load that a loader told of. Where the kernel half did not know the file, the place is all that is known at first.
 */
struct target_late_told {
	struct target_late_pair pair; /* inode 0: file not known */
	uint64_t base;
	bool is_counted; /* before its file was known */
};

struct target_suspect {
	struct target_late_pair pair;
	uint64_t base; /* of the mapping that made it one */
	uint64_t loaded_ns, attached_ns;
	uint64_t seen_ns;
};

struct target_lates {
	struct probe_set *probes;			/* borrowed */
	int proc_fd;					/* borrowed */
	struct target_late events[TARGET_LATES_EVENTS]; /* what was counted, in order; the oldest are forgotten */
	uint64_t n_events;
	ARRAY(struct target_suspect) suspects;
	struct target_late_pair counted[TARGET_LATES_TOLD];
	size_t n_counted;
	struct target_late_told told[TARGET_LATES_TOLD];
	size_t n_told;
};

void target_lates_done(struct target_lates *lates);
/** target_lates_told() - the loader has told of a load: what the mapping made suspect is no longer */
void target_lates_told(struct target_lates *lates, const struct target_load *load);
/**
 * target_lates_judge() - a file was found that a process has loaded
 * @load:       base 0: the load is of another file, or its place is not known
 * @has_loader: the process has a loader that tells of loads
 */
void target_lates_judge(struct target_lates *lates, const struct target_load *load, struct target_file *file,
			bool has_loader);
/** target_lates_turned_away() - a process runs with a file that there is no room to attach */
void target_lates_turned_away(struct target_lates *lates, uint32_t tgid, const struct target_file *file);
/** target_lates_missed() - what a loader told of could not be looked at any more */
void target_lates_missed(struct target_lates *lates, const struct target_load *load);
/** target_lates_count() - one that nobody will know more of. @owner: NULL: as /proc says; @tgid: 0: not known */
void target_lates_count(struct target_lates *lates, uint32_t tgid, const struct target_owner *owner);
/** target_lates_seen() - as target_set_lates() */
uint64_t target_lates_seen(const struct target_lates *lates, uint64_t from, target_sees_func sees, void *data);
/** target_lates_settle() - count suspects whose process is gone: no loader will tell of them any more */
void target_lates_settle(struct target_lates *lates);
/** target_lates_second() - count suspects of which no loader told */
void target_lates_second(struct target_lates *lates, uint64_t now_ns);
