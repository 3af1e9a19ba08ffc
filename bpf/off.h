// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Splits an interval off the CPU into ready and blocked.
 */
#pragma once

#include "maps.h"

struct off_parts {
	__u64 runnable_ns; /* throttled if the class is BLAME_QUOTA */
	__u64 blocked_ns;
};

static __always_inline struct off_parts off_split(__u64 off_ns, __u64 delay_ns, __u32 class)
{
	struct off_parts parts;

	if (delay_ns > off_ns || class == BLAME_RUNNABLE || class == BLAME_QUOTA)
		delay_ns = off_ns;
	parts.runnable_ns = delay_ns;
	parts.blocked_ns = off_ns - delay_ns;
	return parts;
}
