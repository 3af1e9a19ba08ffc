// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/progress.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "libingero/answers/account/text.h"
#include "libingero/answers/trace/behind.h"
#include "libingero/answers/trace/delta.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/render/units.h"

#define GAP "  "
#define FILE_COLUMNS 160u /* not cut at a terminal's width: one line is one record for a search */
/* Figures come by a timer: figures this little early also end the interval. */
#define EARLY_PART 20u

static uint64_t early_ns(const struct trace_progress *p)
{
	return p->pace.interval_ns / EARLY_PART;
}

static uint64_t due_ns(const struct trace_progress *p)
{
	return p->due_ns ? p->due_ns : p->pace.interval_ns;
}

bool trace_progress_is_due(const struct trace_progress *p, uint64_t window_ns)
{
	return p->pace.interval_ns && window_ns + early_ns(p) >= due_ns(p);
}

static struct trace_pulse pulse_of(const struct trace_rows *rows, uint64_t window_ns)
{
	double seconds = (double)window_ns / (double)NSEC_PER_SEC;
	struct trace_pulse pulse = { .processes = (double)rows->n_processes };

	if (window_ns == 0 || rows->n_calls == 0)
		return pulse;
	pulse.calls_per_s = (double)rows->n_calls / seconds;
	pulse.failed_per_s = (double)rows->n_errors / seconds;
	pulse.percent = 100 * rows->rows.items[0].share;
	return pulse;
}

/* As in Ingero: the percentages of small numbers are ignored. */
static bool is_beyond(double now, double before, uint64_t percent)
{
	return fabs(now - before) > fmax(fabs(before), 1) * (double)percent / 100;
}

static bool has_changed(const struct trace_pulse *now, const struct trace_pulse *before, uint64_t percent)
{
	return is_beyond(now->calls_per_s, before->calls_per_s, percent) ||
	       is_beyond(now->failed_per_s, before->failed_per_s, percent) ||
	       is_beyond(now->percent, before->percent, percent) ||
	       is_beyond(now->processes, before->processes, percent);
}

static bool is_left_out(const struct trace_progress *p, const struct trace_pulse *now, uint64_t window_ns)
{
	bool is_idle = now->calls_per_s <= 0, was_idle = p->shown.calls_per_s <= 0;

	if (!p->shown_ns)
		return false;
	if (p->pace.heartbeat_ns && window_ns - p->shown_ns + early_ns(p) >= p->pace.heartbeat_ns)
		return false;
	if (is_idle || was_idle)
		return is_idle && was_idle;
	return p->pace.deadband_percent && !has_changed(now, &p->shown, p->pace.deadband_percent);
}

struct part {
	char text[192];
};

static struct part clock_part(uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / NSEC_PER_SEC);
	struct part part = { .text = "" };
	struct tm local;

	if (localtime_r(&seconds, &local))
		(void)strftime(part.text, sizeof(part.text), "%H:%M:%S", &local);
	return part;
}

static void busy_append(const struct trace_delta *delta, const struct trace_rows *rows, const struct account_most *idle,
			const char *const *head, const struct text_style *style, struct buf *out)
{
	const struct trace_row *top = &rows->rows.items[0];
	struct part who, rate, failed = { .text = "" }, most, behind = { .text = "" }, wait = { .text = "" };
	double seconds = (double)delta->view.window_ns / (double)NSEC_PER_SEC;
	struct trace_behind who_ran = trace_behind_of(&delta->view, top->op->pid);
	CLEANUP(buf_done) struct buf blame = BUF_INIT;

	if (rows->n_processes == 1)
		(void)snprintf(who.text, sizeof(who.text), "%s",
			       trace_process_label(top->op->process_name, top->op->program, top->op->pid, 22).text);
	else
		(void)snprintf(who.text, sizeof(who.text), "%s processes", units_count(rows->n_processes).text);
	(void)snprintf(rate.text, sizeof(rate.text), "calls %s", units_rate((double)rows->n_calls / seconds).text);
	if (rows->n_errors)
		(void)snprintf(failed.text, sizeof(failed.text), "failed %s", units_count(rows->n_errors).text);
	if (idle->ratio > top->share)
		(void)snprintf(wait.text, sizeof(wait.text), "%s%s %s", idle->is_loss ? "▲ " : "", idle->text,
			       units_ratio(idle->ratio, 0).text);
	(void)snprintf(most.text, sizeof(most.text), "%s%s %s", top->waits_for_cpu ? "▲ " : "",
		       trace_op_label(top->op->op).text, units_ratio(top->share, 0).text);
	if (top->waits_for_cpu && who_ran.most[0])
		(void)snprintf(behind.text, sizeof(behind.text), "behind %s", trace_who(who_ran.most[0]).text);
	trace_blame_append(&blame, &top->blame);
	text_parts(out, style, TEXT_PLAIN, GAP,
		   (const char *const[]){ head[0], head[1], who.text, rate.text, failed.text, wait.text, most.text,
					  behind.text, buf_text(&blame) },
		   9);
}

/* The longest call in progress, if it lasted the whole interval: the program may hang in it. */
static const Ingero__V1__InFlight *stuck_find(const Ingero__V1__Summary *now, uint64_t interval_ns)
{
	const Ingero__V1__InFlight *found = NULL;

	for (size_t i = 0; i < now->n_in_flight; i++)
		if (now->in_flight[i]->age_ns >= interval_ns && (!found || now->in_flight[i]->age_ns > found->age_ns))
			found = now->in_flight[i];
	return found;
}

static void idle_append(const struct trace_progress *p, const struct trace_delta *delta, uint64_t window_ns,
			const char *const *head, const struct text_style *style, struct buf *out)
{
	const Ingero__V1__Summary *now = &delta->view;
	const Ingero__V1__InFlight *stuck = stuck_find(now, now->window_ns);
	struct part quiet, call = { .text = "" };
	const char *parts[] = { head[0], head[1], quiet.text, call.text };

	(void)snprintf(quiet.text, sizeof(quiet.text), p->called_ns ? "no calls for %s" : "no calls yet, after %s",
		       units_ns(window_ns - p->called_ns, 0).text);
	if (stuck)
		(void)snprintf(call.text, sizeof(call.text), "%s in %s for %s",
			       trace_process_label(stuck->process_name, stuck->program, stuck->pid, 22).text,
			       trace_op_label(stuck->op).text, units_ns(stuck->age_ns, 0).text);
	text_parts(out, style, TEXT_PLAIN, GAP, parts, ARRAY_SIZE(parts));
}

int trace_progress_append(struct trace_progress *p, const Ingero__V1__Summary *now, const Ingero__V1__Summary *before,
			  const char *lead, const struct text_style *style, struct buf *out)
{
	CLEANUP(trace_delta_done) struct trace_delta delta = TRACE_DELTA_INIT;
	CLEANUP(trace_rows_done) struct trace_rows rows = TRACE_ROWS_INIT;
	struct text_style line = *style;
	struct part clock = clock_part(now->timestamp_unix_ns);
	const char *head[] = { lead, clock.text };
	struct account_most idle;
	struct trace_pulse pulse;
	int r = trace_delta_build(now, before, &delta);

	if (r == 0)
		r = trace_rows_build(&delta.view, NULL, &rows);
	if (r == 0)
		r = account_most_idle(now->accounts, now->n_accounts, before ? before->accounts : NULL,
				      before ? before->n_accounts : 0, &idle);
	if (r < 0)
		return r;

	if (line.rows == 0)
		line.columns = MAX(line.columns, FILE_COLUMNS);
	pulse = pulse_of(&rows, delta.view.window_ns);
	if (!is_left_out(p, &pulse, now->window_ns)) {
		if (rows.n_calls)
			busy_append(&delta, &rows, &idle, head, &line, out);
		else
			idle_append(p, &delta, now->window_ns, head, &line, out);
		p->shown = pulse;
		p->shown_ns = now->window_ns;
	}
	if (rows.n_calls)
		p->called_ns = now->window_ns;
	/* Intervals stay on the grid, however late the figures came. */
	p->due_ns = (now->window_ns + early_ns(p)) / p->pace.interval_ns * p->pace.interval_ns + p->pace.interval_ns;
	return out->failed ? -ENOMEM : 0;
}
