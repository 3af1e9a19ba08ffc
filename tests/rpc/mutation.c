// SPDX-License-Identifier: Apache-2.0
#include "mutation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static uint64_t state = 88172645463325252ull;

void mutation_seed(uint64_t seed)
{
	state = seed ? seed : 1;
	for (int i = 0; i < 16; i++)
		(void)mutation_random(2);
}

uint64_t mutation_random(uint64_t below)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return (state >> 11) % below;
}

/* ---- fields of a packed message ---- */

#define FIELDS_MAX 64

struct field {
	uint32_t number;
	uint32_t wire_type;
	uint64_t value;	     /* of a number */
	const uint8_t *data; /* of text, bytes, a message */
	size_t n;
};

static bool take_varint(const uint8_t **p, const uint8_t *end, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64 && *p < end; shift += 7) {
		uint8_t c = *(*p)++;

		value |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80)) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

static void put_varint(struct buf *out, uint64_t value)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (uint8_t)(value | 0x80);
	bytes[n++] = (uint8_t)value;
	if (buf_append(out, bytes, n))
		abort();
}

/* Of what questions.c has packed, so it is whole. */
static size_t fields_take(const struct buf *message, struct field *fields)
{
	const uint8_t *p = message->data, *end = p + message->n;
	size_t n = 0;
	uint64_t tag, value;

	while (message->n && p < end && n < FIELDS_MAX && take_varint(&p, end, &tag) && take_varint(&p, end, &value)) {
		struct field *f = &fields[n++];

		*f = (struct field){ .number = (uint32_t)(tag >> 3), .wire_type = tag & 7, .value = value };
		if (f->wire_type == 2) {
			f->data = p;
			f->n = MIN((size_t)value, (size_t)(end - p));
			p += f->n;
		}
	}
	return n;
}

static void field_put(struct buf *out, const struct field *f)
{
	put_varint(out, (uint64_t)f->number << 3 | f->wire_type);
	put_varint(out, f->wire_type == 2 ? f->n : f->value);
	if (f->wire_type == 2 && f->n && buf_append(out, f->data, f->n))
		abort();
}

static uint64_t number_pick(const struct mutation_bait *bait)
{
	const uint64_t numbers[] = { bait->pid,	 bait->uid, 0,		1,	    2,
				     UINT32_MAX, INT32_MAX, UINT64_MAX, INT64_MAX,  1ull << 32,
				     4096,	 4097,	    65536,	1000000000, (uint64_t)bait->pid | 1ull << 32 };
	size_t i = mutation_random(ARRAY_SIZE(numbers) + 2);

	return i < ARRAY_SIZE(numbers) ? numbers[i] : mutation_random(i == ARRAY_SIZE(numbers) ? 70000 : UINT64_MAX);
}

static char text[65536];

/* SQL mostly, for there a text is a program; also ids, names of other tables, bytes that are no text. */
static size_t text_pick(const struct mutation_bait *bait)
{
	static const char *const statements[] = {
		"SELECT * FROM events",
		"SELECT * FROM processes UNION ALL SELECT * FROM processes",
		"SELECT group_concat(name) FROM process_names",
		"SELECT * FROM main.process",
		"SELECT * FROM sqlite_schema",
		"SELECT * FROM pragma_table_list",
		"PRAGMA table_info(process)",
		"ATTACH 'ingero.db' AS other",
		"SELECT load_extension('x')",
		"SELECT readfile('/etc/shadow')",
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
		"SELECT zeroblob(1000000000)",
		"SELECT randomblob(1000000)",
		"EXPLAIN QUERY PLAN SELECT * FROM events",
		"SELECT e.* FROM events e, events f, events g ORDER BY random()",
		"INSERT INTO events DEFAULT VALUES",
		"SELECT printf('%s', name) FROM process_names; SELECT 1",
		"SELECT * FROM block_data",
	};
	size_t kind = mutation_random(10), n;

	switch (kind) {
	case 0:
		return (size_t)snprintf(text, sizeof(text), "%s", bait->call_id);
	case 1:
		return (size_t)snprintf(text, sizeof(text), "%s", bait->name);
	case 2: /* a beginning of an id */
		return (size_t)snprintf(text, sizeof(text), "%.*s", (int)mutation_random(20), bait->call_id);
	case 3:
		return (size_t)snprintf(text, sizeof(text),
					"SELECT * FROM events WHERE pid = %u OR uid = %u OR id = '%s' OR 1 = 1",
					bait->pid, bait->uid, bait->call_id);
	case 4:
		return (size_t)snprintf(text, sizeof(text),
					"SELECT name FROM process_names WHERE pid IN (%u, %u) OR name LIKE '%s%%'",
					bait->pid, bait->uid, bait->name);
	case 5: /* not text */
		n = mutation_random(mutation_random(8) ? 64 : sizeof(text) - 4096);
		for (size_t i = 0; i < n; i++)
			text[i] = (char)mutation_random(256);
		return n;
	case 6: /* zero bytes, and controls of a terminal */
		return (size_t)snprintf(text, sizeof(text), "a%cb%c[2J%s", 0, 27, bait->name);
	default:
		return (size_t)snprintf(text, sizeof(text), "%s", statements[mutation_random(ARRAY_SIZE(statements))]);
	}
}

static void field_mutate(struct field *f, const struct mutation_bait *bait)
{
	static uint8_t many[4 * 10 * 5000];

	switch (mutation_random(6)) {
	case 0: /* another kind */
		f->wire_type = (uint32_t)mutation_random(6);
		break;
	case 1: /* another field */
		f->number = 1 + (uint32_t)mutation_random(40);
		break;
	case 2:
		f->wire_type = 0;
		f->value = number_pick(bait);
		break;
	case 3: { /* numbers, packed */
		struct buf packed = BUF_INIT;

		for (uint64_t i = mutation_random(mutation_random(6) ? 8 : 5000); i > 0; i--)
			put_varint(&packed, number_pick(bait));
		f->wire_type = 2;
		f->n = MIN(packed.n, sizeof(many));
		if (f->n)
			memcpy(many, packed.data, f->n);
		f->data = many;
		buf_done(&packed);
		break;
	}
	default:
		f->wire_type = 2;
		f->n = text_pick(bait);
		f->data = (const uint8_t *)text;
		break;
	}
}

static void bytes_mutate(struct buf *message)
{
	for (uint64_t i = 1 + mutation_random(4); i > 0 && message->n; i--) {
		size_t at = mutation_random(message->n);

		switch (mutation_random(3)) {
		case 0:
			message->data[at] ^= (uint8_t)(1u << mutation_random(8));
			break;
		case 1:
			message->data[at] = (uint8_t)mutation_random(256);
			break;
		default:
			message->n = at;
			break;
		}
	}
}

void mutation_message(struct buf *message, const struct mutation_bait *bait)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct field fields[FIELDS_MAX + 1];
	size_t n = fields_take(message, fields), chosen;

	if (mutation_random(8) == 0)
		return;								   /* as it is */
	fields[n] = (struct field){ .number = 1 + (uint32_t)mutation_random(16) }; /* one that was not there */
	chosen = mutation_random(n + 1);
	for (size_t i = 0; i < n + (chosen == n); i++) {
		if (i == chosen)
			field_mutate(&fields[i], bait);
		for (uint64_t k = 1 + (mutation_random(12) == 0); k > 0; k--)
			if (out.n + fields[i].n < 64000)
				field_put(&out, &fields[i]);
	}
	message->n = 0;
	if (out.n && buf_append(message, out.data, out.n))
		abort();
	if (mutation_random(5) == 0)
		bytes_mutate(message);
}

void mutation_frame(struct buf *frames)
{
	bytes_mutate(frames);
	if (mutation_random(3) == 0) /* behind it, whatever */
		for (int i = 0; i < 40; i++) {
			uint8_t byte = (uint8_t)mutation_random(256);

			if (buf_append(frames, &byte, 1))
				abort();
		}
}
