// SPDX-License-Identifier: Apache-2.0
/*
 * A caller's statement, prepared and run for a moment behind the gate on a database without a
 * table: what gets through only reads, and ends.
 */
#include "archive/tables/gate.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_progress(void *data)
{
	return ++*(int *)data > 20; /* some ten thousand opcodes */
}

/* Nothing may be written, changed or attached, whatever was said. */
static void expect_untouched(sqlite3 *db)
{
	if (sqlite3_total_changes(db) != 0 || !sqlite3_get_autocommit(db) || sqlite3_db_name(db, 2))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const no_tables[] = { NULL };
	static const char *kept_modules[] = { "json_each", "json_tree", NULL };
	struct gate gate = { .tables = no_tables };
	sqlite3_stmt *statement = NULL;
	sqlite3 *db = NULL;
	int n = 0;

	if (sqlite3_open(":memory:", &db) != SQLITE_OK || sqlite3_drop_modules(db, kept_modules) != SQLITE_OK ||
	    gate_close_in(&gate, db) < 0)
		abort();
	sqlite3_progress_handler(db, 1000, on_progress, &n);
	if (gate_prepare(&gate, db, (const char *)data, size, &statement) == 0) {
		while (sqlite3_step(statement) == SQLITE_ROW)
			;
		(void)sqlite3_finalize(statement);
	} else if (!gate.why[0]) {
		abort(); /* refused without a word */
	}
	expect_untouched(db);
	(void)sqlite3_close(db);
	return 0;
}
