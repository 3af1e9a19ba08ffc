// SPDX-License-Identifier: Apache-2.0
/*
 * Rebuilds lost headers of blocks. A page holds two dozen headers: without them, a hundred thousand events with intact
 * contents would be lost. A checksum beside the contents verifies them; owner and boot are those of the processes of
 * the events.
 */
#include <errno.h>

#include "archive/write/writer.h"

struct heads {
	struct writer *writer;
	struct block_decoder *decoder;
	struct stored_event *events; /* BLOCK_EVENTS_MAX */
	struct buf data;
};

static void heads_done(struct heads *heads)
{
	block_decoder_free(heads->decoder);
	free(heads->events);
	buf_done(&heads->data);
}

/* Return: 1; 0 when the events have several owners or boots, or a process is unknown; -errno */
static int owner_of(struct writer *writer, const struct stored_event *events, size_t n, uint32_t *ret_uid,
		    int64_t *ret_boot)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(writer->db.handle, "SELECT uid, boot FROM process WHERE id = ?1", &s);

	for (size_t i = 0; r >= 0 && i < n; i++) {
		uint32_t uid;
		int64_t boot;

		if (i && events[i].process == events[i - 1].process)
			continue;
		(void)sqlite3_bind_int64(s, 1, events[i].process);
		r = sql_step(s);
		if (r <= 0)
			return r;
		uid = (uint32_t)sqlite3_column_int64(s, 0);
		boot = sqlite3_column_int64(s, 1);
		(void)sqlite3_reset(s); /* a row existed */
		if (i && (uid != *ret_uid || boot != *ret_boot))
			return 0;
		*ret_uid = uid;
		*ret_boot = boot;
	}
	return r < 0 ? r : 1;
}

static int head_again(struct heads *heads, sqlite3_stmt *row)
{
	struct writer *writer = heads->writer;
	struct block_head head;
	uint32_t uid = 0;
	int64_t boot = 0;
	size_t n = 0;
	int r = block_decode(heads->decoder, sqlite3_column_blob(row, 1), (size_t)sqlite3_column_bytes(row, 1),
			     (uint32_t)sqlite3_column_int64(row, 2), BLOCK_ALL_COLUMNS, heads->events, &n);

	if (r == -EBADMSG || r == -ENOTSUP)
		return 0; /* the contents are damaged, too */
	r = r ? r : owner_of(writer, heads->events, n, &uid, &boot);
	if (r <= 0)
		return r;
	heads->data.n = 0;
	r = block_encode(writer->encoder, heads->events, n, &heads->data, &head);
	return r ? r
		 : writer_put_block(writer, &(struct writer_block){ .id = writer->next_block++,
								    .uid = uid,
								    .boot = boot,
								    .head = &head,
								    .events = heads->events,
								    .data = &heads->data });
}

int salvage_heads(struct writer *writer)
{
	static const char text[] = "SELECT id, data, data_crc FROM block_data WHERE id NOT IN (SELECT id FROM block)"
				   " AND data_crc IS NOT NULL AND id <= ?1";
	CLEANUP(heads_done) struct heads heads = { .writer = writer, .data = BUF_INIT };
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int64_t last = 0;
	int r = db_get_int(&writer->db, "SELECT max(id) FROM block_data", &last);

	if (r >= 0)
		r = sql_prepare(writer->db.handle, text, &s);
	if (r == 0 && !writer->encoder)
		r = block_encoder_new(&writer->encoder);
	r = r ? r : block_decoder_new(&heads.decoder);
	heads.events = calloc(BLOCK_EVENTS_MAX, sizeof(*heads.events));
	if (r == 0 && !heads.events)
		r = -ENOMEM;
	(void)sqlite3_bind_int64(s, 1, last);
	writer->next_block = MAX(writer->next_block, last + 1);
	while (r == 0 && (r = sql_step(s)) > 0)
		r = head_again(&heads, s);
	return r;
}
