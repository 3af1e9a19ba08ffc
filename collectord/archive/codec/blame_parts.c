// SPDX-License-Identifier: Apache-2.0
#include "archive/codec/blame_parts.h"

#include <string.h>

uint16_t blame_parts_pack(const __u64 *blame_ns, uint64_t whole_ns, uint64_t *ret_parts)
{
	uint64_t on_cpu_ns = whole_ns, most_ns = 0, all = blame_ns[BLAME_ON_CPU];
	uint32_t shape = 0, left_out = 0, n = 0;

	for (uint32_t i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++) {
		on_cpu_ns -= blame_ns[i];
		all |= blame_ns[i];
		if (blame_ns[i] > most_ns) {
			most_ns = blame_ns[i];
			left_out = i;
		}
	}
	if (!all)
		return 0;
	if (most_ns <= on_cpu_ns)
		left_out = BLAME_ON_CPU;

	for (uint32_t i = 0; i < BLAME_COUNT; i++) {
		uint64_t part_ns = left_out && i == left_out ? on_cpu_ns : blame_ns[i];

		if (!part_ns)
			continue;
		shape |= 1u << i;
		ret_parts[n++] = part_ns;
	}
	return (uint16_t)(shape | left_out << BLAME_COUNT);
}

const uint64_t *blame_parts_unpack(uint64_t shape, const uint64_t *parts, uint64_t whole_ns, __u64 *ret_blame_ns)
{
	uint32_t left_out = (uint32_t)(shape >> BLAME_COUNT), classes = (uint32_t)shape & BLAME_SHAPE_CLASSES;
	uint64_t rest_ns = whole_ns;

	memset(ret_blame_ns, 0, BLAME_COUNT * sizeof(*ret_blame_ns));
	for (; classes; classes &= classes - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(classes);

		ret_blame_ns[i] = *parts++;
		if (i != BLAME_ON_CPU)
			rest_ns -= ret_blame_ns[i];
	}
	if (left_out)
		ret_blame_ns[left_out] = rest_ns;
	return parts;
}
