// SPDX-License-Identifier: Apache-2.0
/*
 * The writing connection: settings, prepared statements, transactions, checkpoints.
 *
 * Used by the writing thread alone. SQLite's errors end here: callers get a negative errno, -EBADMSG for damage and
 * -ENOSPC for a full disk.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/sql/sql.h"
#include "base/cleanup.h"

#define DB_CHECKPOINT_PAGES 1000 /* pages of the log; 4 000 write half as much into the file, but block for 48 ms */
#define DB_LOG_BYTES_MAX (64ll << 20) /* the log is cut to this size when no reader uses it */

enum db_statement {
	DB_BEGIN,
	DB_COMMIT,
	DB_ROLLBACK,
	DB_PUT_CLOCK,
	DB_PUT_OP,
	DB_PUT_PROCESS,
	DB_END_PROCESS,
	DB_PUT_TAIL,
	DB_PUT_FIGURES,
	DB_DELETE_PARTS,
	DB_PUT_FINDING,
	DB_FIND_FRAME,
	DB_PUT_FRAME,
	DB_COUNT_FRAME,
	DB_DELETE_FRAME,
	DB_PUT_STACK,
	DB_USE_STACK,
	DB_GET_STACK,
	DB_DELETE_STACK,
	DB_PUT_GAP,
	DB_PUT_SNAPSHOT,
	DB_SEEN_SESSION,
	DB_END_SESSION,
	DB_COST_SESSION,
	DB_BACK_END_SESSION,
	DB_GET_TAILS,
	DB_DELETE_TAIL,
	DB_PUT_BLOCK,
	DB_PUT_BLOCK_DATA,
	DB_SET_ASIDE,
	DB_DROP_FINER,
	DB_CLOCK_AT,
	DB_CLOCK_FIRST,
	DB_SCRUB_BLOCKS,
	DB_PAGES,
	DB_FREE_PAGES,
	DB_STATEMENT_COUNT
};

struct db {
	sqlite3 *handle;
	sqlite3_stmt *statements[DB_STATEMENT_COUNT];
	int log_pages; /* of the write-ahead log after the last commit */
};

#define DB_INIT                                                                                                        \
	{                                                                                                              \
		.handle = NULL                                                                                         \
	}

/** db_open() - connect, without reading. Return: 0 or -errno; call db_close() in both cases */
int db_open(struct db *db, const char *path);
/** db_configure() - set journal mode, cache and other settings, on a file of ours. Return: 0 or -errno */
int db_configure(struct db *db);
/** db_prepare() - prepare every statement, once the tables exist. Return: 0 or -errno */
int db_prepare(struct db *db);
/** db_close() - close, after a last checkpoint if the statements are prepared; a half-open connection is allowed */
void db_close(struct db *db);
/** db_take() - give the connection without statements and hooks to the caller; NULL when not open */
sqlite3 *db_take(struct db *db);
/** db_abandon() - close without further changes */
void db_abandon(struct db *db);

/** db_exec() - statements without results. Return: 0 or -errno */
int db_exec(struct db *db, const char *sql);
/** db_get_int() - first column of the first row. Return: 1, 0 without a row or for NULL, -errno */
int db_get_int(struct db *db, const char *sql, int64_t *ret_value);
/** db_statement() - a statement to bind; run or reset it in the same function */
sqlite3_stmt *db_statement(struct db *db, enum db_statement which);

int db_begin(struct db *db);
int db_commit(struct db *db);
/** db_rollback() - roll back the rest of a failed transaction: SQLite may have rolled back already */
void db_rollback(struct db *db);
/** db_checkpoint() - move the log into the file when it is long; never waits for readers. Return: 0 or -errno */
int db_checkpoint(struct db *db);
/** db_used_pages() - number of used pages. Return: 0 or -errno */
int db_used_pages(struct db *db, uint64_t *ret_pages);
