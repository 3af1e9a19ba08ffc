// SPDX-License-Identifier: Apache-2.0
/*
 * Numbers in as many bytes as they need: seven bits a byte, lowest first; the top bit marks that more follow. Inline,
 * because every packed number passes through here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VARINT_BYTES_MAX 10

/* Reads arbitrary bytes: past the end, or of a damaged number, every result is 0 and `failed` is set. */
struct varint_reader {
	const uint8_t *p;
	const uint8_t *end;
	bool failed;
};

/** varint_put() - write a number. @p: room for VARINT_BYTES_MAX. Return: position after the number */
static inline uint8_t *varint_put(uint8_t *p, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*p++ = (uint8_t)(value | 0x80);
	*p++ = (uint8_t)value;
	return p;
}

/** varint_get_long() - read one number of any length */
uint64_t varint_get_long(struct varint_reader *reader);

static inline uint64_t varint_get(struct varint_reader *reader)
{
	if (reader->p < reader->end && *reader->p < 0x80)
		return *reader->p++;
	return varint_get_long(reader);
}

/** varint_get_bytes() - the next n bytes, NULL (and failed) when there are fewer */
const uint8_t *varint_get_bytes(struct varint_reader *reader, uint64_t n);

/** varint_bits() - significant bits, 0 ... 64 */
static inline uint8_t varint_bits(uint64_t value)
{
	return value ? (uint8_t)(64 - __builtin_clzll(value)) : 0;
}

/* Zigzag code: small differences of either sign become small numbers; every 64-bit difference is restored unchanged. */
static inline uint64_t varint_fold(uint64_t difference)
{
	return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint64_t varint_unfold(uint64_t folded)
{
	return folded >> 1 ^ (0 - (folded & 1));
}
