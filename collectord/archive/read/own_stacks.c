// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks and their frames. At first use the ids of all stacks in scope are loaded, and stacks with the same frames are
 * made one: a recorder gives a stack a new row after a restart, or after some time. A stack is read when it is asked
 * for, and stays in memory with the frames that it shares with others, until that is too much.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/codec/codec.h"
#include "archive/codec/stack_frames.h"
#include "archive/read/own.h"
#include "base/cleanup.h"
#include "base/layer.h"
#include "base/utf8.h"

#define STACKS_VERSION 5	     /* of the first file with stacks */
#define STACKS_BYTES_MAX (16u << 20) /* beyond, own_stacks_trim() releases all */
#define FRAME_PLACES 4096	     /* of the cache: power of two */
#define FRAME_TEXT_MAX 1024	     /* bytes of a text: the file is not trusted */

/* Place of the cache, by the lowest bits of the id. */
struct own_frame {
	uint32_t id; /* 0: empty */
	uint32_t uid;
	struct read_frame frame;
};

/* ---- which ---- */

/* A row by which equal stacks are found: 128 bits of its contents and its length. */
struct stack_key {
	uint64_t hash[2];
	uint32_t length;
	uint32_t id;
	size_t at; /* index in own->stacks */
};

typedef ARRAY(struct stack_key) stack_keys;

static void stack_keys_done(stack_keys *keys)
{
	ARRAY_DONE(keys);
}

static int stack_compare(const void *a, const void *b)
{
	const struct own_stack *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int stack_key_compare(const void *a, const void *b)
{
	const struct stack_key *x = a, *y = b;

	for (int i = 0; i < 2; i++)
		if (x->hash[i] != y->hash[i])
			return x->hash[i] < y->hash[i] ? -1 : 1;
	if (x->length != y->length)
		return x->length < y->length ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static void key_hash(struct stack_key *key, const void *data, size_t n)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < n; i++) {
		key->hash[0] = (key->hash[0] ^ bytes[i]) * 0x100000001b3ull;
		key->hash[1] = (key->hash[1] + bytes[i] + 1) * 0x9e3779b97f4a7c15ull;
		key->hash[1] ^= key->hash[1] >> 29;
	}
}

/* Columns: id, is_complete, uid, why, frames, crc. */
static int stack_row_add(struct own_file *own, sqlite3_stmt *s, stack_keys *keys)
{
	struct own_stack stack = { .id = (uint32_t)sqlite3_column_int64(s, 0),
				   .first = (uint32_t)sqlite3_column_int64(s, 0),
				   .is_complete = sqlite3_column_int(s, 1) != 0 };
	struct stack_key key = { .hash = { 0xcbf29ce484222325ull }, .id = stack.id, .at = own->stacks.n };
	const char *why = (const char *)sqlite3_column_text(s, 3);
	const void *frames = sqlite3_column_blob(s, 4);
	size_t n = (size_t)sqlite3_column_bytes(s, 4);
	int64_t uid = sqlite3_column_int64(s, 2);
	int r = ARRAY_PUSH(&own->stacks, stack);

	if (r < 0 || codec_crc(frames, n) != (uint32_t)sqlite3_column_int64(s, 5))
		return r;
	key.length = (uint32_t)n;
	key_hash(&key, &uid, sizeof(uid));
	key_hash(&key, &stack.is_complete, sizeof(stack.is_complete));
	key_hash(&key, why ? why : "", why ? strlen(why) : 0);
	key_hash(&key, frames, n);
	return ARRAY_PUSH(keys, key);
}

static void stacks_unify(struct own_file *own, stack_keys *keys)
{
	if (keys->n)
		qsort(keys->items, keys->n, sizeof(*keys->items), stack_key_compare);
	for (size_t i = 1; i < keys->n; i++) {
		const struct stack_key *key = &keys->items[i], *before = &keys->items[i - 1];

		if (key->length == before->length && memcmp(key->hash, before->hash, sizeof(key->hash)) == 0)
			own->stacks.items[key->at].first = own->stacks.items[before->at].first;
	}
	if (own->stacks.n)
		qsort(own->stacks.items, own->stacks.n, sizeof(*own->stacks.items), stack_compare);
}

static int stacks_load(struct own_file *own)
{
	CLEANUP(stack_keys_done) stack_keys keys = { 0 };
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = 0;

	if (own->has_stacks)
		return 0;
	own->stacks.n = 0;
	if (own->version >= STACKS_VERSION)
		r = sql_prepare(own->db,
				own->scope.all ? "SELECT id, is_complete, uid, why, frames, crc FROM stack"
					       : "SELECT id, is_complete, uid, why, frames, crc FROM stack WHERE uid ="
						 " ?1 AND guarded = 0",
				&s);
	if (s && !own->scope.all)
		(void)sqlite3_bind_int64(s, 1, own->scope.uid);
	while (s && r == 0 && (r = sql_step(s)) > 0)
		r = stack_row_add(own, s, &keys);
	if (r == 0)
		stacks_unify(own, &keys);
	own->has_stacks = r == 0;
	return r;
}

int own_stack_find(struct own_file *own, uint32_t id, struct own_stack **ret_stack)
{
	int r = stacks_load(own);
	size_t at = r ? 0 : SORTED_PLACE(own->stacks.n, i, own->stacks.items[i].id < id);

	*ret_stack = r == 0 && at < own->stacks.n && own->stacks.items[at].id == id ? &own->stacks.items[at] : NULL;
	return r;
}

/* ---- frames ---- */

/* Return: NULL without memory */
static const char *stack_text(struct own_file *own, sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);
	char cut[FRAME_TEXT_MAX + 1];

	if (!text || !*text)
		return "";
	(void)snprintf(cut, sizeof(cut), "%s", text);
	return arena_copy_name(&own->stacks_arena, cut);
}

/* Return: 0; -EBADMSG: there is no such row; -errno */
static int frame_load(struct own_file *own, uint32_t id, struct own_frame *ret)
{
	CLEANUP(sql_resetp) sqlite3_stmt *s = own->frame_get;
	int r;

	(void)sqlite3_bind_int64(s, 1, id);
	r = sql_step(s);
	if (r <= 0)
		return r ? r : -EBADMSG;
	*ret = (struct own_frame){ .id = id,
				   .uid = (uint32_t)sqlite3_column_int64(s, 0),
				   .frame = { .symbol = stack_text(own, s, 1),
					      .qualname = stack_text(own, s, 2),
					      .file = stack_text(own, s, 3),
					      .module = stack_text(own, s, 4),
					      .line = (uint32_t)sqlite3_column_int64(s, 5),
					      .is_python = sqlite3_column_int(s, 6) != 0 } };
	return ret->frame.symbol && ret->frame.qualname && ret->frame.file && ret->frame.module ? 0 : -ENOMEM;
}

/* @uid: owner of the stack, and so of its frames. Return: as frame_load() */
static int frame_get(struct own_file *own, const struct stored_frame *stored, uint32_t uid, struct read_frame *ret)
{
	struct own_frame *place = &own->frames[stored->id & (FRAME_PLACES - 1)];
	int r = stored->id ? 0 : -EBADMSG;

	if (r == 0 && place->id != stored->id) {
		place->id = 0;
		r = frame_load(own, stored->id, place);
	}
	if (r < 0) {
		place->id = 0;
		return r;
	}
	*ret = place->frame;
	ret->ip = stored->ip;
	return place->uid == uid ? 0 : -EBADMSG;
}

/* ---- stacks ---- */

static int stacks_prepare(struct own_file *own)
{
	int r = own->stack_get
			? 0
			: sql_prepare(own->db, "SELECT uid, frames, crc, is_complete, why FROM stack WHERE id = ?",
				      &own->stack_get);

	if (r == 0 && !own->frame_get)
		r = sql_prepare(own->db,
				"SELECT uid, symbol, qualname, file, module, line, python FROM frame WHERE id = ?",
				&own->frame_get);
	if (r == 0 && !own->frames)
		own->frames = calloc(FRAME_PLACES, sizeof(*own->frames));
	return r ? r : own->frames ? 0 : -ENOMEM;
}

/* Return: number of frames; -EBADMSG: one of them is damaged or missing; -errno */
static ssize_t stack_frames_read(struct own_file *own, sqlite3_stmt *row, struct read_frame **ret_frames)
{
	struct stored_frame stored[STORED_FRAMES_MAX];
	uint32_t uid = (uint32_t)sqlite3_column_int64(row, 0);
	ssize_t n = stack_frames_decode(sqlite3_column_blob(row, 1), (size_t)sqlite3_column_bytes(row, 1),
					(uint32_t)sqlite3_column_int64(row, 2), stored);
	struct read_frame *frames = n < 0 ? NULL : ARENA_NEW_N(&own->stacks_arena, struct read_frame, (size_t)n + 1);
	int r = n < 0 ? (int)n : frames ? 0 : -ENOMEM;

	for (ssize_t i = 0; i < n && r == 0; i++)
		r = frame_get(own, &stored[i], uid, &frames[i]);
	*ret_frames = frames;
	return r ? r : n;
}

/* Reads a stack into the arena. Of a damaged one no frame is told: another might be wrong. */
static int stack_read(struct own_file *own, uint32_t id, const struct read_stack **ret_stack)
{
	struct read_stack *stack;
	struct read_frame *frames = NULL;
	ssize_t n;
	int r = stacks_prepare(own);

	if (r < 0)
		return r;
	CLEANUP(sql_resetp) sqlite3_stmt *s = own->stack_get;

	stack = ARENA_NEW(&own->stacks_arena, struct read_stack);
	if (!stack)
		return -ENOMEM;
	(void)sqlite3_bind_int64(s, 1, id);
	r = sql_step(s);
	if (r <= 0)
		return r ? r : -EBADMSG;
	n = stack_frames_read(own, s, &frames);
	if (n < 0 && n != -EBADMSG)
		return (int)n;
	*stack = (struct read_stack){ .id = own->first_stack + id,
				      .is_complete = n >= 0 && sqlite3_column_int(s, 3) != 0,
				      .why = n >= 0 ? stack_text(own, s, 4) : "its frames are damaged in the file",
				      .frames = frames,
				      .n_frames = (size_t)MAX(n, 0) };
	*ret_stack = stack;
	return stack->why ? 0 : -ENOMEM;
}

int own_stack_get(struct own_file *own, uint32_t id, const struct read_stack **ret_stack)
{
	struct own_stack *place;
	int r = own_stack_find(own, id, &place);

	*ret_stack = NULL;
	if (place && !place->stack)
		r = stack_read(own, id, &place->stack);
	if (r == 0 && place)
		*ret_stack = place->stack;
	return r;
}

static void stacks_drop(struct own_file *own)
{
	for (size_t i = 0; i < own->stacks.n; i++)
		own->stacks.items[i].stack = NULL;
	if (own->frames)
		memset(own->frames, 0, FRAME_PLACES * sizeof(*own->frames));
	arena_done(&own->stacks_arena);
}

void own_stacks_trim(struct own_file *own)
{
	if (arena_bytes(&own->stacks_arena) > STACKS_BYTES_MAX)
		stacks_drop(own);
}

void own_stacks_close(struct own_file *own)
{
	stacks_drop(own);
	ARRAY_DONE(&own->stacks);
	free(own->frames);
	(void)sqlite3_finalize(own->stack_get);
	(void)sqlite3_finalize(own->frame_get);
}

int own_stacks(struct own_file *own, uint32_t only_id, read_stack_func func, void *data)
{
	const struct read_stack *stack = NULL;
	int r = stacks_load(own);

	for (size_t i = 0; r == 0 && i < (only_id ? 1 : own->stacks.n); i++) {
		if (!only_id && own->stacks.items[i].first != own->stacks.items[i].id)
			continue;
		own_stacks_trim(own);
		r = own_stack_get(own, only_id ? only_id : own->stacks.items[i].id, &stack);
		if (r == 0 && stack)
			r = func(stack, data);
	}
	return r;
}

/* ---- sites ---- */

const struct read_frame *read_stack_site(const struct read_stack *stack)
{
	const struct read_frame *native = NULL;

	for (size_t i = 0; i < stack->n_frames; i++) {
		const struct read_frame *frame = &stack->frames[i];
		const char *slash = strrchr(frame->module, '/');

		if (frame->is_python)
			return frame;
		if (!native && frame->symbol[0] && !layer_names_library(slash ? slash + 1 : frame->module))
			native = frame;
	}
	return native;
}

const char *read_frame_func(const struct read_frame *frame, char ret[READ_FUNC_BYTES])
{
	const char *offset = frame->is_python ? NULL : strrchr(frame->symbol, '+');
	size_t n = strlen(frame->symbol);

	if (offset && strncmp(offset, "+0x", 3) == 0 && strspn(offset + 3, "0123456789abcdef") == strlen(offset + 3))
		n = (size_t)(offset - frame->symbol);
	n = MIN(n, (size_t)READ_FUNC_BYTES - 1);
	while (n && ((unsigned char)frame->symbol[n] & 0xc0) == 0x80)
		n--;
	memcpy(ret, frame->symbol, n);
	ret[n] = '\0';
	return ret;
}
