// SPDX-License-Identifier: Apache-2.0
/* Method Sql: runs a caller's statement in a database that has only the tables of tables.c. */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "archive/tables/gate.h"
#include "archive/job.h"
#include "archive/tables/tables.h"
#include "ingero/v1/ingero.pb-c.h"

#define ROWS_DEFAULT 10000
#define BATCH_ROWS 500
#define BATCH_BYTES (60u * 1024) /* values of one message, which is about as large */
struct sql {
	struct reader_job *job;
	sqlite3 *db;
	sqlite3_stmt *statement;
	struct gate gate;
	struct arena arena;
	Ingero__V1__SqlReply reply;
	Ingero__V1__SqlRow *rows[BATCH_ROWS];
	size_t bytes;
	int n_columns;
};

static int sql_open(struct sql *s)
{
	int r;

	if (sqlite3_open_v2(":memory:", &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
			    NULL) != SQLITE_OK ||
	    sqlite3_exec(s->db, "PRAGMA temp_store=1; PRAGMA cache_size=-2048; PRAGMA cell_size_check=1", NULL, NULL,
			 NULL) != SQLITE_OK)
		return -ENOMEM;
	r = tables_install(s->db, s->job);
	if (r < 0)
		return r;
	reader_deadline_set(s->job, s->db);
	s->gate.tables = tables_names();
	return gate_close_in(&s->gate, s->db);
}

/* Sends the error of a running statement. Return: 1 */
static int sql_failed(struct sql *s, int result)
{
	switch (result & 0xff) {
	case SQLITE_INTERRUPT:
		return reader_fail(CALL_ERROR_DEADLINE,
				   "the statement took longer than its limit of %.3g s and was stopped: narrow it by "
				   "timestamp or pid; 'ingero query --timeout' gives it longer",
				   (double)s->job->limit_ns / 1e9);
	case SQLITE_NOMEM:
		return reader_fail(CALL_ERROR_QUOTA,
				   "the statement takes more than %lld MiB of memory and was stopped: narrow it",
				   GATE_HEAP_BYTES >> 20);
	case SQLITE_FULL:
		return reader_fail(CALL_ERROR_QUOTA,
				   "the statement sorts more than there is temporary room for and was stopped: narrow "
				   "it by timestamp or pid");
	case SQLITE_TOOBIG:
		return reader_fail(CALL_ERROR_QUOTA, "a value grows beyond %d bytes, and the statement was stopped",
				   GATE_VALUE_BYTES_MAX);
	default:
		return reader_fail(CALL_ERROR_INVALID, "the statement failed: %.300s", sqlite3_errmsg(s->db));
	}
}

static int sql_value_set(struct sql *s, int column, Ingero__V1__SqlValue *value)
{
	size_t n;

	switch (sqlite3_column_type(s->statement, column)) {
	case SQLITE_INTEGER:
		value->value_case = INGERO__V1__SQL_VALUE__VALUE_INTEGER;
		value->integer = sqlite3_column_int64(s->statement, column);
		break;
	case SQLITE_FLOAT:
		value->value_case = INGERO__V1__SQL_VALUE__VALUE_REAL;
		value->real = sqlite3_column_double(s->statement, column);
		break;
	case SQLITE_TEXT:
		value->value_case = INGERO__V1__SQL_VALUE__VALUE_TEXT;
		value->text = arena_copy_text(&s->arena, (const char *)sqlite3_column_text(s->statement, column));
		if (!value->text)
			return -ENOMEM;
		s->bytes += strlen(value->text);
		break;
	case SQLITE_BLOB:
		n = (size_t)sqlite3_column_bytes(s->statement, column);
		value->value_case = INGERO__V1__SQL_VALUE__VALUE_BLOB;
		value->blob.data = arena_alloc(&s->arena, n + 1);
		if (!value->blob.data)
			return -ENOMEM;
		if (n)
			memcpy(value->blob.data, sqlite3_column_blob(s->statement, column), n);
		value->blob.len = n;
		s->bytes += n;
		break;
	}
	s->bytes += 12; /* size of a number, and of the framing of any value */
	return 0;
}

static int sql_row_add(struct sql *s)
{
	Ingero__V1__SqlRow *row = ARENA_NEW(&s->arena, Ingero__V1__SqlRow);
	int r = 0;

	if (!row)
		return -ENOMEM;
	ingero__v1__sql_row__init(row);
	row->values = ARENA_NEW_N(&s->arena, Ingero__V1__SqlValue *, (size_t)s->n_columns);
	if (!row->values)
		return -ENOMEM;
	for (int i = 0; i < s->n_columns && r == 0; i++) {
		Ingero__V1__SqlValue *value = ARENA_NEW(&s->arena, Ingero__V1__SqlValue);

		if (!value)
			return -ENOMEM;
		ingero__v1__sql_value__init(value);
		row->values[row->n_values++] = value;
		r = sql_value_set(s, i, value);
	}
	s->rows[s->reply.n_rows++] = row;
	return r;
}

static int sql_rows_send(struct sql *s)
{
	int r;

	s->reply.rows = s->rows;
	r = reader_reply(s->job, &s->reply.base);
	arena_done(&s->arena);
	s->reply = (Ingero__V1__SqlReply)INGERO__V1__SQL_REPLY__INIT;
	s->bytes = 0;
	return r;
}

static int columns_set(struct sql *s)
{
	s->n_columns = sqlite3_column_count(s->statement);
	s->reply.columns = ARENA_NEW_N(&s->arena, char *, (size_t)s->n_columns);
	if (!s->reply.columns)
		return -ENOMEM;
	for (int i = 0; i < s->n_columns; i++) {
		const char *name = sqlite3_column_name(s->statement, i);

		s->reply.columns[i] = name ? arena_copy_text(&s->arena, name) : NULL;
		if (!s->reply.columns[i])
			return -ENOMEM;
		s->reply.n_columns++;
	}
	return 0;
}

/* Return: 0, 1 when the error was sent, -errno */
static int rows_send(struct sql *s, uint64_t most)
{
	int step, r = 0;

	for (uint64_t n = 0; (step = sqlite3_step(s->statement)) == SQLITE_ROW; n++) {
		if (n == most) {
			s->reply.is_cut = true;
			break;
		}
		r = sql_row_add(s);
		if (r == 0 && (s->reply.n_rows == BATCH_ROWS || s->bytes >= BATCH_BYTES))
			r = sql_rows_send(s);
		if (r)
			return r;
	}
	if (step != SQLITE_ROW && step != SQLITE_DONE)
		return sql_failed(s, step);
	s->reply.note = s->job->note;
	return sql_rows_send(s);
}

int reader_sql(struct reader_job *job)
{
	struct sql *s = calloc(1, sizeof(*s));
	Ingero__V1__SqlRequest *request;
	int r;

	if (!s)
		return reader_fail_errno(job, -ENOMEM);
	s->job = job;
	s->reply = (Ingero__V1__SqlReply)INGERO__V1__SQL_REPLY__INIT;
	request = ingero__v1__sql_request__unpack(NULL, job->request_bytes, job->request);
	if (!request)
		return reader_fail(CALL_ERROR_PROTOCOL, "the request is not valid for method Sql");
	r = sql_open(s);
	if (r < 0)
		return reader_fail_errno(job, r);

	r = gate_prepare(&s->gate, s->db, request->sql, strlen(request->sql), &s->statement);
	if (r < 0)
		return reader_fail(r == -EACCES ? CALL_ERROR_NOT_ALLOWED : CALL_ERROR_INVALID, "%s", s->gate.why);
	r = columns_set(s);
	if (r == 0)
		r = rows_send(s, request->rows_max ? request->rows_max : ROWS_DEFAULT);
	if (r == -EMSGSIZE)
		return reader_fail(CALL_ERROR_QUOTA,
				   "a row is larger than a message may be (%u KiB): select fewer or shorter columns",
				   READER_REPLY_MAX >> 10);
	return r < 0 ? reader_fail_errno(job, r) : r;
}
