// SPDX-License-Identifier: Apache-2.0
/*
 * Numbers of unwinding tables in bytes of a file. A read beyond the end, or of a number that does not fit, sets
 * `is_bad` and yields 0; `is_bad` stays set, so that a caller checks once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct frame_bytes {
	const uint8_t *at, *end;
	bool is_bad;
};

/* Encoding of a pointer (DWARF Exception Header Encoding, Linux Standard Base): format, base, and marks. */
#define FRAME_PE_FORMAT 0x0f
#define FRAME_PE_ULEB 0x01
#define FRAME_PE_UDATA2 0x02
#define FRAME_PE_UDATA4 0x03
#define FRAME_PE_UDATA8 0x04
#define FRAME_PE_SLEB 0x09
#define FRAME_PE_SDATA2 0x0a
#define FRAME_PE_SDATA4 0x0b
#define FRAME_PE_SDATA8 0x0c
#define FRAME_PE_BASE 0x70
#define FRAME_PE_PCREL 0x10
#define FRAME_PE_DATAREL 0x30
#define FRAME_PE_INDIRECT 0x80

static inline uint64_t frame_bytes_fixed(struct frame_bytes *b, size_t n)
{
	uint64_t value = 0;

	if (b->is_bad || n > (size_t)(b->end - b->at)) {
		b->is_bad = true;
		return 0;
	}
	memcpy(&value, b->at, n); /* files and this machine have the same byte order, little endian */
	b->at += n;
	return value;
}

static inline void frame_bytes_skip(struct frame_bytes *b, uint64_t n)
{
	if (b->is_bad || n > (uint64_t)(b->end - b->at))
		b->is_bad = true;
	else
		b->at += n;
}

static inline uint64_t frame_bytes_uleb(struct frame_bytes *b)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; !b->is_bad && b->at < b->end && shift < 64; shift += 7) {
		uint8_t byte = *b->at++;

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	b->is_bad = true;
	return 0;
}

static inline int64_t frame_bytes_sleb(struct frame_bytes *b)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; !b->is_bad && b->at < b->end && shift < 64; shift += 7) {
		uint8_t byte = *b->at++;

		if (shift == 63 && byte != 0 && byte != 0x7f)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (shift < 57 && byte & 0x40)
			value |= ~0ull << (shift + 7);
		return (int64_t)value;
	}
	b->is_bad = true;
	return 0;
}

static inline uint64_t frame_bytes_formatted(struct frame_bytes *b, uint8_t format)
{
	switch (format) {
	case FRAME_PE_ULEB:
		return frame_bytes_uleb(b);
	case FRAME_PE_SLEB:
		return (uint64_t)frame_bytes_sleb(b);
	case FRAME_PE_UDATA2:
		return frame_bytes_fixed(b, 2);
	case FRAME_PE_SDATA2:
		return (uint64_t)(int16_t)frame_bytes_fixed(b, 2);
	case FRAME_PE_UDATA4:
		return frame_bytes_fixed(b, 4);
	case FRAME_PE_SDATA4:
		return (uint64_t)(int32_t)frame_bytes_fixed(b, 4);
	case 0: /* of the size of an address */
	case FRAME_PE_UDATA8:
	case FRAME_PE_SDATA8:
		return frame_bytes_fixed(b, 8);
	default:
		b->is_bad = true;
		return 0;
	}
}

/**
 * frame_bytes_pointer() - pointer, 0 for none
 * @address: where its first byte is, as linked
 * @data:    base of pointers relative to data; 0: there are none
 */
static inline uint64_t frame_bytes_pointer(struct frame_bytes *b, uint8_t encoding, uint64_t address, uint64_t data)
{
	uint64_t value = frame_bytes_formatted(b, encoding & FRAME_PE_FORMAT), base = 0;

	if ((encoding & FRAME_PE_BASE) == FRAME_PE_PCREL)
		base = address;
	else if ((encoding & FRAME_PE_BASE) == FRAME_PE_DATAREL && data)
		base = data;
	else if (encoding & FRAME_PE_BASE)
		b->is_bad = true;
	if (encoding & FRAME_PE_INDIRECT)
		b->is_bad = true;
	return value && !b->is_bad ? value + base : 0;
}
