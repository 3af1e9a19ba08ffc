// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/trace/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "libingero/render/user.h"
#include "libingero/answers/account/text.h"
#include "libingero/answers/cost.h"
#include "libingero/answers/host.h"
#include "libingero/answers/libraries.h"
#include "libingero/answers/lost.h"
#include "libingero/answers/trace/finding.h"
#include "libingero/answers/trace/meaning.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/answers/trace/waits.h"
#include "libingero/render/units.h"

#define LINES_AROUND 14u /* usual lines of title, losses and meaning */
#define ROWS_LEAST 10u
#define LATES_MOST ((size_t)3) /* names of libraries that were attached late */
#define LIBRARIES_MOST                                                                                                 \
	((size_t)6) /* maximum lines before the first figures: a service has attached the libraries of all users */

static bool trace_report_is_kept(const Ingero__V1__Store *store)
{
	return !store || (store->path && *store->path);
}

const char *trace_report_explain(const struct trace_setting *setting)
{
	bool is_kept = !setting->start || trace_report_is_kept(setting->start->store);

	return is_kept ? setting->explain : NULL;
}

/* The daemon's sentence, which names the way out. */
void trace_report_problem(const Ingero__V1__Store *store, const struct text_style *style, struct buf *out)
{
	if (!store || !store->problem || !*store->problem)
		return;
	text_tone(out, style, TEXT_LOUD);
	text_paragraph(out, style, trace_report_is_kept(store) ? "▲ " : "▲ nothing is kept: ", store->problem);
	text_tone(out, style, TEXT_PLAIN);
}

/* The command that queries the recording. */
static void where_append(const struct trace_setting *setting, const Ingero__V1__Store *store,
			 const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (!store || !trace_report_is_kept(store) || setting->demo || !setting->explain)
		return;
	(void)buf_printf(&text, "saved to %s; run '%s'", store->path, setting->explain);
	text_paragraph(out, style, "", buf_text(&text));
}

static bool is_store_told(const struct trace_setting *setting, const Ingero__V1__Store *store)
{
	const Ingero__V1__Store *told = setting->start ? setting->start->store : NULL;

	return setting->is_start_shown && told && store && told->problem && store->problem &&
	       strcmp(told->problem, store->problem) == 0;
}

/* Appends libraries that are traced, or those that are not, at most so many. Return: number of lines */
static size_t libraries_append(const Ingero__V1__Start *start, bool are_traced, size_t most,
			       const struct text_style *style, struct buf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < start->n_libraries && n < most; i++) {
		const Ingero__V1__Library *library = start->libraries[i];

		if (are_traced != (library->reason && *library->reason)) {
			library_append(out, style, "  ", library);
			n++;
		}
	}
	return n;
}

void trace_report_start(const struct trace_setting *setting, const struct text_style *style, struct buf *out)
{
	const Ingero__V1__Start *start = setting->start;
	bool has_reason = start->back_end_reason && *start->back_end_reason;
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	size_t n_told, n_more;

	if (setting->demo) {
		(void)buf_printf(&text,
				 "demo %s: a simulated process, played through all of ingero; no GPU and no "
				 "probe is used · Ctrl-C ends with the summary",
				 setting->demo);
		text_paragraph(out, style, "", buf_text(&text));
		trace_report_problem(start->store, style, out);
		return;
	}
	(void)buf_printf(&text, "watching processes %s · back end %s%s%s%s · Ctrl-C ends with the summary",
			 setting->scope, start->back_end, has_reason ? " (" : "",
			 has_reason ? start->back_end_reason : "", has_reason ? ")" : "");
	text_paragraph(out, style, "", buf_text(&text));
	if (start->closing_probes)
		text_paragraph(out, style, "  ", closing_words(start->closing_probes).text);
	n_told = libraries_append(start, /* are_traced= */ false, LIBRARIES_MOST, style, out);
	n_told += libraries_append(start, /* are_traced= */ true, LIBRARIES_MOST - n_told, style, out);
	n_more = start->n_libraries - n_told + start->more_libraries;
	if (n_more)
		text_line(out, style, TEXT_PLAIN, "  and %s; 'ingero status' and --json list them",
			  units_things(n_more, "more library", "more libraries").text);
	if (start->n_libraries == 0)
		text_paragraph(out, style, "  ", "no process maps a CUDA library yet");
	not_shown_append(out, style, "  ", start->not_shown, start->n_not_shown);
	trace_report_problem(start->store, style, out);
}

static uint64_t late_before_ns(const Ingero__V1__Start *start, const Ingero__V1__Library *library)
{
	for (size_t i = 0; start && i < start->n_libraries; i++)
		if (strcmp(start->libraries[i]->path, library->path) == 0)
			return start->libraries[i]->late_ns;
	return 0;
}

/*
 * Libraries that were late though this trace started their program: "libnvshmem_host.so.3, for 16 ms". A service has
 * those of earlier traces, too.
 */
static void lates_append(const Ingero__V1__Start *start, const Ingero__V1__Summary *summary, struct buf *text)
{
	size_t n = 0;

	if (start && start->more_libraries)
		return;
	for (size_t i = 0; i < summary->n_libraries; i++) {
		const Ingero__V1__Library *library = summary->libraries[i];

		if (library->late_ns <= late_before_ns(start, library) || n++ >= LATES_MOST)
			continue;
		(void)buf_printf(text, "%s%s, for %s", n > 1 ? "; " : "", library_name(library),
				 units_ns(library->late_ns, 0).text);
	}
	if (n > LATES_MOST)
		(void)buf_printf(text, "; %zu more", n - LATES_MOST);
}

/* Number of calls that did not get into the file since the trace began. */
static uint64_t not_written(const struct trace_setting *setting, const Ingero__V1__Summary *summary)
{
	const Ingero__V1__Store *before = setting->start ? setting->start->store : NULL;

	if (!summary->store)
		return 0;
	return summary->store->not_kept - (before ? MIN(before->not_kept, summary->store->not_kept) : 0);
}

/* "~: estimated, within 4.1 %" of the estimate with the largest error. */
static void estimates_append(const Ingero__V1__Summary *summary, struct buf *out)
{
	double largest = 0;
	size_t n = 0, n_known = 0;

	for (size_t i = 0; i < summary->n_operations; i++) {
		const Ingero__V1__Operation *op = summary->operations[i];

		if (!trace_op_is_estimate(op) || host_is_source(op->source))
			continue;
		n++;
		if (op->count_error_told_case != INGERO__V1__OPERATION__COUNT_ERROR_TOLD_COUNT_ERROR)
			continue;
		n_known++;
		largest = MAX(largest, op->count_error);
	}
	if (n_known)
		(void)buf_printf(out, " · ~ estimated, within %s", units_ratio(largest, 0).text);
	if (n > n_known)
		(void)buf_printf(out, "%s, error not known",
				 n_known ? "; of some operations" : " · ~ some calls left out");
}

void trace_report_footer(const struct trace_setting *setting, const Ingero__V1__Summary *summary, struct buf *out)
{
	CLEANUP(buf_done) struct buf lates = BUF_INIT;
	uint64_t untimed = 0, n_missing = not_written(setting, summary);

	for (size_t i = 0; i < summary->n_operations; i++)
		untimed += host_is_source(summary->operations[i]->source) ? 0 : summary->operations[i]->untimed;
	if (setting->has_program)
		lates_append(setting->start, summary, &lates);
	lost_append(out, summary->lost, setting->has_program ? buf_text(&lates) : NULL, n_missing == 0);
	if (n_missing)
		(void)buf_printf(out, " · %s not written: 'ingero explain' says why",
				 units_things(n_missing, "single call", "single calls").text);
	if (summary->n_libraries)
		not_traced_append(out, summary->libraries, summary->n_libraries);
	else if (setting->start) /* periodic figures have none */
		not_traced_append(out, setting->start->libraries, setting->start->n_libraries);
	estimates_append(summary, out);
	if (untimed)
		(void)buf_printf(out, " · %s counted but not timed", units_count(untimed).text);
	if (trace_report_is_kept(summary->store))
		(void)buf_printf(out, " · kept: %s", setting->kept);
	else
		(void)buf_append_text(out, " · nothing is kept");
	if (setting->demo)
		(void)buf_append_text(out, " · a demo: simulated data");
}

static void title_append(const struct trace_setting *setting, const Ingero__V1__Summary *summary,
			 const struct trace_rows *rows, const struct text_style *style, struct buf *out)
{
	char who[128];

	if (rows->n_processes == 1)
		(void)snprintf(who, sizeof(who), "%s of %s",
			       trace_process_label(rows->rows.items[0].op->process_name,
						   rows->rows.items[0].op->program, rows->rows.items[0].op->pid, 24)
				       .text,
			       user_name(rows->rows.items[0].op->uid).text);
	else
		(void)snprintf(who, sizeof(who), "%s processes %s", units_count(rows->n_processes).text,
			       setting->scope);
	if (setting->demo)
		text_line(out, style, TEXT_BOLD, "demo %s: %s, played for %s", setting->demo, who,
			  units_ns(summary->window_ns, 0).text);
	else
		text_line(out, style, TEXT_BOLD, "%s, watched for %s", who, units_ns(summary->window_ns, 0).text);
}

static void cost_append(const struct trace_setting *setting, const Ingero__V1__Summary *summary,
			const struct text_style *style, struct buf *out)
{
	const Ingero__V1__Cost *cost = summary->cost;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (cost) {
		(void)buf_printf(&text, "tracing took %s of the CPU time of the most affected thread",
				 cost_share(cost).text);
		if (cost->budget_ratio_told_case)
			(void)buf_printf(&text, " · %s", cost_budget(cost).text);
		if (cost->bystander_calls)
			(void)buf_printf(&text, " · processes not traced paid for %s calls, %s",
					 units_count(cost->bystander_calls).text, units_ns(cost->bystander_ns, 0).text);
	}
	for (size_t i = 0; setting->start && i < setting->start->n_not_measured; i++)
		(void)buf_printf(&text, "%s%s",
				 i	  ? ", "
				 : text.n ? " · not measurable on this kernel: "
					  : "not measurable on this kernel: ",
				 setting->start->not_measured[i]);
	if (text.n)
		text_paragraph(out, style, "", buf_text(&text));
}

/* Where the wall clock of the process went; with several processes, a line each. */
static int summary_accounts_append(const Ingero__V1__Summary *summary, const struct text_style *style, struct buf *out)
{
	size_t n_driving = 0;
	int r;

	for (size_t i = 0; i < summary->n_accounts; i++)
		n_driving += summary->accounts[i]->is_driving;
	if (n_driving == 0) {
		trace_waits_append(out, style, summary);
		return 0;
	}
	r = n_driving == 1
		    ? account_append(summary->accounts[0], ACCOUNT_LINES_MOST, style, out)
		    : account_append_processes(summary->accounts, summary->n_accounts, ACCOUNT_LINES_MOST, style, out);
	text_line(out, style, TEXT_PLAIN, "%s", "");
	return r;
}

/* On a terminal the table leaves room for the text below; elsewhere it is complete. */
static size_t rows_most(const struct text_style *style, const Ingero__V1__Summary *summary)
{
	unsigned int around = LINES_AROUND + (summary->n_accounts ? ACCOUNT_LINES_MOST + 2 : 0);

	if (style->rows == 0)
		return SIZE_MAX;
	return style->rows > ROWS_LEAST + around ? style->rows - around : ROWS_LEAST;
}

int trace_report_summary(const struct trace_setting *setting, const Ingero__V1__Summary *summary, bool is_cut,
			 const struct text_style *style, struct buf *out)
{
	CLEANUP(trace_rows_done) struct trace_rows rows = TRACE_ROWS_INIT;
	CLEANUP(buf_done) struct buf footer = BUF_INIT;
	CLEANUP(buf_done) struct buf meaning = BUF_INIT;
	int r = trace_rows_build(summary, NULL, &rows);

	if (r < 0)
		return r;

	if (is_cut)
		text_paragraph(out, style, "",
			       "The daemon ended early: these are the last figures that arrived, not the final ones.");
	if (setting->told && setting->told->findings.n)
		text_line(out, style, TEXT_PLAIN, "%s", "");
	if (!setting->demo)
		trace_findings_append(summary, setting->told, trace_report_explain(setting), style, out);
	r = trace_meaning_append(summary, setting->scope, !setting->has_program && !setting->demo, style, &meaning);
	if (r < 0)
		return r;
	if (rows.rows.n > 0) {
		title_append(setting, summary, &rows, style, out);
		text_line(out, style, TEXT_PLAIN, "%s", "");
		r = trace_rows_append(&rows, style, rows_most(style, summary), out);
		if (r < 0)
			return r;
		text_line(out, style, TEXT_PLAIN, "%s", "");
		r = summary_accounts_append(summary, style, out);
		if (r < 0)
			return r;
		host_life_append(out, style, summary);
		trace_report_footer(setting, summary, &footer);
		text_paragraph(out, style, "", buf_text(&footer));
		if (!setting->demo)
			cost_append(setting, summary, style, out);
	}
	if (!is_store_told(setting, summary->store))
		trace_report_problem(summary->store, style, out);
	if (setting->demo) /* explain shows it */
		return out->failed ? -ENOMEM : 0;
	if (rows.rows.n > 0) {
		if (meaning.n) {
			text_line(out, style, TEXT_PLAIN, "%s", "");
			text_line(out, style, TEXT_BOLD, "what it means");
		}
	}
	(void)buf_append_text(out, buf_text(&meaning));
	if (!setting->names_processes || rows.n_calls == 0)
		not_shown_append(out, style, "", summary->not_shown, summary->n_not_shown);
	if (rows.rows.n > 0)
		where_append(setting, summary->store, style, out);
	return out->failed ? -ENOMEM : 0;
}
