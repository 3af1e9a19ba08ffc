// SPDX-License-Identifier: Apache-2.0
/*
 * The writing thread's side of the store: takes batches, commits, seals.
 *
 * A batch is first taken over, once; then all data that is not yet in the file is written in one transaction, which is
 * repeated until it succeeds. Rows have their ids before they are written, so writing twice changes nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "archive/write/batch.h"
#include "archive/write/buckets.h"
#include "archive/codec/codec.h"
#include "archive/write/db.h"
#include "archive/write/known.h"
#include "archive/write/names.h"
#include "archive/write/place.h"
#include "archive/write/store.h"

#define WRITER_WHY_BYTES 512
#define SEAL_EVENTS 65536		 /* sealed together: 13 bytes an event instead of 30 in the tail */
#define SEAL_NS (15 * 60 * NSEC_PER_SEC) /* or when the tail is this old */

/* A gap whose row may still grow. */
struct writer_gap {
	int64_t id;
	int64_t boot;
	bool is_dirty; /* changed since it was written */
	struct batch_gap gap;
};

/* Whether new data of an owner is stored (stopped.c). */
enum owner_storing {
	OWNER_STORED,
	OWNER_STOPPED,
	OWNER_RESUMES, /* with the next commit, which writes the rows of its processes again */
};

struct writer_owner {
	uint32_t uid; /* UINT32_MAX: the machine */
	enum owner_storing storing;
	uint64_t tail_events;
};

/* Kinds of data that count in the share of an owner. */
enum share_kind {
	SHARE_CALLS,
	SHARE_FIGURES, /* with accounts and waits */
	SHARE_FINDINGS,
	SHARE_STACKS, /* with their frames */
	SHARE_PROCESSES,
	SHARE_DAMAGED,
	SHARE_GAPS,
	SHARE_SNAPSHOTS,
	SHARE_KINDS
};

struct writer {
	struct db db;
	struct place place;
	struct store_options options; /* borrowed texts */
	int64_t boot;
	int64_t session;
	int64_t next_tail, next_block, next_gap, next_figures;
	uint32_t last_stack;   /* last id of table stack that was given */
	uint32_t stack_losses; /* number of times that rows of table stack were lost that later calls may name */
	uint64_t now_ns;       /* of the last batch */
	uint64_t now_unix_ns;
	struct batch *batch; /* taken, not yet committed; owned */
	int64_t first_tail;  /* row id of its first tail; the others follow */
	struct buckets buckets;
	ARRAY(struct writer_gap) gaps;
	ARRAY(struct writer_gap) retention_gaps; /* how far data was deleted, by owner, boot and reason */
	ARRAY(struct writer_owner) owners;
	struct names names;	    /* of this boot's processes */
	ARRAY(struct batch_op) ops; /* operations without a row in ops.def, as in the file */
	struct block_encoder *encoder;
	uint64_t tail_events;
	uint64_t tail_since_ns;	       /* 0: the tail is empty */
	uint64_t retained_ns;	       /* time of the last check of ages */
	int64_t scrub_next, scrub_end; /* blocks still to be verified after an unclean end */
	uint64_t oldest_unix_ns;
	uint64_t stop_seen_ns; /* time of the last deletion by size */
	uint64_t records_ns;   /* CPU time that writing and sealing single calls took */
	uint64_t n_stopped;    /* events not stored, of stopped owners */
};

#define WRITER_INIT                                                                                                    \
	{                                                                                                              \
		.db = DB_INIT, .place = PLACE_INIT                                                                     \
	}

/**
 * writer_open() - do all work of store_open(), on the calling thread
 * @now_ns, @now_unix_ns: current time, by both clocks
 * @known: gets the processes of this boot in the file
 * Return: as store_open(); call writer_close() in all cases
 */
int writer_open(struct writer *writer, const struct store_options *options, uint64_t now_ns, uint64_t now_unix_ns,
		struct known *known, char *why);
/**
 * writer_take() - take over a batch, after the one before was written. Return: 0 or -ENOMEM (some data was lost)
 */
int writer_take(struct writer *writer, struct batch *batch);
/** writer_write() - write all data that is not in the file yet. Return: 0, or -errno and nothing has changed */
int writer_write(struct writer *writer);
/** writer_tidy() - seal, retention, checkpoint, when they are due. Return: 0 or -errno (tried again next time) */
int writer_tidy(struct writer *writer);
/** writer_make_room() - after -ENOSPC: delete some of the oldest data. Return: 0 or -errno */
int writer_make_room(struct writer *writer);
/**
 * writer_repair() - after -EBADMSG: set the file aside, continue in a new one with all readable data. Return: 0 or
 * -errno
 */
int writer_repair(struct writer *writer);
/** writer_close() - seal, end the session, close the file. Return: 0 or -errno of a failed write */
int writer_close(struct writer *writer);

/* ---- shared by the files of the writer ---- */

/** writer_owner() - entry of an owner. Return: borrowed until the next call, NULL without memory */
struct writer_owner *writer_owner(struct writer *writer, uint32_t uid);
/** writer_put_process() - write one row within the current transaction. Return: 0 or -errno */
int writer_put_process(struct writer *writer, const struct batch_process *process);
/** writer_put_finding(), writer_put_sample() - one row of the writer's boot, likewise. Return: 0 or -errno */
int writer_put_finding(struct writer *writer, const struct batch_finding *finding);
int writer_put_sample(struct writer *writer, const struct system_sample *sample);
/** writer_put_op() - write one row within the current transaction, unless it exists. Return: 0 or -errno */
int writer_put_op(struct writer *writer, const struct batch_op *op);
/** writer_put_gap() - write one row within the current transaction. Return: 0 or -errno */
int writer_put_gap(struct writer *writer, int64_t id, int64_t boot, const struct batch_gap *gap);
/**
 * writer_put_figures() - write one row within the current transaction; a row of 10 s replaces its parts
 * @row: gets its id
 * Return: 0 or -errno
 */
int writer_put_figures(struct writer *writer, int64_t boot, struct bucket_row *row);
/** writer_unix_ns() - convert by the file's clock rows. Return: 0, or -errno (-ENODATA: no clock row of the boot) */
int writer_unix_ns(struct writer *writer, int64_t boot, uint64_t mono_ns, uint64_t *ret_unix_ns);
/** writer_find_oldest() - find the time of the oldest event. Return: 0 or -errno */
int writer_find_oldest(struct writer *writer);

/** writer_put_stack() - write one row with its frames within the current transaction. Return: 0 or -errno */
int writer_put_stack(struct writer *writer, const struct batch_stack *stack);
/** writer_delete_stack() - delete one row, and frames that no other stack has, likewise. Return: 0 or -errno */
int writer_delete_stack(struct writer *writer, int64_t id);
/**
 * writer_check_stacks() - after damage: delete stacks without one of their frames, and count frames anew, likewise
 * Return: 0 or -errno
 */
int writer_check_stacks(struct writer *writer);

struct writer_block {
	int64_t id;
	uint32_t uid;
	int64_t boot;
	const struct block_head *head;
	const struct stored_event *events; /* head->n */
	const struct buf *data;
};
/** writer_put_block() - write header and contents within the current transaction. Return: 0 or -errno */
int writer_put_block(struct writer *writer, const struct writer_block *block);

/**
 * seal_events() - write n events of one owner and boot as blocks, within the current transaction. Return: 0 or -errno
 */
int seal_events(struct writer *writer, uint32_t uid, int64_t boot, struct stored_event *events, size_t n);
/** seal_owner() - seal the tail of one owner and boot, in transactions of its own. Return: 0 or -errno */
int seal_owner(struct writer *writer, uint32_t uid, int64_t boot);
/** seal_all() - seal the whole tail. Return: 0 or -errno */
int seal_all(struct writer *writer);

/** retention_load() - load the gaps that deletion wrote. Return: 0 or -errno */
int retention_load(struct writer *writer);
/**
 * retention_commit() - end a transaction that may have deleted blocks; on failure the counts are restored, too. Return:
 * r, or -errno of the commit
 */
int retention_commit(struct writer *writer, int r);
/** retention_note() - note in a gap that data was deleted, within the current transaction. Return: 0 or -errno */
int retention_note(struct writer *writer, int64_t boot, const struct batch_gap *gap);
/** retention_by_size() - delete by size within the current transaction, when it is due. Return: 0 or -errno */
int retention_by_size(struct writer *writer);
/**
 * retention_stacks() - delete stacks of an owner and boot that no call has any more, within the current transaction
 * Return: number of deleted rows, at most RETENTION_STACKS_MAX, or -errno
 */
int retention_stacks(struct writer *writer, uint32_t uid, int64_t boot);
#define RETENTION_STACKS_MAX 4096
/** retention_all_stacks() - the same for all owners and boots. Return: 0 or -errno */
int retention_all_stacks(struct writer *writer);
/** retention_by_age() - delete by age in a transaction of its own. Return: 0 or -errno */
int retention_by_age(struct writer *writer);
/**
 * retention_delete_some() - delete the oldest calls, in a transaction of its own. Return: 0, -ENOENT (none), -errno
 */
int retention_delete_some(struct writer *writer, uint64_t bytes);

/** stopped_owner() - the user id whose entry says whether data of a user is stored */
uint32_t stopped_owner(const struct writer *writer, uint32_t uid);
/** stopped_any(), stopped_is() - whether any owner, this owner, is stopped */
bool stopped_any(const struct writer *writer);
bool stopped_is(const struct writer *writer, uint32_t uid);
/** stopped_end() - store data of all owners from the next batch on */
void stopped_end(struct writer *writer);
/** stopped_drop() - take data of stopped owners out of a batch, with a gap for it */
void stopped_drop(struct writer *writer, struct batch *batch);
/** stopped_put_ends() - write the end of a process of a stopped owner, if it has a row. Return: 0 or -errno */
int stopped_put_ends(struct writer *writer, const struct batch_process *process);
/** stopped_put_resumed() - write the processes of owners that are stored again. Return: 0 or -errno */
int stopped_put_resumed(struct writer *writer);
/** stopped_resumed() - that was committed */
void stopped_resumed(struct writer *writer);

/** recover_previous() - complete sessions, tails and figures of runs that ended unexpectedly. Return: 0 or -errno */
int recover_previous(struct writer *writer);
/**
 * recover_gone() - write the end of processes that ended while no recorder ran, within the current transaction. Return:
 * 0 or -errno
 */
int recover_gone(struct writer *writer);
/** scrub_some() - verify checksums of some blocks. Return: 0 or -errno */
int scrub_some(struct writer *writer);
/**
 * salvage_heads() - restore headers of blocks whose contents are left, within the current transaction. Return: 0 or
 * -errno
 */
int salvage_heads(struct writer *writer);
/** salvage() - copy everything readable of a damaged file into this empty one. Return: 0 or -errno */
int salvage(struct writer *writer, const char *damaged_path);
