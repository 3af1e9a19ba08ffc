// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/trace/behind.h"

#include "libingero/render/user.h"

struct trace_behind trace_behind_of(const Ingero__V1__Summary *figures, uint32_t victim_pid)
{
	struct trace_behind found = { .sum_ns = 0 };

	for (size_t i = 0; i < figures->n_behind; i++) {
		const Ingero__V1__Behind *next = figures->behind[i];

		if (next->victim_pid != victim_pid)
			continue;
		found.sum_ns += next->ns;
		for (size_t k = 0; k < TRACE_BEHIND_MOST && next; k++) {
			const Ingero__V1__Behind *here = found.most[k];

			if (!here || next->ns > here->ns) {
				found.most[k] = next;
				next = here;
			}
		}
	}
	return found;
}

struct trace_who trace_culprit(uint32_t pid, uint32_t tid, uint32_t victim_pid, const char *comm, uint32_t uid)
{
	struct trace_who who;

	if (pid == 0)
		(void)snprintf(who.text, sizeof(who.text), "%s (%s)", user_hidden_process(uid), user_name(uid).text);
	else if (pid == victim_pid && tid)
		(void)snprintf(who.text, sizeof(who.text), "its own thread %u", tid);
	else if (pid == victim_pid)
		(void)snprintf(who.text, sizeof(who.text), "its own other threads");
	else
		(void)snprintf(who.text, sizeof(who.text), "%.20s (pid %u, %s)", comm, pid, user_name(uid).text);
	return who;
}

struct trace_who trace_who(const Ingero__V1__Behind *behind)
{
	return trace_culprit(behind->pid, 0, behind->victim_pid, behind->comm, behind->uid);
}
