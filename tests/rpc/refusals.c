// SPDX-License-Identifier: Apache-2.0
#include "tests/rpc/refusals.h"

#include "base/cleanup.h"
#include "proto/frame.h"

#define OWN_TABLE                                                                                                      \
	"SQLite's own tables, such as pragma_table_info, are refused; 'PRAGMA table_info(TABLE)' lists a table's "     \
	"columns, and docs/sql.md the tables to read from"

const struct refusal refusals[] = {
	{ "writing", "INSERT INTO events (pid) VALUES (1)", 0, "" },
	{ "changing", "UPDATE events SET pid = 1", 0, "" },
	{ "deleting", "DELETE FROM events", 0, "" },
	{ "writing behind WITH", "WITH x AS (SELECT 1)\tINSERT INTO events (pid) SELECT * FROM x", 0, "" },
	{ "a table", "CREATE TABLE t (a)", CALL_ERROR_NOT_ALLOWED, "" },
	{ "a temporary table", "CREATE TEMP TABLE t (a)", CALL_ERROR_NOT_ALLOWED, "" },
	{ "a table of the answer", "CREATE TABLE t AS SELECT * FROM events", CALL_ERROR_NOT_ALLOWED, "" },
	{ "a view", "CREATE VIEW v AS SELECT 1", CALL_ERROR_NOT_ALLOWED, "" },
	{ "a temporary view", "CREATE TEMP VIEW v AS SELECT * FROM events", CALL_ERROR_NOT_ALLOWED, "" },
	{ "a trigger", "CREATE TEMP TRIGGER t AFTER INSERT ON events BEGIN SELECT 1; END", 0, "" },
	{ "a virtual table", "CREATE VIRTUAL TABLE t USING fts5(a)", CALL_ERROR_NOT_ALLOWED, "" },
	{ "one of ours", "CREATE VIRTUAL TABLE t USING events", CALL_ERROR_NOT_ALLOWED, "" },
	{ "dropping", "DROP TABLE events", 0, "" },
	{ "altering", "ALTER TABLE events RENAME TO e", 0, "" },
	{ "the file", "ATTACH '/var/lib/ingero/ingero.db' AS d", CALL_ERROR_NOT_ALLOWED, "ATTACH" },
	{ "the file by its address", "ATTACH 'file:/etc/passwd?mode=ro' AS d", CALL_ERROR_NOT_ALLOWED, "ATTACH" },
	{ "detaching", "DETACH main", CALL_ERROR_NOT_ALLOWED, "DETACH" },
	{ "a copy", "VACUUM INTO '/srv/stolen.db'", 0, "only read" },
	{ "packing", "VACUUM", 0, "only read" },
	{ "statistics", "ANALYZE", CALL_ERROR_NOT_ALLOWED, "" },
	{ "an index", "REINDEX", 0, "only read" },
	{ "a setting", "PRAGMA query_only = 0", CALL_ERROR_NOT_ALLOWED, "PRAGMA" },
	{ "a harmless setting", "PRAGMA user_version", CALL_ERROR_NOT_ALLOWED, "PRAGMA" },
	{ "a setting as a table", "SELECT * FROM pragma_database_list", CALL_ERROR_NOT_ALLOWED, OWN_TABLE },
	{ "a list of tables", "SELECT * FROM pragma_table_list", CALL_ERROR_NOT_ALLOWED, OWN_TABLE },
	{ "columns as a table", "SELECT name FROM pragma_table_info('events')", CALL_ERROR_NOT_ALLOWED, OWN_TABLE },
	{ "the same beside one of ours", "SELECT * FROM events, Pragma_Table_Info('events')", CALL_ERROR_NOT_ALLOWED,
	  OWN_TABLE },
	{ "a name like that", "UPDATE events SET comm = 'pragma_table_info'", 0, "" },
	{ "a transaction", "BEGIN", CALL_ERROR_NOT_ALLOWED, "BEGIN" },
	{ "an end of ours", "COMMIT", CALL_ERROR_NOT_ALLOWED, "COMMIT" },
	{ "a mark", "SAVEPOINT s", CALL_ERROR_NOT_ALLOWED, "SAVEPOINT" },
	{ "the schema", "SELECT * FROM sqlite_master", CALL_ERROR_NOT_ALLOWED, "sqlite_master" },
	{ "the schema by its other name", "SELECT * FROM sqlite_schema", CALL_ERROR_NOT_ALLOWED, "" },
	{ "the temporary schema", "SELECT * FROM sqlite_temp_master", CALL_ERROR_NOT_ALLOWED, "" },
	{ "tables of the file", "SELECT * FROM block_data", CALL_ERROR_INVALID,
	  "no such table: block_data; there are" },
	{ "a slip in a table's name", "SELECT * FROM operatons", CALL_ERROR_INVALID,
	  "no such table: operatons; did you mean 'operations'? There are events, operations, event_aggregates" },
	{ "a column that is none", "SELECT durtion FROM events", CALL_ERROR_INVALID,
	  "no such column: durtion; 'PRAGMA table_info(TABLE)' lists a table's columns" },
	{ "columns of the schema", "PRAGMA table_info(sqlite_schema)", CALL_ERROR_NOT_ALLOWED, "PRAGMA" },
	{ "columns of everything", "PRAGMA table_info", CALL_ERROR_NOT_ALLOWED, "PRAGMA" },
	{ "another list of tables", ".schema", CALL_ERROR_INVALID, "'.tables'" },
	{ "with their database", "SELECT * FROM main.process", CALL_ERROR_INVALID, "no such table" },
	{ "pages", "SELECT * FROM dbstat", CALL_ERROR_INVALID, "no such table" },
	{ "statements", "SELECT * FROM sqlite_stmt", 0, "" },
	{ "full text", "SELECT fts5('x')", 0, "" },
	{ "a library", "SELECT load_extension('/var/lib/x.so')", 0, "load_extension" },
	{ "a tokenizer", "SELECT fts3_tokenizer('simple')", 0, "fts3_tokenizer" },
	{ "a pointer of ours", "SELECT sqlite_log(1, 'x')", 0, "" },
	{ "a name of ours", "SELECT sqlite_source_id()", CALL_ERROR_NOT_ALLOWED, "sqlite_source_id" },
	{ "a file", "SELECT readfile('/etc/shadow')", CALL_ERROR_INVALID, "readfile" },
	{ "gigabytes of zeros", "SELECT zeroblob(900000000)", CALL_ERROR_NOT_ALLOWED, "zeroblob" },
	{ "gigabytes of noise", "SELECT randomblob(900000000)", CALL_ERROR_NOT_ALLOWED, "randomblob" },
	{ "twice as much", "SELECT hex('x')", CALL_ERROR_NOT_ALLOWED, "hex" },
	{ "many times as much", "SELECT replace('aa', 'a', 'bb')", CALL_ERROR_NOT_ALLOWED, "replace" },
	{ "gigabytes by format", "SELECT length(printf('%.*c', 900000000, 'x'))", CALL_ERROR_INVALID, "at most 1000" },
	{ "the same by its other name", "SELECT format('%900000000d', 1)", CALL_ERROR_INVALID, "at most 1000" },
	{ "ever so many digits", "SELECT format('%.99999999999999999999f', 1)", CALL_ERROR_INVALID, "at most 1000" },
	{ "a pointer of the process", "SELECT printf('%p', 1)", CALL_ERROR_INVALID, "printf() knows" },
	{ "a directive that ends early", "SELECT printf('%')", CALL_ERROR_INVALID, "printf() knows" },
	{ "more than a text may hold", "SELECT group_concat(a.id) FROM events a, events b LIMIT 1", 0, "" },
	{ "two statements", "SELECT 1; SELECT 2", CALL_ERROR_INVALID, "one statement" },
	{ "a second one that writes", "SELECT 1; DROP TABLE events", CALL_ERROR_INVALID, "one statement" },
	{ "a second one behind a comment", "SELECT 1; /* x */ ATTACH 'a' AS b", CALL_ERROR_INVALID, "one statement" },
	{ "none", "", CALL_ERROR_INVALID, "no statement" },
	{ "blanks", "  -- nothing", CALL_ERROR_INVALID, "no statement" },
	{ "nonsense", "SELEKT 1", CALL_ERROR_INVALID, "syntax" },
	/* The program of SQLite's machine has addresses of the reader's memory in it. */
	{ "a plan with addresses", "EXPLAIN SELECT * FROM events", CALL_ERROR_NOT_ALLOWED, "EXPLAIN QUERY PLAN" },
	{ "the same behind a comment", "/* x */ explain WITH x AS (SELECT 1) SELECT * FROM x", CALL_ERROR_NOT_ALLOWED,
	  "EXPLAIN QUERY PLAN" },
	{ "a column in double quotes that is none", "SELECT \"no such column\"", CALL_ERROR_INVALID, "no such column" },
	{ "a parameter", "SELECT ?1", CALL_ERROR_INVALID, "" },
	{ "itself", "WITH events AS (SELECT * FROM events) SELECT * FROM events", CALL_ERROR_INVALID, "circular" },
	{ "an overflow", "SELECT abs(-9223372036854775807 - 1)", CALL_ERROR_INVALID, "overflow" },
	{ "a long pattern",
	  "SELECT 1 FROM events WHERE comm LIKE "
	  "'%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%"
	  "a"
	  "%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%"
	  "a%a"
	  "%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%"
	  "a%a'",
	  CALL_ERROR_INVALID, "pattern" },
	{ "too many columns in one",
	  "SELECT * FROM events a, events b, events c, events d, events e, events f, events g", CALL_ERROR_INVALID,
	  "" },
	{ "eleven selects in one",
	  "SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION "
	  "SELECT 8 UNION SELECT 9 UNION SELECT 10 UNION SELECT 11",
	  CALL_ERROR_INVALID, "compound" },
	/* Stopped: */
	{ "recursion without an end", FOR_EVER "SELECT count(*) FROM c", CALL_ERROR_DEADLINE,
	  "the statement took longer than its limit of 0.25 s" },
	{ "recursion that gives rows for ever", FOR_EVER "SELECT x FROM c WHERE x < 0", CALL_ERROR_DEADLINE,
	  "stopped" },
	{ "everything with everything", "SELECT count(*) FROM events a, events b, events c", CALL_ERROR_DEADLINE,
	  "stopped" },
	{ "a million characters in each of ever so many rows",
	  FOR_EVER "SELECT sum(length(printf('%s%s', printf('%01000d', x), '\303\251'))) FROM c", CALL_ERROR_DEADLINE,
	  "stopped" },
	{ "the same in JSON",
	  "WITH RECURSIVE t(s) AS (SELECT group_concat(id) FROM (SELECT id FROM events LIMIT 1000)), c(x) AS (SELECT 1 "
	  "UNION ALL SELECT x + 1 FROM c) SELECT sum(json_array_length(json_array(s, x))) FROM c, t",
	  CALL_ERROR_DEADLINE, "stopped" },
	{ "everything with everything, sorted",
	  "SELECT max(a.duration + b.duration) FROM events a, events b, events c "
	  "GROUP BY a.id, b.id ORDER BY 1",
	  CALL_ERROR_DEADLINE, "stopped" },
	{ "figures with figures", "SELECT count(*) FROM event_aggregates a, events b, events c, events d",
	  CALL_ERROR_DEADLINE, "stopped" },
	{ "patterns", "SELECT count(*) FROM events a, events b WHERE a.id LIKE '%1%2%3%4%5%6%7%8%9%' || b.id",
	  CALL_ERROR_DEADLINE, "stopped" },
	{ "a text that doubles",
	  "WITH RECURSIVE d(t) AS (SELECT 'xxxxxxxxxxxxxxxx' UNION ALL SELECT t || t FROM d) SELECT length(t) FROM d",
	  CALL_ERROR_QUOTA, "1000000 bytes" },
	{ "a queue without an end",
	  "WITH RECURSIVE d(n, t) AS (SELECT 1, substr('" /* 64 */
	  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', 1) UNION ALL SELECT n + 1, t || t FROM d "
	  "WHERE n < 15) SELECT count(*) FROM d a, d b, d c, d d1, d e, d f ORDER BY a.t || b.t || c.t",
	  0, "" },
};

const size_t refusals_count = ARRAY_SIZE(refusals);
