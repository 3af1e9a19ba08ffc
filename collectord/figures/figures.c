// SPDX-License-Identifier: Apache-2.0
#include "figures/figures.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "clock.h"
#include "events/op.h"
#include "figures/account_book.h"
#include "figures/figures_state.h"
#include "figures/wait_book.h"
#include "figures/wait_sites.h"
#include "files/file_table.h"

/*
 * A slow call is one above its operation's 99th percentile and above twice its
 * median: one call in a hundred at most, and none of an operation that always takes
 * the same time. Below SLOW_CALLS_MIN calls a percentile means nothing.
 * (Guess: revisit with real traces.)
 */
#define SLOW_RATIO 0.99
#define SLOW_MEDIANS 2
#define SLOW_CALLS_MIN 100

void figures_taken_free(struct figures_taken *taken)
{
	if (!taken)
		return;
	account_book_free(taken->book);
	wait_book_free(taken->wait_book);
	behind_book_free(taken->behind_book);
	op_list_done(&taken->ops);
	ARRAY_DONE(&taken->behind);
	free(taken);
}

static void process_free(struct process_figures *p)
{
	if (!p)
		return;
	(void)process_unref(p->process);
	figures_taken_free(p->taken);
	op_list_done(&p->ops);
	ARRAY_DONE(&p->behind);
	figures_accounts_drop(p);
	ARRAY_DONE(&p->waits);
	wait_sites_free(p->wait_sites);
	free(p);
}

static void process_freep(struct process_figures **p)
{
	process_free(*p);
}

int figures_new(struct process_table *table, struct figures **ret_figures)
{
	struct figures *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->table = table;
	*ret_figures = f;
	return 0;
}

void figures_free(struct figures *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->processes.n; i++)
		process_free(f->processes.items[i]);
	ARRAY_DONE(&f->processes);
	ARRAY_DONE(&f->early);
	free(f);
}

void figures_set_files(struct figures *f, struct file_table *files)
{
	f->files = files;
}

void figures_slot_identity(const struct process_slot *slot, struct process_identity *ret)
{
	*ret = (struct process_identity){
		.start_boot_ns = slot->start_boot_ns,
		.start_unix_ns = clock_boot_to_unix_ns(slot->start_boot_ns),
		.tgid = slot->tgid,
		.uid = slot->uid,
		.exec_gen = slot->exec_gen,
		.flags = __atomic_load_n(&slot->flags, __ATOMIC_RELAXED),
	};
	memcpy(ret->comm, slot->comm, sizeof(ret->comm));
	ret->comm[sizeof(ret->comm) - 1] = 0;
}

static int process_add(struct figures *f, uint32_t slot, const struct process_slot *from)
{
	CLEANUP(process_freep) struct process_figures *p = calloc(1, sizeof(*p));
	struct process_identity identity;
	int r;

	if (!p)
		return -ENOMEM;

	figures_slot_identity(from, &identity);
	p->process = process_table_take(f->table, &identity);
	if (!p->process)
		return -ENOMEM;
	process_called(p->process, identity.comm);
	p->id = ++f->next_id;
	p->first_call_ns = from->first_call_ns;
	p->slot = slot;

	r = ARRAY_PUSH(&f->processes, p);
	if (r < 0)
		return r;

	f->by_slot[slot] = TAKE_PTR(p);
	return 0;
}

/* 32-bit counters of the kernel half start at zero with their process, so what was read last is known modulo 2^32. */
static void counter_advance(uint64_t *sum, uint32_t now)
{
	*sum += (uint32_t)(now - (uint32_t)*sum);
}

static int durations_read(struct histogram *h, const struct figure_cell *cell)
{
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint32_t delta = __atomic_load_n(&cell->buckets[i], __ATOMIC_RELAXED) - (uint32_t)histogram_count(h, i);
		int r = delta ? histogram_add(h, i, delta) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static uint64_t slow_threshold_ns(const struct op_figures *op)
{
	uint64_t slow_ns, median_ns;

	if (op->durations.sum < SLOW_CALLS_MIN)
		return RECORD_LONG_NS;

	slow_ns = histogram_quantile(&op->durations, SLOW_RATIO, UINT64_MAX);
	median_ns = histogram_quantile(&op->durations, 0.5, UINT64_MAX);
	return MAX(slow_ns, SLOW_MEDIANS * median_ns);
}

/* @left: NULL: nothing is left out */
static int cell_read(struct process_figures *p, struct figure_cell *cell, const struct left_out *left)
{
	bool is_known = op_list_find(&p->ops, cell->op);
	struct op_used *used = op_list_take(&p->ops, cell->op);
	struct op_figures *op;
	uint64_t raw_ns = __atomic_load_n(&cell->raw_ns, __ATOMIC_RELAXED), waited_ns = 0, max_ns;
	int r;

	if (!used)
		return -ENOMEM;
	op = &used->figures;
	if (left)
		op->left_out = *left;
	if (is_known && op->raw_ns == raw_ns && (uint32_t)op->abandoned == cell->abandoned &&
	    (uint32_t)op->untimed == cell->untimed && !cell->max_ns)
		return 0;

	r = durations_read(&op->durations, cell);
	if (r < 0)
		return r;

	op->raw_ns = raw_ns;
	op->total_ns = __atomic_load_n(&cell->total_ns, __ATOMIC_RELAXED);
	max_ns = __atomic_exchange_n(&cell->max_ns, 0, __ATOMIC_RELAXED);
	op->max_ns = MAX(op->max_ns, max_ns);
	used->recent_ns = MAX(used->recent_ns, max_ns);
	op->bytes = __atomic_load_n(&cell->bytes, __ATOMIC_RELAXED);
	for (int i = 1; i < BLAME_COUNT; i++) {
		op->blame_ns[i] = __atomic_load_n(&cell->blame_ns[i - 1], __ATOMIC_RELAXED);
		waited_ns += op->blame_ns[i];
	}
	op->blame_ns[BLAME_ON_CPU] = raw_ns > waited_ns ? raw_ns - waited_ns : 0;
	counter_advance(&op->errors, cell->errors);
	counter_advance(&op->abandoned, cell->abandoned);
	counter_advance(&op->untimed, cell->untimed);
	__atomic_store_n(&cell->slow_ns, slow_threshold_ns(op), __ATOMIC_RELAXED);
	return 0;
}

void figures_set_error(struct op_figures *op, const struct process *process, uint32_t id, uint64_t since_ns)
{
	op->error_code = op->errors ? failures_since(&process->failures, id, since_ns) : 0;
}

static bool slot_is_new(const struct process_figures *p, const struct process_slot *slot)
{
	const struct process_identity *known = p ? &p->process->identity : NULL;

	return !known || known->tgid != slot->tgid || known->exec_gen != slot->exec_gen ||
	       known->start_boot_ns != slot->start_boot_ns;
}

/*
 * From then on the figures belong to another entry. Without memory for one, the present entry is marked guarded: hiding
 * too much is better than showing too much.
 */
static void flags_set(struct figures *f, struct process_figures *p, uint32_t flags)
{
	struct process_identity identity = p->process->identity;
	struct process *other;

	if (identity.flags == flags)
		return;
	identity.flags = flags;
	other = process_table_take(f->table, &identity);
	if (!other) {
		p->process->identity.flags = flags;
		return;
	}
	(void)process_unref(p->process);
	p->process = other;
}

void figures_guarded(struct figures *f, const struct figures_source *source)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	for (uint32_t i = 1; i < PROCESS_SLOTS; i++)
		if (f->by_slot[i])
			flags_set(f, f->by_slot[i], __atomic_load_n(&source->slots[i].flags, __ATOMIC_RELAXED));
}

int figures_collect(struct figures *f, const struct figures_source *source)
{
	uint32_t n_cells;
	int r = 0, worst = 0;

	f->n_gone = 0;

	/* States before the cells and their number: a process gone by then claims and writes no further cell. */
	for (uint32_t i = 1; i < PROCESS_SLOTS; i++) {
		const struct process_slot *slot = &source->slots[i];
		uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);

		if (state == PROCESS_SLOT_FREE)
			continue;
		if (slot_is_new(f->by_slot[i], slot)) {
			r = process_add(f, i, slot);
			if (r < 0) {
				worst = r;
				continue;
			}
		}
		if (state == PROCESS_SLOT_GONE)
			f->gone[f->n_gone++] = i;
	}

	n_cells = source->cells_used(source->data);
	if (n_cells == 0)
		worst = -ENOMEM;
	for (uint32_t i = 1; i < n_cells; i++) {
		struct figure_cell *cell = &source->cells[i];
		uint32_t slot = __atomic_load_n(&cell->slot, __ATOMIC_ACQUIRE);

		if (slot == 0 || slot >= PROCESS_SLOTS || !f->by_slot[slot] || (cell->op && !op_get(cell->op)))
			continue;
		r = cell_read(f->by_slot[slot], cell, source->left_out ? &source->left_out[i] : NULL);
		if (r < 0)
			worst = r;
	}
	figures_guarded(f, source);
	if (worst < 0)
		f->n_gone = 0; /* gone processes keep their slots until they are read completely */
	return worst;
}

void figures_release_gone(struct figures *f, const struct figures_source *source, figures_release_func release,
			  void *data)
{
	for (size_t i = 0; i < f->n_gone; i++) {
		uint32_t slot = f->gone[i];
		struct process_figures *p = f->by_slot[slot];

		assert(p && p->slot == slot);
		p->gone_ns = MAX(source->slots[slot].gone_ns, 1);
		p->slot = 0;
		f->by_slot[slot] = NULL;
		if (f->files)
			file_table_forget(f->files, slot);
		release(slot, data);
	}
	f->n_gone = 0;
}

int figures_behind(struct figures *f, const struct behind_key *key, const struct behind_value *value)
{
	struct process_figures *p = key->slot < PROCESS_SLOTS ? f->by_slot[key->slot] : NULL;

	if (!p)
		return 0; /* slot claimed after the last collect: read next time */
	if (!p->taken)
		p->taken = calloc(1, sizeof(*p->taken));
	if (p->taken && !p->taken->behind_book)
		p->taken->behind_book = behind_book_new();
	return p->taken && p->taken->behind_book ? behind_book_note(p->taken->behind_book, key, value) : -ENOMEM;
}

int figures_behind_read(struct figures *f, bool is_complete)
{
	int worst = 0;

	for (size_t i = 0; i < f->processes.n; i++) {
		struct process_figures *p = f->processes.items[i];

		if (p->taken && p->taken->behind_book)
			worst = MIN(behind_book_read(p->taken->behind_book, &p->behind, is_complete), worst);
	}
	return worst;
}

size_t figures_gone(const struct figures *f)
{
	return f->n_gone;
}

size_t figures_count(const struct figures *f)
{
	return f->processes.n;
}

struct process_figures *figures_get(const struct figures *f, size_t i)
{
	return f->processes.items[i];
}

void figures_restart_max(struct figures *f)
{
	for (size_t i = 0; i < f->processes.n; i++)
		for (size_t k = 0; k < f->processes.items[i]->ops.used.n; k++)
			f->processes.items[i]->ops.used.items[k]->recent_ns = 0;
}

const struct process_figures *figures_find_slot(const struct figures *f, uint32_t slot)
{
	return slot < PROCESS_SLOTS ? f->by_slot[slot] : NULL;
}

static void forgotten_add(struct figures_forgotten *sums, const struct process_figures *p)
{
	for (size_t i = 0; i < p->ops.used.n; i++) {
		const struct op_figures *op = &p->ops.used.items[i]->figures;

		sums->calls += op_figures_seen(op);
		sums->removed_ns += op->raw_ns - op->total_ns;
	}
}

struct figures_forgotten figures_forgotten(const struct figures *f)
{
	return f->forgotten;
}

size_t figures_forget_gone(struct figures *f, uint64_t before_ns, size_t most, figures_forget_func func, void *data)
{
	size_t n_gone = 0, n_kept = 0, n_forgotten = 0;

	for (size_t i = 0; i < f->processes.n; i++)
		n_gone += f->processes.items[i]->gone_ns != 0;

	for (size_t i = 0; i < f->processes.n; i++) {
		struct process_figures *p = f->processes.items[i];

		if (p->gone_ns && (p->gone_ns < before_ns || n_gone > most)) {
			forgotten_add(&f->forgotten, p);
			if (func)
				func(p, data);
			process_free(p);
			n_gone--;
			n_forgotten++;
			continue;
		}
		f->processes.items[n_kept++] = p;
	}
	f->processes.n = n_kept;
	return n_forgotten;
}
