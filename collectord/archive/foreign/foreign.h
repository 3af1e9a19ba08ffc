// SPDX-License-Identifier: Apache-2.0
/*
 * Import of databases recorded by Ingero: declarations shared within this directory.
 *
 * Such a file is untrusted. Only ordinary tables are read, missing tables and columns read as defaults, every number is
 * checked and every text is cut to a bound and made valid UTF-8. Invalid rows are left out and counted.
 * (docs/foreign-files.md)
 *
 * The file has wall-clock times only: they are stored as the monotonic times of our boots. Each node becomes a boot,
 * because each node has its own pids. Rows that name no node, or that concern all nodes, belong to boot 0.
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

/* Owner of all rows: the file does not record owners. */
#define FOREIGN_UID UINT32_MAX

#define FOREIGN_VERSION_MAX 10	     /* PRAGMA user_version of Ingero 0.17 */
#define FOREIGN_TEXT_BYTES 1024	     /* maximum length of a text; the rest is cut */
#define FOREIGN_NAME_BYTES 64	     /* maximum length of a name */
#define FOREIGN_PROCESSES_MAX 262144 /* maximum incarnations of processes; calls of further ones are left out */
#define FOREIGN_OPS_MAX 4096
#define FOREIGN_STACKS_MAX 1048576
#define FOREIGN_FRAMES_MAX 512
#define FOREIGN_NODES_MAX 1024
#define FOREIGN_AGGREGATES_MAX 65536 /* aggregates of one minute; further ones are left out and counted */
#define FOREIGN_TIME_MAX (INT64_MAX - 3600 * 1000000000ll) /* start plus duration of a row must not overflow */

/* Tables of Ingero that are imported if the file has them. */
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
	int64_t source; /* source and op numbers in the file */
	int64_t number;
	bool is_call;	   /* a library call; false: an event of the host, such as a task switch or a disk request */
	bool has_bytes;	   /* arg0 is a size in bytes */
	bool has_callers;  /* only_pid has been determined */
	uint32_t only_pid; /* pid of the only caller; 0: several callers, or none known */
	struct read_op op;
};

struct foreign_process {
	struct read_process process;
	uint64_t since_unix_ns; /* rows from this time on belong to it; 0: the first process with this pid */
	uint32_t node;		/* index of its node */
	bool is_guess;	 /* start unknown, first call used: the file shows only the end of the previous process */
	uint64_t n_rows; /* number of rows in table events; 1 also if the process has only aggregates */
	char comm[RECORD_COMM_BYTES];
};

struct foreign_stack {
	int64_t hash;
	uint32_t id; /* row of table stack */
};

struct foreign_file {
	struct sqlite3 *db;
	struct writer out; /* the resulting database */
	bool has[FOREIGN_TABLE_COUNT];
	bool has_stacks; /* stacks are to be imported */
	struct arena texts;
	ARRAY(struct foreign_op *) ops;		 /* for ids see ops.c */
	ARRAY(struct foreign_process) processes; /* sorted by node, pid, since_unix_ns; id: index + 1 */
	ARRAY(const char *) nodes;		 /* names; boot of a node: index + 1 */
	ARRAY(struct foreign_stack) stacks;	 /* sorted by hash */
	uint64_t first_unix_ns;			 /* first and last moment of all calls */
	uint64_t last_unix_ns;
	uint64_t n_rows;    /* rows of table events */
	uint64_t n_refused; /* rows left out: invalid, or beyond the limits above */
	uint64_t n_missing; /* row numbers missing in the file */
};

/* ---- rows (rows.c) ---- */

/** foreign_has_column() - whether an ordinary table has a column */
bool foreign_has_column(const struct foreign_file *f, enum foreign_table table, const char *column);
const char *foreign_table_name(enum foreign_table table);
/**
 * foreign_select() - prepare a SELECT of columns that may be absent
 * @columns: names separated by one blank each; "name=value": default of an absent column, otherwise its default is 0
 * @rest:    SQL after the table's name; NULL: nothing
 * Return: 0 or -errno
 */
int foreign_select(const struct foreign_file *f, enum foreign_table table, const char *columns, const char *rest,
		   struct sqlite3_stmt **ret_statement);
/** foreign_step() - Return: 1 for a row, 0 at the end, -errno */
int foreign_step(struct sqlite3_stmt *statement);
/** foreign_u64() - read an integer from 0 to max. Return: whether the value is one */
bool foreign_u64(struct sqlite3_stmt *statement, int column, uint64_t max, uint64_t *ret_value);
/** foreign_real() - read a finite number; 0 for anything else */
double foreign_real(struct sqlite3_stmt *statement, int column);
struct foreign_row {
	uint64_t start_unix_ns;
	uint64_t duration_ns;
	int64_t source, number;
	uint32_t pid, tid;
};
#define FOREIGN_ROW_COLUMNS "timestamp pid tid source op duration"
/** foreign_row() - read the first columns of a row of events. Return: whether they are valid */
bool foreign_row(struct sqlite3_stmt *statement, struct foreign_row *ret_row);
/** foreign_text() - read valid UTF-8, NUL-terminated, cut to the room. Return: ret_text */
const char *foreign_text(struct sqlite3_stmt *statement, int column, char *ret_text, size_t room);

/* ---- data that calls refer to ---- */

int foreign_ops_load(struct foreign_file *f);
/**
 * foreign_op_find() - operation of a row's source and op; new numbers get an entry. Return: NULL beyond FOREIGN_OPS_MAX
 */
const struct foreign_op *foreign_op_find(struct foreign_file *f, int64_t source, int64_t number);

/** foreign_processes_load() - load incarnations, nodes, and the span of all calls: one pass over all rows */
int foreign_processes_load(struct foreign_file *f);
/** foreign_node() - index of a node's name; UINT32_MAX: too many nodes, or no memory */
uint32_t foreign_node(struct foreign_file *f, const char *name);
/** foreign_process_find() - process with a pid at a time; NULL: no process that made calls */
struct foreign_process *foreign_process_find(struct foreign_file *f, uint32_t node, uint32_t pid, uint64_t unix_ns);

/** foreign_aggregate_node() - index of the node that an aggregate names; UINT32_MAX: none, as in Ingero's own files */
uint32_t foreign_aggregate_node(struct foreign_file *f, struct sqlite3_stmt *statement, int column);
/** foreign_aggregate_process() - foreign_process_find() for an aggregate; node UINT32_MAX: any node */
struct foreign_process *foreign_aggregate_process(struct foreign_file *f, uint32_t node, uint32_t pid,
						  uint64_t unix_ns);

/* ---- what is written ---- */

int foreign_ops_put(struct foreign_file *f);
int foreign_processes_put(struct foreign_file *f);
int foreign_stacks_put(struct foreign_file *f);
/** foreign_stack_id() - row of a stack_hash; 0: none. After foreign_stacks_put() */
uint32_t foreign_stack_id(const struct foreign_file *f, int64_t hash);
/** foreign_calls_put() - write every row as a call, and the figures of all rows. After the functions above */
int foreign_calls_put(struct foreign_file *f);
int foreign_findings_put(struct foreign_file *f);

/* Computes figures from rows that are added in order of time (figures.c). */
struct foreign_figures;
int foreign_figures_open(struct foreign_file *f, struct foreign_figures **ret_figures);
int foreign_figures_add(struct foreign_figures *figures, const struct foreign_op *op, const struct stored_event *event);
/** foreign_figures_close() - write the open bucket and remaining aggregates */
int foreign_figures_close(struct foreign_figures *figures);
void foreign_figures_freep(struct foreign_figures **figures);

/** foreign_gap_put() - write a gap; both bounds are included. Writes none if count is 0 */
int foreign_gap_put(struct foreign_file *f, const char *reason, uint64_t count, uint64_t from_unix_ns,
		    uint64_t to_unix_ns);
