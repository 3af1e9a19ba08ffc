// SPDX-License-Identifier: Apache-2.0
#include "children/address_sort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)

static uint64_t address_of(const char *item)
{
	uint64_t address;

	memcpy(&address, item, sizeof(address));
	return address;
}

static bool addresses_ascend(const char *items, size_t n, size_t size)
{
	for (size_t i = 1; i < n; i++)
		if (address_of(items + (i - 1) * size) > address_of(items + i * size))
			return false;
	return true;
}

/* One pass: items by one digit, in their order otherwise. */
static void digit_sort(const char *from, char *to, size_t n, size_t size, unsigned int shift)
{
	size_t place[DIGITS] = { 0 }, at = 0;

	for (size_t i = 0; i < n; i++)
		place[(address_of(from + i * size) >> shift) % DIGITS]++;
	for (size_t i = 0; i < DIGITS; i++) {
		size_t n_here = place[i];

		place[i] = at;
		at += n_here;
	}
	for (size_t i = 0; i < n; i++) {
		const char *item = from + i * size;

		memcpy(to + place[(address_of(item) >> shift) % DIGITS]++ * size, item, size);
	}
}

int address_sort(void *items, size_t n, size_t size)
{
	CLEANUP(freep) char *other = NULL;
	uint64_t differs = 0;
	char *from = items, *to;

	if (n < 2 || addresses_ascend(items, n, size))
		return 0;
	other = malloc(n * size);
	if (!other)
		return -ENOMEM;
	to = other;
	for (size_t i = 1; i < n; i++)
		differs |= address_of(from) ^ address_of(from + i * size);
	for (unsigned int shift = 0; shift < 64 && differs >> shift; shift += DIGIT_BITS) {
		char *swapped = from;

		if (!((differs >> shift) % DIGITS))
			continue;
		digit_sort(from, to, n, size, shift);
		from = to;
		to = swapped;
	}
	if (from != items)
		memcpy(items, from, n * size);
	return 0;
}
