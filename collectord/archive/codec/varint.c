// SPDX-License-Identifier: Apache-2.0
#include "archive/codec/varint.h"

uint64_t varint_get_long(struct varint_reader *reader)
{
	uint64_t value = 0;
	const uint8_t *p = reader->p;

	for (unsigned int shift = 0; shift < 64 && p < reader->end; shift += 7) {
		uint8_t byte = *p++;

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			reader->p = p;
			return value;
		}
	}
	reader->failed = true;
	reader->p = reader->end;
	return 0;
}

const uint8_t *varint_get_bytes(struct varint_reader *reader, uint64_t n)
{
	const uint8_t *p = reader->p;

	if (n > (size_t)(reader->end - p)) {
		reader->failed = true;
		reader->p = reader->end;
		return NULL;
	}
	reader->p += n;
	return p;
}
