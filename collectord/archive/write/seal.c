// SPDX-License-Identifier: Apache-2.0
/*
 * Sealing: rows of the tail become column blocks, for one owner and one boot at a time. One transaction inserts the
 * blocks and deletes the rows. Rows are read back from the file, so that rows left by a crash are sealed, too.
 *
 * Events are nearly in the order of their start. A stable radix sort of their start and index costs 10 ms per million;
 * sorting the events themselves would cost more than packing.
 */
#include <errno.h>
#include <string.h>

#include "archive/write/number_map.h"
#include "archive/write/writer.h"

#define PASS_EVENTS (2 * SEAL_EVENTS) /* maximum decoded at once: 24 MiB, only after sealing failed for long */
#define BLOCK_EVENTS 4096	      /* events of a block; larger blocks save less than 2 % */
#define OWN_BLOCK_EVENTS 512	      /* processes with fewer events share blocks */
#define RADIX_BITS 11
#define RADIX (1u << RADIX_BITS)

struct order {
	uint64_t start_ns; /* since the first event */
	uint32_t index;
	uint32_t group;
};

struct group {
	uint32_t process; /* row */
	uint32_t n;
	uint32_t at; /* position in the list of groups_write() */
};

struct seal {
	struct writer *writer;
	uint32_t uid;
	int64_t boot;
	ARRAY(struct stored_event) events;
	ARRAY(int64_t) read; /* tail rows to delete */
	ARRAY(struct group) groups;
	struct number_map group_at; /* by process */
	struct order *order, *scratch;
	struct stored_event *block; /* events of the current block, at most BLOCK_EVENTS */
	struct buf data;
};

static void seal_done(struct seal *seal)
{
	ARRAY_DONE(&seal->events);
	ARRAY_DONE(&seal->read);
	ARRAY_DONE(&seal->groups);
	number_map_done(&seal->group_at);
	free(seal->order);
	free(seal->scratch);
	free(seal->block);
	buf_done(&seal->data);
}

static int sealed_event_take(const struct stored_event *event, void *data)
{
	struct seal *seal = data;

	return ARRAY_PUSH(&seal->events, *event);
}

/* Copies a damaged row to table damaged and records a gap. */
static int row_damaged(struct seal *seal, sqlite3_stmt *row)
{
	struct writer *writer = seal->writer;
	sqlite3_stmt *s = db_statement(&writer->db, DB_SET_ASIDE);
	struct batch_gap gap = { .t0_ns = (uint64_t)sqlite3_column_int64(row, 1),
				 .t1_ns = (uint64_t)sqlite3_column_int64(row, 2),
				 .count = (uint64_t)sqlite3_column_int64(row, 3),
				 .uid = seal->uid,
				 .reason = "damaged" };
	int r;

	sql_text(s, 1, "tail");
	SQL_INTS(s, 2, seal->uid, seal->boot);
	for (int i = 1; i <= 5; i++)
		(void)sqlite3_bind_value(s, i + 3, sqlite3_column_value(row, i));
	r = sql_run(s);
	return r ? r : writer_put_gap(writer, writer->next_gap++, seal->boot, &gap);
}

/* Reads rows of the tail, up to about PASS_EVENTS events. Return: 1 when rows remain, 0, or -errno */
static int tails_read(struct seal *seal)
{
	CLEANUP(sql_resetp) sqlite3_stmt *s = db_statement(&seal->writer->db, DB_GET_TAILS);
	int r;

	SQL_INTS(s, 1, seal->uid, seal->boot);
	while ((r = sql_step(s)) > 0) {
		const void *data = sqlite3_column_blob(s, 5);
		size_t n = (size_t)sqlite3_column_bytes(s, 5), before = seal->events.n;

		if (seal->events.n >= PASS_EVENTS)
			return 1;
		r = codec_crc(data, n) == (uint32_t)sqlite3_column_int64(s, 4) ? 0 : -EBADMSG;
		r = r ? r : tail_decode(data, n, sealed_event_take, seal);
		if (r == -EBADMSG) {
			seal->events.n = before;
			r = row_damaged(seal, s);
		}
		if (r == 0)
			r = ARRAY_PUSH(&seal->read, sqlite3_column_int64(s, 0));
		if (r < 0)
			return r;
	}
	return r;
}

static int group_of(struct seal *seal, uint32_t process, uint32_t *last)
{
	if (*last < seal->groups.n && seal->groups.items[*last].process == process)
		return 0;
	*last = number_map_get(&seal->group_at, process);
	if (*last != NUMBER_NONE)
		return 0;
	*last = (uint32_t)seal->groups.n;
	if (number_map_put(&seal->group_at, process, *last) < 0)
		return -ENOMEM;
	return ARRAY_PUSH(&seal->groups, ((struct group){ .process = process }));
}

/* Sorts by one digit of start_ns, from seal->order into seal->scratch, and swaps the two. */
static void sort_digit(struct seal *seal, size_t n, unsigned int shift)
{
	uint32_t at[RADIX] = { 0 };
	struct order *swap = seal->order;
	uint32_t sum = 0;

	for (size_t i = 0; i < n; i++)
		at[seal->order[i].start_ns >> shift & (RADIX - 1)]++;
	for (size_t i = 0; i < RADIX; i++) {
		uint32_t here = at[i];

		at[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < n; i++)
		seal->scratch[at[seal->order[i].start_ns >> shift & (RADIX - 1)]++] = seal->order[i];
	seal->order = seal->scratch;
	seal->scratch = swap;
}

static int sort(struct seal *seal)
{
	size_t n = seal->events.n;
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	uint32_t group = 0;

	seal->order = calloc(n, sizeof(*seal->order));
	seal->scratch = calloc(n, sizeof(*seal->scratch));
	seal->block = calloc(BLOCK_EVENTS, sizeof(*seal->block));
	if (!seal->order || !seal->scratch || !seal->block)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		first_ns = MIN(first_ns, seal->events.items[i].call.start_ns);
		last_ns = MAX(last_ns, seal->events.items[i].call.start_ns);
	}
	for (size_t i = 0; i < n; i++) {
		const struct stored_event *e = &seal->events.items[i];

		if (group_of(seal, e->process, &group) < 0)
			return -ENOMEM;
		seal->groups.items[group].n++;
		seal->order[i] =
			(struct order){ .start_ns = e->call.start_ns - first_ns, .index = (uint32_t)i, .group = group };
	}
	for (unsigned int shift = 0; shift < 64 && (last_ns - first_ns) >> shift; shift += RADIX_BITS)
		sort_digit(seal, n, shift);
	return 0;
}

/* Writes n events as blocks of nearly equal size. @numbers: indexes of the events, in order of start */
static int blocks_write(struct seal *seal, const uint32_t *numbers, size_t n)
{
	size_t n_blocks = (n + BLOCK_EVENTS - 1) / BLOCK_EVENTS;
	struct block_head head;
	int r = 0;

	for (size_t b = 0; r == 0 && b < n_blocks; b++) {
		size_t from = n * b / n_blocks, to = n * (b + 1) / n_blocks;

		for (size_t i = from; i < to; i++)
			seal->block[i - from] = seal->events.items[numbers[i]];
		seal->data.n = 0;
		r = block_encode(seal->writer->encoder, seal->block, to - from, &seal->data, &head);
		r = r ? r
		      : writer_put_block(seal->writer, &(struct writer_block){ .id = seal->writer->next_block++,
									       .uid = seal->uid,
									       .boot = seal->boot,
									       .head = &head,
									       .events = seal->block,
									       .data = &seal->data });
	}
	return r;
}

/* Writes the blocks of each process, after the blocks that processes with few events share. */
static int groups_write(struct seal *seal)
{
	CLEANUP(freep) uint32_t *numbers = calloc(seal->events.n, sizeof(*numbers));
	uint32_t n_mixed = 0, at;
	int r;

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < seal->groups.n; i++)
		if (seal->groups.items[i].n < OWN_BLOCK_EVENTS)
			n_mixed += seal->groups.items[i].n;
	at = n_mixed;
	for (size_t i = 0; i < seal->groups.n; i++) {
		seal->groups.items[i].at = at;
		if (seal->groups.items[i].n >= OWN_BLOCK_EVENTS)
			at += seal->groups.items[i].n;
	}
	at = 0;
	for (size_t i = 0; i < seal->events.n; i++) {
		struct group *g = &seal->groups.items[seal->order[i].group];

		numbers[g->n < OWN_BLOCK_EVENTS ? at++ : g->at++] = seal->order[i].index;
	}

	r = blocks_write(seal, numbers, n_mixed);
	for (size_t i = 0; r == 0 && i < seal->groups.n; i++) {
		const struct group *g = &seal->groups.items[i];

		if (g->n >= OWN_BLOCK_EVENTS)
			r = blocks_write(seal, numbers + g->at - g->n, g->n);
	}
	return r;
}

static int tails_delete(struct seal *seal)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < seal->read.n; i++) {
		sqlite3_stmt *s = db_statement(&seal->writer->db, DB_DELETE_TAIL);

		(void)sqlite3_bind_int64(s, 1, seal->read.items[i]);
		r = sql_run(s);
	}
	return r;
}

static int encoder_make(struct writer *writer)
{
	return writer->encoder ? 0 : block_encoder_new(&writer->encoder);
}

int seal_events(struct writer *writer, uint32_t uid, int64_t boot, struct stored_event *events, size_t n)
{
	CLEANUP(seal_done) struct seal seal = { .writer = writer, .uid = uid, .boot = boot, .data = BUF_INIT };
	int r = n ? encoder_make(writer) : 0;

	seal.events.items = events;
	seal.events.n = n;
	if (r == 0 && n)
		r = sort(&seal);
	if (r == 0 && n)
		r = groups_write(&seal);
	seal.events.items = NULL; /* the caller's */
	return r;
}

/* Return: 1 when rows remain, 0, or -errno with nothing changed */
static int seal_pass(struct writer *writer, uint32_t uid, int64_t boot)
{
	CLEANUP(seal_done) struct seal seal = { .writer = writer, .uid = uid, .boot = boot, .data = BUF_INIT };
	struct writer_owner *owner = writer_owner(writer, uid);
	int r = owner ? db_begin(&writer->db) : -ENOMEM, more = 0;

	if (r == 0)
		r = more = tails_read(&seal);
	if (r >= 0 && seal.events.n) {
		r = sort(&seal);
		r = r ? r : groups_write(&seal);
	}
	if (r >= 0) {
		r = tails_delete(&seal);
		r = r ? r : retention_by_size(writer);
	}
	r = retention_commit(writer, r);
	return r < 0 ? r : more;
}

int seal_owner(struct writer *writer, uint32_t uid, int64_t boot)
{
	struct writer_owner *owner;
	int r = encoder_make(writer);

	if (r < 0)
		return r;
	do {
		r = seal_pass(writer, uid, boot);
	} while (r > 0);
	owner = r == 0 && boot == writer->boot ? writer_owner(writer, uid) : NULL;
	if (owner)
		owner->tail_events = 0;
	return r;
}

struct tail_owner {
	uint32_t uid;
	int64_t boot;
};

int seal_all(struct writer *writer)
{
	ARRAY(struct tail_owner) found = { 0 };
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(writer->db.handle, "SELECT DISTINCT uid, boot FROM tail", &s);

	while (r == 0 && (r = sql_step(s)) > 0)
		r = ARRAY_PUSH(&found, ((struct tail_owner){ .uid = (uint32_t)sqlite3_column_int64(s, 0),
							     .boot = sqlite3_column_int64(s, 1) }));
	(void)sqlite3_finalize(TAKE_PTR(s)); /* read to its end, or failed: r has the error */
	for (size_t i = 0; r == 0 && i < found.n; i++)
		r = seal_owner(writer, found.items[i].uid, found.items[i].boot);
	ARRAY_DONE(&found);
	return r;
}
