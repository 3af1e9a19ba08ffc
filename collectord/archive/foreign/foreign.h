// SPDX-License-Identifier: Apache-2.0
/*
 * Databases recorded by Ingero itself become one of ours: what the files of this directory share.
 *
 * Such a file is a stranger's: nothing in it is believed. Only ordinary tables are
 * looked at, absent ones and absent columns read as their defaults, every number is
 * checked and every text cut to a bound and made valid UTF-8. Rows that make no sense
 * are left out and counted. (docs/foreign-files.md)
 *
 * It knows the wall clock alone, so the monotonic time of each boot of ours is that. Each node is a boot, as it
 * has its own pids; what is of no node, or of all, is of boot 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "archive/foreign/ingero_names.h"
#include "archive/read/read.h"
#include "archive/sql/sql.h"
#include "archive/write/writer.h"

/* Whose rows these are the file does not tell. */
#define FOREIGN_UID UINT32_MAX

#define FOREIGN_VERSION_MAX 10	     /* user_version of release 0.17 */
#define FOREIGN_TEXT_BYTES 1024	     /* longest text taken over, what follows is cut */
#define FOREIGN_NAME_BYTES 64	     /* ... of a name */
#define FOREIGN_PROCESSES_MAX 262144 /* incarnations; calls of further ones are left out and counted */
#define FOREIGN_OPS_MAX 4096
#define FOREIGN_STACKS_MAX 1048576
#define FOREIGN_FRAMES_MAX 512
#define FOREIGN_NODES_MAX 1024

/* Tables that may be there. */
enum foreign_table {
	FOREIGN_EVENTS,
	FOREIGN_STACK_TRACES,
	FOREIGN_CHAINS,
	FOREIGN_SNAPSHOTS,
	FOREIGN_SESSIONS,
	FOREIGN_PROCESS_NAMES,
	FOREIGN_AGGREGATES,
	FOREIGN_SOURCES,
	FOREIGN_OPS,
	FOREIGN_TABLE_COUNT
};

struct foreign_op {
	int64_t source; /* as the file numbers them */
	int64_t number;
	bool is_call;	   /* of the program; else something the machine did: a task switch, a disk request */
	bool has_bytes;	   /* arg0 is a number of bytes */
	bool has_callers;  /* only_pid was looked for */
	uint32_t only_pid; /* the one process that called it; 0: several, or none is known */
	struct read_op op;
};

struct foreign_process {
	struct read_process process;
	uint64_t since_unix_ns; /* its calls begin here at the earliest; 0: the first of its pid */
	uint32_t node;		/* index */
	bool is_guess;		/* its begin is that of its first call: the file tells only that the one before ended */
	uint64_t n_rows;	/* 1 also where there are aggregates alone */
	char comm[RECORD_COMM_BYTES];
};

struct foreign_stack {
	int64_t hash;
	uint32_t id; /* row; hashes of the same frames have the same */
};

struct foreign_file {
	struct sqlite3 *db;
	struct writer out; /* what it becomes */
	bool has[FOREIGN_TABLE_COUNT];
	bool has_stacks; /* they are wanted */
	struct arena texts;
	ARRAY(struct foreign_op *) ops;		 /* id: see ops.c */
	ARRAY(struct foreign_process) processes; /* by node, pid, since; id: index + 1 */
	ARRAY(const char *) nodes;		 /* boot: index + 1 */
	ARRAY(struct foreign_stack) stacks;	 /* by hash */
	uint64_t first_unix_ns;			 /* of all calls */
	uint64_t last_unix_ns;
	uint64_t n_rows;    /* calls that are kept */
	uint64_t n_refused; /* rows that make no sense, or beyond the bounds above */
	uint64_t n_missing; /* numbers of rows that are no more there */
};

/* ---- rows (rows.c) ---- */

/** foreign_has_column() - of an ordinary table */
bool foreign_has_column(const struct foreign_file *f, enum foreign_table table, const char *column);
const char *foreign_table_name(enum foreign_table table);
/**
 * foreign_select() - prepare a SELECT of columns that may be absent
 * @columns: names separated by one blank each; "name=value": what an absent one reads as, 0 else
 * @rest:    SQL behind the table's name; NULL: nothing
 * Return: 0 or -errno
 */
int foreign_select(const struct foreign_file *f, enum foreign_table table, const char *columns, const char *rest,
		   struct sqlite3_stmt **ret_statement);
/** foreign_step() - Return: 1 for a row, 0 at the end, -errno */
int foreign_step(struct sqlite3_stmt *statement);
/** foreign_u64() - an integer from 0 to max. Return: whether it is one */
bool foreign_u64(struct sqlite3_stmt *statement, int column, uint64_t max, uint64_t *ret_value);
/** foreign_real() - a finite number; 0 for anything else */
double foreign_real(struct sqlite3_stmt *statement, int column);
struct foreign_row {
	uint64_t start_unix_ns;
	uint64_t duration_ns;
	int64_t source, number;
	uint32_t pid, tid;
};
#define FOREIGN_ROW_COLUMNS "timestamp pid tid source op duration"
/** foreign_row() - the first columns of a row of events. Return: whether they make sense */
bool foreign_row(struct sqlite3_stmt *statement, struct foreign_row *ret_row);
/** foreign_text() - valid UTF-8, NUL-terminated, cut to the room. Return: ret_text */
const char *foreign_text(struct sqlite3_stmt *statement, int column, char *ret_text, size_t room);

/* ---- what calls refer to ---- */

int foreign_ops_load(struct foreign_file *f);
/** foreign_op_find() - of a row's source and op; numbers never seen get an entry. Return: NULL beyond FOREIGN_OPS_MAX
 */
const struct foreign_op *foreign_op_find(struct foreign_file *f, int64_t source, int64_t number);

/** foreign_processes_load() - incarnations, nodes, and the span of all calls: one pass over all rows */
int foreign_processes_load(struct foreign_file *f);
/** foreign_node() - index of a node's name; UINT32_MAX: too many of them, or no memory */
uint32_t foreign_node(struct foreign_file *f, const char *name);
/** foreign_process_find() - who had a pid at a time; NULL: nobody that made calls */
struct foreign_process *foreign_process_find(struct foreign_file *f, uint32_t node, uint32_t pid, uint64_t unix_ns);

/* ---- what is written ---- */

int foreign_ops_put(struct foreign_file *f);
int foreign_processes_put(struct foreign_file *f);
int foreign_stacks_put(struct foreign_file *f);
/** foreign_stack_id() - of a row's stack_hash; 0: none. After foreign_stacks_put() */
uint32_t foreign_stack_id(const struct foreign_file *f, int64_t hash);
/** foreign_calls_put() - every row as a call, and the figures of all. After the above */
int foreign_calls_put(struct foreign_file *f);
int foreign_findings_put(struct foreign_file *f);

/* Figures of rows that come in order of time (figures.c). */
struct foreign_figures;
int foreign_figures_open(struct foreign_file *f, struct foreign_figures **ret_figures);
int foreign_figures_add(struct foreign_figures *figures, const struct foreign_op *op, const struct stored_event *event);
/** foreign_figures_close() - write what is left */
int foreign_figures_close(struct foreign_figures *figures);
void foreign_figures_freep(struct foreign_figures **figures);

/** foreign_gap_put() - from the first moment to the last, both included; none where count is 0 */
int foreign_gap_put(struct foreign_file *f, const char *reason, uint64_t count, uint64_t from_unix_ns,
		    uint64_t to_unix_ns);
