// SPDX-License-Identifier: Apache-2.0
/*
 * Packs a recording of Ingero's into tables of ours, in memory, and prints what that takes.
 *
 *   bench_import FILE...: a line each: file, calls, bytes of packed columns, of stacks with their frames, of all pages
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "archive/codec/codec.h"
#include "archive/read/read.h"

static const char tables[] =
	"CREATE TABLE frame (id INTEGER PRIMARY KEY, symbol TEXT NOT NULL, file TEXT NOT NULL, line INTEGER NOT NULL,"
	" python INTEGER NOT NULL, UNIQUE (symbol, file, line, python));"
	"CREATE TABLE stack (id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, frames BLOB NOT NULL,"
	" is_complete INTEGER NOT NULL, UNIQUE (uid, frames));"
	"CREATE TABLE block_data (id INTEGER PRIMARY KEY, data BLOB NOT NULL);";

struct import {
	sqlite3 *out;
	sqlite3_stmt *frame, *frame_find, *stack, *block;
	struct block_encoder *encoder;
	ARRAY(struct stored_event) events;
	ARRAY(uint32_t) stacks; /* in use: others are not imported */
	uint64_t n, block_bytes;
};

static int import_block(struct import *import)
{
	CLEANUP(buf_done) struct buf packed = BUF_INIT;
	struct block_head head;
	int r;

	if (!import->events.n)
		return 0;
	r = block_encode(import->encoder, import->events.items, import->events.n, &packed, &head);
	if (r < 0)
		return r;
	sqlite3_bind_blob(import->block, 1, packed.data, (int)packed.n, SQLITE_STATIC);
	r = sqlite3_step(import->block) == SQLITE_DONE ? 0 : -EIO;
	sqlite3_reset(import->block);
	import->block_bytes += packed.n;
	import->events.n = 0;
	return r;
}

static int import_event(const struct read_event *event, void *data)
{
	struct import *import = data;
	uint32_t stack = event->event->stack;
	int r = ARRAY_PUSH(&import->events, *event->event);

	for (size_t i = 0; stack && i < import->stacks.n; i++)
		if (import->stacks.items[i] == stack)
			stack = 0;
	if (r == 0 && stack)
		r = ARRAY_PUSH(&import->stacks, stack);
	import->n++;
	return r == 0 && import->events.n == BLOCK_EVENTS_MAX ? import_block(import) : r;
}

static int frame_id(struct import *import, const struct read_frame *frame, uint64_t *ret_id)
{
	sqlite3_stmt *const both[] = { import->frame, import->frame_find };

	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		sqlite3_bind_text(both[i], 1, frame->symbol, -1, SQLITE_STATIC);
		sqlite3_bind_text(both[i], 2, frame->file, -1, SQLITE_STATIC);
		sqlite3_bind_int64(both[i], 3, frame->line);
		sqlite3_bind_int(both[i], 4, frame->is_python);
		if (sqlite3_step(both[i]) == SQLITE_ROW)
			*ret_id = (uint64_t)sqlite3_column_int64(both[i], 0);
		sqlite3_reset(both[i]);
	}
	return *ret_id ? 0 : -EIO;
}

static int import_stack(const struct read_stack *stack, void *data)
{
	CLEANUP(buf_done) struct buf ids = BUF_INIT;
	struct import *import = data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < stack->n_frames; i++) {
		uint64_t id = 0;
		uint8_t byte;

		r = frame_id(import, &stack->frames[i], &id);
		for (; id >= 0x80; id >>= 7) {
			byte = (uint8_t)(id | 0x80);
			buf_append(&ids, &byte, 1);
		}
		byte = (uint8_t)id;
		buf_append(&ids, &byte, 1);
	}
	if (r < 0 || ids.failed)
		return -EIO;
	sqlite3_bind_blob(import->stack, 1, ids.data, (int)ids.n, SQLITE_STATIC);
	r = sqlite3_step(import->stack) == SQLITE_DONE ? 0 : -EIO;
	sqlite3_reset(import->stack);
	return r;
}

static uint64_t ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	uint64_t value = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
		value = (uint64_t)sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}

static int import_file(const char *path, struct import *import, char *why)
{
	struct read_scope scope = { .all = true };
	struct read_filter filter = { .columns = BLOCK_ALL_COLUMNS };
	struct store_reader *reader = NULL;
	sqlite3 *db = NULL;
	int r = -EIO;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) == SQLITE_OK)
		r = store_reader_open(db, &scope, why, &reader);
	if (r == 0)
		r = store_reader_events(reader, &filter, import_event, import);
	if (r == 0)
		r = import_block(import);
	for (size_t i = 0; r == 0 && i < import->stacks.n; i++)
		r = store_reader_stacks(reader, import->stacks.items[i], import_stack, import);
	store_reader_close(reader);
	sqlite3_close(db);
	return r;
}

static int import_one(const char *path)
{
	struct import import = { 0 };
	char why[READ_WHY_BYTES] = "";
	int r = block_encoder_new(&import.encoder);

	if (r == 0 &&
	    (sqlite3_open(":memory:", &import.out) != SQLITE_OK ||
	     sqlite3_exec(import.out, tables, NULL, NULL, NULL) != SQLITE_OK ||
	     sqlite3_prepare_v2(import.out,
				"INSERT OR IGNORE INTO frame (symbol, file, line, python)"
				" VALUES (?1, ?2, ?3, ?4)",
				-1, &import.frame, NULL) ||
	     sqlite3_prepare_v2(import.out,
				"SELECT id FROM frame WHERE symbol = ?1 AND file = ?2 AND"
				" line = ?3 AND python = ?4",
				-1, &import.frame_find, NULL) ||
	     sqlite3_prepare_v2(import.out,
				"INSERT OR IGNORE INTO stack (uid, frames, is_complete)"
				" VALUES (0, ?1, 0)",
				-1, &import.stack, NULL) ||
	     sqlite3_prepare_v2(import.out, "INSERT INTO block_data (data) VALUES (?1)", -1, &import.block, NULL)))
		r = -EIO;
	if (r == 0)
		r = import_file(path, &import, why);
	if (r < 0)
		fprintf(stderr, "bench_import: '%s': %s %s\n", path, strerror(-r), why);
	else
		printf("%s %llu %llu %llu %llu\n", path, (unsigned long long)import.n,
		       (unsigned long long)import.block_bytes,
		       (unsigned long long)(ask(import.out, "SELECT ifnull(sum(length(frames) + 4), 0) FROM stack") +
					    ask(import.out,
						"SELECT ifnull(sum(length(symbol) + length(file) + 4), 0) FROM frame")),
		       (unsigned long long)(ask(import.out, "PRAGMA page_count") *
					    ask(import.out, "PRAGMA page_size")));
	sqlite3_finalize(import.frame);
	sqlite3_finalize(import.frame_find);
	sqlite3_finalize(import.stack);
	sqlite3_finalize(import.block);
	sqlite3_close(import.out);
	block_encoder_free(import.encoder);
	ARRAY_DONE(&import.events);
	ARRAY_DONE(&import.stacks);
	return r < 0;
}

int main(int argc, char **argv)
{
	int status = 0;

	for (int i = 1; i < argc; i++)
		status |= import_one(argv[i]);
	return status;
}
