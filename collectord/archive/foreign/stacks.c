// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks of a foreign file: each has a hash, and its frames as JSON, resolved or as addresses only.
 */
#include "archive/foreign/foreign.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "archive/codec/stack_frames.h"
#include "archive/foreign/json.h"

#define SEEN_FRAMES 65536	    /* must be a power of two */
#define STACK_JSON_BYTES (1u << 20) /* longer texts are cut */

uint32_t foreign_stack_id(const struct foreign_file *f, int64_t hash)
{
	size_t at = SORTED_PLACE(f->stacks.n, i, f->stacks.items[i].hash < hash);

	return at < f->stacks.n && f->stacks.items[at].hash == hash ? f->stacks.items[at].id : 0;
}

/* Cache entry of a frame that has a row: stacks share frames, and a lookup in the table takes ten times as long. */
struct seen_frame {
	uint64_t hash; /* hash of the frame's JSON */
	struct stored_frame frame;
};

struct stack_room {
	struct seen_frame seen[SEEN_FRAMES];
	struct sqlite3_stmt *rows, *put_frame, *put_stack;
	struct foreign_json_element element;
	struct stored_frame frames[FOREIGN_FRAMES_MAX];
	struct buf blob;
	char json[STACK_JSON_BYTES];
};

static void room_freep(struct stack_room **room)
{
	if (!*room)
		return;
	sqlite3_finalize((*room)->rows);
	sqlite3_finalize((*room)->put_frame);
	sqlite3_finalize((*room)->put_stack);
	buf_done(&(*room)->blob);
	free(*room);
}

static uint32_t line_number_parse(const char *text)
{
	uint64_t line;

	return parse_u64(text, UINT32_MAX, &line) == 0 ? (uint32_t)line : 0;
}

/* Runs an INSERT that returns the id of the new or existing row. */
static int row_id(struct sqlite3_stmt *put, uint32_t *ret_id)
{
	CLEANUP(sql_resetp) struct sqlite3_stmt *s = put;
	int r = sql_step(s);

	if (r > 0)
		*ret_id = (uint32_t)sqlite3_column_int64(s, 0);
	return r > 0 ? 0 : r ? r : -EIO;
}

/* Reads an address in hexadecimal digits. Return: 0: it is none */
static uint64_t address_parse(const char *text)
{
	uint64_t address = 0;

	if (strncmp(text, "0x", 2) == 0)
		(void)parse_u64_hex(text + 2, &address); /* 0 is left for anything else */
	return address;
}

/* Writes a frame: as Python if it has Python's names, else as native. */
static int frame_put(struct stack_room *room, struct stored_frame *ret)
{
	const struct foreign_json_element *element = &room->element;
	const char *python = foreign_json_value(element, "pfn"), *python_file = foreign_json_value(element, "pf");
	const char *symbol = foreign_json_value(element, "s"), *address = foreign_json_value(element, "i");
	const char *plain = foreign_json_value(element, "");
	bool is_python = *python || *python_file;

	address = *address ? address : plain;
	ret->ip = is_python ? 0 : address_parse(address);
	if (!*symbol && !ret->ip)
		symbol = address;
	sql_text(room->put_frame, 1, is_python ? python : symbol);
	sql_text(room->put_frame, 2, is_python ? python_file : foreign_json_value(element, "f"));
	SQL_INTS(room->put_frame, 3, line_number_parse(foreign_json_value(element, is_python ? "pl" : "l")), is_python);
	sql_text(room->put_frame, 5, is_python ? foreign_json_value(element, "pq") : "");
	sql_text(room->put_frame, 6, is_python ? "" : foreign_json_value(element, "m"));
	return row_id(room->put_frame, &ret->id);
}

/* @json, @n: text of the element. FNV-1a: an attacker who makes two frames collide could have written equal frames. */
static int stack_frame_read(struct stack_room *room, const char *json, size_t n, struct stored_frame *ret)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	struct seen_frame *seen;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)json[i]) * 0x100000001b3ull;
	seen = &room->seen[hash % SEEN_FRAMES];
	if (!seen->frame.id || seen->hash != hash) {
		*seen = (struct seen_frame){ .hash = hash };
		r = frame_put(room, &seen->frame);
	}
	*ret = seen->frame;
	return r;
}

static int stack_put(struct stack_room *room, uint32_t *ret_id)
{
	size_t n = 0;
	int r = 0;

	/* Resolved frames; if there are none, addresses. */
	for (int column = 1; column <= 2 && n == 0; column++) {
		struct foreign_json json = { .at = room->json };

		foreign_text(room->rows, column, room->json, sizeof(room->json));
		json.end = room->json + strlen(room->json);
		for (; r == 0 && n < FOREIGN_FRAMES_MAX; n++) {
			const char *from = json.at + 1; /* after the bracket or the comma */

			if (foreign_json_next(&json, &room->element) <= 0)
				break;
			r = stack_frame_read(room, from, (size_t)(json.at - from), &room->frames[n]);
		}
	}
	room->blob.n = 0;
	r = r ? r : stack_frames_encode(room->frames, n, &room->blob);
	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(room->put_stack, 1, FOREIGN_UID);
	(void)sqlite3_bind_blob64(room->put_stack, 2, room->blob.data, room->blob.n, SQLITE_STATIC);
	(void)sqlite3_bind_int64(room->put_stack, 3, codec_crc(room->blob.data, room->blob.n));
	return row_id(room->put_stack, ret_id);
}

/* No stack counts as complete: the file does not record it, and Ingero's unwinder stopped at frames it cannot unwind.
 */
int foreign_stacks_put(struct foreign_file *f)
{
	CLEANUP(room_freep) struct stack_room *room = NULL;
	int r;

	if (!f->has_stacks || !foreign_has_column(f, FOREIGN_STACK_TRACES, "hash"))
		return 0;
	room = calloc(1, sizeof(*room));
	if (!room)
		return -ENOMEM;
	r = foreign_select(f, FOREIGN_STACK_TRACES, "hash=NULL frames='' ips=''", "ORDER BY hash", &room->rows);
	r = r ? r
	      : sql_prepare(f->out.db.handle,
			    "INSERT INTO frame (uid, symbol, file, line, python, qualname, module, n) VALUES"
			    " (4294967295, ?1, ?2, ?3, ?4, ?5, ?6, 1)"
			    " ON CONFLICT DO UPDATE SET line = line RETURNING id",
			    &room->put_frame);
	r = r ? r
	      : sql_prepare(f->out.db.handle,
			    "INSERT INTO stack (uid, boot, last_ns, guarded, is_complete, why, frames, crc) VALUES"
			    " (?1, 0, 0, 0, 0, 'the file does not tell', ?2, ?3) RETURNING id",
			    &room->put_stack);
	while (r == 0 && (r = foreign_step(room->rows)) > 0) {
		struct foreign_stack stack = { .hash = sqlite3_column_int64(room->rows, 0) };

		r = 0;
		if (sqlite3_column_type(room->rows, 0) != SQLITE_INTEGER || f->stacks.n >= FOREIGN_STACKS_MAX ||
		    (f->stacks.n && f->stacks.items[f->stacks.n - 1].hash == stack.hash))
			continue;
		r = stack_put(room, &stack.id);
		r = r ? r : ARRAY_PUSH(&f->stacks, stack);
	}
	return r;
}
