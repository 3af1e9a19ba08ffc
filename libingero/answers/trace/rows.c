// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/trace/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/op_name.h"
#include "libingero/answers/host.h"
#include "libingero/render/table.h"
#include "libingero/render/units.h"

#define PROCESS_COLUMNS 15u
#define NODE_COLUMNS 16
#define PROCESS_COLUMNS_WIDE 28u /* "python3 train.py rank 3 4711" */
#define WIDE_COLUMNS 100u	 /* width from which columns stand two spaces apart */
#define SCRIPT_COLUMNS_LEAST 4	 /* least columns of the name beside a rank; fewer say nothing */

struct trace_label trace_op_label(const char *op)
{
	struct trace_label label;

	op_name_short(op, label.text, sizeof(label.text));
	return label;
}

static struct process_named named_of(const char *name, const Ingero__V1__Program *program)
{
	struct process_named named = { .name = name ? name : "", .script = "" };

	if (!program)
		return named;
	if (program->script)
		named.script = program->script;
	named.has_rank = process_name_has_rank(program->has_rank, program->has_world_size ? program->world_size : 0);
	named.rank = program->rank;
	return named;
}

struct process_name trace_process_name(const char *name, const Ingero__V1__Program *program)
{
	struct process_named named = named_of(name, program);

	return process_name_long(&named);
}

struct process_name trace_process_name_short(const char *name, const Ingero__V1__Program *program)
{
	struct process_named named = named_of(name, program);

	return process_name_short(&named);
}

void trace_error_append(const Ingero__V1__Operation *op, struct buf *out)
{
	if (op->error_code_told_case != INGERO__V1__OPERATION__ERROR_CODE_TOLD_ERROR_CODE)
		return;
	(void)buf_printf(out, "%s with %" PRId32, op->errors > 1 ? ", at least one" : "", op->error_code);
	if (op->error_name_told_case == INGERO__V1__OPERATION__ERROR_NAME_TOLD_ERROR_NAME)
		(void)buf_printf(out, " %s", op->error_name);
}

struct trace_label trace_process_label(const char *name, const Ingero__V1__Program *program, uint32_t pid,
				       unsigned int columns)
{
	static const struct text_style style = { .is_utf8 = true };
	struct process_named named = named_of(name, program);
	struct process_name whole = process_name_long(&named);
	const char *text = process_name_first(&named);
	CLEANUP(buf_done) struct buf cut = BUF_INIT;
	struct trace_label label;
	char rank[24] = "", digits[16];
	unsigned int n = (unsigned int)snprintf(digits, sizeof(digits), " %u", pid),
		     room = columns > n ? columns - n : 1;

	if (text_columns(whole.text) <= room)
		text = whole.text;
	else if (named.has_rank)
		n = (unsigned int)snprintf(rank, sizeof(rank), " rank %u", named.rank);
	if (rank[0] && room >= n + SCRIPT_COLUMNS_LEAST)
		room -= n;
	else
		rank[0] = '\0';
	(void)text_append(&cut, &style, *text ? text : "?", room);
	(void)snprintf(label.text, sizeof(label.text), "%s%s%s", buf_text(&cut), rank, digits);
	return label;
}

void trace_rows_done(struct trace_rows *rows)
{
	ARRAY_DONE(&rows->rows);
}

bool trace_op_is_same(const Ingero__V1__Operation *a, const Ingero__V1__Operation *b)
{
	return a->pid == b->pid && a->start_time_unix_ns == b->start_time_unix_ns && strcmp(a->op, b->op) == 0 &&
	       strcmp(a->source, b->source) == 0;
}

static double rate_of(const Ingero__V1__Operation *op, const Ingero__V1__Summary *figures,
		      const Ingero__V1__Summary *previous)
{
	uint64_t count = op->count, window_ns = figures->window_ns;

	if (previous && previous->window_ns < figures->window_ns) {
		window_ns -= previous->window_ns;
		for (size_t i = 0; i < previous->n_operations; i++)
			if (trace_op_is_same(op, previous->operations[i])) {
				count -= MIN(count, previous->operations[i]->count);
				break;
			}
	}
	return window_ns ? (double)count / ((double)window_ns / (double)NSEC_PER_SEC) : 0;
}

static int trace_row_compare(const void *a, const void *b)
{
	const Ingero__V1__Operation *x = ((const struct trace_row *)a)->op, *y = ((const struct trace_row *)b)->op;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return strcmp(x->op, y->op);
}

static bool process_is_same(const Ingero__V1__Operation *a, const Ingero__V1__Operation *b)
{
	return a->pid == b->pid && a->start_time_unix_ns == b->start_time_unix_ns &&
	       (!a->node_told_case || !b->node_told_case || strcmp(a->node, b->node) == 0);
}

int trace_rows_build(const Ingero__V1__Summary *figures, const Ingero__V1__Summary *previous,
		     struct trace_rows *ret_rows)
{
	struct trace_rows rows = TRACE_ROWS_INIT;

	for (size_t i = 0; i < figures->n_operations; i++) {
		const Ingero__V1__Operation *op = figures->operations[i];
		struct trace_row row = { .op = op, .blame = blame_view_of(op->blame_ns) };
		uint64_t waits_ns = blame_view_waits_for_cpu_ns(&row.blame);
		bool is_new = true;

		if (host_is_source(op->source))
			continue; /* host_life_append() has it in a line of totals */
		for (size_t k = 0; k < rows.rows.n && is_new; k++)
			is_new = !process_is_same(rows.rows.items[k].op, op);
		rows.n_processes += is_new;
		rows.n_calls += op->count;
		rows.n_errors += op->errors;

		row.per_s = rate_of(op, figures, previous);
		row.share = figures->window_ns ? (double)op->total_ns / (double)figures->window_ns : 0;
		row.waits_for_cpu = waits_ns >= TRACE_WAITS_LEAST_NS &&
				    (double)waits_ns >= TRACE_WAITS_RATIO * (double)row.blame.sum_ns &&
				    (double)waits_ns >= TRACE_WAITS_WINDOW_RATIO * (double)figures->window_ns;
		if (ARRAY_PUSH(&rows.rows, row) < 0) {
			trace_rows_done(&rows);
			return -ENOMEM;
		}
	}
	if (rows.rows.n)
		qsort(rows.rows.items, rows.rows.n, sizeof(*rows.rows.items), trace_row_compare);

	*ret_rows = rows;
	return 0;
}

/* Columns by place; empty ones are not shown. */
enum column {
	COLUMN_PROCESS,
	COLUMN_OPERATION,
	COLUMN_CALLS,
	COLUMN_FAILED,
	COLUMN_RATE,
	COLUMN_P50,
	COLUMN_P95,
	COLUMN_P99,
	COLUMN_MAX,
	COLUMN_TIME,
	COLUMN_MARK,
	COLUMN_BLAME,
	COLUMN_COUNT
};

static const struct table_column columns[COLUMN_COUNT] = {
	[COLUMN_PROCESS] = { .title = "process",
			     .max = PROCESS_COLUMNS,
			     .narrows_last = true } /* its pid is at the end */,
	[COLUMN_OPERATION] = { .title = "operation", .min = 14, .max = 28 },
	[COLUMN_CALLS] = { .title = "calls", .align = TABLE_RIGHT, .min = 7 },
	[COLUMN_FAILED] = { .title = "failed", .align = TABLE_RIGHT },
	[COLUMN_RATE] = { .title = "rate", .align = TABLE_RIGHT, .min = 6, .drop = 1 },
	[COLUMN_P50] = { .title = "p50", .align = TABLE_RIGHT, .min = 5 },
	[COLUMN_P95] = { .title = "p95", .align = TABLE_RIGHT, .min = 5, .drop = 3 },
	[COLUMN_P99] = { .title = "p99", .align = TABLE_RIGHT, .min = 5 },
	[COLUMN_MAX] = { .title = "max", .align = TABLE_RIGHT, .min = 5, .drop = 2 },
	[COLUMN_TIME] = { .title = "time", .align = TABLE_RIGHT, .min = 4 },
	[COLUMN_MARK] = { .title = "", .min = 1, .max = 1 },
	[COLUMN_BLAME] = { .title = "blame", .min = 22, .takes_rest = true },
};

void trace_blame_append(struct buf *out, const struct blame_view *blame)
{
	unsigned int except = 0;

	for (int i = 0; i < 2 && blame->sum_ns; i++) {
		enum blame_view_class class = blame_view_largest(blame, except);
		double ratio;

		if (class == BLAME_VIEW_COUNT)
			break;
		ratio = (double)blame->ns[class] / (double)blame->sum_ns;
		if (i > 0 && ratio < 0.005)
			break; /* would be rounded to nothing */
		(void)buf_printf(out, "%s%s %s", i ? " · " : "", blame_view_label(class),
				 units_ratio(ratio, UNITS_TIGHT | UNITS_BARE).text);
		except |= 1u << class;
	}
}

bool trace_op_is_estimate(const Ingero__V1__Operation *op)
{
	return op->rung_told_case == INGERO__V1__OPERATION__RUNG_TOLD_RUNG && strcmp(op->rung, "exact") != 0;
}

/* A percentile of no calls is no number. */
static void duration_add(struct table *t, const Ingero__V1__Operation *op, uint64_t ns)
{
	bool is_timed = op->count > op->untimed && (op->total_raw_ns || !trace_op_is_estimate(op));

	table_add(t, TEXT_PLAIN, "%s", is_timed ? units_ns(ns, UNITS_TIGHT).text : "-");
}

static const char *estimate_mark(const Ingero__V1__Operation *op)
{
	return trace_op_is_estimate(op) ? "~" : "";
}

static void cell_add(struct table *t, enum column column, const struct trace_row *row, bool is_first_of_process)
{
	static const Ingero__V1__Operation none = INGERO__V1__OPERATION__INIT;
	const Ingero__V1__Operation *op = row->op, *figures = row->is_idle ? &none : op;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	switch (column) {
	case COLUMN_PROCESS:
		table_add(t, TEXT_PLAIN, "%.*s%s%s", NODE_COLUMNS,
			  is_first_of_process && op->node_told_case ? op->node : "",
			  is_first_of_process && op->node_told_case ? ":" : "",
			  is_first_of_process
				  ? trace_process_label(op->process_name, op->program, op->pid, t->columns[0].max).text
				  : "");
		break;
	case COLUMN_OPERATION:
		table_add(t, TEXT_PLAIN, "%s", trace_op_label(op->op).text);
		break;
	case COLUMN_CALLS:
		table_add(t, TEXT_PLAIN, "%s%s", estimate_mark(figures), units_count(figures->count).text);
		break;
	case COLUMN_FAILED:
		table_add(t, figures->errors ? TEXT_LOUD : TEXT_PLAIN, "%s", units_count(figures->errors).text);
		break;
	case COLUMN_RATE:
		table_add(t, TEXT_PLAIN, "%s%s", estimate_mark(figures), units_rate(row->per_s).text);
		break;
	case COLUMN_P50:
		duration_add(t, figures, figures->p50_ns);
		break;
	case COLUMN_P95:
		duration_add(t, figures, figures->p95_ns);
		break;
	case COLUMN_P99:
		duration_add(t, figures, figures->p99_ns);
		break;
	case COLUMN_MAX:
		duration_add(t, figures, figures->max_ns);
		break;
	case COLUMN_TIME:
		table_add(t, TEXT_PLAIN, "%s", units_ratio(row->share, UNITS_TIGHT).text);
		break;
	case COLUMN_MARK:
		table_add(t, TEXT_LOUD, "%s", row->waits_for_cpu ? "▲" : "");
		break;
	case COLUMN_BLAME:
		trace_blame_append(&text, &row->blame);
		table_add(t, row->waits_for_cpu ? TEXT_LOUD : TEXT_PLAIN, "%s", buf_text(&text));
		break;
	case COLUMN_COUNT:
		break;
	}
}

/* The shown rows: n of them. */
static void group_add(struct table *t, const enum column *columns_shown, const struct trace_row *rows, size_t n,
		      size_t first)
{
	for (size_t i = first; i < n; i++) {
		if (!process_is_same(rows[first].op, rows[i].op))
			continue;
		for (size_t k = 0; k < t->n_columns; k++)
			cell_add(t, columns_shown[k], &rows[i], i == first);
	}
}

static bool process_is_before(const struct trace_row *rows, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (process_is_same(rows[k].op, rows[i].op))
			return true;
	return false;
}

static void more_append(const struct trace_rows *rows, size_t first, size_t n, const struct text_style *style,
			struct buf *out)
{
	if (rows->is_scrolled)
		text_line(out, style, TEXT_DIM, "%zu to %zu of %zu rows (arrow keys scroll)", first + 1, first + n,
			  rows->rows.n);
	else
		text_line(out, style, TEXT_DIM, "and %zu more (all of them: --json)", rows->rows.n - n);
}

int trace_rows_append(const struct trace_rows *rows, const struct text_style *style, size_t max, struct buf *out)
{
	struct table_column row[COLUMN_COUNT];
	enum column shown[COLUMN_COUNT];
	CLEANUP(table_done) struct table t = { .columns = row, .gap = style->columns < WIDE_COLUMNS ? 1 : 2 };
	size_t n = rows->rows.n <= max ? rows->rows.n : max ? max - 1 : 0; /* one line for "and n more" */
	size_t first = MIN(rows->first, rows->rows.n - n);
	const struct trace_row *items = rows->rows.items + first;
	int r;

	for (enum column i = 0; i < COLUMN_COUNT; i++) {
		if ((i == COLUMN_PROCESS && rows->n_processes < 2) || (i == COLUMN_FAILED && rows->n_errors == 0))
			continue;
		shown[t.n_columns] = i;
		row[t.n_columns] = columns[i];
		if (i == COLUMN_PROCESS && style->columns >= WIDE_COLUMNS)
			row[t.n_columns].max = PROCESS_COLUMNS_WIDE;
		t.n_columns++;
	}
	for (size_t i = 0; i < n; i++)
		if (!process_is_before(items, i))
			group_add(&t, shown, items, n, i);

	r = table_render(&t, style, n, out);
	if (r < 0)
		return r;
	if (n < rows->rows.n)
		more_append(rows, first, n, style, out);
	return out->failed ? -ENOMEM : 0;
}
