// SPDX-License-Identifier: Apache-2.0
#include "archive/questions/compare_runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Processes that made calls: those that are wanted. */
struct callers_found {
	const uint32_t *pids;
	size_t n_pids;
	const char *name; /* NULL: by their ids */
	ARRAY(const struct read_process *) items;
};

static void callers_found_done(struct callers_found *found)
{
	ARRAY_DONE(&found->items);
}

static bool caller_is_wanted(const struct callers_found *found, const struct read_process *process)
{
	if (!found->name)
		return read_pid_is_wanted(found->pids, found->n_pids, process->pid);
	return strcmp(process->comm, found->name) == 0 || strcmp(process->program.script, found->name) == 0;
}

static int caller_order(const void *a, const void *b)
{
	const struct read_process *x = *(const struct read_process *const *)a,
				  *y = *(const struct read_process *const *)b;

	if (x->first_unix_ns != y->first_unix_ns)
		return x->first_unix_ns < y->first_unix_ns ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Finds them, in the order of their first calls. A process that made no call has no figures of one. */
static int run_callers_find(struct store_reader *reader, struct callers_found *found)
{
	CLEANUP(read_window_done) struct read_window window = { .from_unix_ns = 0 };
	const struct read_process *last = NULL;
	int r = store_reader_figures(reader, 0, 0, found->pids, found->n_pids, &window);

	for (size_t i = 0; i < window.figures.n && r == 0; i++) {
		const struct read_figures *f = &window.figures.items[i];

		if (f->process == last || !read_op_is_call(f->op) || !caller_is_wanted(found, f->process))
			continue;
		r = ARRAY_PUSH(&found->items, f->process);
		last = f->process;
	}
	if (r == 0 && found->items.n)
		qsort(found->items.items, found->items.n, sizeof(*found->items.items), caller_order);
	return r;
}

int compare_last_processes(struct store_reader *reader, const uint32_t *pids, size_t n_pids, process_ids_wanted *ret)
{
	CLEANUP(callers_found_done) struct callers_found found = { .pids = pids, .n_pids = n_pids };
	int r = run_callers_find(reader, &found);

	for (size_t i = 0; i < n_pids && r == 0; i++)
		for (size_t k = found.items.n; k-- > 0;)
			if (found.items.items[k]->pid == pids[i]) {
				r = ARRAY_PUSH(ret, found.items.items[k]->id);
				break;
			}
	return r;
}

/* Index of the process behind a run that begins with process `first`. */
static size_t run_end(const struct callers_found *found, size_t first)
{
	uint64_t until_ns = 0;
	size_t i;

	for (i = first; i < found->items.n; i++) {
		const struct read_process *p = found->items.items[i];

		if (i > first && p->first_unix_ns >= until_ns)
			break;
		until_ns = MAX(until_ns, MAX(p->gone_unix_ns, p->first_unix_ns + COMPARE_RUN_NS));
	}
	return i;
}

int compare_run(struct store_reader *reader, const char *name, uint32_t back, process_ids_wanted *ret,
		size_t *ret_n_runs)
{
	CLEANUP(callers_found_done) struct callers_found found = { .name = name };
	size_t n_runs = 0, run = 0;
	int r = run_callers_find(reader, &found);

	for (size_t i = 0; i < found.items.n; i = run_end(&found, i))
		n_runs++;
	*ret_n_runs = n_runs;
	if (r < 0 || back >= n_runs)
		return r < 0 ? r : -ENOENT;
	for (size_t i = 0, end; i < found.items.n && r == 0; i = end, run++) {
		end = run_end(&found, i);
		for (size_t k = i; k < end && run == n_runs - 1 - back && r == 0; k++)
			r = ARRAY_PUSH(ret, found.items.items[k]->id);
	}
	return r;
}
