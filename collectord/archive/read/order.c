// SPDX-License-Identifier: Apache-2.0
#include "archive/read/order.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* Copy of a call that is held back or was returned last: the memory of its piece is no longer valid. */
struct waiting {
	struct stored_event event;
	const struct read_process *process;
	uint64_t start_unix_ns;
	uint32_t boot;
};

/* Heap entry. Sorting entries is cheaper than sorting the calls, which have about 200 bytes each. */
struct place {
	struct read_time key; /* position of the call; complemented if the newest calls come first */
	uint32_t index;
};

struct read_order {
	struct read_cursor *cursor;
	bool newest_first;
	bool is_at_end;
	struct read_time bound_key; /* calls of later pieces have no smaller key */
	ARRAY(struct waiting) calls;
	ARRAY(struct place) heap; /* entry with the smallest key on top */
	ARRAY(uint32_t) unused;	  /* indexes of free entries of calls */
};

static bool is_before(const struct place *a, const struct place *b)
{
	if (a->key.boot != b->key.boot || a->key.ns != b->key.ns)
		return read_time_is_before(&a->key, &b->key);
	return a->index < b->index;
}

static void heap_up(struct place *heap, size_t i)
{
	while (i && is_before(&heap[i], &heap[(i - 1) / 2])) {
		struct place swap = heap[i];

		heap[i] = heap[(i - 1) / 2];
		heap[(i - 1) / 2] = swap;
		i = (i - 1) / 2;
	}
}

static void heap_down(struct place *heap, size_t n)
{
	size_t i = 0;

	for (;;) {
		size_t least = i, left = 2 * i + 1, right = left + 1;
		struct place swap = heap[i];

		if (left < n && is_before(&heap[left], &heap[least]))
			least = left;
		if (right < n && is_before(&heap[right], &heap[least]))
			least = right;
		if (least == i)
			return;
		heap[i] = heap[least];
		heap[least] = swap;
		i = least;
	}
}

static struct read_time key_of(const struct read_order *order, struct read_time at)
{
	if (!order->newest_first)
		return at;
	return (struct read_time){ .boot = UINT32_MAX - at.boot, .ns = UINT64_MAX - at.ns };
}

static int call_add(struct read_order *order, const struct read_event *e)
{
	struct waiting call = {
		.event = *e->event, .process = e->process, .start_unix_ns = e->start_unix_ns, .boot = e->boot
	};
	struct place place = { .key = key_of(order, e->at) };
	int r = 0;

	if (order->unused.n) {
		place.index = order->unused.items[--order->unused.n];
		order->calls.items[place.index] = call;
	} else {
		place.index = (uint32_t)order->calls.n;
		r = ARRAY_PUSH(&order->calls, call);
	}
	if (r == 0)
		r = ARRAY_PUSH(&order->heap, place);
	if (r == 0)
		heap_up(order->heap.items, order->heap.n - 1);
	return r;
}

static int order_fill(struct read_order *order)
{
	struct read_batch batch;
	int r = read_cursor_next(order->cursor, &batch);

	if (r < 0)
		return r;
	if (r == 0) {
		order->is_at_end = true;
		return 0;
	}
	order->bound_key = key_of(order, batch.bound);
	r = 0;
	for (size_t i = 0; i < batch.n && r == 0; i++)
		r = call_add(order, &batch.events[i]);
	return r;
}

static bool has_ready(const struct read_order *order)
{
	return order->heap.n &&
	       (order->is_at_end || !read_time_is_before(&order->bound_key, &order->heap.items[0].key));
}

int read_order_next(struct read_order *order, struct read_event *ret_event)
{
	const struct waiting *call;
	struct place top;

	if (!has_ready(order) && !order->is_at_end) {
		int r = order_fill(order);

		if (r)
			return r;
	}
	if (!has_ready(order))
		return order->is_at_end ? 0 : -EAGAIN;

	top = order->heap.items[0];
	order->heap.items[0] = order->heap.items[--order->heap.n];
	heap_down(order->heap.items, order->heap.n);
	/* The next piece may reuse this entry, so the result is valid until the next step. */
	if (ARRAY_PUSH(&order->unused, top.index) < 0)
		return -ENOMEM;
	call = &order->calls.items[top.index];
	*ret_event = (struct read_event){ .event = &call->event,
					  .process = call->process,
					  .start_unix_ns = call->start_unix_ns,
					  .boot = call->boot,
					  .at = key_of(order, top.key) };
	return 1;
}

int read_order_open(struct store_reader *reader, const struct read_filter *filter, struct read_order **ret_order)
{
	CLEANUP(freep) struct read_order *order = calloc(1, sizeof(*order));
	struct read_filter sliced = *filter;
	int r;

	if (!order)
		return -ENOMEM;
	order->newest_first = filter->newest_first;
	sliced.in_slices = true;
	r = store_reader_cursor_open(reader, &sliced, &order->cursor);
	if (r)
		return r;
	*ret_order = TAKE_PTR(order);
	return 0;
}

void read_order_close(struct read_order *order)
{
	if (!order)
		return;
	read_cursor_close(order->cursor);
	ARRAY_DONE(&order->calls);
	ARRAY_DONE(&order->heap);
	ARRAY_DONE(&order->unused);
	free(order);
}
