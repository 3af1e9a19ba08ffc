// SPDX-License-Identifier: Apache-2.0
/*
 * The database of one recorder: what the loop hands over, one thread writes.
 *
 * Nothing here blocks the loop or fails it. Events are packed at once (codec.h) and
 * committed about once a second with everything else of that second, then sealed into
 * column blocks. What cannot be written is kept as far as a bounded queue goes, then
 * counted and recorded as a gap. Schema: schema.sql.
 *
 * Times are monotonic; the thread keeps the mapping to the wall clock in the file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events/event.h"
#include "events/sink.h"
#include "figures/tick.h"

struct finding;
struct store;
struct system_sample;

/* Where times come from: the machine (clock.h), or who replays. */
struct store_clock {
	uint64_t (*now_ns)(void *data);
	uint64_t (*to_unix_ns)(uint64_t monotonic_ns, void *data);
	void *data;
};

struct store_options {
	const char *path;
	bool is_own_place; /* a path nobody typed: what is there and is no database of ours is renamed; else left alone
			    */
	bool has_owner;	   /* open every file with this user's credentials alone, so that it is his */
	uint32_t owner_uid;
	uint32_t owner_gid;
	bool skips_guarded;   /* processes that a user may not look into are not kept: the file is a user's own */
	uint64_t max_bytes;   /* oldest first is deleted beyond; 0: no limit */
	uint64_t max_age_ns;  /* 0: none */
	const char *version;  /* of the recorder */
	const char *kernel;   /* release */
	const char *back_end; /* what table session says */
	const char *boot_id;  /* NULL: this machine's, now */
	const struct store_clock *clock; /* NULL: this machine's; copied; asked on the caller's thread alone */
};

/**
 * store_open() - start the writing thread, which opens the file
 * @why: at least 512 bytes: one sentence; on success what was set aside, or ""
 *
 * Waits until the file is open. Call it before privilege is given up when has_owner is set.
 *
 * Return: 0; -EBUSY (another recorder writes it), -EEXIST (not a database of ours, or a
 * newer version's, and not to be renamed), -EROFS, -EACCES, -ENOSPC, -errno
 */
int store_open(const struct store_options *options, char *why, size_t why_bytes, struct store **ret_store);
/** store_close() - commit, seal, checkpoint, end the thread; waits for it. NULL is fine */
void store_close(struct store *store);

/** store_sink() - what is kept of everything that comes, by the functions below; NULL: nothing */
struct sink store_sink(struct store *store);

/* From the loop; each copies what it needs. */
void store_call(struct store *store, const struct event *event);
/** store_tick() - figures, processes gone, losses and the system sample of one tick; also what makes a commit due */
void store_tick(struct store *store, const struct tick *tick);
/** store_finding() - as it is now; replaces what was kept under its id */
void store_finding(struct store *store, const struct finding *finding);
/** store_cost() - message ingero.v1.Cost, packed: what recording has cost up to now; kept with the next commit */
void store_cost(struct store *store, const void *message, size_t n);
/** store_back_end() - @name: static; what table session says from the next commit on */
void store_back_end(struct store *store, const char *name);
/** store_gone() - a process has ended, in a second that no tick tells of; of unknown ones nothing is noted */
void store_gone(struct store *store, const struct process_identity *identity, uint64_t gone_ns);

/* How it is doing, for status and for every answer. */
struct store_state {
	const char *path;
	bool is_failing;	 /* the last commit failed; what comes is queued, then lost */
	char problem[256];	 /* one sentence, "" when none */
	uint64_t bytes;		 /* of the files */
	uint64_t oldest_unix_ns; /* how far back events go; 0: none */
	uint64_t events;	 /* kept since open */
	uint64_t not_kept;	 /* since open: no room in the queue */
	uint64_t cpu_ns;	 /* of the thread, since open */
};
void store_state(struct store *store, struct store_state *ret_state);
/** store_boot() - number of this boot in the file: the first part of a call's public id */
uint32_t store_boot(const struct store *store);
/**
 * store_flush() - wait until everything handed over so far is committed or has failed
 * Return: 0; -ETIMEDOUT: the disk is slow, it is still being written; -errno
 */
int store_flush(struct store *store);
