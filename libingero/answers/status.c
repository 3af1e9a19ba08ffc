// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/status.h"

#include <string.h>

#include "libingero/answers/cost.h"
#include "libingero/answers/libraries.h"
#include "libingero/answers/lost.h"
#include "libingero/render/units.h"

#define FIRST "           " /* indent under the first word of each paragraph */
#define COVERAGE_ROWS 20    /* maximum number of processes; --json has more */

static void daemon_append(const Ingero__V1__StatusReply *status, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	(void)buf_printf(&text, "ingero-collectord %s, pid %u, for %s, kernel %s", status->version, status->pid,
			 units_ns(status->uptime_ns, 0).text, status->kernel);
	text_paragraph(out, style, "daemon     ", buf_text(&text));
	buf_done(&text);
	(void)buf_append_text(&text, status->back_end);
	if (status->back_end_reason && *status->back_end_reason)
		(void)buf_printf(&text, ": %s", status->back_end_reason);
	text_paragraph(out, style, "back end   ", buf_text(&text));
	if (status->closing_probes)
		text_paragraph(out, style, FIRST, closing_words(status->closing_probes).text);
}

static void families_append(const Ingero__V1__StatusReply *status, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	for (size_t i = 0; i < status->n_families; i++) {
		const Ingero__V1__ProbeFamily *family = status->families[i];

		(void)buf_printf(&text, "%s%s %s", i ? " · " : "", family->name, family->state);
		if (family->reason && *family->reason)
			(void)buf_printf(&text, " (%s)", family->reason);
	}
	text_paragraph(out, style, "probes     ", status->n_families ? buf_text(&text) : "none");
}

/*
 * The users that the configuration names, and the users whose calls are recorded now. They differ before the probes are
 * attached, and without probes.
 */
static void recorded_append(const Ingero__V1__StatusReply *status, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	const char *whom = status->record_whom ? status->record_whom : ""; /* an older daemon does not send it */

	if (*whom && strcmp(whom, status->recorded) != 0)
		(void)buf_printf(&text, "%s now; the configuration names %s", status->recorded, whom);
	else if (strcmp(status->recorded, "nobody") == 0)
		(void)buf_append_text(&text, "no users");
	else
		(void)buf_append_text(&text, status->recorded);
	text_paragraph(out, style, "recorded   ", buf_text(&text));
}

static void record_cpu_append(const Ingero__V1__StatusReply *status, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (!status->record_cpu_limit_ratio_told_case)
		return;
	if (status->record_cpu_ratio_told_case)
		(void)buf_printf(&text, "%s of one CPU for records of calls, ",
				 units_ratio(status->record_cpu_ratio, 0).text);
	(void)buf_printf(&text, "at most %s", units_ratio(status->record_cpu_limit_ratio, 0).text);
	if (!status->record_cpu_ratio_told_case)
		(void)buf_append_text(&text, " of one CPU for records of calls");
	(void)buf_append_text(&text, " (service.cpu)");
	text_paragraph(out, style, "record CPU ", buf_text(&text));
}

static bool is_any_traced(const Ingero__V1__StatusReply *status)
{
	for (size_t i = 0; i < status->n_cuda_processes; i++)
		if (status->cuda_processes[i]->is_traced)
			return true;
	return false;
}

static void coverages_append(const Ingero__V1__StatusReply *status, const struct text_style *style, struct buf *out)
{
	size_t n = MIN(status->n_cuda_processes, (size_t)COVERAGE_ROWS);
	size_t n_more = status->n_cuda_processes - n + status->more_cuda_processes;

	for (size_t i = 0; i < n; i++)
		coverage_append(out, style, i ? FIRST : "covered    ", status->cuda_processes[i]);
	if (n_more)
		text_line(out, style, TEXT_PLAIN, FIRST "and %zu more", n_more);
}

static void status_cost_append(const Ingero__V1__Cost *cost, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (!cost)
		return;
	(void)buf_printf(
		&text,
		"%s of the CPU time of the most affected thread, %s a call; daemon: %s of CPU time, %s, kernel side %s",
		cost_share(cost).text, units_ns(cost->per_call_ns, 0).text, units_ns(cost->daemon_cpu_ns, 0).text,
		units_bytes(cost->daemon_rss_bytes).text, units_bytes(cost->kernel_bytes).text);
	if (cost->budget_ratio_told_case)
		(void)buf_printf(&text, "; %s", cost_budget(cost).text);
	if (cost->bystander_calls)
		(void)buf_printf(&text, "; processes that are not traced paid for %s calls, %s",
				 units_count(cost->bystander_calls).text, units_ns(cost->bystander_ns, 0).text);
	text_paragraph(out, style, "cost       ", buf_text(&text));
}

static void other_daemons_append(uint32_t n, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (!n)
		return;
	(void)buf_printf(&text, "%s of Ingero %s, as of another 'sudo ingero trace'; what %s is not shown here",
			 units_things(n, "other daemon", "other daemons").text, n == 1 ? "runs" : "run",
			 n == 1 ? "it traces" : "they trace");
	text_paragraph(out, style, FIRST, buf_text(&text));
}

void status_append(const Ingero__V1__StatusReply *status, bool is_private, const struct text_style *style,
		   struct buf *out)
{
	CLEANUP(buf_done) struct buf lost = BUF_INIT;

	if (is_private)
		text_paragraph(
			out, style, "service    ",
			"not running; this is the status of a private daemon, like the one 'sudo ingero trace' starts");
	daemon_append(status, style, out);
	families_append(status, style, out);
	if (!is_private)
		recorded_append(status, style, out);
	record_cpu_append(status, style, out);
	text_line(out, style, TEXT_PLAIN, "watched    %s in your scope, %s",
		  units_things(status->processes, "process", "processes").text,
		  units_things(status->leases, "running trace", "running traces").text);
	other_daemons_append(status->other_daemons, style, out);
	for (size_t i = 0; i < status->n_libraries; i++)
		library_append(out, style, i ? FIRST : "libraries  ", status->libraries[i]);
	if (status->more_libraries)
		text_line(out, style, TEXT_PLAIN, FIRST "and %u more", status->more_libraries);
	if (status->n_libraries == 0)
		text_paragraph(out, style, "libraries  ",
			       is_any_traced(status) ? "none yet: libraries of traced processes are being read"
						     : "none: no traced process maps a CUDA library");
	coverages_append(status, style, out);
	not_shown_append(out, style, "not shown  ", status->not_shown, status->n_not_shown);
	status_cost_append(status->cost, style, out);
	lost_append(&lost, status->lost, NULL, /* is_whole= */ true);
	text_paragraph(out, style, "lost       ", buf_text(&lost));
}
