// SPDX-License-Identifier: Apache-2.0
/*
 * The database of one recorder: the loop hands data over, one thread writes it.
 *
 * Nothing here blocks the loop or makes it fail. Events are packed at once (codec.h) and committed about once a second
 * with all other data of that second, then sealed into column blocks. Data that cannot be written waits in a bounded
 * queue; data that does not fit into the queue is lost, counted, and recorded as a gap. Schema: schema.sql.
 *
 * Times are monotonic; the thread stores the mapping to the wall clock in the file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events/event.h"
#include "events/sink.h"
#include "figures/tick.h"
#include "procs/subordinate.h"

struct finding;
struct stack;
struct store;
struct system_sample;

/* Source of times: the machine (clock.h), or a replay. */
struct store_clock {
	uint64_t (*now_ns)(void *data);
	uint64_t (*to_unix_ns)(uint64_t monotonic_ns, void *data);
	void *data;
};

struct store_options {
	const char *path;
	bool is_own_place; /* a default path: a file that is no database of ours is renamed; else it is left alone */
	bool has_owner;	   /* open every file with this user's credentials alone, so that it belongs to the user */
	uint32_t owner_uid;
	uint32_t owner_gid;
	bool skips_guarded;		 /* leave out guarded processes: the file belongs to a user */
	struct subordinate together;	 /* user ids that share one place: those beside the users' own */
	uint64_t max_bytes;		 /* beyond, the oldest data is deleted; 0: no limit */
	uint64_t max_age_ns;		 /* older data is deleted; 0: no limit */
	const char *version;		 /* of the recorder */
	const char *kernel;		 /* release */
	const char *back_end;		 /* of the probes: session.back_end */
	const char *boot_id;		 /* NULL: that of the running machine */
	const struct store_clock *clock; /* NULL: this machine's; copied; called on the caller's thread alone */
};

/**
 * store_open() - start the writing thread, which opens the file
 * @why: at least 512 bytes: one sentence; on success the file that was set aside, or ""
 *
 * Waits until the file is open. Call it before privilege is dropped when has_owner is set.
 *
 * Return: 0; -EBUSY (another recorder writes it), -EEXIST (not a database of ours, or a newer version's, and not to be
 * renamed), -EROFS, -EACCES, -ENOSPC, -errno
 */
int store_open(const struct store_options *options, char *why, size_t why_bytes, struct store **ret_store);
/** store_close() - commit, seal, checkpoint, end the thread; waits for it. NULL is allowed */
void store_close(struct store *store);

/** store_sink() - the sink that stores all events by the functions below; NULL: none */
struct sink store_sink(struct store *store);

/* Called by the loop; each function copies its data. */
void store_call(struct store *store, const struct event *event);
/** store_stack() - store the frames of a stack that became ready, if calls with it were stored */
void store_stack(struct store *store, const struct stack *stack);
/** store_tick() - store figures, ended processes, losses and the system sample of one tick; makes a commit due */
void store_tick(struct store *store, const struct tick *tick);
/** store_finding() - store the current state of a finding; replaces the stored state of the same id */
void store_finding(struct store *store, const struct finding *finding);
/** store_cost() - store message ingero.v1.Cost, packed: the cost of recording so far; written with the next commit */
void store_cost(struct store *store, const void *message, size_t n);
/** store_back_end() - set the back end of table session from the next commit on; @name: static */
void store_back_end(struct store *store, const char *name);
/** store_gone() - store the end of a process that no tick reports; an unknown process is ignored */
void store_gone(struct store *store, const struct process_identity *identity, uint64_t gone_ns);

/* State of the store, for status and for every answer. */
struct store_state {
	const char *path;
	bool is_failing;	 /* the last commit failed; data is queued, then lost */
	char problem[256];	 /* one sentence, "" without a problem */
	uint64_t bytes;		 /* of the file, its log and its index */
	uint64_t oldest_unix_ns; /* time of the oldest event; 0: none */
	uint64_t events;	 /* stored since open */
	uint64_t not_kept;	 /* events lost since open: no room in the queue, or for their owner in the file */
	uint64_t cpu_ns;	 /* CPU time of the thread, since open */
	uint64_t records_ns;	 /* of it, for single calls */
};
void store_state(struct store *store, struct store_state *ret_state);
/** store_boot() - number of this boot in the file: the first part of a call's public id */
uint32_t store_boot(const struct store *store);
/**
 * store_flush() - wait until all data handed over so far is committed or has failed
 * Return: 0; -ETIMEDOUT: the disk is slow, and writing continues; -errno
 */
int store_flush(struct store *store);
