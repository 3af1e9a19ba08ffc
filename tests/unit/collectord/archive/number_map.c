// SPDX-License-Identifier: Apache-2.0
/*
 * Every number is found where it was put, and no other.
 */
#include "archive/write/number_map.h"

#include "tests/support/check.h"

#define NUMBERS 10000

int main(void)
{
	static const struct {
		const char *name;
		uint32_t step; /* from one number to the next */
	} cases[] = {
		{ "one after the other", 1 },
		{ "all in the same slots before they are spread", 1u << 16 },
		{ "all over", 2654435761u },
	};

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct number_map map = { .slots = NULL };
		uint32_t n_found = 0, n_others = 0;

		CHECK_INT_EQ(cases[c].name, number_map_get(&map, 0), NUMBER_NONE);
		for (uint32_t i = 0; i < NUMBERS; i++)
			CHECK_INT_EQ(cases[c].name, number_map_put(&map, i * cases[c].step, i), 0);
		for (uint32_t i = 0; i < NUMBERS; i++) {
			n_found += number_map_get(&map, i * cases[c].step) == i;
			n_others += number_map_get(&map, (NUMBERS + i) * cases[c].step) != NUMBER_NONE;
		}
		CHECK_INT_EQ(cases[c].name, n_found, NUMBERS);
		CHECK_INT_EQ(cases[c].name, n_others, 0);
		number_map_done(&map);
		CHECK_INT_EQ(cases[c].name, number_map_get(&map, 0), NUMBER_NONE);
	}
	return check_result();
}
