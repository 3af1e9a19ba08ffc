// SPDX-License-Identifier: Apache-2.0
/*
 * Frames of a stack come back as they were packed, in any number and with any address; damage is told from frames.
 */
#include "archive/codec/stack_frames.h"

#include <errno.h>

#include "archive/codec/codec.h"
#include "base/cleanup.h"
#include "made_events.h"
#include "tests/support/check.h"

static void round_trip(void)
{
	static const struct {
		const char *name;
		size_t n;
		uint64_t ips; /* highest; 0: none has one */
		uint32_t ids; /* highest */
	} cases[] = {
		{ "none", 0, 0, 0 },
		{ "one without an address", 1, 0, 7 },
		{ "one", 1, 0x7fffffffffff, 7 },
		{ "as usual", 40, 0x7fffffffffff, 5000 },
		{ "every address and id", STORED_FRAMES_MAX, UINT64_MAX, UINT32_MAX },
	};

	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		CLEANUP(buf_done) struct buf blob = BUF_INIT;
		static struct stored_frame frames[STORED_FRAMES_MAX], again[STORED_FRAMES_MAX];
		uint64_t seed = c;
		size_t n_wrong = 0;

		for (size_t i = 0; i < cases[c].n; i++)
			frames[i] = (struct stored_frame){
				.ip = cases[c].ips && i % 3 != 2 ? made_random(&seed) % cases[c].ips + 1 : 0,
				.id = (uint32_t)(1 + made_random(&seed) % cases[c].ids),
			};
		CHECK_INT_EQ(cases[c].name, stack_frames_encode(frames, cases[c].n, &blob), 0);
		CHECK_INT_EQ(cases[c].name, stack_frames_decode(blob.data, blob.n, codec_crc(blob.data, blob.n), again),
			     cases[c].n);
		for (size_t i = 0; i < cases[c].n; i++)
			n_wrong += frames[i].ip != again[i].ip || frames[i].id != again[i].id;
		CHECK_INT_EQ(cases[c].name, n_wrong, 0);
	}
}

#define BYTES(text) text, sizeof(text) - 1

/* Bytes whose checksum is right. */
static void odd_bytes(void)
{
	static const struct {
		const char *name;
		const char *bytes;
		size_t n_bytes;
		ssize_t n; /* frames, or the error */
	} cases[] = {
		{ "nothing", BYTES(""), 0 },
		{ "an address is cut off", BYTES("\x03"), -EBADMSG },
		{ "an address is cut short", BYTES("\x03\x80"), -EBADMSG },
		{ "an id is cut short", BYTES("\x80"), -EBADMSG },
		{ "the highest id", BYTES("\xfe\xff\xff\xff\x1f"), 1 },
		{ "an id that is too high", BYTES("\x80\x80\x80\x80\x20"), -EBADMSG },
		{ "a number that is too long", BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), -EBADMSG },
		{ "one, and the rest is cut short", BYTES("\x02\x03\x80"), -EBADMSG },
	};
	struct stored_frame frames[STORED_FRAMES_MAX];
	char many[STORED_FRAMES_MAX + 1];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t crc = codec_crc(cases[i].bytes, cases[i].n_bytes);

		CHECK_INT_EQ(cases[i].name, stack_frames_decode(cases[i].bytes, cases[i].n_bytes, crc, frames),
			     cases[i].n);
		if (cases[i].n > 0)
			CHECK_INT_EQ(cases[i].name,
				     stack_frames_decode(cases[i].bytes, cases[i].n_bytes, crc + 1, frames), -EBADMSG);
	}
	memset(many, 2, sizeof(many));
	CHECK_INT_EQ("as many as fit",
		     stack_frames_decode(many, STORED_FRAMES_MAX, codec_crc(many, STORED_FRAMES_MAX), frames),
		     STORED_FRAMES_MAX);
	CHECK_INT_EQ("too many", stack_frames_decode(many, sizeof(many), codec_crc(many, sizeof(many)), frames),
		     -EBADMSG);
}

int main(void)
{
	round_trip();
	odd_bytes();
	return check_result();
}
