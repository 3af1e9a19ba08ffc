// SPDX-License-Identifier: Apache-2.0
#include "stacks/merge.h"

#include <string.h>

#define MINOR_WITH_ENTRIES 12 /* a run ends with an entry on the stack */
#define MINOR_WITH_RUNS 11    /* nodes of the interpreter's list name the first frame of a run */
#define MINOR_WITH_NODES 10   /* each frame has a node */

/* Return: index of the native frame that holds an address of the stack; n_native: none */
static size_t holder_of(const struct merge *m, uint64_t at)
{
	for (size_t i = 1; i < m->n_native; i++)
		if (at >= m->cfa[i - 1] && m->cfa[i - 1] && (at < m->cfa[i] || !m->cfa[i]))
			return i;
	return m->n_native;
}

/* Return: the next activation of 3.9's loop after native frame `from`; n_native: none */
static size_t loop_after(const struct merge *m, size_t from)
{
	static const char loop[] = "_PyEval_EvalFrameDefault";

	for (size_t i = from + 1; i < m->n_native; i++)
		if (strncmp(m->native[i].symbol, loop, sizeof(loop) - 1) == 0)
			return i;
	return m->n_native;
}

/* Where a run begins and ends among the entries, and the address that tells its activation. */
struct python_run {
	size_t from, to;
	uint64_t at; /* 0: not known */
};

/* Return: whether there is another run from entry `from` on. @i_run: number of the run */
static bool run_find(const struct merge *m, size_t from, size_t i_run, struct python_run *ret)
{
	size_t to = from;

	if (from >= m->n_python)
		return false;
	*ret = (struct python_run){ .from = from };
	if (m->minor >= MINOR_WITH_ENTRIES) {
		while (to < m->n_python && m->entries[to].code)
			to++;
		ret->at = to < m->n_python ? m->entries[to].frame : 0;
		ret->to = to < m->n_python ? to + 1 : to;
		return true;
	}
	ret->at = i_run < m->n_runs ? m->runs[i_run].at : 0;
	ret->to = from + 1;
	if (m->minor != MINOR_WITH_RUNS)
		return true;
	while (ret->to < m->n_python &&
	       !(i_run + 1 < m->n_runs && m->entries[ret->to].frame == m->runs[i_run + 1].frame))
		ret->to++;
	return true;
}

static bool run_has_frames(const struct merge *m, const struct python_run *run)
{
	for (size_t i = run->from; i < run->to; i++)
		if (m->entries[i].code)
			return true;
	return false;
}

size_t merge_frames(const struct merge *m, struct stack_frame *ret, bool *ret_is_placed)
{
	size_t n = 0, i_native = 0, last = 0, i_run = 0;
	struct python_run run;

	*ret_is_placed = true;
	for (size_t at = 0; run_find(m, at, i_run, &run); at = run.to, i_run++) {
		size_t place;

		if (!run_has_frames(m, &run))
			continue;
		place = m->minor < MINOR_WITH_NODES ? loop_after(m, last) : holder_of(m, run.at);
		if (place == m->n_native && m->is_native_whole)
			*ret_is_placed = false;
		/* Runs have the order of their activations. */
		if (place < last) {
			*ret_is_placed = false;
			place = last;
		}
		while (i_native < place)
			ret[n++] = m->native[i_native++];
		for (size_t i = run.from; i < run.to; i++)
			if (m->entries[i].code)
				ret[n++] = m->python[i];
		last = place;
	}
	while (i_native < m->n_native)
		ret[n++] = m->native[i_native++];
	return n;
}
