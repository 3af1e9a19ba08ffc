// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel half of `ingero io`: loaded while somebody runs it, and attached to the entry and exit of all system
 * calls.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/io_record.h"

struct io_set;

/**
 * io_set_open() - load and attach
 * @why: one sentence for people on failure
 * Return: 0 or -errno
 */
int io_set_open(char *why, size_t why_bytes, struct io_set **ret_set);
void io_set_close(struct io_set *set);

/* Processes and calls that one caller wants. */
struct io_wish {
	struct io_lease lease; /* its flags with IO_LEASE_ALL if nothing is named */
	const uint32_t *pids;  /* these and their later children */
	size_t n_pids;
	const uint32_t *uids;
	size_t n_uids;
};

/** io_set_lease() - put a wish in force under a bit; NULL: take it back. Return: 0 or -errno */
int io_set_lease(struct io_set *set, unsigned int bit, const struct io_wish *wish);
/** io_set_follow() - name one more process for a bit. Return: 0 or -errno */
int io_set_follow(struct io_set *set, unsigned int bit, uint32_t pid);
/** io_set_names_any() - whether a process that was named for a bit, or a child of one, still runs */
bool io_set_names_any(const struct io_set *set, unsigned int bit);
/** io_set_missing() - calls that this kernel lacks: a bit for each, by id */
const uint64_t *io_set_missing(const struct io_set *set);
/** io_set_ring() - descriptor of the ring of IO_RING_BYTES */
int io_set_ring(const struct io_set *set);
/** io_set_swap() - from now on the programs fill the other rows */
void io_set_swap(struct io_set *set);

typedef void (*io_row_func)(const struct io_key *key, const struct io_cell *cell, void *data);
/**
 * io_set_take() - pass on and empty the rows that are not being filled
 * No program may fill them any more: a grace period after io_set_swap().
 * Return: 0 or -errno; rows that were not passed on stay
 */
int io_set_take(struct io_set *set, io_row_func func, void *data);
/** io_set_lost() - calls, records or paths lost since io_set_open() */
uint64_t io_set_lost(const struct io_set *set, enum io_loss loss);
