// SPDX-License-Identifier: Apache-2.0
/*
 * Imports recordings of Ingero, and prints the sizes of the imported data.
 *
 *   bench_import FILE...
 *
 * Prints a line for each FILE: its name, number of calls, bytes of the packed columns, bytes of the stacks of these
 * calls with their frames, bytes of all pages of these tables.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "archive/foreign/import.h"
#include "archive/read/read.h"
#include "archive/sql/sql.h"

/* Remove stacks without a call and frames without a stack, which remained in the file when calls were deleted. */
static const char begin[] = "CREATE TABLE used_stack (id INTEGER PRIMARY KEY);"
			    "CREATE TABLE used_frame (symbol, file, line, python, UNIQUE (symbol, file, line, python))";
static const char end[] = "DELETE FROM stack WHERE id NOT IN (SELECT id FROM used_stack);"
			  "DELETE FROM frame WHERE (symbol, file, line, python) NOT IN (SELECT * FROM used_frame);"
			  "DROP TABLE used_stack; DROP TABLE used_frame; VACUUM";
static const char figures[] =
	"SELECT (SELECT ifnull(sum(n), 0) FROM block), (SELECT ifnull(sum(length(data)), 0) FROM block_data),"
	" (SELECT ifnull(sum(length(frames) + 4), 0) FROM stack)"
	" + (SELECT ifnull(sum(length(symbol) + length(file) + 4), 0) FROM frame),"
	" (SELECT sum(pgsize) FROM dbstat WHERE name IN ('block_data', 'stack', 'frame') OR name LIKE '%_stack_%'"
	" OR name LIKE '%_frame_%')";

struct used {
	struct store_reader *reader;
	sqlite3_stmt *stack, *frame;
};

static int frames_note(const struct read_stack *stack, void *data)
{
	struct used *used = data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < stack->n_frames; i++) {
		const struct read_frame *f = &stack->frames[i];

		sql_text(used->frame, 1, f->symbol);
		sql_text(used->frame, 2, f->file);
		SQL_INTS(used->frame, 3, f->line, f->is_python);
		r = sql_run(used->frame);
	}
	return r;
}

static int stack_note(const struct read_event *event, void *data)
{
	struct used *used = data;

	if (!event->event->stack)
		return 0;
	(void)sqlite3_bind_int64(used->stack, 1, event->event->stack);
	return sql_run(used->stack);
}

static int unused_delete(sqlite3 *db)
{
	struct read_filter filter = { .columns = BLOCK_COLUMN(BLOCK_STACK) };
	struct read_scope scope = { .all = true };
	CLEANUP(sql_finalizep) sqlite3_stmt *ids = NULL;
	char why[READ_WHY_BYTES];
	struct used used = { 0 };
	int r = store_reader_open(db, &scope, why, &used.reader);

	r = r ? r : sql_errno(db, sqlite3_exec(db, begin, NULL, NULL, NULL));
	r = r ? r : sql_prepare(db, "INSERT OR IGNORE INTO used_stack VALUES (?1)", &used.stack);
	r = r ? r : sql_prepare(db, "INSERT OR IGNORE INTO used_frame VALUES (?1, ?2, ?3, ?4)", &used.frame);
	r = r ? r : store_reader_events(used.reader, &filter, stack_note, &used);
	r = r ? r : sql_prepare(db, "SELECT id FROM used_stack", &ids);
	while (r == 0 && (r = sql_step(ids)) > 0)
		r = store_reader_stacks(used.reader, (uint32_t)sqlite3_column_int64(ids, 0), frames_note, &used);
	sqlite3_reset(ids);
	sqlite3_finalize(used.stack);
	sqlite3_finalize(used.frame);
	store_reader_close(used.reader);
	return r ? r : sql_errno(db, sqlite3_exec(db, end, NULL, NULL, NULL));
}

static int import_one(const char *path)
{
	struct read_scope scope = { .all = true };
	char why[READ_WHY_BYTES] = "";
	sqlite3 *db = NULL, *imported = NULL;
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK ? 0 : -EIO;

	r = r ? r : foreign_import(db, &scope, true, why, &imported);
	r = r ? r : unused_delete(imported);
	r = r ? r : sql_prepare(imported, figures, &s);
	r = r ? r : sql_step(s);
	if (r <= 0)
		fprintf(stderr, "bench_import: '%s': %s %s\n", path, strerror(-r), why);
	else
		printf("%s %lld %lld %lld %lld\n", path, (long long)sqlite3_column_int64(s, 0),
		       (long long)sqlite3_column_int64(s, 1), (long long)sqlite3_column_int64(s, 2),
		       (long long)sqlite3_column_int64(s, 3));
	(void)sqlite3_finalize(TAKE_PTR(s));
	sqlite3_close(imported);
	sqlite3_close(db);
	return r <= 0;
}

int main(int argc, char **argv)
{
	int status = 0;

	for (int i = 1; i < argc; i++)
		status |= import_one(argv[i]);
	return status;
}
