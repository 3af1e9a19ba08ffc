// SPDX-License-Identifier: Apache-2.0
/*
 * Our own kind of file (schema.sql) as a source of source.h; shared by the own files alone.
 */
#pragma once

#include "base/array.h"
#include "archive/read/source.h"
#include "archive/sql/sql.h"

#define READ_OWN_VERSION 2 /* PRAGMA user_version that is understood, and all before it */

struct own_clock {
	uint64_t mono_ns;
	uint64_t unix_ns;
};

struct own_boot {
	uint32_t id;
	ARRAY(struct own_clock) clocks; /* by mono_ns; never empty */
};

/* A place in the hash table of processes that were asked for. */
struct own_process {
	uint32_t id;
	bool is_visible; /* there and in scope */
	struct read_process row;
	char comm[64];
};

struct own_op {
	struct read_op row;
	char *text; /* source, name and short name, one behind another */
};

/* Rows that were found damaged while reading: answered as gaps, never as data. */
struct own_damage {
	uint64_t from_unix_ns;
	uint64_t to_unix_ns;
	uint64_t n;
	int64_t id;
	char kind; /* 'b' block, 't' tail, 'f' figures, 'x' finding */
};

/* Room to unpack blocks in. */
struct own_scratch {
	struct block_decoder *decoder;
	struct stored_event *events; /* BLOCK_EVENTS_MAX */
};

struct own_source {
	struct read_source base;
	sqlite3 *db;
	int64_t version;  /* of its tables */
	bool is_imported; /* Ingero recorded it */
	struct read_scope scope;
	ARRAY(struct own_boot) boots;
	ARRAY(struct own_op) ops;
	struct own_process **processes; /* n_places, open addressing */
	size_t n_places;
	size_t n_processes;
	sqlite3_stmt *process_find;
	ARRAY(struct own_damage) damage;
	struct own_scratch *scratch; /* of a cursor that was closed, for the next; NULL: none */
};

/** own_damaged() - note it once. Return: 0 or -ENOMEM */
int own_damaged(struct own_source *own, char kind, int64_t id, uint32_t boot, uint64_t t0, uint64_t t1, uint64_t n);

/** own_boot() - NULL where there is none */
const struct own_boot *own_boot(const struct own_source *own, uint32_t id);
/** own_unix() - wall-clock time of a moment of a boot; a boot that is not known has no offset */
uint64_t own_unix(const struct own_boot *boot, uint64_t mono_ns);
/** own_unix_range() - earliest and latest wall-clock time of anything between two moments */
void own_unix_range(const struct own_boot *boot, uint64_t t0, uint64_t t1, uint64_t *ret_from, uint64_t *ret_to);
/** own_mono_range() - hull of the moments of a boot in [from, to); 0: no bound. Return: whether there are any */
bool own_mono_range(const struct own_boot *boot, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t *ret_from,
		    uint64_t *ret_to);

const struct read_process *own_process(struct read_source *source, uint32_t id);
int own_processes(struct read_source *source, read_process_func func, void *data);
const struct read_op *own_op(struct read_source *source, uint32_t id);
int own_ops(struct read_source *source, read_op_func func, void *data);

int own_cursor_open(struct read_source *source, const struct read_filter *filter, struct read_cursor **ret_cursor);
int own_cursor_next(struct read_cursor *cursor, struct read_batch *ret_batch);
void own_cursor_close(struct read_cursor *cursor);
void own_scratch_free(struct own_source *own);
int own_count(struct read_source *source, const struct read_filter *filter, uint64_t *ret_n);

int own_buckets(struct read_source *source, uint64_t from_unix_ns, uint64_t to_unix_ns, read_bucket_func func,
		void *data);
int own_sums(struct read_source *source, uint64_t from_unix_ns, uint64_t to_unix_ns, read_bucket_func func, void *data);

int own_stacks(struct read_source *source, uint32_t only_id, read_stack_func func, void *data);
int own_findings(struct read_source *source, uint64_t from_unix_ns, uint64_t to_unix_ns, read_finding_func func,
		 void *data);
int own_gaps(struct read_source *source, uint64_t from_unix_ns, uint64_t to_unix_ns, read_gap_func func, void *data);
int own_snapshots(struct read_source *source, uint64_t from_unix_ns, uint64_t to_unix_ns, read_snapshot_func func,
		  void *data);
int own_sessions(struct read_source *source, read_session_func func, void *data);
int own_cost(struct read_source *source, uint64_t from_unix_ns, uint64_t to_unix_ns, Ingero__V1__Cost *ret_cost);
int own_span(struct read_source *source, uint64_t *ret_from_unix_ns, uint64_t *ret_to_unix_ns);
int own_seen(struct read_source *source, uint64_t *ret_unix_ns);
