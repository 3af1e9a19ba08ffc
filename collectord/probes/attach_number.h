// SPDX-License-Identifier: Apache-2.0
/*
 * Numbers of attaches (COOKIE_ATTACH), by which the kernel half knows whether an attach is on. A number is not reused
 * while its attach lives, and then as late as possible.
 */
#pragma once

#include <stdint.h>

#include "bpf/ops.h"

struct attach_numbers {
	uint8_t users[COOKIE_ATTACH_COUNT];
	unsigned int last;
};

/** attach_number_take() - a free number, never 0; of more attaches than numbers, two have the same one */
static inline unsigned int attach_number_take(struct attach_numbers *numbers)
{
	for (unsigned int i = 0; i < COOKIE_ATTACH_COUNT; i++) {
		numbers->last = numbers->last % (COOKIE_ATTACH_COUNT - 1) + 1;
		if (!numbers->users[numbers->last])
			break;
	}
	numbers->users[numbers->last] += numbers->users[numbers->last] < UINT8_MAX;
	return numbers->last;
}

/** attach_number_give() - the attach is closed. @number: 0: it had none */
static inline void attach_number_give(struct attach_numbers *numbers, unsigned int number)
{
	if (number && numbers->users[number % COOKIE_ATTACH_COUNT])
		numbers->users[number % COOKIE_ATTACH_COUNT]--;
}
