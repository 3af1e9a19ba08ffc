// SPDX-License-Identifier: Apache-2.0
/*
 * What a kind of file must offer so that read.h can be answered from it: our own
 * (own.c) and those recorded by Ingero itself (foreign.c) are rows of this.
 *
 * A source is bound to its scope when it is opened: what it yields the caller may see,
 * whatever is asked of it. It stores no connection-wide state: limits of time are the
 * progress handler's of the connection (an interrupted statement is -ETIME).
 */
#pragma once

#include "archive/read/read.h"

/* The first member of every kind's own struct. */
struct read_source {
	const struct read_source_ops *ops;
};

/* Position in a walk over the kept calls; the first member of every kind's own. */
struct read_cursor {
	const struct read_source *source;
};

struct read_source_ops {
	/*
	 * Return: 0; -ENOENT (a file of another kind, `why` untouched); -ENOTSUP (a newer version's), -EBADMSG
	 * (damaged), -errno, with one sentence in `why`, which has READ_WHY_BYTES
	 */
	int (*open)(struct sqlite3 *db, const struct read_scope *scope, char *why, struct read_source **ret_source);
	void (*close)(struct read_source *source);

	/* NULL where there is none, or it is out of scope. Pointers stay as long as the source. */
	const struct read_process *(*process)(struct read_source *source, uint32_t id);
	const struct read_op *(*op)(struct read_source *source, uint32_t id);

	/* In scope, each once; stops when func returns other than 0. Return: 0, -errno, or what func returned */
	int (*processes)(struct read_source *source, read_process_func func, void *data);
	int (*ops)(struct read_source *source, read_op_func func, void *data);
	int (*stacks)(struct read_source *source, uint32_t only_id, read_stack_func func, void *data); /* 0: all */

	/* The filter is copied, but not the arrays it points to. Return: 0 or -errno */
	int (*cursor_open)(struct read_source *source, const struct read_filter *filter,
			   struct read_cursor **ret_cursor);
	/*
	 * The next few thousand calls that match, some milliseconds' work at most; may be none although more follow.
	 * Return: 1; 0 at the end; -errno
	 */
	int (*cursor_next)(struct read_cursor *cursor, struct read_batch *ret_batch);
	void (*cursor_close)(struct read_cursor *cursor);
	/* How many match, from headers where those tell. Return: 0 or -errno */
	int (*count)(struct read_source *source, const struct read_filter *filter, uint64_t *ret_n);

	/* As store_reader_buckets(). */
	int (*buckets)(struct read_source *source, uint64_t from_unix_ns, uint64_t to_unix_ns, read_bucket_func func,
		       void *data);

	/* The same figures in as few rows as there are: each moment once, but coarsely. NULL: buckets does. */
	int (*sums)(struct read_source *source, uint64_t from_unix_ns, uint64_t to_unix_ns, read_bucket_func func,
		    void *data);

	int (*findings)(struct read_source *source, uint64_t from_unix_ns, uint64_t to_unix_ns, read_finding_func func,
			void *data);
	int (*gaps)(struct read_source *source, uint64_t from_unix_ns, uint64_t to_unix_ns, read_gap_func func,
		    void *data);
	int (*snapshots)(struct read_source *source, uint64_t from_unix_ns, uint64_t to_unix_ns,
			 read_snapshot_func func, void *data);
	int (*sessions)(struct read_source *source, read_session_func func, void *data);
	/* NULL: no file of this kind says. */
	int (*cost)(struct read_source *source, uint64_t from_unix_ns, uint64_t to_unix_ns, Ingero__V1__Cost *ret_cost);
	/* NULL where calls have no other time than the wall clock's. */
	uint64_t (*unix_of)(struct read_source *source, uint32_t boot, uint64_t mono_ns);
	int (*span)(struct read_source *source, uint64_t *ret_from_unix_ns, uint64_t *ret_to_unix_ns);
	int (*seen)(struct read_source *source, uint64_t *ret_unix_ns); /* NULL: nobody writes such a file */
};

extern const struct read_source_ops read_own_source; /* schema.sql */
