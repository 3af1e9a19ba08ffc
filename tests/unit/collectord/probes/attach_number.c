// SPDX-License-Identifier: Apache-2.0
/* Two attaches that live have two numbers, however many came and went meanwhile. */
#include "probes/attach_number.h"

#include "tests/support/check.h"

int main(void)
{
	struct attach_numbers numbers = { .last = 0 };
	unsigned int first = attach_number_take(&numbers), second = attach_number_take(&numbers), number, n_same = 0;

	CHECK("not 0", first && second);
	CHECK("two numbers", first != second);
	for (int i = 0; i < 3 * COOKIE_ATTACH_COUNT; i++) {
		number = attach_number_take(&numbers);
		n_same += number == first || number == second || number == 0;
		attach_number_give(&numbers, number);
	}
	CHECK_INT_EQ("the numbers of the living", n_same, 0);

	attach_number_give(&numbers, second);
	for (int i = 0; i < COOKIE_ATTACH_COUNT; i++) {
		number = attach_number_take(&numbers);
		n_same += number == second;
		attach_number_give(&numbers, number);
	}
	CHECK_INT_IN("a number that is free again", n_same, 1, 2);

	for (int i = 0; i < 2 * COOKIE_ATTACH_COUNT; i++)
		CHECK("more attaches than numbers", attach_number_take(&numbers) != 0);
	attach_number_give(&numbers, 0);
	return check_result();
}
