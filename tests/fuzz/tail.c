// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a row of the tail. What is understood is packed again, event by event, and
 * comes back the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "archive/codec/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct again {
	struct buf row;
	struct stored_event previous;
	size_t n;
	uint64_t sum; /* over all events, by place */
};

static uint64_t sum_of(const struct stored_event *event, size_t at)
{
	return codec_crc(event, sizeof(*event)) * (uint64_t)(at + 1);
}

static int pack_again(const struct stored_event *event, void *data)
{
	struct again *again = data;

	if (tail_append(&again->row, again->n ? &again->previous : NULL, event) < 0)
		abort();
	again->previous = *event;
	again->sum += sum_of(event, again->n++);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct again once = { 0 }, twice = { 0 };

	(void)tail_decode(data, n, pack_again, &once);
	if (tail_decode(once.row.data, once.row.n, pack_again, &twice) != 0 || twice.n != once.n ||
	    twice.sum != once.sum || twice.row.n != once.row.n)
		abort();
	buf_done(&once.row);
	buf_done(&twice.row);
	return 0;
}
