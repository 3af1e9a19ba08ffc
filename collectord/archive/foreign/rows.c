// SPDX-License-Identifier: Apache-2.0
/* Reads rows of untrusted tables: columns may be absent, values may have any type. */
#include "archive/foreign/foreign.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

static const char *const table_names[] = {
	[FOREIGN_EVENTS] = "events",
	[FOREIGN_STACK_TRACES] = "stack_traces",
	[FOREIGN_CHAINS] = "causal_chains",
	[FOREIGN_SNAPSHOTS] = "system_snapshots",
	[FOREIGN_SESSIONS] = "sessions",
	[FOREIGN_PROCESS_NAMES] = "process_names",
	[FOREIGN_AGGREGATES] = "event_aggregates",
	[FOREIGN_SOURCES] = "sources",
	[FOREIGN_OPS] = "ops",
};
_Static_assert(ARRAY_SIZE(table_names) == FOREIGN_TABLE_COUNT, "every table has its name");

const char *foreign_table_name(enum foreign_table table)
{
	return table_names[table];
}

/* Our statements are valid SQL, so an SQL error means that the file's schema is damaged. */
static int stranger_errno(int code)
{
	return (code & 0xff) == SQLITE_ERROR ? -EBADMSG : sql_errno(NULL, code);
}

bool foreign_has_column(const struct foreign_file *f, enum foreign_table table, const char *column)
{
	return f->has[table] && sqlite3_table_column_metadata(f->db, "main", table_names[table], column, NULL, NULL,
							      NULL, NULL, NULL) == SQLITE_OK;
}

int foreign_select(const struct foreign_file *f, enum foreign_table table, const char *columns, const char *rest,
		   struct sqlite3_stmt **ret_statement)
{
	CLEANUP(buf_done) struct buf sql = BUF_INIT;
	const char *between = "SELECT ";

	while (*columns) {
		size_t n = strcspn(columns, " "), n_name = strcspn(columns, " =");
		char name[32];

		if (n_name >= sizeof(name))
			return -EINVAL;
		memcpy(name, columns, n_name);
		name[n_name] = '\0';

		if (foreign_has_column(f, table, name))
			buf_printf(&sql, "%s\"%s\"", between, name);
		else if (n > n_name)
			buf_printf(&sql, "%s%.*s", between, (int)(n - n_name - 1), columns + n_name + 1);
		else
			buf_printf(&sql, "%s0", between);
		between = ", ";
		columns += n;
		columns += *columns == ' ';
	}
	buf_printf(&sql, " FROM main.\"%s\" %s", table_names[table], rest ? rest : "");
	if (sql.failed)
		return -ENOMEM;
	return stranger_errno(sqlite3_prepare_v2(f->db, (const char *)sql.data, (int)sql.n, ret_statement, NULL));
}

int foreign_step(struct sqlite3_stmt *statement)
{
	int result = sqlite3_step(statement);

	return result == SQLITE_ROW ? 1 : stranger_errno(result);
}

bool foreign_u64(struct sqlite3_stmt *statement, int column, uint64_t max, uint64_t *ret_value)
{
	int64_t value;

	if (sqlite3_column_type(statement, column) != SQLITE_INTEGER)
		return false;
	value = sqlite3_column_int64(statement, column);
	if (value < 0 || (uint64_t)value > max)
		return false;
	*ret_value = (uint64_t)value;
	return true;
}

double foreign_real(struct sqlite3_stmt *statement, int column)
{
	double value = sqlite3_column_double(statement, column);

	return isfinite(value) ? value : 0;
}

bool foreign_row(struct sqlite3_stmt *statement, struct foreign_row *ret_row)
{
	struct foreign_row row;
	uint64_t pid, tid, source, number;

	if (!foreign_u64(statement, 0, FOREIGN_TIME_MAX, &row.start_unix_ns) || !row.start_unix_ns ||
	    !foreign_u64(statement, 1, INT32_MAX, &pid) || !foreign_u64(statement, 2, INT32_MAX, &tid) ||
	    !foreign_u64(statement, 3, INT32_MAX, &source) || !foreign_u64(statement, 4, INT32_MAX, &number) ||
	    !foreign_u64(statement, 5, FOREIGN_TIME_MAX - row.start_unix_ns, &row.duration_ns))
		return false;
	row.pid = (uint32_t)pid;
	row.tid = (uint32_t)tid;
	row.source = (int64_t)source;
	row.number = (int64_t)number;
	*ret_row = row;
	return true;
}

const char *foreign_text(struct sqlite3_stmt *statement, int column, char *ret_text, size_t room)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);
	size_t n = text ? (size_t)sqlite3_column_bytes(statement, column) : 0, used = 0;

	for (size_t i = 0; i < n && text[i];) {
		size_t length = utf8_length(text + i, n - i);

		if (used + MAX(length, 1) >= room)
			break;
		if (length)
			memcpy(ret_text + used, text + i, length);
		else
			ret_text[used] = '?';
		used += MAX(length, 1);
		i += MAX(length, 1);
	}
	ret_text[used] = '\0';
	return ret_text;
}
