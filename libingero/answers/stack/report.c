// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/stack/report.h"

#include <errno.h>

#include "libingero/answers/explain/report.h"
#include "libingero/answers/lost.h"
#include "libingero/answers/recorded.h"
#include "libingero/answers/time.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/answers/window.h"
#include "libingero/render/table.h"
#include "libingero/render/units.h"

#define ESTIMATE "~"
#define INNER "· " /* before the operation */
#define OP_COLUMNS 22u
#define PLACE_COLUMNS_LEAST 24u /* "train.py:142 in forward" */
#define WITHOUT "no stack"

bool stack_has_any(const struct stack_rows *rows)
{
	for (size_t i = 0; i < rows->rows.n; i++)
		if (rows->rows.items[i]->stack && rows->rows.items[i]->stack->n_frames)
			return true;
	return false;
}

void stack_window_append(const struct stack_question *q, const struct stack_rows *rows, struct buf *out)
{
	const Ingero__V1__Window *window = rows->end ? rows->end->window : NULL;
	uint64_t from_unix_ns = window && window->from_unix_ns ? window->from_unix_ns : q->from_unix_ns,
		 to_unix_ns = window && window->to_unix_ns ? window->to_unix_ns
			      : q->to_unix_ns		   ? q->to_unix_ns
							   : q->now_unix_ns;

	(void)buf_append_text(out, clock_span_text(from_unix_ns, to_unix_ns, q->now_unix_ns).text);
}

void stack_nothing_append(const struct stack_question *q, const struct stack_rows *rows, struct buf *out)
{
	const struct recorded_question question = {
		.now_unix_ns = q->now_unix_ns,
		.from_unix_ns = q->from_unix_ns,
		.to_unix_ns = q->to_unix_ns,
		.pids = q->pids,
		.n_pids = q->n_pids,
		.op = q->op,
	};
	uint64_t calls = 0;
	size_t start = out->n;

	(void)stack_without(rows, &calls);
	if (calls) {
		(void)buf_printf(out, "no stacks: none of the %s",
				 units_things(calls, "call recorded", "calls recorded").text);
		(void)buf_append_text(out, " from ");
		stack_window_append(q, rows, out);
		(void)buf_append_text(out, " has one; 'ingero trace' takes them unless '--stack none' says otherwise, "
					   "a service unless record.stacks of its configuration does; demos and "
					   "recordings of earlier versions have none");
		return;
	}
	recorded_lack_append(&question, q->whole, out);
	if (out->n == start) {
		(void)buf_append_text(out, "no call is recorded from ");
		stack_window_append(q, rows, out);
	}
	(void)buf_append_text(out, "; 'sudo ingero trace' records calls with their stacks");
}

/* ---- the table ---- */

enum { COLUMN_MEASURE, COLUMN_TIME, COLUMN_COUNT, COLUMN_P99, COLUMN_BLAME, COLUMN_OP, COLUMN_PLACE, COLUMNS };

/* A column that is the measure itself is not shown twice. */
static void measure_cell_add(const struct stack_question *q, const struct stack_site *site, struct table *t)
{
	const char *mark = site->is_estimate ? ESTIMATE : "";

	switch (q->measure.kind) {
	case STACK_TIME:
		table_add(t, TEXT_PLAIN, "%s%s", mark, units_ns(site->measure, UNITS_TIGHT).text);
		break;
	case STACK_COUNT:
		table_add(t, TEXT_PLAIN, "%s%s", mark, units_count(site->measure).text);
		break;
	case STACK_BYTES:
		table_add(t, TEXT_PLAIN, "%s", units_bytes(site->measure).text);
		break;
	case STACK_BLAME:
		table_add(t, TEXT_PLAIN, "%s", units_ns(site->measure, UNITS_TIGHT).text);
		break;
	}
}

static void site_cells_add(const struct stack_question *q, const struct stack_site *site, struct table *t)
{
	CLEANUP(buf_done) struct buf place = BUF_INIT, blame = BUF_INIT;
	enum blame_view_class class = blame_view_largest(&site->blame, 0);
	const char *mark = site->is_estimate ? ESTIMATE : "";

	measure_cell_add(q, site, t);
	if (q->measure.kind != STACK_TIME)
		table_add(t, TEXT_PLAIN, "%s%s", mark, units_ns(site->counted_ns, UNITS_TIGHT).text);
	if (q->measure.kind != STACK_COUNT)
		table_add(t, TEXT_PLAIN, "%s%s", mark, units_count(site->counted).text);
	table_add(t, TEXT_PLAIN, "%s", site->count ? units_ns(site->p99_ns, UNITS_TIGHT).text : "-");
	if (class != BLAME_VIEW_COUNT)
		(void)buf_printf(
			&blame, "%s %s", blame_view_label(class),
			units_ratio((double)site->blame.ns[class] / (double)site->blame.sum_ns, UNITS_TIGHT).text);
	table_add(t, TEXT_PLAIN, "%s", buf_text(&blame));
	table_add(t, TEXT_PLAIN, "%s%s", site->is_inner ? INNER : "", trace_op_label(site->most->op).text);
	if (site->has_place && q->by == STACK_BY_STACK)
		stack_chain_append(site->most->stack, &place);
	else if (site->has_place)
		stack_place_append(&site->place, &place);
	table_add(t, site->has_place ? TEXT_PLAIN : TEXT_DIM, "%s", site->has_place ? buf_text(&place) : WITHOUT);
	t->failed |= place.failed || blame.failed;
}

static int stack_table_append(const struct stack_question *q, const struct stack_sites *sites, size_t n,
			      const struct text_style *style, struct buf *out)
{
	struct flame_value value = stack_measure_value(&q->measure);
	struct table_column all[COLUMNS] = {
		[COLUMN_MEASURE] = { .title = q->measure.kind == STACK_BLAME ? blame_view_label(q->measure.class)
									     : value.name,
				     .align = TABLE_RIGHT },
		[COLUMN_TIME] = { .title = "time", .align = TABLE_RIGHT, .drop = 3 },
		[COLUMN_COUNT] = { .title = "count", .align = TABLE_RIGHT, .drop = 1 },
		[COLUMN_P99] = { .title = "p99", .align = TABLE_RIGHT, .drop = 2 },
		[COLUMN_BLAME] = { .title = "blame", .drop = 4 },
		[COLUMN_OP] = { .title = "operation", .max = OP_COLUMNS },
		[COLUMN_PLACE] = { .title = "from", .min = PLACE_COLUMNS_LEAST, .takes_rest = true },
	};
	struct table_column columns[COLUMNS];
	struct table t = { .columns = columns, .gap = 2 };
	int r;

	for (size_t i = 0; i < COLUMNS; i++)
		if (!(i == COLUMN_TIME && q->measure.kind == STACK_TIME) &&
		    !(i == COLUMN_COUNT && q->measure.kind == STACK_COUNT))
			columns[t.n_columns++] = all[i];
	for (size_t i = 0; i < n; i++)
		site_cells_add(q, &sites->sites.items[i], &t);
	r = table_render(&t, style, SIZE_MAX, out);
	table_done(&t);
	return r;
}

/* ---- around it ---- */

static void stack_header_append(const struct stack_question *q, const struct stack_rows *rows,
				const struct stack_sites *sites, const struct text_style *style, struct buf *out)
{
	struct flame_value value = stack_measure_value(&q->measure);
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	uint64_t calls = 0;

	(void)stack_without(rows, &calls);
	stack_window_append(q, rows, &text);
	if (q->words)
		(void)buf_printf(&text, ", %s", q->words);
	(void)buf_printf(&text, " · %s by %s",
			 q->by == STACK_BY_SITE ? units_things(sites->sites.n, "call site", "call sites").text
						: units_things(sites->sites.n, "stack", "stacks").text,
			 value.name);
	(void)buf_printf(&text, " · %s", units_things(calls, "recorded call", "recorded calls").text);
	text_tone(out, style, TEXT_BOLD);
	text_paragraph(out, style, "", buf_text(&text));
	text_tone(out, style, TEXT_PLAIN);
	buf_consume(&text, text.n);
	if (q->is_chosen && rows->end)
		window_widened_append(rows->end->window, q->now_unix_ns, &text);
	if (text.n)
		text_paragraph(out, style, "", buf_text(&text));
}

static bool has_estimates(const struct stack_rows *rows, const struct stack_sites *sites)
{
	for (size_t i = 0; i < sites->sites.n; i++)
		if (sites->sites.items[i].is_estimate)
			return true;
	return rows->end && rows->end->is_sampled;
}

static bool has_inner(const struct stack_sites *sites, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sites->sites.items[i].is_inner)
			return true;
	return false;
}

static void stack_footer_append(const struct stack_question *q, const struct stack_rows *rows,
				const struct stack_sites *sites, size_t n, const struct text_style *style,
				struct buf *out)
{
	const Ingero__V1__StacksEnd *end = rows->end;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (has_inner(sites, n))
		text_paragraph(out, style, "", INNER "within another traced call, whose row has their time, too");
	if (has_estimates(rows, sites))
		text_paragraph(out, style, "",
			       ESTIMATE
			       " estimates for all calls; p99, blame and bytes are those of the recorded ones. "
			       "'ingero trace --record all' records every call");
	if (!end)
		return;
	if (end->rows > rows->rows.n)
		text_line(out, style, TEXT_PLAIN, "of the %s with most time of %s; '--op' or '--pid' asks for fewer",
			  units_things(rows->rows.n, "stack", "stacks").text, units_count(end->rows).text);
	if (end->without)
		(void)buf_printf(&text, "%s without a stack",
				 units_things(end->without, "recorded call", "recorded calls").text);
	if (end->incomplete)
		(void)buf_printf(&text, "%s%s with a stack that is not complete; 'ingero explain ID' says why",
				 text.n ? ", " : "",
				 units_things(end->incomplete, "recorded call", "recorded calls").text);
	if (end->merged)
		(void)buf_printf(&text, "%s%s counted without theirs: the window has more than 65 536 stacks",
				 text.n ? ", " : "", units_things(end->merged, "recorded call", "recorded calls").text);
	if (text.n)
		text_paragraph(out, style, "", buf_text(&text));
	out->failed |= text.failed;
	if (end->n_gaps || (end->lost && lost_sum(end->lost, LOST_COUNTS) + lost_sum(end->lost, LOST_DETAIL)))
		explain_footer_append(end->lost, end->gaps, end->n_gaps, q->now_unix_ns, style, out);
}

int stack_report_append(const struct stack_question *q, const struct stack_rows *rows, const struct stack_sites *sites,
			const struct text_style *style, struct buf *out)
{
	size_t n = q->limit && q->limit < sites->sites.n ? (size_t)q->limit : sites->sites.n;
	CLEANUP(buf_done) struct buf nothing = BUF_INIT;
	int r;

	if (!stack_has_any(rows)) {
		stack_nothing_append(q, rows, &nothing);
		text_paragraph(out, style, "", buf_text(&nothing));
		return out->failed || nothing.failed ? -ENOMEM : 0;
	}
	stack_header_append(q, rows, sites, style, out);
	r = stack_table_append(q, sites, n, style, out);
	if (r < 0)
		return r;
	if (n < sites->sites.n)
		text_line(out, style, TEXT_DIM, "and %s more; '--limit' shows them",
			  units_count(sites->sites.n - n).text);
	stack_footer_append(q, rows, sites, n, style, out);
	return out->failed ? -ENOMEM : 0;
}
