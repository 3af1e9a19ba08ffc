// SPDX-License-Identifier: Apache-2.0
/*
 * The three rings on the loop.
 *
 * A timer fetches call records, slowly while few come and faster while many do; the kernel half wakes us early when the
 * ring fills. Records of process life wake us at once and are always fetched first. Then stacks, which are on their
 * ring before the calls that name them; those whose memory is to be unwound wake us at once. One turn takes a limited
 * number of calls and records of process life; the loop serves others in between.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "bpf/stack_record.h"

struct ring;

struct ring_sinks {
	void (*on_call)(const struct call_record *call, void *data);
	void (*on_file)(const struct file_record *file, void *data); /* NULL: nobody wants them */
	void (*on_wait)(const struct wait_record *wait, void *data); /* likewise */
	/* A stack or a code object of @n_bytes; NULL: nobody wants them */
	void (*on_stack)(const struct stack_record *stack, size_t n_bytes, void *data);
	void (*on_code)(const struct code_record *code, size_t n_bytes, void *data);
	void (*on_mappings)(const struct mappings_record *mappings, void *data);
	void (*on_life)(const struct life_record *life, void *data);
	void (*on_drained)(void *data); /* called after each turn that fetched records */
};

/* Descriptors of the ring maps, borrowed. */
struct ring_fds {
	int calls, stacks, life;
};

/**
 * ring_open() - map all rings. @ring_bytes: size of that of calls
 * Return: 0 or -errno
 */
int ring_open(uv_loop_t *loop, const struct ring_fds *fds, uint64_t ring_bytes, const struct ring_sinks *sinks,
	      void *data, struct ring **ret_ring);
/** ring_drain() - fetch all records that are there now, whatever the timer says */
void ring_drain(struct ring *ring);
/** ring_drain_stacks() - fetch all stacks that are there now. Allowed while a call is passed that names one of them */
void ring_drain_stacks(struct ring *ring);
/** ring_refused() - number of undecodable records since open */
uint64_t ring_refused(const struct ring *ring);
/** ring_close() - close; memory is released in a turn of the loop. NULL is allowed */
void ring_close(struct ring *ring);
