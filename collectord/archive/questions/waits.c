// SPDX-License-Identifier: Apache-2.0
#include "archive/questions/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "archive/questions/message.h"

#define WAITS_MOST 100u /* maximum processes; each is a line of the report */
/* Figures are read once a second: for a process that lived shorter, the measured part of its life is unknown. */
#define SPAN_LEAST_NS NSEC_PER_SEC

/* Time from the process's first call in the window to its end. */
static uint64_t span_ns(const struct read_window *window, const struct read_process *process)
{
	uint64_t from = MAX(window->from_unix_ns, process->first_unix_ns), to = window->to_unix_ns;

	if (process->gone_unix_ns)
		to = MIN(to, process->gone_unix_ns);
	return to > from ? to - from : 0;
}

static bool is_most_of_it(const struct read_window *window, const struct read_figures *f)
{
	uint64_t span;

	if (!f->op || read_op_is_call(f->op) || strcmp(f->op->name, "wait_main") != 0)
		return false;
	span = span_ns(window, f->process);
	return span >= SPAN_LEAST_NS && f->figures.total_ns > span / 2;
}

static int compare_waits_total(const void *a, const void *b)
{
	uint64_t x = (*(Ingero__V1__Wait *const *)a)->operation->total_ns;
	uint64_t y = (*(Ingero__V1__Wait *const *)b)->operation->total_ns;

	return (x < y) - (x > y);
}

int reader_waits(struct arena *arena, const struct read_window *window, Ingero__V1__Wait ***ret_waits, size_t *ret_n)
{
	Ingero__V1__Wait **waits;
	size_t n = 0;

	for (size_t i = 0; i < window->figures.n; i++)
		n += is_most_of_it(window, &window->figures.items[i]);
	waits = ARENA_NEW_N(arena, Ingero__V1__Wait *, n + 1);
	if (!waits)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < window->figures.n; i++) {
		const struct read_figures *f = &window->figures.items[i];
		Ingero__V1__Wait *wait;

		if (!is_most_of_it(window, f))
			continue;
		wait = ARENA_NEW(arena, Ingero__V1__Wait);
		if (!wait)
			return -ENOMEM;
		ingero__v1__wait__init(wait);
		wait->span_ns = span_ns(window, f->process);
		wait->operation = reader_operation(arena, f);
		if (!wait->operation)
			return -ENOMEM;
		waits[n++] = wait;
	}
	qsort(waits, n, sizeof(*waits), compare_waits_total);
	*ret_waits = waits;
	*ret_n = MIN(n, WAITS_MOST);
	return 0;
}
