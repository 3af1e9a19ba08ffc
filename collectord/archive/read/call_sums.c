// SPDX-License-Identifier: Apache-2.0
#include "archive/read/call_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "events/op.h"

#define SUM_SLOTS_MIN 256
/* Calls across the bounds of a window are in its figures and not among its records, or the other way round. */
#define BOUND_CALLS(counted) (16 + (counted) / 100)

struct sums_read {
	struct store_reader *reader;
	const struct call_sums_wish *wish;
	struct call_sums *sums;
	size_t last_op; /* index of the entry that was found last */
};

void call_sums_done(struct call_sums *sums)
{
	for (size_t i = 0; i < sums->rows.n; i++)
		histogram_done(&sums->rows.items[i].durations);
	ARRAY_DONE(&sums->rows);
	ARRAY_DONE(&sums->ops);
	free(sums->row_slots);
	free(sums->op_slots);
	sums->row_slots = sums->op_slots = NULL;
	sums->n_row_slots = sums->n_op_slots = 0;
}

/* ---- hashes ---- */

static size_t sum_hash(uint32_t a, uint32_t b)
{
	return (size_t)(((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ull >> 20);
}

static size_t row_key_hash(uint32_t of, uint32_t stack, bool is_inner)
{
	return sum_hash(of * 2 + is_inner, stack);
}

static size_t row_hash(const struct call_sums *sums, size_t i)
{
	return row_key_hash(sums->rows.items[i].of, sums->rows.items[i].stack, sums->rows.items[i].is_inner);
}

static size_t op_hash(const struct call_sums *sums, size_t i)
{
	return sum_hash(sums->ops.items[i].process->id, sums->ops.items[i].op);
}

/* Makes room for one more entry, with the entries so far. Return: 0 or -ENOMEM */
static int slots_grow(const struct call_sums *sums, size_t n, uint32_t **slots, size_t *n_slots,
		      size_t (*hash)(const struct call_sums *sums, size_t i))
{
	size_t more = *n_slots ? *n_slots * 2 : SUM_SLOTS_MIN;
	uint32_t *grown;

	if ((n + 1) * 2 <= *n_slots)
		return 0;
	grown = calloc(more, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		size_t at = hash(sums, i);

		while (grown[at & (more - 1)])
			at++;
		grown[at & (more - 1)] = (uint32_t)i + 1;
	}
	free(*slots);
	*slots = grown;
	*n_slots = more;
	return 0;
}

/* ---- entries ---- */

static bool op_has_bytes(struct store_reader *reader, uint32_t id)
{
	const struct read_op *row = store_reader_op(reader, id);
	const struct op *op = row ? op_find(row->name) : NULL;

	return op && op->meaning[0] == OP_MEANING_BYTES;
}

/* Entry of a process and operation. Return: 0 or -ENOMEM; sets read->last_op */
static int sum_op_find(struct sums_read *read, const struct read_process *process, uint32_t op)
{
	struct call_sums *sums = read->sums;
	struct call_sum_op fresh = { .process = process, .op = op };
	const struct call_sum_op *last = read->last_op < sums->ops.n ? &sums->ops.items[read->last_op] : NULL;
	size_t at = sum_hash(process->id, op);

	if (last && last->process == process && last->op == op)
		return 0;
	if (slots_grow(sums, sums->ops.n, &sums->op_slots, &sums->n_op_slots, op_hash) < 0)
		return -ENOMEM;
	for (; sums->op_slots[at & (sums->n_op_slots - 1)]; at++) {
		read->last_op = sums->op_slots[at & (sums->n_op_slots - 1)] - 1;
		last = &sums->ops.items[read->last_op];
		if (last->process == process && last->op == op)
			return 0;
	}
	fresh.has_bytes = op_has_bytes(read->reader, op);
	if (ARRAY_PUSH(&sums->ops, fresh) < 0)
		return -ENOMEM;
	read->last_op = sums->ops.n - 1;
	sums->op_slots[at & (sums->n_op_slots - 1)] = (uint32_t)sums->ops.n;
	return 0;
}

static struct call_sum *sum_row_find(struct call_sums *sums, uint32_t of, uint32_t stack, bool is_inner, size_t *ret_at)
{
	size_t at = row_key_hash(of, stack, is_inner);

	for (; sums->n_row_slots && sums->row_slots[at & (sums->n_row_slots - 1)]; at++) {
		struct call_sum *row = &sums->rows.items[sums->row_slots[at & (sums->n_row_slots - 1)] - 1];

		if (row->of == of && row->stack == stack && row->is_inner == is_inner)
			return row;
	}
	*ret_at = at;
	return NULL;
}

/* Row of a stack in an entry, made if there is none. Return: borrowed until the next call; NULL without memory */
static struct call_sum *sum_row(struct call_sums *sums, uint32_t of, uint32_t stack, bool is_inner)
{
	const struct call_sum_op *op = &sums->ops.items[of];
	struct call_sum fresh = {
		.process = op->process, .op = op->op, .stack = stack, .of = of, .is_inner = is_inner
	};
	struct call_sum *row;
	size_t at;

	if (slots_grow(sums, sums->rows.n, &sums->row_slots, &sums->n_row_slots, row_hash) < 0)
		return NULL;
	row = sum_row_find(sums, of, stack, is_inner, &at);
	if (row)
		return row;
	if (stack && sums->n_with_stack >= CALL_SUMS_MAX)
		return sum_row(sums, of, 0, is_inner);
	if (ARRAY_PUSH(&sums->rows, fresh) < 0)
		return NULL;
	sums->row_slots[at & (sums->n_row_slots - 1)] = (uint32_t)sums->rows.n;
	sums->n_with_stack += stack != 0;
	return &sums->rows.items[sums->rows.n - 1];
}

/* ---- records ---- */

static int row_add(struct call_sum *row, const struct stored_event *event, bool is_sampled, bool has_bytes)
{
	const struct call_record *call = &event->call;

	row->count++;
	row->total_ns += call->duration_ns;
	row->raw_ns += call->raw_ns;
	row->max_ns = MAX(row->max_ns, call->duration_ns);
	row->bytes += has_bytes && !call->ret ? call->args[0] : 0;
	row->errors += call->ret != 0;
	row->sampled += is_sampled;
	row->sampled_ns += is_sampled ? call->duration_ns : 0;
	row->measured |= event->measured;
	for (int i = 0; i < BLAME_COUNT; i++)
		row->blame_ns[i] += call->blame_ns[i];
	return histogram_add(&row->durations, histogram_bucket_of(call->duration_ns), 1);
}

static int sums_record_add(const struct read_event *event, void *data)
{
	struct sums_read *read = data;
	const struct call_sums_wish *wish = read->wish;
	struct call_sums *sums = read->sums;
	const struct stored_event *stored = event->event;
	/* A file of another recorder does not tell the reason. */
	bool is_sampled = !(stored->call.reason & ~RECORD_REASON_SAMPLE);
	struct call_sum_op *op;
	struct call_sum *row;

	if (!read_op_is_call(store_reader_op(read->reader, stored->op)))
		return 0;
	if (sum_op_find(read, event->process, stored->op) < 0)
		return -ENOMEM;
	op = &sums->ops.items[read->last_op];
	op->has_outer |= !stored->call.depth;
	*(is_sampled ? &op->sampled : &op->certain) += 1;
	*(is_sampled ? &op->sampled_ns : &op->certain_ns) += stored->call.duration_ns;
	if (event->start_unix_ns < wish->from_unix_ns || (wish->to_unix_ns && event->start_unix_ns >= wish->to_unix_ns))
		return 0;
	row = sum_row(sums, (uint32_t)read->last_op, stored->stack, stored->call.depth > 0);
	if (!row)
		return -ENOMEM;
	sums->calls++;
	sums->without += !stored->stack;
	sums->merged += stored->stack && !row->stack;
	return row_add(row, stored, is_sampled, sums->ops.items[row->of].has_bytes);
}

static int sums_records_read(struct sums_read *read)
{
	const struct call_sums_wish *wish = read->wish;
	const struct read_filter filter = {
		.from_unix_ns = wish->figures_from_ns,
		.to_unix_ns = wish->figures_to_ns,
		.pids = wish->n_pids ? wish->pids : NULL,
		.n_pids = wish->n_pids,
		.ops = wish->n_ops ? wish->ops : NULL,
		.n_ops = wish->n_ops,
		.columns = BLOCK_COLUMN(BLOCK_TIME) | BLOCK_COLUMN(BLOCK_PROCESS) | BLOCK_COLUMN(BLOCK_OP) |
			   BLOCK_COLUMN(BLOCK_DURATION) | BLOCK_COLUMN(BLOCK_OVERHEAD) | BLOCK_COLUMN(BLOCK_BLAME) |
			   BLOCK_COLUMN(BLOCK_MEASURED) | BLOCK_COLUMN(BLOCK_REASON) | BLOCK_COLUMN(BLOCK_RET) |
			   BLOCK_COLUMN(BLOCK_ARG0) | BLOCK_COLUMN(BLOCK_STACK) | BLOCK_COLUMN(BLOCK_DEPTH),
	};

	return store_reader_events(read->reader, &filter, sums_record_add, read);
}

/* ---- figures ---- */

static bool sums_op_is_wanted(const struct call_sums_wish *wish, const struct read_op *op)
{
	for (size_t i = 0; i < wish->n_ops; i++)
		if (op && op->id == wish->ops[i])
			return true;
	return !wish->n_ops && read_op_is_call(op);
}

static int sums_figures_add(const struct read_bucket *bucket, void *data)
{
	struct sums_read *read = data;
	struct call_sums *sums = read->sums;

	for (size_t i = 0; i < bucket->n_figures; i++) {
		const struct read_figures *f = &bucket->figures[i];
		struct call_sum_op *op;

		if (!read_pid_is_wanted(read->wish->pids, read->wish->n_pids, f->process->pid) ||
		    !sums_op_is_wanted(read->wish, f->op))
			continue;
		if (sum_op_find(read, f->process, f->op ? f->op->id : 0) < 0)
			return -ENOMEM;
		op = &sums->ops.items[read->last_op];
		op->counted += op_figures_count(&f->figures);
		op->counted_ns += f->figures.total_ns;
		sums->counted += op_figures_count(&f->figures);
	}
	if (!sums->to_unix_ns || bucket->from_unix_ns < sums->from_unix_ns)
		sums->from_unix_ns = bucket->from_unix_ns;
	sums->to_unix_ns = MAX(sums->to_unix_ns, bucket->to_unix_ns);
	return 0;
}

/* ---- the estimate ---- */

static uint64_t beyond(uint64_t all, uint64_t part)
{
	return all - MIN(all, part);
}

/* Part of `whole` for the `n` of `all` after the first `before`; parts of all add up to it. */
static uint64_t part_of(uint64_t whole, uint64_t before, uint64_t n, uint64_t all)
{
	if (!all)
		return 0;
	return (uint64_t)((unsigned __int128)whole * (before + n) / all - (unsigned __int128)whole * before / all);
}

/* Whether all calls were recorded, as far as the bounds of the window let it be seen. */
static bool op_is_whole(const struct call_sum_op *op, const struct call_sums_wish *wish)
{
	uint64_t rest = beyond(op->counted, op->certain + op->sampled);
	bool is_bounded = wish->figures_from_ns || wish->figures_to_ns;

	return !rest || (is_bounded && op->certain + op->sampled && rest <= BOUND_CALLS(op->counted));
}

static void row_estimate(struct call_sums *sums, const struct call_sums_wish *wish, struct call_sum *row)
{
	struct call_sum_op *op = &sums->ops.items[row->of];
	bool is_whole = op_is_whole(op, wish);
	uint64_t rest = is_whole ? op->sampled : beyond(op->counted, op->certain);
	uint64_t rest_ns = is_whole ? op->sampled_ns : MAX(beyond(op->counted_ns, op->certain_ns), op->sampled_ns);

	sums->is_sampled |= !is_whole;
	row->counted += row->count - row->sampled + part_of(rest, op->given_sampled, row->sampled, op->sampled);
	row->counted_ns +=
		row->total_ns - row->sampled_ns + part_of(rest_ns, op->given_ns, row->sampled_ns, op->sampled_ns);
	op->given_sampled += row->sampled;
	op->given_ns += row->sampled_ns;
}

/* Calls that no record stands for go to the row without a stack, if the window of the records is that of the figures.
 */
static int rest_estimate(struct call_sums *sums, const struct call_sums_wish *wish, uint32_t i)
{
	const struct call_sum_op *op = &sums->ops.items[i];
	bool is_same = wish->from_unix_ns == wish->figures_from_ns && wish->to_unix_ns == wish->figures_to_ns;
	struct call_sum *row;

	if (op->sampled || op_is_whole(op, wish))
		return 0;
	sums->is_sampled = true;
	if (!is_same)
		return 0;
	row = sum_row(sums, i, 0, op->certain && !op->has_outer);
	if (!row)
		return -ENOMEM;
	row->counted += beyond(sums->ops.items[i].counted, sums->ops.items[i].certain);
	row->counted_ns += beyond(sums->ops.items[i].counted_ns, sums->ops.items[i].certain_ns);
	return 0;
}

static int compare_counted(const void *a, const void *b)
{
	const struct call_sum *x = a, *y = b;

	if (x->counted_ns != y->counted_ns)
		return x->counted_ns < y->counted_ns ? 1 : -1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return x->is_inner - y->is_inner;
}

static int compare_process(const void *a, const void *b)
{
	const struct call_sum_op *x = a, *y = b;

	return (x->process->id > y->process->id) - (x->process->id < y->process->id);
}

/* Sorts the entries, to which no row refers any more. */
static void processes_count(struct call_sums *sums)
{
	if (sums->ops.n)
		qsort(sums->ops.items, sums->ops.n, sizeof(*sums->ops.items), compare_process);
	for (size_t i = 0; i < sums->ops.n; i++)
		sums->processes += !i || sums->ops.items[i].process != sums->ops.items[i - 1].process;
}

static int sums_finish(struct sums_read *read)
{
	struct call_sums *sums = read->sums;
	int r = 0;

	for (size_t i = 0; i < sums->rows.n && r == 0; i++) {
		struct call_sum *row = &sums->rows.items[i];
		bool is_complete = true;

		row_estimate(sums, read->wish, row);
		if (row->stack)
			r = store_reader_stack_is_complete(read->reader, row->stack, &is_complete);
		sums->incomplete += is_complete ? 0 : row->count;
	}
	for (size_t i = 0; i < sums->ops.n && r == 0; i++)
		r = rest_estimate(sums, read->wish, (uint32_t)i);
	if (r == 0 && sums->rows.n)
		qsort(sums->rows.items, sums->rows.n, sizeof(*sums->rows.items), compare_counted);
	processes_count(sums);
	return r;
}

int call_sums_read(struct store_reader *reader, const struct call_sums_wish *wish, struct call_sums *ret)
{
	struct sums_read read = { .reader = reader, .wish = wish, .sums = ret };
	int r;

	*ret = (struct call_sums){ .row_slots = NULL };
	r = sums_records_read(&read);
	r = r ? r : store_reader_sums(reader, wish->figures_from_ns, wish->figures_to_ns, sums_figures_add, &read);
	return r ? r : sums_finish(&read);
}

int call_sum_merge(struct call_sum *sum, const struct call_sum *other)
{
	sum->measured |= other->measured;
	sum->count += other->count;
	sum->total_ns += other->total_ns;
	sum->raw_ns += other->raw_ns;
	sum->max_ns = MAX(sum->max_ns, other->max_ns);
	sum->bytes += other->bytes;
	sum->errors += other->errors;
	sum->sampled += other->sampled;
	sum->sampled_ns += other->sampled_ns;
	sum->counted += other->counted;
	sum->counted_ns += other->counted_ns;
	for (int i = 0; i < BLAME_COUNT; i++)
		sum->blame_ns[i] += other->blame_ns[i];
	return histogram_merge(&sum->durations, &other->durations);
}
