// SPDX-License-Identifier: Apache-2.0
/* Sorting by address against the C library's sort, which keeps the order of equal ones if that is a part of the key. */
#include "children/address_sort.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

struct item {
	uint64_t address;
	uint32_t number, more;
};

static int item_compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static uint64_t next_number(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 1;
}

static const struct {
	const char *name;
	size_t n;
	uint64_t mask, base;
} cases[] = {
	{ "none", 0, 0, 0 },
	{ "one", 1, UINT64_MAX, 0 },
	{ "two", 2, UINT64_MAX, 0 },
	{ "all equal", 1000, 0, 7 },
	{ "few", 1000, 7, 0x400000 },
	{ "code", 5000, 0xffffff, 0x400000 },
	{ "high bits alone", 5000, 0xffull << 56, 3 },
	{ "all bits", 5000, UINT64_MAX, 0 },
};

int main(void)
{
	uint64_t state = 1;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) struct item *got = calloc(cases[i].n + 1, sizeof(*got));
		CLEANUP(freep) struct item *want = calloc(cases[i].n + 1, sizeof(*want));

		if (!got || !want)
			abort();
		for (size_t k = 0; k < cases[i].n; k++)
			got[k] = (struct item){ cases[i].base + (next_number(&state) & cases[i].mask), (uint32_t)k,
						~(uint32_t)k };
		memcpy(want, got, cases[i].n * sizeof(*got));
		qsort(want, cases[i].n, sizeof(*want), item_compare);
		CHECK_INT_EQ(cases[i].name, address_sort(got, cases[i].n, sizeof(*got)), 0);
		CHECK_INT_EQ(cases[i].name, memcmp(got, want, cases[i].n * sizeof(*got)), 0);
	}
	return check_result();
}
