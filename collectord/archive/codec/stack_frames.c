// SPDX-License-Identifier: Apache-2.0
#include "archive/codec/stack_frames.h"

#include <errno.h>

#include "archive/codec/codec.h"
#include "archive/codec/varint.h"

int stack_frames_encode(const struct stored_frame *frames, size_t n, struct buf *out)
{
	uint8_t *begin = buf_reserve(out, n * 2 * VARINT_BYTES_MAX + 1), *at = begin;
	uint64_t ip = 0;

	if (!begin)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		at = varint_put(at, (uint64_t)frames[i].id << 1 | (frames[i].ip != 0));
		if (!frames[i].ip)
			continue;
		at = varint_put(at, varint_fold(frames[i].ip - ip));
		ip = frames[i].ip;
	}
	out->n += (size_t)(at - begin);
	return 0;
}

ssize_t stack_frames_decode(const void *data, size_t n, uint32_t crc, struct stored_frame *ret)
{
	struct varint_reader reader = { .p = data };
	size_t n_frames = 0;
	uint64_t ip = 0;

	if (codec_crc(data, n) != crc)
		return -EBADMSG;
	reader.end = reader.p + n;
	while (reader.p < reader.end) {
		uint64_t head = varint_get(&reader);
		bool has_ip = head & 1;

		if (has_ip)
			ip += varint_unfold(varint_get(&reader));
		if (reader.failed || head >> 1 > UINT32_MAX || n_frames == STORED_FRAMES_MAX)
			return -EBADMSG;
		ret[n_frames++] = (struct stored_frame){ .id = (uint32_t)(head >> 1), .ip = has_ip ? ip : 0 };
	}
	return (ssize_t)n_frames;
}
