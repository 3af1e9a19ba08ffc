// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/trace/behind.h"

#include <string.h>
#include <unistd.h>

#include "libingero/answers/host.h"
#include "libingero/render/blame.h"
#include "libingero/render/user.h"

/* Time that calls of a source waited for the CPU. */
static uint64_t source_waited_ns(const Ingero__V1__Summary *figures, uint32_t victim_pid, const char *source)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < figures->n_operations; i++) {
		const Ingero__V1__Operation *op = figures->operations[i];

		if (op->pid == victim_pid && strcmp(op->source, source) == 0)
			sum_ns += blame_view_of(op->blame_ns).ns[BLAME_VIEW_RUNNABLE];
	}
	return sum_ns;
}

struct trace_behind trace_behind_of(const Ingero__V1__Summary *figures, uint32_t victim_pid)
{
	struct trace_behind found = { .known_ns = 0 };

	for (size_t i = 0; i < figures->n_behind; i++) {
		const Ingero__V1__Behind *next = figures->behind[i];

		if (next->victim_pid != victim_pid)
			continue;
		found.known_ns += next->ns;
		for (size_t k = 0; k < TRACE_BEHIND_MOST && next; k++) {
			const Ingero__V1__Behind *here = found.most[k];

			if (!here || next->ns > here->ns) {
				found.most[k] = next;
				next = here;
			}
		}
	}
	found.waited_ns = found.known_ns;
	/* A call of the driver is inside one of the runtime: the time of both is counted once. */
	for (size_t i = 0; i < figures->n_operations; i++)
		if (figures->operations[i]->pid == victim_pid && !host_is_source(figures->operations[i]->source))
			found.waited_ns = MAX(found.waited_ns,
					      source_waited_ns(figures, victim_pid, figures->operations[i]->source));
	return found;
}

struct culprit_name trace_culprit(const struct culprit_of *culprit, uint32_t uid)
{
	struct user_name user = user_name(uid);
	struct culprit_of named = *culprit;

	named.is_same_user = uid == getuid();
	named.user = user.text;
	return culprit_name(&named);
}

struct culprit_name trace_hidden(size_t n, uint32_t uid)
{
	struct user_name user = user_name(uid);

	return culprit_hidden_several(n, uid == getuid(), user.text);
}

struct culprit_name trace_who(const Ingero__V1__Behind *behind)
{
	return trace_culprit(&(struct culprit_of){ .pid = behind->pid,
						   .victim_pid = behind->victim_pid,
						   .comm = behind->pid == behind->victim_pid ? "" : behind->comm },
			     behind->uid);
}
