// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a block, with a checksum that fits. What is understood is packed again and comes
 * back the same, and a column that is asked for alone is what it was among all.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "archive/codec/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

static struct stored_event all[BLOCK_EVENTS_MAX], again[BLOCK_EVENTS_MAX];
static struct block_encoder *encoder;
static struct block_decoder *decoder;

static int decode(const void *data, size_t n, uint32_t columns, struct stored_event *events, size_t *ret_n)
{
	return block_decode(decoder, data, n, codec_crc(data, n), columns, events, ret_n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct block_head head;
	size_t n_events, n_again;

	if (!encoder)
		REQUIRE(block_encoder_new(&encoder) == 0 && block_decoder_new(&decoder) == 0);
	if (decode(data, n, BLOCK_ALL_COLUMNS, all, &n_events) < 0)
		return 0;

	REQUIRE(n_events > 0 && n_events <= BLOCK_EVENTS_MAX);
	for (uint32_t id = BLOCK_TIME; id < BLOCK_COLUMN_COUNT; id++)
		REQUIRE(decode(data, n, BLOCK_COLUMN(id), again, &n_again) == 0 && n_again == n_events);
	REQUIRE(memcmp(all, again, n_events * sizeof(all[0])) == 0);

	REQUIRE(block_encode(encoder, all, n_events, &out, &head) == 0);
	memset(again, 0, n_events * sizeof(again[0]));
	REQUIRE(decode(out.data, out.n, BLOCK_ALL_COLUMNS, again, &n_again) == 0 && n_again == n_events);
	REQUIRE(memcmp(all, again, n_events * sizeof(all[0])) == 0);
	return 0;
}
