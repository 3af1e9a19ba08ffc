// SPDX-License-Identifier: Apache-2.0
/*
 * The two rings on the loop.
 *
 * A timer fetches call records, slowly while few come and faster while many do; the kernel half wakes us early when the
 * ring fills. Records of process life wake us at once and are always fetched first. One turn takes a limited number of
 * records of each ring; the loop serves others in between.
 */
#pragma once

#include <stdint.h>
#include <uv.h>

#include "bpf/record.h"

struct ring;

struct ring_sinks {
	void (*on_call)(const struct call_record *call, void *data);
	void (*on_file)(const struct file_record *file, void *data); /* NULL: nobody wants them */
	void (*on_life)(const struct life_record *life, void *data);
	void (*on_drained)(void *data); /* called after each turn that fetched records */
};

/**
 * ring_open() - map both rings. @calls_fd, @life_fd: ring maps, borrowed; @ring_bytes: size of the first
 * Return: 0 or -errno
 */
int ring_open(uv_loop_t *loop, int calls_fd, int life_fd, uint64_t ring_bytes, const struct ring_sinks *sinks,
	      void *data, struct ring **ret_ring);
/** ring_drain() - fetch all records that are there now, whatever the timer says */
void ring_drain(struct ring *ring);
/** ring_refused() - number of undecodable records since open */
uint64_t ring_refused(const struct ring *ring);
/** ring_close() - close; memory is released in a turn of the loop. NULL is allowed */
void ring_close(struct ring *ring);
