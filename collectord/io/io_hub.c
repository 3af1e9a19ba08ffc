// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "io"
#include "io/io_hub.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grace.h"
#include "base/log.h"
#include "bpf/user_share.h"
#include "events/ring_map.h"
#include "probes/graces.h"

#define RING_MS 50 /* the ring is read so often: 4 MiB are 35 000 single calls */
#define LOOKS_PER_READING (IO_READ_MS / RING_MS)

struct io_lease_state {
	struct io_hub *hub;
	unsigned int bit;
	uint32_t uid;	       /* of the caller */
	uint64_t last_reading; /* number of the reading that takes what is left; 0: it has not ended */
	struct io_listener listener;
	struct io_book book;
	uint64_t lost_before[IO_LOSS_COUNT];
};

struct io_hub {
	struct io_hub **owner; /* set to NULL when it ends */
	struct io_set *set;
	struct ring_map *ring;
	struct io_files *files;
	struct graces graces;
	uv_timer_t timer;
	uv_timer_t last; /* closed after all other handles */
	bool is_reading;
	unsigned int n_looks; /* at the ring, since the last reading */
	uint64_t n_readings;  /* begun */
	struct io_lease_state *leases[IO_LEASES];
	uint64_t free_after[IO_LEASES]; /* a bit is free again when so many readings have begun */
	uint64_t lost[IO_LOSS_COUNT];	/* here: files and processes without room */
};

/* ---- the ring ---- */

static void call_pass(const struct io_hub *hub, const struct io_call_record *call)
{
	for (unsigned int i = 0; i < IO_LEASES; i++) {
		const struct io_lease_state *lease = hub->leases[i];

		if (call->leases & 1u << i && lease && lease->listener.on_call)
			lease->listener.on_call(call, lease->listener.data);
	}
}

static int file_record_take(struct io_hub *hub, const struct file_record *file, size_t n)
{
	if (n < FILE_RECORD_HEAD || file->n_bytes > FILE_PATH_BYTES || file->n_bytes > n - FILE_RECORD_HEAD)
		return 0;
	if (file->n_bytes && file->text[file->n_bytes - 1])
		return 0;
	if (io_files_file(hub->files, file) < 0)
		hub->lost[IO_LOSS_PATHS]++;
	return 0;
}

static int name_record_take(struct io_hub *hub, const struct io_name_record *name, size_t n)
{
	if (n < IO_NAME_RECORD_HEAD || name->n_bytes > FILE_PATH_BYTES || name->n_bytes > n - IO_NAME_RECORD_HEAD)
		return 0;
	if (io_files_name(hub->files, name) < 0)
		hub->lost[IO_LOSS_PATHS]++;
	return 0;
}

static int record_take(void *data, const void *record, size_t n)
{
	const struct record_header *header = record;
	struct io_hub *hub = data;

	if (n < sizeof(*header))
		return 0;
	if (header->type == IO_RECORD_FILE)
		return file_record_take(hub, record, n);
	if (header->type == IO_RECORD_NAME)
		return name_record_take(hub, record, n);
	if (header->type == IO_RECORD_PROCESS && n >= sizeof(struct io_process_record)) {
		if (io_files_process(hub->files, record) < 0)
			hub->lost[IO_LOSS_THREADS]++;
	} else if (header->type == IO_RECORD_CALL && n >= sizeof(struct io_call_record)) {
		call_pass(hub, record);
	}
	return 0;
}

/* ---- readings ---- */

static void row_pass(const struct io_key *key, const struct io_cell *cell, void *data)
{
	const struct io_hub *hub = data;

	for (unsigned int i = 0; i < IO_LEASES; i++)
		if (key->leases & 1u << i && hub->leases[i])
			io_book_add(&hub->leases[i]->book, key, cell);
}

static void reading_begin(struct io_hub *hub);

/*
 * The listeners may leave, and the last one closes the hub. Return: whether a lease waits for one more reading; false
 * if the hub is closed
 */
static bool leases_tell(struct io_hub *hub)
{
	struct io_hub **owner = hub->owner;
	bool must_read = false;

	for (size_t i = 0; i < IO_LEASES && *owner == hub; i++) {
		const struct io_lease_state *lease = hub->leases[i];
		bool is_last = lease && lease->last_reading && hub->n_readings >= lease->last_reading;

		if (!lease)
			continue;
		must_read |= lease->last_reading && !is_last;
		lease->listener.on_read(is_last, lease->listener.data);
	}
	return *owner == hub && must_read;
}

static void reading_end(void *data)
{
	struct io_hub *hub = data;
	int r;

	(void)ring_map_consume(hub->ring, record_take, hub); /* processes and files before their rows */
	r = io_set_take(hub->set, row_pass, hub);
	if (r < 0)
		(void)log_warning(r, "figures of system calls could not be read");
	hub->is_reading = false;
	if (leases_tell(hub))
		reading_begin(hub);
}

/* Without a thread for the grace period the loop waits itself. */
static void reading_begin(struct io_hub *hub)
{
	if (hub->is_reading)
		return;
	hub->is_reading = true;
	hub->n_readings++;
	io_set_swap(hub->set);
	if (graces_request(&hub->graces, reading_end, hub) == 0)
		return;
	(void)grace_wait();
	reading_end(hub);
}

static void read_fired(uv_timer_t *timer)
{
	struct io_hub *hub = timer->data;

	(void)ring_map_consume(hub->ring, record_take, hub);
	if (++hub->n_looks < LOOKS_PER_READING)
		return;
	hub->n_looks = 0;
	reading_begin(hub);
}

/* ---- opening and closing ---- */

static void last_closed(uv_handle_t *last)
{
	free(last->data);
}

static void timer_closed(uv_handle_t *timer)
{
	struct io_hub *hub = timer->data;

	uv_close((uv_handle_t *)&hub->last, last_closed);
}

static void hub_close(struct io_hub *hub)
{
	*hub->owner = NULL;
	ring_map_close(hub->ring);
	io_set_close(hub->set);
	io_files_free(hub->files);
	graces_close(&hub->graces);
	uv_close((uv_handle_t *)&hub->timer, timer_closed);
}

static int hub_open(struct io_hub **ret_hub, uv_loop_t *loop, char *why, size_t why_bytes)
{
	struct io_hub *hub = calloc(1, sizeof(*hub));
	int r = hub ? 0 : -ENOMEM;

	(void)snprintf(why, why_bytes, "system calls cannot be traced: no memory or threads for it");
	if (r < 0)
		return r;
	hub->owner = ret_hub;
	r = graces_open(&hub->graces, loop);
	if (r < 0) {
		free(hub);
		return r;
	}
	(void)uv_timer_init(loop, &hub->timer);
	(void)uv_timer_init(loop, &hub->last);
	hub->timer.data = hub->last.data = hub;
	hub->files = io_files_new();
	r = hub->files ? io_set_open(why, why_bytes, &hub->set) : -ENOMEM;
	if (r == 0)
		r = ring_map_open(io_set_ring(hub->set), IO_RING_BYTES, IO_RECORD_MOST, &hub->ring);
	if (r < 0) {
		hub_close(hub);
		return r;
	}
	(void)uv_timer_start(&hub->timer, read_fired, RING_MS, RING_MS);
	*ret_hub = hub;
	return 0;
}

static void hub_review(struct io_hub *hub)
{
	for (size_t i = 0; i < IO_LEASES; i++)
		if (hub->leases[i])
			return;
	hub_close(hub);
}

/* ---- leases ---- */

/* Return: IO_LEASES: none is free */
static unsigned int bit_find(const struct io_hub *hub)
{
	for (unsigned int i = 0; i < IO_LEASES; i++)
		if (!hub->leases[i] && hub->n_readings >= hub->free_after[i])
			return i;
	return IO_LEASES;
}

/* One user leaves places for others. */
static bool share_is_left(const struct io_hub *hub, uint32_t uid)
{
	uint32_t n_own = 0, n_used = 0;

	for (unsigned int i = 0; i < IO_LEASES; i++) {
		n_used += hub->leases[i] != NULL;
		n_own += hub->leases[i] && hub->leases[i]->uid == uid;
	}
	return share_has_room(n_own, n_used, IO_LEASES);
}

static int lease_begin(struct io_hub *hub, const struct io_wish *wish, const struct io_listener *listener, char *why,
		       size_t why_bytes, struct io_lease_state **ret_lease)
{
	struct io_lease_state *lease;
	unsigned int bit = bit_find(hub);
	int r;

	if (!share_is_left(hub, wish->lease.uid)) {
		(void)snprintf(
			why, why_bytes,
			"the rest of %d places is for other users, who trace system calls too; end a trace of yours",
			IO_LEASES);
		return -EUSERS;
	}
	if (bit == IO_LEASES) {
		(void)snprintf(why, why_bytes, "%d callers trace system calls already, which is the limit; try later",
			       IO_LEASES);
		return -EUSERS;
	}
	(void)snprintf(why, why_bytes, "no memory for another trace of system calls");
	lease = calloc(1, sizeof(*lease));
	if (!lease)
		return -ENOMEM;
	*lease = (struct io_lease_state){ .hub = hub, .bit = bit, .uid = wish->lease.uid, .listener = *listener };
	for (enum io_loss i = 0; i < IO_LOSS_COUNT; i++)
		lease->lost_before[i] = hub->lost[i] + io_set_lost(hub->set, i);
	r = io_set_lease(hub->set, bit, wish);
	if (r < 0) {
		free(lease);
		return r;
	}
	hub->leases[bit] = lease;
	*ret_lease = lease;
	return 0;
}

int io_hub_join(struct io_hub **hub, uv_loop_t *loop, const struct io_wish *wish, const struct io_listener *listener,
		char *why, size_t why_bytes, struct io_lease_state **ret_lease)
{
	int r = *hub ? 0 : hub_open(hub, loop, why, why_bytes);

	if (r < 0)
		return r;
	r = lease_begin(*hub, wish, listener, why, why_bytes, ret_lease);
	if (r < 0)
		hub_review(*hub);
	return r;
}

int io_hub_follow(struct io_lease_state *lease, uint32_t pid)
{
	return io_set_follow(lease->hub->set, lease->bit, pid);
}

bool io_hub_is_idle(const struct io_lease_state *lease)
{
	return !io_set_names_any(lease->hub->set, lease->bit);
}

void io_hub_end(struct io_lease_state *lease)
{
	struct io_hub *hub = lease->hub;

	if (lease->last_reading)
		return;
	(void)io_set_lease(hub->set, lease->bit, NULL);
	lease->last_reading = hub->n_readings + 1;
	reading_begin(hub);
}

void io_hub_leave(struct io_lease_state *lease)
{
	struct io_hub *hub = lease->hub;

	if (!lease->last_reading)
		(void)io_set_lease(hub->set, lease->bit, NULL);
	hub->leases[lease->bit] = NULL;
	hub->free_after[lease->bit] = hub->n_readings + 2;
	io_book_done(&lease->book);
	free(lease);
	hub_review(hub);
}

struct io_book *io_hub_book(struct io_lease_state *lease)
{
	return &lease->book;
}

const struct io_files *io_hub_files(const struct io_lease_state *lease)
{
	return lease->hub->files;
}

const uint64_t *io_hub_missing(const struct io_lease_state *lease)
{
	return io_set_missing(lease->hub->set);
}

uint64_t io_hub_lost(const struct io_lease_state *lease, enum io_loss loss)
{
	return lease->hub->lost[loss] + io_set_lost(lease->hub->set, loss) - lease->lost_before[loss];
}
