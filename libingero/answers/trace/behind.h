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

/**
 * trace_culprit() - a process that had time of another's: "logrotate (pid 6603, root)", "its own other threads",
 * "another user's process (uid 1000)"
 * @pid: 0: its name is not to be known
 */
struct trace_who trace_culprit(uint32_t pid, uint32_t victim_pid, const char *comm, uint32_t uid);
/** trace_who() - the same of who ran meanwhile */
struct trace_who trace_who(const Ingero__V1__Behind *behind);
