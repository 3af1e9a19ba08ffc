// SPDX-License-Identifier: Apache-2.0
/* Processes that ran while calls of a process waited for the CPU. */
#pragma once

#include "base/culprit.h"
#include "libingero/answers/trace/rows.h"
#include "ingero/v1/ingero.pb-c.h"

#define TRACE_BEHIND_MOST 3

struct trace_behind {
	const Ingero__V1__Behind *most[TRACE_BEHIND_MOST]; /* borrowed; most time first, NULL after the last */
	uint64_t known_ns;				   /* time of all of them, listed or not */
	uint64_t waited_ns; /* time that calls waited; who ran is known for a part of it */
};

/** trace_behind_of() - list the processes behind which one process waited */
struct trace_behind trace_behind_of(const Ingero__V1__Summary *figures, uint32_t victim_pid);

/** trace_culprit() - culprit_name() with the name of the owner, @uid: "another user's process (uid 1000)" */
struct culprit_name trace_culprit(const struct culprit_of *culprit, uint32_t uid);
/** trace_hidden() - name of @n processes of one user that the reader may not know: "2 processes (uid 1000)" */
struct culprit_name trace_hidden(size_t n, uint32_t uid);
/** trace_who() - trace_culprit() of an entry */
struct culprit_name trace_who(const Ingero__V1__Behind *behind);
