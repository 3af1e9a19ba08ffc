// SPDX-License-Identifier: Apache-2.0
#include "io_rig.h"

#include "base/grace.h"
#include "events/ring_map.h"
#include "tests/support/check.h"

static int rig_record(void *data, const void *record, size_t n)
{
	const struct record_header *header = record;
	struct io_rig *rig = data;

	(void)n;
	if (header->type == IO_RECORD_FILE) {
		rig->n_files++;
		(void)io_files_file(rig->files, record);
		if (rig->on_file)
			rig->on_file(record, rig->data);
	} else if (header->type == IO_RECORD_NAME) {
		(void)io_files_name(rig->files, record);
	} else if (header->type == IO_RECORD_PROCESS) {
		(void)io_files_process(rig->files, record);
	} else {
		(void)ARRAY_PUSH(&rig->calls, *(const struct io_call_record *)record);
	}
	return 0;
}

void io_rig_open(struct io_rig *rig)
{
	char why[256];
	int r;

	*rig = (struct io_rig){ .files = io_files_new() };
	r = io_set_open(why, sizeof(why), &rig->set);
	if (r == -EPERM)
		CHECK_SKIP("%s", why);
	CHECK_INT_EQ(why, r, 0);
	CHECK_INT_EQ("the ring is mapped",
		     ring_map_open(io_set_ring(rig->set), IO_RING_BYTES, IO_RECORD_MOST, &rig->ring), 0);
}

void io_rig_close(struct io_rig *rig)
{
	ring_map_close(rig->ring);
	io_set_close(rig->set);
	io_files_free(rig->files);
	io_book_done(&rig->book);
	ARRAY_DONE(&rig->calls);
}

void io_rig_trace(struct io_rig *rig, pid_t pid, struct io_lease lease)
{
	uint32_t pids[] = { (uint32_t)pid };
	struct io_wish wish = { .lease = lease, .pids = pids, .n_pids = 1 };

	if (!(wish.lease.calls[0] | wish.lease.calls[1]))
		memset(wish.lease.calls, 0xff, sizeof(wish.lease.calls));
	CHECK_INT_EQ("the lease is in force", io_set_lease(rig->set, 0, &wish), 0);
}

void io_rig_records(struct io_rig *rig)
{
	(void)ring_map_consume(rig->ring, rig_record, rig);
}

static void rig_row(const struct io_key *key, const struct io_cell *cell, void *data)
{
	io_book_add(data, key, cell);
}

void io_rig_read(struct io_rig *rig)
{
	io_set_swap(rig->set);
	(void)grace_wait();
	io_rig_records(rig);
	CHECK_INT_EQ("rows are taken", io_set_take(rig->set, rig_row, &rig->book), 0);
}

const char *io_rig_path(const struct io_rig *rig, uint64_t file)
{
	const struct io_file_info *info = io_files_file_find(rig->files, file);

	return info ? info->path : "";
}
