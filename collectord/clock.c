// SPDX-License-Identifier: Apache-2.0
#include "clock.h"

#include <time.h>

#include "base/cleanup.h"

static uint64_t clock_read_ns(clockid_t id)
{
	struct timespec t;

	(void)clock_gettime(id, &t); /* cannot fail for these clocks */
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

uint64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_spent_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/*
 * Offset of another clock from the monotonic one. The two cannot be read at the same instant: of several pairs the one
 * read fastest has the smallest error.
 */
static uint64_t clock_offset_ns(clockid_t id)
{
	uint64_t best_ns = UINT64_MAX, offset_ns = 0;

	for (int i = 0; i < 3; i++) {
		uint64_t before_ns = clock_now_ns();
		uint64_t other_ns = clock_read_ns(id);
		uint64_t after_ns = clock_now_ns();

		if (after_ns - before_ns < best_ns) {
			best_ns = after_ns - before_ns;
			offset_ns = other_ns - (before_ns + best_ns / 2);
		}
	}
	return offset_ns;
}

uint64_t clock_to_unix_ns(uint64_t monotonic_ns)
{
	static uint64_t offset_ns, measured_ns;
	uint64_t now_ns = clock_now_ns();

	if (!measured_ns || now_ns - measured_ns > CLOCK_REMAP_NS) {
		offset_ns = clock_offset_ns(CLOCK_REALTIME);
		measured_ns = now_ns;
	}
	return monotonic_ns + offset_ns;
}

uint64_t clock_boot_to_unix_ns(uint64_t boot_ns)
{
	return clock_to_unix_ns(boot_ns - clock_offset_ns(CLOCK_BOOTTIME));
}
