// SPDX-License-Identifier: Apache-2.0
#include "detect/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "detect/track.h"
#include "events/op.h"

/* Time constant of the usual rate: about the last minute, so that bursts average out. (Guess.) */
#define QUIET_MEMORY_NS (60 * NSEC_PER_SEC)

struct memory {
	const struct process_table *table;
	ARRAY(struct process_memory *) all; /* in the order in which they were first seen */
};

int memory_new(const struct process_table *table, struct memory **ret_memory)
{
	struct memory *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->table = table;
	*ret_memory = m;
	return 0;
}

static void process_memory_free(struct process_memory *p)
{
	for (size_t i = 0; i < p->tracks.n; i++)
		track_free(p->tracks.items[i]);
	ARRAY_DONE(&p->tracks);
	ARRAY_DONE(&p->ops);
	ARRAY_DONE(&p->in_flight);
	for (size_t i = 0; p->sites && i < DETECTOR_COUNT; i++)
		sites_done(&p->sites[i]);
	free(p->sites);
	assert(p->process->memory == p);
	p->process->memory = NULL;
	(void)process_unref(p->process);
	free(p);
}

void memory_free(struct memory *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->all.n; i++)
		process_memory_free(m->all.items[i]);
	ARRAY_DONE(&m->all);
	free(m);
}

struct process_memory *memory_take(struct memory *m, struct process *process)
{
	struct process_memory *p = process->memory;

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	if (ARRAY_PUSH(&m->all, p) < 0) {
		free(p);
		return NULL;
	}
	p->process = process_ref(process);
	process->memory = p;
	return p;
}

struct process_memory *memory_find_pid(struct memory *m, uint32_t tgid)
{
	for (struct process *p = process_table_newest(m->table, tgid); p; p = process_older(p))
		if (p->memory)
			return p->memory;
	return NULL;
}

void memory_forget(struct memory *m, struct process_memory *process)
{
	if (!process)
		return;
	for (size_t i = 0; i < m->all.n; i++) {
		if (m->all.items[i] != process)
			continue;
		m->all.n--;
		memmove(&m->all.items[i], &m->all.items[i + 1], (m->all.n - i) * sizeof(*m->all.items));
		break;
	}
	process_memory_free(process);
}

size_t memory_count(const struct memory *m)
{
	return m->all.n;
}

struct process_memory *memory_quietest(struct memory *m)
{
	struct process_memory *quietest = NULL;

	for (size_t i = 0; i < m->all.n; i++)
		if (!quietest || m->all.items[i]->seen_ns < quietest->seen_ns)
			quietest = m->all.items[i];
	return quietest;
}

void memory_each(struct memory *m, memory_func func, void *data)
{
	for (size_t i = 0; i < m->all.n;) {
		struct process_memory *p = m->all.items[i];

		func(p, data);
		if (i < m->all.n && m->all.items[i] == p)
			i++;
	}
}

/* ---- operations ---- */

static struct op_memory *process_memory_op(struct process_memory *p, const struct op *op)
{
	for (size_t i = 0; i < p->ops.n; i++)
		if (p->ops.items[i].op == op)
			return &p->ops.items[i];
	/* The operation cost nothing so far; that time was observed, too. */
	if (ARRAY_PUSH(&p->ops, ((struct op_memory){ .op = op, .quiet_wall_ns = p->quiet_wall_ns })) < 0)
		return NULL;
	return &p->ops.items[p->ops.n - 1];
}

static uint64_t median_ns(const struct op_figures *f)
{
	return histogram_quantile(&f->durations, 0.5, f->max_ns ? f->max_ns : UINT64_MAX);
}

int process_memory_early(struct process_memory *p, const struct tick *tick)
{
	for (size_t i = 0; i < p->in_tick->ops.n; i++) {
		const struct tick_op *in_tick = &p->in_tick->ops.items[i];
		const struct op_figures *f = &in_tick->figures;
		struct op_memory *m = in_tick->op ? process_memory_op(p, in_tick->op) : NULL;
		struct early_tick *early;

		if (!in_tick->op)
			continue;
		if (!m)
			return -ENOMEM;
		if (m->n_early == EARLY_TICKS || !f->durations.sum)
			continue;
		early = &m->early[m->n_early++];
		*early = (struct early_tick){
			.from_ns = tick->from_ns,
			.to_ns = tick->to_ns,
			.calls = f->durations.sum,
			.own_ns = detect_own_ns(f),
			.bytes = f->bytes,
			.median_ns = median_ns(f),
		};
		if (in_tick->op->traits & OP_SYNC)
			early->own_ns -= MIN(early->own_ns, f->blame_ns[BLAME_DEVICE]);
	}
	return 0;
}

static void futex_add(struct process_memory *p, const struct account_wait *w)
{
	struct futex_waits *at = NULL;

	for (size_t i = 0; i < FUTEXES_MAX && !at; i++)
		if (p->futexes[i].futex == w->resource && p->futexes[i].tid == w->tid &&
		    p->futexes[i].waker_tid == w->waker_tid && p->futexes[i].is_meanwhile == w->is_meanwhile)
			at = &p->futexes[i];
	if (!at) {
		at = &p->futexes[p->n_futexes++ % FUTEXES_MAX];
		*at = (struct futex_waits){
			.futex = w->resource, .tid = w->tid, .waker_tid = w->waker_tid, .is_meanwhile = w->is_meanwhile
		};
	}
	at->count += w->count;
}

void process_memory_waits(struct process_memory *p)
{
	uint32_t tgid = p->process->identity.tgid;

	for (size_t i = 0; p->in_tick && i < p->in_tick->waits.n; i++) {
		const struct account_wait *w = &p->in_tick->waits.items[i];
		struct account_wait *known = NULL;

		if (w->op)
			continue;
		if (w->kind == RESOURCE_FUTEX && w->resource && w->count && w->waker_tgid == tgid)
			futex_add(p, w);
		if (w->is_meanwhile)
			continue;
		if (w->kind == RESOURCE_INODE && w->name[0])
			known = &p->known[KNOWN_READ];
		else if (w->class == BLAME_MEMORY && w->device_name[0])
			known = &p->known[KNOWN_FAULTED];
		if (known && (!known->ns || w->max_ns > known->max_ns))
			*known = *w;
	}
}

void process_memory_learn(struct process_memory *p, const struct tick *tick, bool is_quiet)
{
	uint64_t wall_ns = tick->to_ns > tick->from_ns ? tick->to_ns - tick->from_ns : 1;
	double keep = (double)QUIET_MEMORY_NS / (double)(QUIET_MEMORY_NS + wall_ns);

	if (is_quiet)
		p->quiet_wall_ns += wall_ns;
	for (size_t i = 0; i < p->ops.n; i++) {
		struct op_memory *m = &p->ops.items[i];
		const struct op_figures *f = NULL;

		for (size_t k = 0; p->in_tick && k < p->in_tick->ops.n && !f; k++)
			if (p->in_tick->ops.items[k].op == m->op)
				f = &p->in_tick->ops.items[k].figures;
		if (is_quiet) {
			double own_ratio = f ? (double)detect_own_ns(f) / (double)wall_ns : 0;

			/* The first tick counts fully; later ticks count by their length. */
			keep = m->quiet_wall_ns ? keep : 0;
			m->quiet_own_ns = m->quiet_own_ns * keep + own_ratio * (1 - keep) * (double)NSEC_PER_SEC;
			m->quiet_wall_ns += wall_ns;
		}
		if (!f)
			continue;
		m->calls += op_figures_count(f);
		if (f->max_ns > m->longest_ns) {
			m->before_ns = m->longest_ns;
			m->longest_ns = f->max_ns;
		}
		if (is_quiet) {
			m->max_ns = MAX(m->max_ns, f->max_ns);
			if (f->durations.sum)
				m->usual_ns[m->n_usual++ % USUAL_TICKS] = median_ns(f);
		}
	}
}
