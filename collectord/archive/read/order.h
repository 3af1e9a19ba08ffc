// SPDX-License-Identifier: Apache-2.0
/*
 * Calls in order of their time, from pieces that overlap: what may still be overtaken by
 * a later piece waits.
 */
#pragma once

#include "archive/read/read.h"

struct read_order;

/** read_order_open() - @filter: newest_first decides the direction; the arrays it points to must stay. Return: 0 or
 * -errno */
int read_order_open(struct store_reader *reader, const struct read_filter *filter, struct read_order **ret_order);
/**
 * read_order_next() - Return: 1; 0 at the end; -EAGAIN after some milliseconds' work without one: look at the clock
 * and ask again; -errno
 *
 * @ret_event: valid until the next step
 */
int read_order_next(struct read_order *order, struct read_event *ret_event);
/** read_order_close() - NULL is fine */
void read_order_close(struct read_order *order);
