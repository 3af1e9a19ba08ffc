// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/explain/waits.h"

#include "base/cleanup.h"
#include "libingero/answers/account/text.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/answers/trace/waits.h"
#include "libingero/render/blame.h"
#include "libingero/render/table.h"
#include "libingero/render/units.h"

#define TITLE "main thread, between calls"
#define PROCESS_COLUMNS 26u /* text after the title */

/* A file of Ingero's keeps no durations of single waits. */
static bool wait_has_median(const Ingero__V1__Operation *op)
{
	return op->count > 1 && op->p50_ns;
}

static void wait_row_add(struct table *t, const Ingero__V1__Wait *wait)
{
	const Ingero__V1__Operation *op = wait->operation;
	struct blame_view blame = blame_view_of(op->blame_ns);
	enum blame_view_class class = blame_view_largest(&blame, 1u << BLAME_VIEW_ON_CPU);
	double ratio = wait->span_ns ? (double)op->total_ns / (double)wait->span_ns : 0;

	table_add(t, TEXT_PLAIN, "%s%s%s",
		  trace_process_label(op->process_name, op->program, op->pid, PROCESS_COLUMNS).text,
		  op->node_told_case ? " on " : "", op->node_told_case ? op->node : "");
	table_add(t, TEXT_PLAIN, "%s", units_ns(op->total_ns, UNITS_TIGHT).text);
	table_add(t, TEXT_PLAIN, "%s", units_ratio(ratio, UNITS_TIGHT).text);
	table_add(t, TEXT_PLAIN, "%s", class == BLAME_VIEW_COUNT ? "" : blame_view_label(class));
	table_add(t, TEXT_PLAIN, "%s", units_count(op->count).text);
	table_add(t, TEXT_PLAIN, "%s", wait_has_median(op) ? units_ns(op->p50_ns, UNITS_TIGHT).text : "");
}

/* Whether an account of the process covers this time. */
static bool has_account(const Ingero__V1__ExplainReply *reply, const Ingero__V1__Wait *wait)
{
	for (size_t i = 0; i < reply->n_accounts; i++)
		if (reply->accounts[i]->pid == wait->operation->pid &&
		    account_is_on(reply->accounts[i], wait->operation->node_told_case ? wait->operation->node : NULL))
			return true;
	return false;
}

size_t explain_waits_count(const Ingero__V1__ExplainReply *reply)
{
	size_t n = 0;

	for (size_t i = 0; i < reply->n_waits; i++)
		n += !has_account(reply, reply->waits[i]);
	return n;
}

int explain_waits_append(const Ingero__V1__ExplainReply *reply, const struct text_style *style, unsigned int room,
			 struct buf *out)
{
	static const struct table_column columns[] = {
		{ .title = TITLE },
		{ .title = "waited", .align = TABLE_RIGHT, .min = 7 },
		{ .title = "of the time", .align = TABLE_RIGHT, .drop = 2 },
		{ .title = "mostly", .drop = 1 },
		{ .title = "times", .align = TABLE_RIGHT, .drop = 4 },
		{ .title = "median", .align = TABLE_RIGHT, .drop = 3 },
	};
	CLEANUP(table_done) struct table t = TABLE_INIT(columns);
	size_t most = room > EXPLAIN_WAITS_LINES ? room - EXPLAIN_WAITS_LINES + 1 : 1;
	size_t n = explain_waits_count(reply);
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	int r;

	if (!n)
		return 0;
	for (size_t i = 0; i < reply->n_waits; i++)
		if (!has_account(reply, reply->waits[i]))
			wait_row_add(&t, reply->waits[i]);
	text_line(out, style, TEXT_PLAIN, "%s", "");
	r = table_render(&t, style, most, out);
	if (r < 0)
		return r;
	if (most < n)
		(void)buf_printf(&text, "and %zu more · ", n - most);
	(void)buf_append_text(&text, TRACE_WAITS_MEANING);
	text_paragraph(out, style, "", buf_text(&text));
	return 0;
}
