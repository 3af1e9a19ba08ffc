// SPDX-License-Identifier: Apache-2.0
/*
 * All that run `ingero io` now: the kernel half is there as long as one of them is, and read for all at once.
 *
 * A reading takes what was counted until its beginning; it ends a grace period later. Readings follow each other every
 * IO_READ_MS, and end() of a lease begins one more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "io/io_book.h"
#include "io/io_files.h"
#include "io/io_set.h"

#define IO_READ_MS 250

struct io_hub;
struct io_lease_state;

/* What a caller hears. */
struct io_listener {
	/* a single call; only with IO_LEASE_EVENTS */
	void (*on_call)(const struct io_call_record *call, void *data);
	/* rows were added to the book; @is_last: all that it will get, after io_hub_end() */
	void (*on_read)(bool is_last, void *data);
	void *data;
};

/**
 * io_hub_join() - begin to trace for one more caller
 * @hub: opened for the first one; NULL again after the last one has left
 * @why: one sentence for people on failure
 * Return: 0; -EUSERS: as many as can be are there; -errno
 */
int io_hub_join(struct io_hub **hub, uv_loop_t *loop, const struct io_wish *wish, const struct io_listener *listener,
		char *why, size_t why_bytes, struct io_lease_state **ret_lease);
/** io_hub_follow() - trace one more process, and its later children. Return: 0 or -errno */
int io_hub_follow(struct io_lease_state *lease, uint32_t pid);
/** io_hub_is_idle() - whether all processes that the lease named, and their children, have ended */
bool io_hub_is_idle(const struct io_lease_state *lease);
/** io_hub_end() - count no more; on_read() comes once more, with is_last */
void io_hub_end(struct io_lease_state *lease);
/** io_hub_leave() - hear no more; the lease is gone */
void io_hub_leave(struct io_lease_state *lease);
/** io_hub_book() - sums of a lease, valid until the next on_read() */
struct io_book *io_hub_book(struct io_lease_state *lease);
/** io_hub_files() - processes and files of all leases: whose rows are shown is the caller's to decide */
const struct io_files *io_hub_files(const struct io_lease_state *lease);
/** io_hub_missing() - calls that this kernel lacks: a bit for each, by id */
const uint64_t *io_hub_missing(const struct io_lease_state *lease);
/** io_hub_lost() - lost since the lease began, of all callers together */
uint64_t io_hub_lost(const struct io_lease_state *lease, enum io_loss loss);
