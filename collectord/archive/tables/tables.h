// SPDX-License-Identifier: Apache-2.0
/*
 * The tables that a caller's SQL can read: SQLite virtual tables over the reader, which is bound to the caller's scope.
 *
 * Each table is a struct table with a list of columns; docs/sql.md is generated from them. Conditions of a statement on
 * time, process, operation, duration and owner are passed to the reader, and only the columns that the statement uses
 * are decoded.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/job.h"
#include "base/array.h"
#include "archive/read/read.h"

struct table_cursor;

/* What a comparison with the column restricts in the reader; in comments: the usable operators. */
enum table_push {
	PUSH_NONE,
	PUSH_TIME,     /* =, <, <=, >, >= */
	PUSH_PID,      /* = */
	PUSH_UID,      /* = */
	PUSH_SOURCE,   /* =, Ingero's number */
	PUSH_OP,       /* =, Ingero's number */
	PUSH_OP_NAME,  /* =, in any spelling; such a column is compared that way */
	PUSH_DURATION, /* =, <, <=, >, >= */
	PUSH_STACK,    /* = */
	PUSH_NODE,     /* no restriction; SELECT * leaves the column out if all rows are of one node */
	PUSH_COUNT
};

/* struct table_column.need: data that is computed or decoded only if the statement uses the column. */
#define NEED_QUANTILES 0x1u /* for tables of figures; for calls, .need has BLOCK_COLUMN() bits */

struct table_column {
	const char *name;
	const char *type;
	const char *what; /* description for docs/sql.md */
	uint32_t need;
	enum table_push push;
};

struct table {
	const char *name;
	const char *what;
	const struct table_column *columns;
	size_t n_columns;
	bool is_ordered; /* can deliver rows in order of the column with PUSH_TIME */
	double rows;	 /* guessed number of rows, for SQLite's query planner */
	int (*start)(struct table_cursor *cursor);
	/* Return: 1, 0 at the end, -errno */
	int (*next)(struct table_cursor *cursor);
	void (*column)(const struct table_cursor *cursor, int column, sqlite3_context *result);
	void (*stop)(struct table_cursor *cursor);
};

enum table_order { ORDER_NONE, ORDER_ASCENDING, ORDER_DESCENDING };

/* Restrictions from a statement's conditions; arrays belong to the cursor. */
struct table_limits {
	uint64_t from_unix_ns, to_unix_ns; /* 0: no bound */
	bool has_pid, has_uid, has_stack, has_ops;
	bool is_empty; /* conditions contradict each other: no row can match */
	uint32_t pid, uid, stack;
	uint64_t min_duration_ns, max_duration_ns;
	ARRAY(uint32_t) ops; /* operations that match the conditions on source, op and name */
};

/** table_wants() - whether the restrictions allow rows of this process */
static inline bool table_wants(const struct table_limits *limits, uint32_t pid, uint32_t uid)
{
	return (!limits->has_pid || pid == limits->pid) && (!limits->has_uid || uid == limits->uid);
}

struct table_cursor {
	sqlite3_vtab_cursor base;
	const struct table *table;
	struct reader_job *job;
	struct table_limits limits;
	uint32_t need;
	enum table_order order;
	int64_t row; /* number of the row in this statement, from 1 */
	bool is_at_end;
	void *state; /* state of the table; released with free() after stop() */
};

extern const struct table *const tables[]; /* ends in NULL */

/** tables_install() - register all tables, and use each once so that nothing is created later. Return: 0 or -errno */
int tables_install(struct sqlite3 *db, struct reader_job *job);
/** tables_names() - names of all tables; ends in NULL */
const char *const *tables_names(void);

/** table_column_is_shown() - whether SELECT * includes a column */
bool table_column_is_shown(struct store_reader *reader, const struct table_column *column);

/* ---- for tables ---- */

/**
 * table_op_number() - numbers of an operation and its source: those of Ingero if it has the operation, else numbers
 * from 65 on, in the order of first use
 * @op: NULL: the result is 0 and 0
 */
struct op_number table_op_number(struct reader_job *job, const struct read_op *op);
void table_result_u64(sqlite3_context *result, uint64_t value);
/** table_result_ratio() - return a ratio; NULL if it is negative: not known */
void table_result_ratio(sqlite3_context *result, double ratio);
void table_result_text(sqlite3_context *result, const char *text);
/** table_result_op() - return source, op, source_name or op_name; @op: may be NULL */
enum table_op_column { OP_COLUMN_source, OP_COLUMN_op, OP_COLUMN_source_name, OP_COLUMN_op_name };
void table_result_op(sqlite3_context *result, struct reader_job *job, const struct read_op *op,
		     enum table_op_column column);
/** table_result_blame() - return the time of one blame class; NULL if it was not measured */
void table_result_blame(sqlite3_context *result, const __u64 blame_ns[BLAME_COUNT], uint16_t measured,
			uint64_t whole_ns, int class);

extern const struct table table_events;
extern const struct table table_operations;
extern const struct table table_host_operations;
extern const struct table table_behind;
extern const struct table table_accounts;
extern const struct table table_waits;
extern const struct table table_event_aggregates;
extern const struct table table_sources;
extern const struct table table_ops;
extern const struct table table_processes;
extern const struct table table_process_names;
extern const struct table table_stack_traces;
extern const struct table table_call_sites;
extern const struct table table_causal_chains;
extern const struct table table_findings;
extern const struct table table_system_snapshots;
extern const struct table table_sessions;
extern const struct table table_gaps;

/* Makes a column of a row of events/columns.def. */
#define DEFINED_COLUMN(n, t, needs, p, w) { .name = #n, .type = #t, .what = w, .need = (needs), .push = PUSH_##p },

/* Values of such rows, in a function with a variable `result`. */
#define U64(value) table_result_u64(result, (value))
#define I64(value) sqlite3_result_int64(result, (sqlite3_int64)(value))
#define TEXT(value) table_result_text(result, (value))
#define NOTHING ((void)0) /* SQL NULL */
#define RATIO(value) table_result_ratio(result, (value))

/* Makes a column of a row of bpf/blame.def; these are the last columns of a table. */
#define BLAME_COLUMN(field, phrase, needs, of)                                                                         \
	{ .name = #field, .type = "INTEGER", .what = "ns of " of " " phrase "; NULL: not measured", .need = (needs) },
