// SPDX-License-Identifier: Apache-2.0
/* Who ran while calls of a process waited for the CPU. */
#pragma once

#include "libingero/answers/trace/rows.h"
#include "ingero/v1/ingero.pb-c.h"

#define TRACE_BEHIND_MOST 3

struct trace_behind {
	const Ingero__V1__Behind *most[TRACE_BEHIND_MOST]; /* borrowed; most time first, NULL behind the last */
	uint64_t sum_ns;				   /* of all, not only of these */
};

/** trace_behind_of() - for the calls of one process */
struct trace_behind trace_behind_of(const Ingero__V1__Summary *figures, uint32_t victim_pid);

struct trace_who {
	char text[96];
};

/** trace_who() - "logrotate (pid 6603, root)", "another user's process (uid 1000)", "its own other threads" */
struct trace_who trace_who(const Ingero__V1__Behind *behind);
