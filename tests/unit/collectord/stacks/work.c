// SPDX-License-Identifier: Apache-2.0
/* Room for stacks on their way: what one user has leaves room to others. */
#include "stacks/work.h"

#include "base/array.h"
#include "tests/support/check.h"

#define MIB (1u << 20)

int main(void)
{
	static const struct {
		const char *name;
		size_t n_own, n_all; /* MiB */
		bool is_copy, has_room;
	} rows[] = {
		{ "one alone", 48, 48, false, true },
		{ "one alone, too many", 49, 49, false, false },
		{ "one alone, copies", 42, 42, true, true },
		{ "copies leave room to stacks without one", 43, 43, true, false },
		{ "another one, beside who has most", 12, 60, false, true },
		{ "another one, copies", 10, 58, true, true },
		{ "who has most beside another one", 48, 58, false, false },
		{ "a third one", 3, 63, false, true },
		{ "nothing is left", 1, 64, false, false },
		{ "more than all", 1, 65, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK(rows[i].name,
		      works_have_room(rows[i].n_own * MIB, rows[i].n_all * MIB, rows[i].is_copy) == rows[i].has_room);
	return check_result();
}
