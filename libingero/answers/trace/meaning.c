// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/trace/meaning.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/examine.h"
#include "libingero/answers/account/group.h"
#include "libingero/answers/account/text.h"
#include "libingero/answers/explain/cause.h"
#include "libingero/answers/explain/finding.h"
#include "libingero/answers/lost.h"
#include "libingero/answers/trace/behind.h"
#include "libingero/answers/trace/finding.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/answers/trace/waits.h"
#include "libingero/render/units.h"
#include "libingero/render/user.h"

#define IN_FLIGHT_OLD_NS NSEC_PER_SEC /* calls usually take far less */
#define SENTENCES_MAX 3		      /* maximum sentences of one kind */
#define JUDGED_RATIO 1.1	      /* of the account's figure to the finding's */
#define WHOLE_RATIO 1.02	      /* of two figures that are measured apart: below, they are the same */

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

static void durations_append(struct buf *text, const Ingero__V1__Operation *op)
{
	(void)buf_printf(text, " Half of its %s took more than %s, one in 100 more than %s.",
			 units_things(op->count, "call", "calls").text, units_ns(op->p50_ns, 0).text,
			 units_ns(op->p99_ns, 0).text);
}

/* @account: of its process; NULL: unknown */
static void delay_append(const Ingero__V1__Delay *delay, const Ingero__V1__Account *account,
			 const struct text_style *style, struct buf *out)
{
	const Ingero__V1__Operation *op = delay->operation;
	enum blame_view_class class = blame_view_parse(delay->takes);
	struct blame_view blame = blame_view_of(op->blame_ns);
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	(void)buf_printf(&text, "%s in %s (pid %u) lost %s, %s of its time, %s.", op->op,
			 trace_process_name(op->process_name, op->program).text, op->pid,
			 units_ns(delay->lost_ns, 0).text,
			 units_ratio((double)delay->lost_ns / (double)MAX(blame.sum_ns, 1), 0).text,
			 account_class_words(account, delay->takes, /* in_calls= */ true).text);
	rest_append(&text, &blame, class);
	durations_append(&text, op);
	text_paragraph(out, style, "▲ ", buf_text(&text));
}

/*
 * What a process lost in the way of its delay, in calls and between them: of the finding that says so, or else of the
 * account of the driving thread that lost most.
 */
struct whole {
	struct explain_places places;
	uint64_t of_ns;			    /* time in which it was lost; less than that: of several threads */
	const Ingero__V1__Account *account; /* NULL: unknown */
};

static bool part_is_of(const Ingero__V1__AccountPart *part, const char *where, const char *class)
{
	return strcmp(part->where, where) == 0 && strcmp(part->class_, class) == 0;
}

static struct whole whole_of_account(const Ingero__V1__Account *account, const Ingero__V1__Delay *delay)
{
	struct whole whole = { .places.op = delay->operation->op, .of_ns = account->wall_ns, .account = account };

	for (size_t i = 0; i < account->n_parts; i++) {
		const Ingero__V1__AccountPart *part = account->parts[i];
		bool has_op = part->op_told_case == INGERO__V1__ACCOUNT_PART__OP_TOLD_OP;

		if (part_is_of(part, "between", delay->takes))
			whole.places.between_ns += part->ns;
		else if (part_is_of(part, "in", delay->takes)) {
			whole.places.in_ns += part->ns;
			if (has_op && strcmp(part->op, whole.places.op) == 0)
				whole.places.op_ns += part->ns;
		}
	}
	whole.places.lost_ns = whole.places.in_ns + whole.places.between_ns;
	return whole;
}

static struct whole whole_of(const Ingero__V1__Summary *summary)
{
	const Ingero__V1__Delay *delay = summary->delay;
	const Ingero__V1__Finding *most = NULL;
	struct whole whole = { .of_ns = 0 };

	for (size_t i = 0; i < summary->n_accounts; i++) {
		const Ingero__V1__Account *account = summary->accounts[i];
		struct whole one;

		if (!account->is_driving || account->pid != delay->operation->pid)
			continue;
		one = whole_of_account(account, delay);
		if (one.places.lost_ns > whole.places.lost_ns)
			whole = one;
	}
	for (size_t i = 0; i < summary->n_findings; i++) {
		const Ingero__V1__Finding *f = summary->findings[i];

		if (f->pid == delay->operation->pid && f->cause && strcmp(f->cause->takes, delay->takes) == 0 &&
		    explain_places(f).between_ns && (!most || f->lost_ns > most->lost_ns))
			most = f;
	}
	if (most) {
		whole.places = explain_places(most);
		whole.of_ns = most->present_ns;
	}
	return whole;
}

/* "6.0 s of 12.3 s, 49 % of the time" */
static void lost_of_append(uint64_t lost_ns, uint64_t of_ns, struct buf *text)
{
	(void)buf_append_text(text, units_ns(lost_ns, 0).text);
	if (lost_ns <= of_ns)
		(void)buf_printf(text, " of %s, %s of the time", units_ns(of_ns, 0).text,
				 units_ratio((double)lost_ns / (double)of_ns, 0).text);
}

/* The part of one operation. */
static void delay_part_append(const Ingero__V1__Delay *delay, struct buf *text)
{
	const Ingero__V1__Operation *op = delay->operation;
	struct blame_view blame = blame_view_of(op->blame_ns);

	(void)buf_printf(text, " %s alone lost %s, %s of its time.", op->op, units_ns(delay->lost_ns, 0).text,
			 units_ratio((double)delay->lost_ns / (double)MAX(blame.sum_ns, 1), 0).text);
	rest_append(text, &blame, blame_view_parse(delay->takes));
	durations_append(text, op);
}

/* Where a process lost what its delay is a part of. */
enum whole_kind {
	WHOLE_IS_DELAY,	  /* in calls of that operation, or unknown */
	WHOLE_IN_CALLS,	  /* most of it there, or in other calls */
	WHOLE_IN_BETWEEN, /* more between calls than there */
};

static enum whole_kind whole_kind(const struct whole *whole, const Ingero__V1__Delay *delay)
{
	const struct explain_places *places = &whole->places;
	double least_ns = WHOLE_RATIO * (double)delay->lost_ns;

	if (places->between_ns > delay->lost_ns)
		return WHOLE_IN_BETWEEN;
	/* A delay of several threads is no part of what one of them lost. */
	if ((double)places->lost_ns > least_ns && (double)delay->lost_ns <= WHOLE_RATIO * (double)places->in_ns)
		return WHOLE_IN_CALLS;
	return WHOLE_IS_DELAY;
}

static void whole_mean(const Ingero__V1__Delay *delay, const struct whole *whole, const struct text_style *style,
		       struct buf *out)
{
	const Ingero__V1__Operation *op = delay->operation;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	(void)buf_printf(&text, "%s (pid %u) lost ", trace_process_name(op->process_name, op->program).text, op->pid);
	lost_of_append(whole->places.lost_ns, whole->of_ns, &text);
	(void)buf_printf(&text, ", %s", account_class_words(whole->account, delay->takes, /* in_calls= */ false).text);
	explain_places_append(&whole->places, &text);
	(void)buf_append_text(&text, ".");
	if (whole_kind(whole, delay) == WHOLE_IN_CALLS)
		delay_part_append(delay, &text);
	text_paragraph(out, style, "▲ ", buf_text(&text));
}

#define NAMED_PART 100 /* share of the time waited from which a process is named; the rest is a sum */

/* Short-lived processes of one name are one row of an account, without a number. */
static struct culprit_name neighbour_name(const Ingero__V1__Behind *behind)
{
	struct culprit_name name = trace_who(behind);

	if (behind->pid == 0 && *behind->comm)
		(void)snprintf(name.text, sizeof(name.text), "%.20s (several, %.40s)", behind->comm,
			       user_name(behind->uid).text);
	return name;
}

static void who_append(struct buf *text, const char *before, const char *who, uint64_t ns, uint64_t waited_ns)
{
	(void)buf_printf(text, "%s%s for %s (%s)", before, who, units_ns(ns, 0).text,
			 units_ratio((double)ns / (double)waited_ns, 0).text);
}

static void neighbours_append(const struct trace_behind *behind, const char *while_waiting,
			      const struct text_style *style, struct buf *out)
{
	uint64_t waited_ns = behind->waited_ns, rest_ns = behind->known_ns;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (!behind->most[0] || behind->known_ns == 0) {
		text_paragraph(out, style, "  ", "The processes that ran meanwhile are unknown.");
		return;
	}
	(void)buf_printf(&text, "%s the CPU ran", while_waiting);
	for (size_t i = 0; i < TRACE_BEHIND_MOST && behind->most[i]; i++) {
		const Ingero__V1__Behind *one = behind->most[i];

		if (i > 0 && one->ns < waited_ns / NAMED_PART)
			break;
		who_append(&text, i ? ", " : " ", neighbour_name(one).text, one->ns, waited_ns);
		rest_ns -= one->ns;
	}
	if (rest_ns >= waited_ns / NAMED_PART)
		who_append(&text, ", ", "others", rest_ns, waited_ns);
	if (waited_ns - behind->known_ns >= waited_ns / NAMED_PART)
		who_append(&text, ", ", "unknown processes", waited_ns - behind->known_ns, waited_ns);
	(void)buf_append_text(&text, ".");
	text_paragraph(out, style, "  ", buf_text(&text));
}

static void meanwhile_add(Ingero__V1__Behind *list, size_t *n, const Ingero__V1__Waker *by, uint32_t victim_pid,
			  uint64_t ns)
{
	size_t i = 0;

	while (i < *n && (list[i].pid != by->pid || list[i].uid != by->uid || strcmp(list[i].comm, by->comm) != 0))
		i++;
	if (i == *n) {
		list[i] = (Ingero__V1__Behind)INGERO__V1__BEHIND__INIT;
		list[i].victim_pid = victim_pid;
		list[i].pid = by->pid;
		list[i].uid = by->uid;
		list[i].comm = by->comm;
		(*n)++;
	}
	list[i].ns += ns;
}

/* The processes that had the CPU while the thread was ready, in calls and between them. */
static int account_neighbours_append(const Ingero__V1__Account *account, const char *class,
				     const struct text_style *style, struct buf *out)
{
	CLEANUP(freep) Ingero__V1__Behind *list = calloc(account->n_parts + 1, sizeof(*list));
	CLEANUP(freep) Ingero__V1__Behind **pointers = calloc(account->n_parts + 1, sizeof(*pointers));
	Ingero__V1__Summary one = INGERO__V1__SUMMARY__INIT;
	struct trace_behind behind;
	uint64_t waited_ns = 0;

	if (!list || !pointers)
		return -ENOMEM;
	for (size_t i = 0; i < account->n_parts; i++) {
		const Ingero__V1__AccountPart *part = account->parts[i];

		if (strcmp(part->class_, class) != 0)
			continue;
		waited_ns += part->ns;
		if (part->by)
			meanwhile_add(list, &one.n_behind, part->by, account->pid, part->ns);
	}
	for (size_t i = 0; i < one.n_behind; i++)
		pointers[i] = &list[i];
	one.behind = pointers;
	behind = trace_behind_of(&one, account->pid);
	behind.waited_ns = waited_ns;
	neighbours_append(&behind, "Meanwhile", style, out);
	return 0;
}

/* All that the process lost in the way of its delay, which is a part of it. */
static int delay_mean(const Ingero__V1__Summary *summary, const struct text_style *style, struct buf *out)
{
	const Ingero__V1__Delay *delay = summary->delay;
	bool is_ready = blame_view_parse(delay->takes) == BLAME_VIEW_RUNNABLE;
	struct whole whole = whole_of(summary);
	bool is_whole = whole_kind(&whole, delay) != WHOLE_IS_DELAY;
	struct trace_behind behind;
	int r = 0;

	if (is_whole)
		whole_mean(delay, &whole, style, out);
	else
		delay_append(delay, whole.account, style, out);
	if (is_ready && is_whole && whole.account) {
		r = account_neighbours_append(whole.account, delay->takes, style, out);
	} else if (is_ready) {
		behind = trace_behind_of(summary, delay->operation->pid);
		neighbours_append(&behind, "While calls of this process waited,", style, out);
	}
	if (*delay->advice)
		text_paragraph(out, style, "  do: ", delay->advice);
	return r;
}

static int nothing_append(const Ingero__V1__Summary *summary, const struct trace_rows *rows, const char *scope,
			  bool is_attached, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	CLEANUP(buf_done) struct buf waits = BUF_INIT;
	CLEANUP(buf_done) struct buf most = BUF_INIT;
	enum blame_view_class class;
	int r = account_append_waits(summary->accounts, summary->n_accounts, &waits);

	if (r == 0)
		r = account_append_most(summary->accounts, summary->n_accounts, &most);
	if (r < 0)
		return r;
	if (rows->n_calls == 0) {
		(void)buf_printf(&text, "No CUDA calls: no process %s made one in %s.", scope,
				 units_ns(summary->window_ns, 0).text);
		if (is_attached)
			(void)buf_append_text(&text,
					      " A thread is followed from its first call after the start of the trace "
					      "on: one that was blocked before is not seen until it makes a call.");
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
	else if (most.n)
		(void)buf_printf(&text, " %s", buf_text(&most));
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

/*
 * Whether the account of its thread has clearly more of it, but no more than the first seconds, in which detectors do
 * not examine time between calls.
 */
static bool is_judged_late(const Ingero__V1__Summary *summary, const Ingero__V1__Finding *f)
{
	enum blame_view_class class = blame_view_parse(f->cause->takes);
	uint64_t most_ns = f->lost_ns + (EXAMINE_FROM_S + 1) * NSEC_PER_SEC, ns = 0;

	if (!explain_is_between(f) || class == BLAME_VIEW_RUNNABLE || class == BLAME_VIEW_QUOTA)
		return false;
	for (size_t i = 0; i < summary->n_accounts; i++) {
		const Ingero__V1__Account *account = summary->accounts[i];

		if (account->pid != f->pid || (f->tid_told_case && account->tid != f->tid))
			continue;
		for (size_t k = 0; k < account->n_parts; k++)
			if (part_is_of(account->parts[k], "between", f->cause->takes))
				ns += account->parts[k]->ns;
		break;
	}
	return (double)ns > JUDGED_RATIO * (double)f->lost_ns && ns <= most_ns;
}

/* A finding with its remedy. */
static void finding_mean(const Ingero__V1__Finding *f, bool is_late, const struct text_style *style, struct buf *out)
{
	bool is_between = explain_is_between(f) && explain_event_text(f, /* has_chain= */ false).text[0];
	const char *where = is_between ? " between its calls" : "";
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	trace_finding_event_append(f, &text);
	if (f->lost_ns && f->lost_ns <= f->present_ns)
		(void)buf_printf(&text, ": %s of %s lost%s, %s of the time", units_ns(f->lost_ns, 0).text,
				 units_ns(f->present_ns, 0).text, where,
				 units_ratio((double)f->lost_ns / (double)f->present_ns, 0).text);
	else if (f->lost_ns)
		(void)buf_printf(&text, ": %s lost%s", units_ns(f->lost_ns, 0).text, where);
	(void)buf_append_text(&text, ".");
	if (is_late)
		(void)buf_printf(&text, " Time between calls is " ACCOUNT_JUDGED_FORMAT ".", EXAMINE_FROM_S);
	text_paragraph(out, style, "▲ ", buf_text(&text));
	text_paragraph(out, style, "  do: ", f->advice[0]);
}

/* Whether it is about what the delay is a part of. */
static bool is_of_delay(const Ingero__V1__Finding *f, const Ingero__V1__Delay *delay)
{
	if (f->pid != delay->operation->pid || !f->cause || strcmp(f->cause->takes, delay->takes) != 0)
		return false;
	return explain_places(f).between_ns || (f->op && strcmp(f->op, delay->operation->op) == 0);
}

static bool is_told_by_delay(const Ingero__V1__Finding *f, const Ingero__V1__Delay *delay)
{
	if (!delay || delay->operation->pid != f->pid)
		return false;
	return strcmp(delay->advice, f->advice[0]) == 0 || (f->op && *f->op && is_of_delay(f, delay));
}

/* What was found, worst first; the delay in the place of its finding, or else behind them. */
static int findings_mean(const Ingero__V1__Summary *summary, const struct text_style *style, struct buf *out)
{
	CLEANUP(freep) const Ingero__V1__Finding **list = trace_findings_sorted(summary);
	const Ingero__V1__Delay *delay = summary->delay && summary->delay->operation ? summary->delay : NULL;
	bool is_delay_told = !delay, is_late, is_late_told = false;
	unsigned int n = 0;
	int r = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < summary->n_findings && n < SENTENCES_MAX && r == 0; i++) {
		const Ingero__V1__Finding *f = list[i];

		if (!is_delay_told && is_of_delay(f, delay)) {
			r = delay_mean(summary, style, out);
			is_delay_told = true;
		}
		if (!f->n_advice || !f->cause || !f->title || !*f->title || is_told_by_delay(f, delay))
			continue;
		is_late = !is_late_told && is_judged_late(summary, f);
		is_late_told |= is_late;
		finding_mean(f, is_late, style, out);
		n++;
	}
	if (!is_delay_told && r == 0)
		r = delay_mean(summary, style, out);
	return r;
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

		if (op->errors && n_failed++ < SENTENCES_MAX) {
			(void)buf_printf(&text, "%s of %s of %s in %s (pid %u) failed", units_count(op->errors).text,
					 units_things(op->count, "call", "calls").text, op->op,
					 trace_process_name(op->process_name, op->program).text, op->pid);
			trace_error_append(op, &text);
			(void)buf_append_text(&text, ".");
		}
		if (op->abandoned && n_abandoned++ < SENTENCES_MAX)
			(void)buf_printf(&text, "%s%s of %s in %s (pid %u) never returned: exit, kill, exec or a jump.",
					 text.n ? " " : "", units_things(op->abandoned, "call", "calls").text, op->op,
					 trace_process_name(op->process_name, op->program).text, op->pid);
		if (text.n)
			text_paragraph(out, style, "▲ ", buf_text(&text));
	}
}

int trace_meaning_append(const Ingero__V1__Summary *summary, const char *scope, bool is_attached,
			 const struct text_style *style, struct buf *out)
{
	CLEANUP(trace_rows_done) struct trace_rows rows = TRACE_ROWS_INIT;
	size_t before;
	int r = trace_rows_build(summary, NULL, &rows);

	if (r < 0)
		return r;

	before = out->n;
	r = findings_mean(summary, style, out);
	if (r < 0)
		return r;
	in_flight_mean(summary, style, out);
	failures_append(&rows, style, out);
	if (out->n == before && summary->n_findings == 0)
		r = nothing_append(summary, &rows, scope, is_attached, style, out);
	if (r < 0)
		return r;
	if (!summary->n_accounts) /* they describe the same time again */
		trace_waits_meaning(out, style, summary);
	return out->failed ? -ENOMEM : 0;
}
