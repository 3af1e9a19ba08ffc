// SPDX-License-Identifier: Apache-2.0
/*
 * Reading databases (schema.sql): one file, or several files as if they were one.
 *
 * Used only by the reader child. A reader is bound to a scope when it is opened and never returns data outside it. It
 * has no connection-wide state: time limits are set with the connection's progress handler (an interrupted statement
 * returns -ETIME).
 *
 * Times here are wall-clock nanoseconds since 1970, mapped by the file's own clock rows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "figures/account.h"
#include "figures/figures.h"
#include "ingero/v1/ingero.pb-c.h"
#include "archive/codec/codec.h"

struct sqlite3;
struct store_reader;

struct read_scope {
	bool all;	   /* may read rows of all owners */
	uint32_t uid;	   /* if not all: only rows of this owner, without processes that are PROCESS_GUARDED */
	bool names_hidden; /* hidepid: processes that the user may not inspect are shown only by their uid */
};

/** read_scope_names() - whether the caller sees a process's name. @is_guarded: its own user may not inspect it */
static inline bool read_scope_names(const struct read_scope *scope, uint32_t uid, bool is_guarded)
{
	return scope->all || !scope->names_hidden || (uid == scope->uid && !is_guarded);
}

#define READ_WHY_BYTES 256 /* size of a buffer for one sentence */

#define READ_FILES_MAX 16  /* files of one reader */
#define READ_NODE_BYTES 64 /* bytes of a machine's name, with its NUL; longer names are cut */

/**
 * store_reader_open() - check whether the database is ours and prepare its reader
 * @db: read-only connection in a transaction, so that all answers show one state of the file; borrowed; the
 *      process may be sealed already
 * @why: READ_WHY_BYTES; one sentence on failure
 * Return: 0; -ENOTSUP (written by a newer version), -EINVAL (not a database of ours), -EBADMSG (damaged), -errno
 */
int store_reader_open(struct sqlite3 *db, const struct read_scope *scope, char *why, struct store_reader **ret_reader);

struct read_file {
	struct sqlite3 *db; /* as for store_reader_open() */
	const char *name;   /* node of a file that has none, if there are several files */
};
/**
 * store_reader_open_files() - open several files as one reader
 *
 * Processes, stacks and boots of the files are kept apart. Ids of the reader differ from those of the files, except for
 * operations of ops.def. Rows of several files are ordered by the wall clock.
 * @n:         1 to READ_FILES_MAX
 * @ret_wrong: index of the file that failed
 * Return: as store_reader_open(); -E2BIG: the ids of all files do not fit
 */
int store_reader_open_files(const struct read_file *files, size_t n, const struct read_scope *scope, char *why,
			    size_t *ret_wrong, struct store_reader **ret_reader);
void store_reader_close(struct store_reader *reader);
/** store_reader_tells_losses() - whether the recorders of all files stored their losses */
bool store_reader_tells_losses(const struct store_reader *reader);
/** store_reader_tells_nodes() - whether rows are of several nodes, so that answers name the node */
bool store_reader_tells_nodes(const struct store_reader *reader);
/** store_reader_files() - number of files */
size_t store_reader_files(const struct store_reader *reader);

/* One incarnation of a process; pointers here and below are valid as long as the reader. */
struct read_process {
	uint32_t id; /* id of the reader */
	uint32_t boot;
	uint32_t file;	  /* number of the file, from 1 */
	const char *node; /* name of its machine; "": unknown */
	bool tells_node;  /* answers name the node, since rows are of several nodes */
	uint32_t pid;
	uint32_t uid;
	uint32_t exec_gen;
	uint64_t start_unix_ns;
	uint64_t first_unix_ns; /* time of its first call */
	uint64_t gone_unix_ns;	/* end of the process; 0: not seen */
	const char *comm;
	struct program program;
};
/** store_reader_process() - process by id; NULL: none with this id in scope */
const struct read_process *store_reader_process(struct store_reader *reader, uint32_t id);
typedef int (*read_process_func)(const struct read_process *process, void *data);
/**
 * store_reader_processes() - call func for each process in scope. Here and below, func is called until it returns a
 * value other than 0, which is then returned
 */
int store_reader_processes(struct store_reader *reader, read_process_func func, void *data);

struct read_op {
	uint32_t id;
	const char *source;
	const char *name;
	const char *short_name;
	bool is_unlisted; /* perhaps from another user's library: listed only if rows of the caller have it */
};
/** store_reader_op() - operation by id; NULL: none */
const struct read_op *store_reader_op(struct store_reader *reader, uint32_t id);
/**
 * read_op_is_call() - whether it is a call, not an event of the host; true for NULL: calls without a free cell
 */
bool read_op_is_call(const struct read_op *op);
/** read_op_is_called() - whether the operation has this name, in any spelling of base/op_name.h, or in Ingero's */
bool read_op_is_called(const struct read_op *op, const char *name);
/** store_reader_may_know() - whether the operation has a public name, or the caller has calls or figures of it */
bool store_reader_may_know(struct store_reader *reader, const struct read_op *op);
/**
 * store_reader_find_op() - find operations by name, at most one for each source, among those that the caller may know
 * Return: their number
 */
size_t store_reader_find_op(struct store_reader *reader, const char *name, uint32_t *ret_ids, size_t room);

typedef int (*read_op_func)(const struct read_op *op, void *data);
int store_reader_ops(struct store_reader *reader, read_op_func func, void *data);

/* Texts are never NULL; "": not known. */
struct read_frame {
	uint64_t ip; /* address in the process; 0: a Python frame, or not known */
	const char *symbol;
	const char *qualname;
	const char *file;
	const char *module;
	uint32_t line; /* 0: none */
	bool is_python;
};
struct read_stack {
	uint32_t id;
	bool is_complete;
	const char *why;		 /* why it is not complete; "" if it is */
	const struct read_frame *frames; /* innermost first */
	size_t n_frames;
};
/** typedef read_stack_func - @stack: valid during the call */
typedef int (*read_stack_func)(const struct read_stack *stack, void *data);
/**
 * store_reader_stacks() - call func for each stack in scope, after store_reader_stacks_trim(); stacks of one owner with
 * the same frames are one
 * @only_id: only this one; 0: all
 */
int store_reader_stacks(struct store_reader *reader, uint32_t only_id, read_stack_func func, void *data);
/**
 * store_reader_stack() - stack by id, kept in memory
 * @ret_stack: NULL: none with this id in scope; valid until store_reader_stacks_trim()
 * Return: 0 or -errno
 */
int store_reader_stack(struct store_reader *reader, uint32_t id, const struct read_stack **ret_stack);
/** store_reader_stack_is_complete() - the same of its row alone; false: not complete, or none in scope. Return: 0 or
 * -errno */
int store_reader_stack_is_complete(struct store_reader *reader, uint32_t id, bool *ret_is_complete);
/** store_reader_stacks_trim() - release the stacks in memory if they take more than some MiB */
void store_reader_stacks_trim(struct store_reader *reader);
/**
 * read_stack_site() - the frame that tells people where: the innermost of Python, else the innermost native one with a
 * name that is not of a traced library. Return: NULL: none
 */
const struct read_frame *read_stack_site(const struct read_stack *stack);
#define READ_FUNC_BYTES 256 /* of read_frame_func(), with its NUL */
/** read_frame_func() - name of the frame's function, without the offset in it; cut to READ_FUNC_BYTES. Return: ret */
const char *read_frame_func(const struct read_frame *frame, char ret[READ_FUNC_BYTES]);

/*
 * Position of a call in one of two orders: by the order in which calls were made, boot by boot and by the monotonic
 * clock; or by the wall clock, which may be set back: then boot is 0. An imported file (archive/foreign/) has only the
 * wall clock.
 */
struct read_time {
	uint32_t boot;
	uint64_t ns;
};
static inline bool read_time_is_before(const struct read_time *a, const struct read_time *b)
{
	return a->boot != b->boot ? a->boot < b->boot : a->ns < b->ns;
}

struct read_filter {
	uint64_t from_unix_ns; /* entry of the call; 0: from the beginning */
	uint64_t to_unix_ns;   /* exclusive; 0: to the end */
	const uint32_t *pids;  /* NULL: all */
	size_t n_pids;
	const uint32_t *ops; /* ids of operations; NULL: all */
	size_t n_ops;
	uint64_t min_duration_ns;
	uint64_t max_duration_ns; /* 0: any */
	bool has_uid;		  /* only calls of owner `uid` */
	uint32_t uid;
	uint32_t columns; /* BLOCK_COLUMN() of the columns to decode; those of the filter are added */
	bool by_wall_clock;
	uint32_t only_file;	/* number of the only file to read, from 1; 0: all files */
	bool newest_first;	/* pieces with the newest calls first; inside a piece calls are unsorted */
	bool in_slices;		/* the first pieces are small, for callers that may stop soon */
	struct read_time since; /* start, in the requested order; 0: from the beginning */
};

/* A call, as returned by the reader. */
struct read_event {
	const struct stored_event *event; /* the requested columns are set */
	const struct read_process *process;
	uint64_t start_unix_ns;
	uint32_t boot; /* row of table boot in the file of the process */
	struct read_time at;
};

/*
 * Cursor over calls in pieces, for callers that cannot use a callback. Inside a piece, calls are not in order of time.
 * Calls of later pieces are not older than bound; with newest_first they are not newer than bound.
 */
struct read_cursor;
struct read_batch {
	const struct read_event *events; /* valid until the next step */
	size_t n;
	struct read_time bound;
};
int store_reader_cursor_open(struct store_reader *reader, const struct read_filter *filter,
			     struct read_cursor **ret_cursor);
/** read_cursor_next() - get the next piece, which may be empty although more follow. Return: 1, 0 at the end, -errno */
int read_cursor_next(struct read_cursor *cursor, struct read_batch *ret_batch);
void read_cursor_close(struct read_cursor *cursor);
/** store_reader_count() - count the matching calls, by the blocks' headers if they suffice. Return: 0 or -errno */
int store_reader_count(struct store_reader *reader, const struct read_filter *filter, uint64_t *ret_n);

typedef int (*read_event_func)(const struct read_event *event, void *data);
/** store_reader_events() - call func for each call in scope and filter. Return: 0, -errno, or the result of func */
int store_reader_events(struct store_reader *reader, const struct read_filter *filter, read_event_func func,
			void *data);

/* Exact figures of one process and operation in a window. */
struct read_figures {
	const struct read_process *process;
	const struct read_op *op; /* NULL: calls without a free cell */
	uint16_t measured;
	struct op_figures figures;
};
struct read_behind {
	const struct read_process *process;
	uint32_t tgid; /* 0: hidden from the caller */
	uint32_t uid;
	uint64_t ns;
	bool is_between; /* between calls; false: in a call */
	bool is_guarded; /* its own user may not inspect it */
	char comm[RECORD_COMM_BYTES];
};
/* Part of a thread's account; the parts of a thread are adjacent. */
struct read_part {
	const struct read_process *process;
	const struct read_op *op; /* NULL: between calls, or several operations */
	uint64_t ns;
	uint32_t tid; /* 0: several threads */
	uint8_t where;
	uint8_t class;
	bool is_driving;
};
#define READ_PID_HIDDEN UINT32_MAX /* a process that is hidden from the caller */
struct read_wait {
	const struct read_process *process;
	const struct read_op *op; /* NULL: between calls */
	/* Borrowed of the window or bucket. op: row of table op; waker_tgid: READ_PID_HIDDEN: hidden from the caller */
	const struct account_wait *wait;
};
struct read_window {
	uint64_t from_unix_ns; /* time that the figures cover: bucket bounds nearest to the requested bounds */
	uint64_t to_unix_ns;
	ARRAY(struct read_figures) figures;
	ARRAY(struct read_behind) behind;
	ARRAY(struct read_part) parts;
	ARRAY(struct read_wait) waits;
	ARRAY(struct figures_blob) sums; /* that have the waits */
};
void read_window_done(struct read_window *window);
/**
 * read_thread_account() - account of the thread of the first of these parts
 *
 * A thread counts as driving if it was driving for at least half of its time: one that only started the process does
 * not.
 * @n: number of parts of this thread and of later threads of the process
 * @ret: release with account_done(), also on failure
 * @ret_n: number of parts of the thread
 * Return: 0 or -ENOMEM
 */
int read_thread_account(const struct read_part *parts, size_t n, struct account *ret, size_t *ret_n);
/** read_pid_is_wanted() - whether a list contains a pid; an empty list contains all */
bool read_pid_is_wanted(const uint32_t *pids, size_t n_pids, uint32_t pid);
/** store_reader_window() - read the figures of a window. Return: 0 (also without any figures), -errno */
int store_reader_window(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns, const uint32_t *pids,
			size_t n_pids, struct read_window *ret_window);
/** store_reader_figures() - the same without parts and waits, whose rows are many */
int store_reader_figures(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns, const uint32_t *pids,
			 size_t n_pids, struct read_window *ret_window);

/* One stored row of figures: of the time between two readings. */
struct read_bucket {
	uint64_t from_unix_ns;
	uint64_t to_unix_ns;
	const struct read_figures *figures; /* in scope; valid during the call */
	size_t n_figures;
	const struct read_behind *behind;
	size_t n_behind;
	const struct read_part *parts;
	size_t n_parts;
	const struct read_wait *waits;
	size_t n_waits;
};
typedef int (*read_bucket_func)(const struct read_bucket *bucket, void *data);
/**
 * store_reader_buckets() - call func for the rows whose middle lies in the window, in the finest resolution kept, file
 * by file in order of time; for a window shorter than the rows, for the rows that overlap it
 */
int store_reader_buckets(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns, read_bucket_func func,
			 void *data);

/** store_reader_sums() - as store_reader_buckets(), but with the coarsest rows that cover the window, for summing */
int store_reader_sums(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns, read_bucket_func func,
		      void *data);

/* Here and below `node` names the machine even if node_told_case leaves it out of answers. */
typedef int (*read_finding_func)(const Ingero__V1__Finding *finding, void *data);
/** store_reader_findings() - call func for findings that overlap the window, with wall-clock times. Return: as func */
int store_reader_findings(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns,
			  read_finding_func func, void *data);

typedef int (*read_gap_func)(const Ingero__V1__Gap *gap, void *data);
int store_reader_gaps(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns, read_gap_func func,
		      void *data);
typedef int (*read_snapshot_func)(const Ingero__V1__SystemSample *sample, void *data);
int store_reader_snapshots(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns,
			   read_snapshot_func func, void *data);
/**
 * store_reader_snapshot_next() - time of the first snapshot in the window
 * @ret_unix_ns: to_unix_ns without any
 * Return: 0 or -errno
 */
int store_reader_snapshot_next(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns,
			       uint64_t *ret_unix_ns);
typedef int (*read_session_func)(const Ingero__V1__Session *session, void *data);
int store_reader_sessions(struct store_reader *reader, read_session_func func, void *data);

/**
 * store_reader_cost() - cost of the sessions that recorded in the window; each session counts as a whole. Times and
 * calls are sums; ratios, calibrations and sizes are the largest values
 * @ret_cost: initialised by the caller
 * Return: 1; 0: the cost is unknown, or includes calls out of scope; -errno
 */
int store_reader_cost(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns,
		      Ingero__V1__Cost *ret_cost);

/** store_reader_unix() - convert a monotonic time of a boot of a file to the wall clock, as for a call's public id */
uint64_t store_reader_unix(struct store_reader *reader, uint32_t file, uint32_t boot, uint64_t mono_ns);
/** store_reader_span() - first and last moment of all data in scope; both 0 without data. Return: 0 or -errno */
int store_reader_span(struct store_reader *reader, uint64_t *ret_from_unix_ns, uint64_t *ret_to_unix_ns);
/** store_reader_seen() - time of the last commit of a recorder that has not ended; 0: none. Return: 0 or -errno */
int store_reader_seen(struct store_reader *reader, uint64_t *ret_unix_ns);
