// SPDX-License-Identifier: Apache-2.0
/*
 * Packs a time and its parts by class of blame, without the part that follows from the others.
 *
 * The part of one class is left out: it is the whole minus the other parts, so the sum cannot be wrong. The largest
 * part is left out, because it takes the most bits. If that is not the CPU time, the CPU time is stored in its place.
 * All sums are modulo 2^64: parts whose sum exceeds the whole are restored unchanged.
 */
#pragma once

#include <stdint.h>

#include "bpf/record.h"

/*
 * Bits of a shape. Below BLAME_COUNT, one for each class: a part is stored for the class (for BLAME_ON_CPU: a value in
 * place of the remainder). Above: the class that is left out.
 */
#define BLAME_SHAPE_CLASSES ((1u << BLAME_COUNT) - 1)
#define BLAME_SHAPE_MAX (((BLAME_COUNT - 1u) << BLAME_COUNT) | BLAME_SHAPE_CLASSES)

/**
 * blame_parts_pack() - pack a time. @blame_ns: [BLAME_ON_CPU]: value in place of the remainder, mostly 0
 * @ret_parts: room for BLAME_COUNT; one for each bit of the shape, none is 0
 * Return: the shape
 */
uint16_t blame_parts_pack(const __u64 *blame_ns, uint64_t whole_ns, uint64_t *ret_parts);
/** blame_parts_count() - number of parts of a shape */
static inline uint32_t blame_parts_count(uint64_t shape)
{
	uint32_t pairs = (uint32_t)shape & BLAME_SHAPE_CLASSES;

	/* by hand: not every target CPU has an instruction for it, and the library's is a function call */
	pairs -= pairs >> 1 & 0x5555;
	pairs = (pairs & 0x3333) + (pairs >> 2 & 0x3333);
	return (pairs & 0xf) + (pairs >> 4 & 0xf) + (pairs >> 8);
}
/** blame_parts_unpack() - unpack a time. @shape: at most BLAME_SHAPE_MAX. Return: position after its parts */
const uint64_t *blame_parts_unpack(uint64_t shape, const uint64_t *parts, uint64_t whole_ns, __u64 *ret_blame_ns);
