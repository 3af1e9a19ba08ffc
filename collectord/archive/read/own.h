// SPDX-License-Identifier: Apache-2.0
/* One file of a reader (files.c): an open database of ours (schema.sql). Ids here are those of the file. */
#pragma once

#include "base/arena.h"
#include "base/array.h"
#include "archive/read/read.h"
#include "archive/sql/sql.h"

#define READ_OWN_VERSION 5 /* newest supported PRAGMA user_version; all earlier ones are supported, too */

struct own_clock {
	uint64_t mono_ns;
	uint64_t unix_ns;
};

struct own_boot {
	uint32_t id;
	char node[READ_NODE_BYTES];	/* "": unknown */
	ARRAY(struct own_clock) clocks; /* ascending by mono_ns; never empty */
};

/* Entry of the hash table that caches processes by id. */
struct own_process {
	uint32_t id;
	bool is_visible; /* the process exists and is in scope */
	struct read_process row;
	char comm[64];
};

struct own_op {
	struct read_op row;
	char *text; /* holds source, name and short name, one after another */
};
/* Operations of all files of a reader, sorted by id. */
struct own_ops {
	struct own_op *items;
	size_t n;
	size_t room;
};
struct own_op_number {
	uint32_t own; /* id in the file's table op */
	uint32_t id;  /* id of the same operation in the reader */
};

/* A row that was found damaged while reading: reported as a gap, never as data. */
struct own_damage {
	uint64_t from_unix_ns;
	uint64_t to_unix_ns;
	uint64_t n;
	int64_t id;
	uint32_t boot;
	char kind; /* 'b' block, 't' tail, 'f' figures, 'x' finding */
};

/* A row of table stack in scope. */
struct own_stack {
	uint32_t id;
	uint32_t first; /* lowest id of the owner's rows with the same frames */
	bool is_complete;
	const struct read_stack *stack; /* in own_file.stacks_arena; NULL: not read */
};

struct own_frame;

/* Memory for unpacking blocks. */
struct own_scratch {
	struct block_decoder *decoder;
	struct stored_event *events; /* BLOCK_EVENTS_MAX */
};

struct own_file {
	sqlite3 *db;
	int64_t version;  /* version of its tables: PRAGMA user_version */
	bool is_imported; /* recorded by Ingero and imported */
	struct read_scope scope;
	ARRAY(struct own_boot) boots;
	char node[READ_NODE_BYTES]; /* node of its newest session; if unknown and one of several: name of the file */
	size_t n_nodes;		    /* number of nodes of its boots */
	bool tells_nodes;	    /* answers of the reader name the node of each row */
	uint32_t number;	    /* number of the file in the reader, from 1 */
	/* Data to convert ids of the file to ids of the reader. */
	bool is_one_of_several;
	uint32_t first_process, process_max; /* process_max, stack_max: greatest id in the file */
	uint32_t first_stack, stack_max;
	const struct own_ops *ops;
	ARRAY(struct own_op_number) op_numbers; /* ascending by .own; empty: file and reader have the same ids */
	struct own_process **processes;		/* hash table of n_places with open addressing */
	size_t n_places;
	size_t n_processes;
	sqlite3_stmt *process_find;
	ARRAY(struct own_stack) stacks; /* ascending by id, if has_stacks */
	bool has_stacks;
	struct arena stacks_arena;
	struct own_frame *frames; /* cache of frames in stacks_arena; NULL: not used yet */
	sqlite3_stmt *stack_get, *frame_get;
	ARRAY(struct own_damage) damage;
	struct own_scratch *scratch; /* memory of the last closed cursor, for the next one; NULL: none */
};

/** own_ops_load() - load the rows of table op. Return: 0 or -errno */
int own_ops_load(struct own_file *own, struct own_ops *ops);
void own_ops_done(struct own_ops *ops);
/** own_open() - as store_reader_open(). Adds the operations of the file to `ops`, which must outlive the reader */
int own_open(struct sqlite3 *db, const struct read_scope *scope, char *why, struct own_ops *ops,
	     struct own_file **ret_own);
void own_close(struct own_file *own);
/** own_node() - node of a boot; "": unknown */
const char *own_node(const struct own_file *own, uint32_t boot);

/* The functions of read.h, for one file. */
const struct read_process *own_process(struct own_file *own, uint32_t id);
int own_processes(struct own_file *own, read_process_func func, void *data);
const struct read_op *own_op(const struct own_file *own, uint32_t id);
int own_stacks(struct own_file *own, uint32_t only_id, read_stack_func func, void *data);
int own_stack_get(struct own_file *own, uint32_t id, const struct read_stack **ret_stack);
void own_stacks_trim(struct own_file *own);
void own_stacks_close(struct own_file *own);
/** own_stack_find() - row of a stack; NULL: none in scope. Return: 0 or -errno */
int own_stack_find(struct own_file *own, uint32_t id, struct own_stack **ret_stack);
int own_count(struct own_file *own, const struct read_filter *filter, uint64_t *ret_n);
/**
 * typedef own_blob_func - receives a row of figures, decoded, with ids of the file and all that is in it; may change it
 * Return: 0; else reading ends with this value
 */
typedef int (*own_blob_func)(struct own_file *own, struct figures_blob *blob, uint64_t from_unix_ns,
			     uint64_t to_unix_ns, void *data);
/* Which rows, and what of them. */
struct own_blobs_wish {
	bool coarsely; /* the coarsest that cover the window, in any order; else the finest, in order of time */
	bool without_accounts;
};
/** own_blobs() - rows that cover a window */
int own_blobs(struct own_file *own, uint64_t from_unix_ns, uint64_t to_unix_ns, struct own_blobs_wish wish,
	      own_blob_func func, void *data);
/**
 * own_wait_show(), own_behind_show() - change a row to what the caller may see of it; its process stays the file's
 * Return: whether its key changed
 */
bool own_wait_show(const struct own_file *own, struct account_wait *wait);
bool own_behind_show(const struct own_file *own, struct stored_behind *behind);
struct window_sum;
int own_window_add(struct own_file *own, struct window_sum *sum);
int own_buckets(struct own_file *own, uint64_t from_unix_ns, uint64_t to_unix_ns, read_bucket_func func, void *data);
int own_sums(struct own_file *own, uint64_t from_unix_ns, uint64_t to_unix_ns, read_bucket_func func, void *data);
int own_findings(struct own_file *own, uint64_t from_unix_ns, uint64_t to_unix_ns, read_finding_func func, void *data);
int own_gaps(struct own_file *own, uint64_t from_unix_ns, uint64_t to_unix_ns, read_gap_func func, void *data);
int own_snapshots(struct own_file *own, uint64_t from_unix_ns, uint64_t to_unix_ns, read_snapshot_func func,
		  void *data);
/* @unix_ns: the end of the window, and then the time of the first snapshot before it, if there is one */
int own_snapshot_next(struct own_file *own, uint64_t from_unix_ns, uint64_t *unix_ns);
int own_sessions(struct own_file *own, read_session_func func, void *data);
int own_cost(struct own_file *own, uint64_t from_unix_ns, uint64_t to_unix_ns, Ingero__V1__Cost *ret_cost);
int own_span(struct own_file *own, uint64_t *ret_from_unix_ns, uint64_t *ret_to_unix_ns);
int own_seen(struct own_file *own, uint64_t *ret_unix_ns);

struct own_cursor;
int own_cursor_open(struct own_file *own, const struct read_filter *filter, struct own_cursor **ret_cursor);
int own_cursor_next(struct own_cursor *cursor, struct read_batch *ret_batch);
/** own_cursor_ahead() - get the position of the next piece, in the requested order. Return: whether there is one */
bool own_cursor_ahead(const struct own_cursor *cursor, struct read_time *ret_at);
void own_cursor_close(struct own_cursor *cursor);

/** own_damaged() - note a damaged row; a row already noted is ignored. Return: 0 or -ENOMEM */
int own_damaged(struct own_file *own, char kind, int64_t id, uint32_t boot, uint64_t t0, uint64_t t1, uint64_t n);

/** own_boot() - boot by id; NULL: none */
const struct own_boot *own_boot(const struct own_file *own, uint32_t id);
/** own_unix() - wall-clock time of a monotonic time; without a known boot both are equal */
uint64_t own_unix(const struct own_boot *boot, uint64_t mono_ns);
/** own_unix_range() - earliest and latest wall-clock time between two monotonic times of a boot */
void own_unix_range(const struct own_boot *boot, uint64_t t0, uint64_t t1, uint64_t *ret_from, uint64_t *ret_to);
/**
 * own_clock_range() - the range of monotonic times of one row of the clock whose wall-clock times are in [from, to)
 * @i: the row
 * Return: whether it has any
 */
bool own_clock_range(const struct own_boot *boot, size_t i, uint64_t from_unix_ns, uint64_t to_unix_ns,
		     uint64_t *ret_from, uint64_t *ret_to);
/**
 * own_mono_range() - range of monotonic times that contains all wall-clock times in [from, to); 0: no bound
 * Return: whether the boot has any of them
 */
bool own_mono_range(const struct own_boot *boot, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t *ret_from,
		    uint64_t *ret_to);

void own_scratch_free(struct own_file *own);
