// SPDX-License-Identifier: Apache-2.0
/*
 * The two rings on the loop.
 *
 * Call records are fetched by a timer, seldom while little comes and often while much
 * does; the kernel half wakes us early when the ring fills. Process life wakes us at
 * once and is always fetched first. One turn takes a bounded number of records.
 */
#pragma once

#include <stdint.h>
#include <uv.h>

#include "bpf/record.h"

struct ring;

struct ring_sinks {
	void (*on_call)(const struct call_record *call, void *data);
	void (*on_life)(const struct life_record *life, void *data);
	void (*on_drained)(void *data); /* after each turn that brought something */
};

/**
 * ring_open() - @calls_fd, @life_fd: ring maps, borrowed; @ring_bytes: size of the first
 * Return: 0 or -errno
 */
int ring_open(uv_loop_t *loop, int calls_fd, int life_fd, uint64_t ring_bytes, const struct ring_sinks *sinks,
	      void *data, struct ring **ret_ring);
/** ring_drain() - fetch everything there is now, whatever the timer says */
void ring_drain(struct ring *ring);
/** ring_refused() - records that made no sense, since open */
uint64_t ring_refused(const struct ring *ring);
/** ring_close() - memory goes in the loop's turn; NULL is fine */
void ring_close(struct ring *ring);
