// SPDX-License-Identifier: Apache-2.0
/* Code of a header: its lines are of another file than those around it. */
extern int sample_counter;

static inline int sample_in_header(int x)
{
	if (x > 100)
		sample_counter--;
	return x ^ 0x55;
}
