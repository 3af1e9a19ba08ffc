// SPDX-License-Identifier: Apache-2.0
#include "archive/tables/gate.h"

#include <ctype.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/nearest.h"
#include "archive/tables/print.h"

/*
 * Allowed functions. The time of a call is limited by the size of its arguments and result (GATE_VALUE_BYTES_MAX): some
 * hundred calls run between two checks of the deadline. Not allowed are replace, which can compare a long text at every
 * position of another one, and zeroblob and randomblob, which are useless here.
 */
static const char *const functions[] = {
	"abs",
	"avg",
	"ceil",
	"ceiling",
	"char",
	"coalesce",
	"count",
	"cume_dist",
	"date",
	"datetime",
	"dense_rank",
	"exp",
	"first_value",
	"floor",
	"format",
	"glob",
	"group_concat",
	"ifnull",
	"iif",
	"instr",
	"json",
	"json_array",
	"json_array_length",
	"json_extract",
	"json_group_array",
	"json_group_object",
	"json_object",
	"json_quote",
	"json_type",
	"json_valid",
	"julianday",
	"lag",
	"last_value",
	"lead",
	"length",
	"like",
	"likely",
	"ln",
	"log",
	"log10",
	"log2",
	"lower",
	"ltrim",
	"max",
	"min",
	"mod",
	"nth_value",
	"ntile",
	"nullif",
	"percent_rank",
	"pow",
	"power",
	"printf",
	"quote",
	"rank",
	"round",
	"row_number",
	"rtrim",
	"sign",
	"sqrt",
	"strftime",
	"substr",
	"substring",
	"sum",
	"time",
	"total",
	"trim",
	"trunc",
	"typeof",
	"unicode",
	"unixepoch",
	"unlikely",
	"upper",
	"->",
	"->>",
};

#define EXPLAIN_PROGRAM 1 /* result of sqlite3_stmt_isexplain() for EXPLAIN; for EXPLAIN QUERY PLAN it is 2 */

/* Kinds of statements that are refused with their name. */
static const struct {
	int action;
	const char *what;
} actions[] = {
	{ SQLITE_INSERT, "INSERT" },
	{ SQLITE_UPDATE, "UPDATE" },
	{ SQLITE_DELETE, "DELETE" },
	{ SQLITE_CREATE_TABLE, "CREATE TABLE" },
	{ SQLITE_CREATE_TEMP_TABLE, "CREATE TEMP TABLE" },
	{ SQLITE_CREATE_INDEX, "CREATE INDEX" },
	{ SQLITE_CREATE_TEMP_INDEX, "CREATE INDEX" },
	{ SQLITE_CREATE_VIEW, "CREATE VIEW" },
	{ SQLITE_CREATE_TEMP_VIEW, "CREATE TEMP VIEW" },
	{ SQLITE_CREATE_TRIGGER, "CREATE TRIGGER" },
	{ SQLITE_CREATE_TEMP_TRIGGER, "CREATE TEMP TRIGGER" },
	{ SQLITE_CREATE_VTABLE, "CREATE VIRTUAL TABLE" },
	{ SQLITE_DROP_TABLE, "DROP TABLE" },
	{ SQLITE_DROP_VIEW, "DROP VIEW" },
	{ SQLITE_DROP_VTABLE, "DROP TABLE" },
	{ SQLITE_DROP_INDEX, "DROP INDEX" },
	{ SQLITE_DROP_TRIGGER, "DROP TRIGGER" },
	{ SQLITE_ALTER_TABLE, "ALTER TABLE" },
	{ SQLITE_ATTACH, "ATTACH" },
	{ SQLITE_DETACH, "DETACH" },
	{ SQLITE_TRANSACTION, "BEGIN, COMMIT or ROLLBACK" },
	{ SQLITE_SAVEPOINT, "SAVEPOINT" },
	{ SQLITE_REINDEX, "REINDEX" },
	{ SQLITE_ANALYZE, "ANALYZE" },
};

static int refuse(struct gate *gate, const char *fmt, ...) PRINTF_LIKE(2, 3);

static int refuse(struct gate *gate, const char *fmt, ...)
{
	FORMAT_INTO(gate->why, sizeof(gate->why), fmt);
	return SQLITE_DENY;
}

static bool is_listed(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n && list[i]; i++)
		if (sqlite3_stricmp(list[i], name) == 0)
			return true;
	return false;
}

const char *gate_function(size_t i)
{
	return i < ARRAY_SIZE(functions) ? functions[i] : NULL;
}

static int authorize_function(struct gate *gate, const char *name)
{
	if (is_listed(functions, ARRAY_SIZE(functions), name))
		return SQLITE_OK;
	return refuse(gate,
		      "the function %.64s() is not offered here; docs/sql.md (ingero://docs/sql) lists those that are",
		      name);
}

/*
 * SQLite also asks for common table expressions, so an unknown name is allowed: no other table exists. Only SQLite's
 * own tables are refused.
 */
static int authorize_read(struct gate *gate, const char *table)
{
	if (is_listed(gate->tables, SIZE_MAX, table))
		return SQLITE_OK;
	if (sqlite3_strnicmp(table, "sqlite_", 7) == 0 || sqlite3_strnicmp(table, "pragma_", 7) == 0)
		return refuse(
			gate,
			"'%.64s' is not a table to read from; docs/sql.md (ingero://docs/sql) lists those that are",
			table);
	return SQLITE_OK;
}

/* Only table_info is allowed: it lists the columns of a table. */
static int authorize_pragma(struct gate *gate, const char *name, const char *table)
{
	bool lists_columns = sqlite3_stricmp(name, "table_info") == 0 || sqlite3_stricmp(name, "table_xinfo") == 0;

	if (lists_columns && table && is_listed(gate->tables, SIZE_MAX, table))
		return SQLITE_OK;
	return refuse(gate, "PRAGMA is refused, but for 'PRAGMA table_info(TABLE)', which lists the columns of one of "
			    "our tables");
}

/* SQLite makes a table of pragma_NAME before it reads from it: the first it asks for is to update its schema. */
static bool is_own_table(int action, const char *table)
{
	return action == SQLITE_UPDATE && sqlite3_strnicmp(table, "sqlite_", 7) == 0;
}

static int authorize(void *data, int action, const char *a, const char *b, const char *database, const char *via)
{
	struct gate *gate = data;

	(void)database;
	(void)via;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_READ:
		return authorize_read(gate, a ? a : "");
	case SQLITE_FUNCTION:
		return authorize_function(gate, b ? b : "");
	case SQLITE_PRAGMA:
		return authorize_pragma(gate, a ? a : "", b);
	}
	if (is_own_table(action, a ? a : ""))
		return refuse(gate,
			      "SQLite's own tables, such as pragma_table_info, are refused; 'PRAGMA "
			      "table_info(TABLE)' lists a table's columns, and docs/sql.md the tables to read from");
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (actions[i].action == action)
			return refuse(gate, "%s is refused: a query may only read", actions[i].what);
	return refuse(gate, "this kind of statement is refused: a query may only read");
}

int gate_close_in(struct gate *gate, struct sqlite3 *db)
{
	static const struct {
		int id, value;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, GATE_VALUE_BYTES_MAX },
		{ SQLITE_LIMIT_SQL_LENGTH, GATE_SQL_BYTES_MAX },
		{ SQLITE_LIMIT_COLUMN, 200 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 100 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 10 },
		{ SQLITE_LIMIT_VDBE_OP, 25000 },
		{ SQLITE_LIMIT_FUNCTION_ARG, 32 },
		{ SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 256 },
		{ SQLITE_LIMIT_VARIABLE_NUMBER, 0 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 0 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 },
	};
	static const struct {
		int id, value;
	} configs[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
		{ SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
		{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
		{ SQLITE_DBCONFIG_DQS_DML, 0 },
		{ SQLITE_DBCONFIG_DQS_DDL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		(void)sqlite3_limit(db, limits[i].id, limits[i].value); /* restores the old value */
	for (size_t i = 0; i < ARRAY_SIZE(configs); i++)
		if (sqlite3_db_config(db, configs[i].id, configs[i].value, NULL) != SQLITE_OK)
			return -ENOTSUP;
	if (print_install(db) < 0)
		return -ENOMEM;
	(void)sqlite3_hard_heap_limit64(GATE_HEAP_BYTES);
	return sqlite3_set_authorizer(db, authorize, gate) == SQLITE_OK ? 0 : -ENOMEM;
}

/* Whether the text has only blanks, comments and semicolons. */
static bool is_blank(const char *p, const char *end)
{
	while (p < end) {
		if (isspace((unsigned char)*p) || *p == ';') {
			p++;
		} else if (end - p >= 2 && p[0] == '-' && p[1] == '-') {
			while (p < end && *p != '\n')
				p++;
		} else if (end - p >= 2 && p[0] == '/' && p[1] == '*') {
			for (p += 2; p < end && !(end - p >= 2 && p[0] == '*' && p[1] == '/'); p++)
				;
			p = end - p >= 2 ? p + 2 : end;
		} else {
			return false;
		}
	}
	return true;
}

static const char *behind(const char *text, const char *beginning)
{
	size_t n = strlen(beginning);

	return strncmp(text, beginning, n) == 0 ? text + n : NULL;
}

/* Refuses an unknown table or column: suggests the nearest table and lists all tables. */
static void refuse_unknown(struct gate *gate, const char *error)
{
	const char *table = behind(error, "no such table: "), *near;
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	size_t n = 0;

	while (gate->tables[n])
		n++;
	near = table ? name_nearest(table, gate->tables, n) : NULL;
	(void)buf_printf(&text, "invalid SQL: %.200s", error);
	if (near)
		(void)buf_printf(&text, "; did you mean '%s'? There are", near);
	else if (table)
		(void)buf_append_text(&text, "; there are");
	for (size_t i = 0; table && i < n; i++)
		(void)buf_printf(&text, "%s%s", i ? ", " : " ", gate->tables[i]);
	if (behind(error, "no such column: "))
		(void)buf_append_text(&text, "; 'PRAGMA table_info(TABLE)' lists a table's columns");
	(void)refuse(gate, "%s", buf_text(&text));
}

static int explain_failure(struct gate *gate, struct sqlite3 *db, int result)
{
	if (gate->why[0]) /* refused by the authorizer; SQLite may return another code than SQLITE_AUTH */
		return -EACCES;
	switch (result) {
	case SQLITE_AUTH:
		(void)refuse(gate, "this statement is refused: a query may only read");
		return -EACCES;
	case SQLITE_TOOBIG:
		(void)refuse(gate, "the statement, or a text in it, is longer than %d bytes", GATE_SQL_BYTES_MAX);
		return -EINVAL;
	case SQLITE_NOMEM:
		(void)refuse(gate, "the statement takes more than %lld MiB of memory", GATE_HEAP_BYTES >> 20);
		return -EINVAL;
	default:
		refuse_unknown(gate, sqlite3_errmsg(db));
		return -EINVAL;
	}
}

/* ".tables", as in the sqlite3 shell. */
static bool is_tables_command(const char *sql, size_t n)
{
	static const char word[] = ".tables";

	while (n && isspace((unsigned char)*sql))
		sql++, n--;
	return n >= strlen(word) && memcmp(sql, word, strlen(word)) == 0 && is_blank(sql + strlen(word), sql + n);
}

static void tables_statement(const struct gate *gate, struct buf *out)
{
	(void)buf_append_text(out, "SELECT column1 AS name FROM (VALUES ");
	for (size_t i = 0; gate->tables[i]; i++)
		(void)buf_printf(out, "%s('%s')", i ? "," : "", gate->tables[i]);
	(void)buf_append_text(out, ")");
}

int gate_prepare(struct gate *gate, struct sqlite3 *db, const char *sql, size_t n, struct sqlite3_stmt **ret_statement)
{
	CLEANUP(buf_done) struct buf tables = BUF_INIT;
	struct sqlite3_stmt *statement = NULL;
	const char *tail = sql;
	int r;

	gate->why[0] = '\0';
	if (gate->tables[0] && is_tables_command(sql, n)) {
		tables_statement(gate, &tables);
		if (tables.failed)
			return -ENOMEM;
		sql = buf_text(&tables);
		n = tables.n;
	}
	if (memchr(sql, '\0', n)) {
		(void)refuse(gate, "the statement contains a NUL byte");
		return -EINVAL;
	}
	if (n > GATE_SQL_BYTES_MAX) {
		(void)refuse(gate, "the statement is longer than %d bytes", GATE_SQL_BYTES_MAX);
		return -EINVAL;
	}
	if (n && *sql == '.') {
		(void)refuse(gate, "'.tables' is the only supported shell command; 'PRAGMA table_info(TABLE)' lists a "
				   "table's columns");
		return -EINVAL;
	}
	r = sqlite3_prepare_v3(db, sql, (int)n, 0, &statement, &tail);
	if (r != SQLITE_OK)
		return explain_failure(gate, db, r & 0xff);

	/* Rows of plain EXPLAIN contain addresses of tables in this process. */
	if (statement && sqlite3_stmt_isexplain(statement) == EXPLAIN_PROGRAM) {
		(void)sqlite3_finalize(statement);
		(void)refuse(gate, "EXPLAIN is refused; EXPLAIN QUERY PLAN shows how a statement is run");
		return -EACCES;
	}
	r = -EINVAL;
	if (!statement)
		(void)refuse(gate, "there is no statement: use SELECT, WITH or EXPLAIN QUERY PLAN");
	else if (!is_blank(tail, sql + n))
		(void)refuse(gate, "only one statement is allowed: there is another one after the first");
	else if (!sqlite3_stmt_readonly(statement) || sqlite3_column_count(statement) == 0)
		(void)refuse(gate, "this statement is refused: a query may only read, with SELECT, WITH or "
				   "EXPLAIN QUERY PLAN");
	else
		r = 0;
	if (r) {
		(void)sqlite3_finalize(statement);
		return r;
	}
	*ret_statement = statement;
	return 0;
}
