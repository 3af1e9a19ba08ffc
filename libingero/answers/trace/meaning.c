// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/trace/meaning.h"

#include <errno.h>
#include <string.h>

#include "libingero/answers/account/text.h"
#include "libingero/answers/lost.h"
#include "libingero/answers/trace/behind.h"
#include "libingero/answers/trace/finding.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/answers/trace/waits.h"
#include "libingero/render/units.h"

#define IN_FLIGHT_OLD_NS NSEC_PER_SEC /* calls usually take far less */
#define SENTENCES_MAX 3		      /* maximum sentences of one kind */

/* The rest of the operation's time, so that the sentence adds up. */
static void rest_append(struct buf *text, const struct blame_view *blame, enum blame_view_class told)
{
	enum blame_view_class class = blame_view_largest(blame, 1u << told);

	if (class == BLAME_VIEW_COUNT || blame->ns[class] * 20 < blame->sum_ns)
		return;
	(void)buf_printf(text, " For another %s the call was %s.",
			 units_ratio((double)blame->ns[class] / (double)blame->sum_ns, 0).text,
			 class == BLAME_VIEW_ON_CPU ? "computing" : blame_view_phrase(class));
}

static void delay_append(const Ingero__V1__Delay *delay, const struct text_style *style, struct buf *out)
{
	const Ingero__V1__Operation *op = delay->operation;
	enum blame_view_class class = blame_view_parse(delay->takes);
	struct blame_view blame = blame_view_of(op->blame_ns);
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	(void)buf_printf(&text, "%s in %s (pid %u) lost %s, %s of its time, %s.", op->op,
			 trace_process_name(op->process_name, op->program).text, op->pid,
			 units_ns(delay->lost_ns, 0).text,
			 units_ratio((double)delay->lost_ns / (double)MAX(blame.sum_ns, 1), 0).text,
			 class == BLAME_VIEW_COUNT ? delay->takes : blame_view_phrase(class));
	rest_append(&text, &blame, class);
	(void)buf_printf(&text, " Half of its %s took more than %s, one in 100 more than %s.",
			 units_things(op->count, "call", "calls").text, units_ns(op->p50_ns, 0).text,
			 units_ns(op->p99_ns, 0).text);
	text_paragraph(out, style, "▲ ", buf_text(&text));
}

#define NAMED_PART 100 /* share of the time from which a process is named; the rest is a sum */

static void who_append(struct buf *text, const char *before, const char *who, uint64_t ns, uint64_t sum_ns)
{
	(void)buf_printf(text, "%s%s for %s (%s)", before, who, units_ns(ns, 0).text,
			 units_ratio((double)ns / (double)sum_ns, 0).text);
}

static void neighbours_append(const Ingero__V1__Summary *summary, uint32_t pid, const struct text_style *style,
			      struct buf *out)
{
	struct trace_behind behind = trace_behind_of(summary, pid);
	const Ingero__V1__Behind *first = behind.most[0];
	uint64_t rest_ns = behind.sum_ns;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (!first || behind.sum_ns == 0) {
		text_paragraph(out, style, "  ", "The processes that ran meanwhile are unknown.");
		return;
	}
	(void)buf_append_text(&text, "While calls of this process waited, the CPU ran");
	for (size_t i = 0; i < TRACE_BEHIND_MOST && behind.most[i]; i++) {
		if (i > 0 && behind.most[i]->ns < behind.sum_ns / NAMED_PART)
			break;
		who_append(&text, i ? ", " : " ", trace_who(behind.most[i]).text, behind.most[i]->ns, behind.sum_ns);
		rest_ns -= behind.most[i]->ns;
	}
	if (rest_ns >= behind.sum_ns / NAMED_PART)
		who_append(&text, ", ", "others", rest_ns, behind.sum_ns);
	(void)buf_append_text(&text, ".");
	text_paragraph(out, style, "  ", buf_text(&text));
}

static int nothing_append(const Ingero__V1__Summary *summary, const struct trace_rows *rows, const char *scope,
			  const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	CLEANUP(buf_done) struct buf waits = BUF_INIT;
	enum blame_view_class class;
	int r = account_append_waits(summary->accounts, summary->n_accounts, &waits);

	if (r < 0)
		return r;
	if (rows->n_calls == 0) {
		(void)buf_printf(&text, "No CUDA calls: no process %s made one in %s.", scope,
				 units_ns(summary->window_ns, 0).text);
		text_paragraph(out, style, "", buf_text(&text));
		return 0;
	}
	(void)buf_printf(&text, "%s: %s %s made %s in %s, with no significant delays%s.",
			 waits.n ? "No finding" : "No problem found",
			 units_things(rows->n_processes, "process", "processes").text, scope,
			 units_things(rows->n_calls, "call", "calls").text, units_ns(summary->window_ns, 0).text,
			 waits.n ? " in them" : "");
	class = blame_view_largest(&rows->rows.items[0].blame, 0);
	if (waits.n)
		(void)buf_printf(&text, " But %s", buf_text(&waits));
	else if (class != BLAME_VIEW_COUNT)
		(void)buf_printf(&text, " Most time was in %s, %s of it %s.", rows->rows.items[0].op->op,
				 units_ratio((double)rows->rows.items[0].blame.ns[class] /
						     (double)rows->rows.items[0].blame.sum_ns,
					     0)
					 .text,
				 blame_view_phrase(class));
	text_paragraph(out, style, "", buf_text(&text));
	return 0;
}

/* A finding of no single operation, of which figures of calls say nothing, with its remedy. */
static void finding_mean(const Ingero__V1__Finding *f, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	trace_finding_event_append(f, &text);
	if (f->lost_ns && f->lost_ns <= f->present_ns)
		(void)buf_printf(&text, ": %s of %s lost, %s of the time", units_ns(f->lost_ns, 0).text,
				 units_ns(f->present_ns, 0).text,
				 units_ratio((double)f->lost_ns / (double)f->present_ns, 0).text);
	else if (f->lost_ns)
		(void)buf_printf(&text, ": %s lost", units_ns(f->lost_ns, 0).text);
	(void)buf_append_text(&text, ".");
	if (explain_past_text(f, /* has_chain= */ false).text[0])
		(void)buf_append_text(&text, " Its thread made no call meanwhile.");
	text_paragraph(out, style, "▲ ", buf_text(&text));
	text_paragraph(out, style, "  do: ", f->advice[0]);
}

static int findings_mean(const Ingero__V1__Summary *summary, const struct text_style *style, struct buf *out)
{
	CLEANUP(freep) const Ingero__V1__Finding **list = trace_findings_sorted(summary);
	const Ingero__V1__Delay *delay = summary->delay;
	unsigned int n = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < summary->n_findings && n < SENTENCES_MAX; i++) {
		const Ingero__V1__Finding *f = list[i];

		if ((f->op && *f->op) || !f->n_advice || !f->cause || !*f->cause->words)
			continue;
		if (delay && delay->operation && delay->operation->pid == f->pid &&
		    strcmp(delay->advice, f->advice[0]) == 0)
			continue; /* the delay has its remedy */
		finding_mean(f, style, out);
		n++;
	}
	return 0;
}

static void in_flight_mean(const Ingero__V1__Summary *summary, const struct text_style *style, struct buf *out)
{
	unsigned int n = 0;

	for (size_t i = 0; i < summary->n_in_flight && n < SENTENCES_MAX; i++) {
		const Ingero__V1__InFlight *call = summary->in_flight[i];
		struct blame_view blame = blame_view_of(call->blame_ns);
		enum blame_view_class class = blame_view_largest(&blame, 0);
		CLEANUP(buf_done) struct buf text = BUF_INIT;

		if (call->age_ns < IN_FLIGHT_OLD_NS)
			continue;
		(void)buf_printf(&text, "%s in %s (pid %u, thread %u) had not returned after %s", call->op,
				 trace_process_name(call->process_name, call->program).text, call->pid, call->tid,
				 units_ns(call->age_ns, 0).text);
		if (class != BLAME_VIEW_COUNT)
			(void)buf_printf(&text, ", %s of it %s",
					 units_ratio((double)blame.ns[class] / (double)blame.sum_ns, 0).text,
					 blame_view_phrase(class));
		(void)buf_append_text(&text, ".");
		text_paragraph(out, style, "▲ ", buf_text(&text));
		n++;
	}
}

static void failures_append(const struct trace_rows *rows, const struct text_style *style, struct buf *out)
{
	unsigned int n_failed = 0, n_abandoned = 0;

	for (size_t i = 0; i < rows->rows.n; i++) {
		const Ingero__V1__Operation *op = rows->rows.items[i].op;
		CLEANUP(buf_done) struct buf text = BUF_INIT;

		if (op->errors && n_failed++ < SENTENCES_MAX)
			(void)buf_printf(&text, "%s of %s of %s in %s (pid %u) failed.", units_count(op->errors).text,
					 units_things(op->count, "call", "calls").text, op->op,
					 trace_process_name(op->process_name, op->program).text, op->pid);
		if (op->abandoned && n_abandoned++ < SENTENCES_MAX)
			(void)buf_printf(&text, "%s%s of %s in %s (pid %u) never returned: exit, kill, exec or a jump.",
					 text.n ? " " : "", units_things(op->abandoned, "call", "calls").text, op->op,
					 trace_process_name(op->process_name, op->program).text, op->pid);
		if (text.n)
			text_paragraph(out, style, "▲ ", buf_text(&text));
	}
}

int trace_meaning_append(const Ingero__V1__Summary *summary, const char *scope, const struct text_style *style,
			 struct buf *out)
{
	CLEANUP(trace_rows_done) struct trace_rows rows = TRACE_ROWS_INIT;
	const Ingero__V1__Delay *delay = summary->delay;
	size_t before;
	int r = trace_rows_build(summary, NULL, &rows);

	if (r < 0)
		return r;

	before = out->n;
	if (delay && delay->operation) {
		delay_append(delay, style, out);
		if (blame_view_parse(delay->takes) == BLAME_VIEW_RUNNABLE)
			neighbours_append(summary, delay->operation->pid, style, out);
		if (*delay->advice)
			text_paragraph(out, style, "  do: ", delay->advice);
	}
	r = findings_mean(summary, style, out);
	if (r < 0)
		return r;
	in_flight_mean(summary, style, out);
	failures_append(&rows, style, out);
	if (out->n == before && summary->n_findings == 0)
		r = nothing_append(summary, &rows, scope, style, out);
	if (r < 0)
		return r;
	if (!summary->n_accounts) /* they describe the same time again */
		trace_waits_meaning(out, style, summary);
	return out->failed ? -ENOMEM : 0;
}
