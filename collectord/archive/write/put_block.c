// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "archive/write/writer.h"

#define PROCESSES_LISTED 64

/* Lists the processes of a block, ascending, each once. Return: their number; -1: too many to list */
static int processes_of(const struct stored_event *events, size_t n, uint8_t *ret_list)
{
	uint32_t ids[PROCESSES_LISTED];
	size_t n_ids = 0;

	for (size_t i = 0; i < n; i++) {
		size_t at = 0;

		while (at < n_ids && ids[at] < events[i].process)
			at++;
		if (at < n_ids && ids[at] == events[i].process)
			continue;
		if (n_ids == PROCESSES_LISTED)
			return -1;
		memmove(ids + at + 1, ids + at, (n_ids - at) * sizeof(*ids));
		ids[at] = events[i].process;
		n_ids++;
	}
	for (size_t i = 0; i < n_ids; i++)
		for (int byte = 0; byte < 4; byte++)
			ret_list[i * 4 + (size_t)byte] = (uint8_t)(ids[i] >> (8 * byte));
	return (int)n_ids;
}

static int put_head(struct writer *writer, const struct writer_block *block)
{
	sqlite3_stmt *s = db_statement(&writer->db, DB_PUT_BLOCK);
	const struct block_head *head = block->head;
	uint8_t list[PROCESSES_LISTED * 4];
	int n_processes = processes_of(block->events, head->n, list);

	SQL_INTS(s, 1, block->id, block->uid, block->boot, head->process, (int64_t)head->t0_ns, (int64_t)head->t1_ns,
		 head->n, (int64_t)head->max_ns, head->slow);
	(void)sqlite3_bind_blob(s, 10, head->ops, sizeof(head->ops), SQLITE_STATIC);
	(void)sqlite3_bind_blob(s, 11, list, MAX(n_processes, 0) * 4, SQLITE_STATIC);
	SQL_INTS(s, 12, BLOCK_FORMAT, head->crc);
	return sql_run(s);
}

int writer_put_block(struct writer *writer, const struct writer_block *block)
{
	sqlite3_stmt *s = db_statement(&writer->db, DB_PUT_BLOCK_DATA);
	int r = put_head(writer, block);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(s, 1, block->id);
	(void)sqlite3_bind_blob64(s, 2, block->data->data, block->data->n, SQLITE_STATIC);
	(void)sqlite3_bind_int64(s, 3, block->head->crc);
	return sql_run(s);
}
