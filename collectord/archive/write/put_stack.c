// SPDX-License-Identifier: Apache-2.0
/*
 * Rows of stacks and of their frames. A frame counts how often stacks have it, so that it goes with the last of them
 * without a search.
 */
#include <errno.h>
#include <string.h>

#include "archive/codec/stack_frames.h"
#include "archive/write/writer.h"

#define FRAME_TEXT_BYTES 1024 /* maximum length of a text; the rest is cut */

/* Length of a text, cut to a whole number of characters. */
static int frame_text_bytes(const char *text)
{
	size_t n = strnlen(text, FRAME_TEXT_BYTES + 1);

	if (n > FRAME_TEXT_BYTES)
		for (n = FRAME_TEXT_BYTES; n && ((unsigned char)text[n] & 0xc0) == 0x80;)
			n--;
	return (int)n;
}

static void frame_text_bind(sqlite3_stmt *s, int parameter, const char *text)
{
	(void)sqlite3_bind_text(s, parameter, text, frame_text_bytes(text), SQLITE_STATIC);
}

/* Parameters of DB_FIND_FRAME and DB_PUT_FRAME. */
static void frame_bind(sqlite3_stmt *s, uint32_t uid, const struct stack_frame *frame)
{
	(void)sqlite3_bind_int64(s, 1, uid);
	frame_text_bind(s, 2, frame->symbol);
	(void)sqlite3_bind_int64(s, 3, frame->line);
	frame_text_bind(s, 4, frame->file);
	frame_text_bind(s, 5, frame->module);
	frame_text_bind(s, 6, frame->qualname);
	(void)sqlite3_bind_int64(s, 7, frame->is_python);
}

/* Return: 1 with the id, 0: there is no such row, -errno */
static int frame_find(struct writer *writer, uint32_t uid, const struct stack_frame *frame, int64_t *ret_id)
{
	CLEANUP(sql_resetp) sqlite3_stmt *s = db_statement(&writer->db, DB_FIND_FRAME);
	int r;

	frame_bind(s, uid, frame);
	r = sql_step(s);
	if (r > 0)
		*ret_id = sqlite3_column_int64(s, 0);
	return r;
}

static int frame_count(struct writer *writer, int64_t id, int64_t n)
{
	sqlite3_stmt *s = db_statement(&writer->db, DB_COUNT_FRAME);

	SQL_INTS(s, 1, id, n);
	return sql_run(s);
}

/* Row of a frame, made if there is none, and counted. */
static int frame_row(struct writer *writer, uint32_t uid, const struct stack_frame *frame, uint32_t *ret_id)
{
	int64_t id = 0;
	int r = frame_find(writer, uid, frame, &id);

	if (r == 0) {
		sqlite3_stmt *s = db_statement(&writer->db, DB_PUT_FRAME);

		frame_bind(s, uid, frame);
		r = sql_run(s);
		id = sqlite3_last_insert_rowid(writer->db.handle);
	}
	if (r < 0)
		return r;
	if (id <= 0 || id > UINT32_MAX)
		return -ENOSPC;
	*ret_id = (uint32_t)id;
	return frame_count(writer, id, 1);
}

int writer_put_stack(struct writer *writer, const struct batch_stack *stack)
{
	CLEANUP(buf_done) struct buf blob = BUF_INIT;
	struct stored_frame frames[STORED_FRAMES_MAX];
	sqlite3_stmt *s;
	size_t n = MIN(stack->n_frames, (size_t)STORED_FRAMES_MAX);
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		frames[i].ip = stack->frames[i].ip;
		r = frame_row(writer, stack->uid, &stack->frames[i], &frames[i].id);
	}
	r = r ? r : stack_frames_encode(frames, n, &blob);
	if (r < 0)
		return r;
	s = db_statement(&writer->db, DB_PUT_STACK);
	SQL_INTS(s, 1, stack->id, stack->uid, writer->boot, (int64_t)stack->last_ns, stack->is_guarded,
		 stack->is_complete && n == stack->n_frames);
	sql_text(s, 7, stack->why);
	(void)sqlite3_bind_blob64(s, 8, blob.data ? blob.data : (const uint8_t *)"", blob.n, SQLITE_STATIC);
	(void)sqlite3_bind_int64(s, 9, codec_crc(blob.data, blob.n));
	return sql_run(s);
}

/* ---- deletion ---- */

/* Frames of a stack; none of a damaged one. Return: their number, or -errno */
static ssize_t stack_frames_get(struct writer *writer, int64_t id, struct stored_frame *ret)
{
	CLEANUP(sql_resetp) sqlite3_stmt *s = db_statement(&writer->db, DB_GET_STACK);
	ssize_t n;
	int r;

	(void)sqlite3_bind_int64(s, 1, id);
	r = sql_step(s);
	if (r <= 0)
		return r;
	n = stack_frames_decode(sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0),
				(uint32_t)sqlite3_column_int64(s, 1), ret);
	return MAX(n, 0);
}

static int one_row_delete(struct writer *writer, enum db_statement which, int64_t id)
{
	sqlite3_stmt *s = db_statement(&writer->db, which);

	(void)sqlite3_bind_int64(s, 1, id);
	return sql_run(s);
}

int writer_delete_stack(struct writer *writer, int64_t id)
{
	struct stored_frame frames[STORED_FRAMES_MAX];
	ssize_t n = stack_frames_get(writer, id, frames);
	int r = (int)MIN(n, 0);

	for (ssize_t i = 0; r == 0 && i < n; i++) {
		r = frame_count(writer, frames[i].id, -1);
		r = r ? r : one_row_delete(writer, DB_DELETE_FRAME, frames[i].id);
	}
	return r ? r : one_row_delete(writer, DB_DELETE_STACK, id);
}

/* ---- after damage ---- */

/* Counts the frames of a stack. Return: 1; 0: one of them is missing, or the list is damaged; -errno */
static int stack_count(struct writer *writer, sqlite3_stmt *row, sqlite3_stmt *owner)
{
	struct stored_frame frames[STORED_FRAMES_MAX];
	ssize_t n = stack_frames_decode(sqlite3_column_blob(row, 2), (size_t)sqlite3_column_bytes(row, 2),
					(uint32_t)sqlite3_column_int64(row, 3), frames);
	int r = n >= 0;

	for (ssize_t i = 0; r > 0 && i < n; i++) {
		(void)sqlite3_bind_int64(owner, 1, frames[i].id);
		r = sql_step(owner);
		r = r > 0 ? sqlite3_column_int64(owner, 0) == sqlite3_column_int64(row, 1) : r;
		(void)sqlite3_reset(owner); /* r has the error */
	}
	for (ssize_t i = 0; r > 0 && i < n; i++) {
		int one = frame_count(writer, frames[i].id, 1);

		r = one < 0 ? one : r;
	}
	return r;
}

int writer_check_stacks(struct writer *writer)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *all = NULL, *owner = NULL;
	ARRAY(int64_t) bad = { 0 };
	int r = db_exec(&writer->db, "UPDATE frame SET n = 0");

	r = r ? r : sql_prepare(writer->db.handle, "SELECT id, uid, frames, crc FROM stack", &all);
	r = r ? r : sql_prepare(writer->db.handle, "SELECT uid FROM frame WHERE id = ?1", &owner);
	while (r == 0 && (r = sql_step(all)) > 0) {
		r = stack_count(writer, all, owner);
		r = r == 0 ? ARRAY_PUSH(&bad, sqlite3_column_int64(all, 0)) : MIN(r, 0);
	}
	(void)sqlite3_finalize(TAKE_PTR(all)); /* read to its end, or failed: r has the error */
	for (size_t i = 0; r == 0 && i < bad.n; i++)
		r = one_row_delete(writer, DB_DELETE_STACK, bad.items[i]);
	ARRAY_DONE(&bad);
	return r ? r : db_exec(&writer->db, "DELETE FROM frame WHERE n = 0");
}
