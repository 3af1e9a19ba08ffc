// SPDX-License-Identifier: Apache-2.0
/*
 * Merges pieces that overlap in time into calls in order of time. A call is held back while a later piece may contain
 * an earlier call.
 */
#pragma once

#include "archive/read/read.h"

struct read_order;

/**
 * read_order_open() - start reading
 * @filter: newest_first sets the direction; its arrays must outlive the order
 * Return: 0 or -errno
 */
int read_order_open(struct store_reader *reader, const struct read_filter *filter, struct read_order **ret_order);
/**
 * read_order_next() - get the next call. Return: 1; 0 at the end; -EAGAIN: no call after some milliseconds of work, so
 * that the caller can check its deadline and call again; -errno
 *
 * @ret_event: valid until the next step
 */
int read_order_next(struct read_order *order, struct read_event *ret_event);
/** read_order_close() - NULL is allowed */
void read_order_close(struct read_order *order);
