// SPDX-License-Identifier: Apache-2.0
/* A table of ids against a plain list, through many entries and removals; ids of one first place among them. */
#include "stacks/id_map.h"

#include <errno.h>

#include "tests/support/check.h"

#define IDS 2000

static uint64_t id_of(size_t i)
{
	return i % 3 ? (i + 1) * 0x9e3779b97f4a7c15ull : (i + 1) << 40; /* the latter share few first places */
}

static void each_count(uint64_t id, void *value, void *data)
{
	CHECK("the value of an id", id == *(const uint64_t *)value);
	++*(size_t *)data;
}

int main(void)
{
	static uint64_t values[IDS];
	static bool is_in[IDS];
	struct id_map map = { .n = 0 };
	uint64_t random = 7;
	size_t n = 0, met = 0;

	CHECK("nothing in an empty one", !id_map_find(&map, 5));
	id_map_remove(&map, 5);
	CHECK_INT_EQ("0 is no id", id_map_put(&map, 0, &map), -EINVAL);
	for (size_t i = 0; i < IDS; i++)
		values[i] = id_of(i);
	for (size_t step = 0; step < 20 * (size_t)IDS; step++) {
		size_t i;

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		i = (size_t)(random >> 33) % IDS;
		if (is_in[i]) {
			id_map_remove(&map, values[i]);
			n--;
		} else {
			CHECK_INT_EQ("entered", id_map_put(&map, values[i], &values[i]), 0);
			n++;
		}
		is_in[i] = !is_in[i];
		CHECK_INT_EQ("their number", map.n, n);
	}
	for (size_t i = 0; i < IDS; i++)
		CHECK("found if it is in", id_map_find(&map, values[i]) == (is_in[i] ? &values[i] : NULL));
	id_map_each(&map, each_count, &met);
	CHECK_INT_EQ("each once", met, n);
	id_map_done(&map);
	CHECK("nothing afterwards", !id_map_find(&map, values[0]));
	return check_result();
}
