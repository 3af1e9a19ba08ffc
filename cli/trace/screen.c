// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/host.h"
#include "cli/trace/screen.h"

#include <errno.h>
#include <string.h>

#include "base/layer.h"
#include "libingero/render/user.h"
#include "libingero/answers/libraries.h"
#include "libingero/answers/trace/behind.h"
#include "libingero/answers/trace/finding.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/answers/trace/waits.h"
#include "libingero/render/units.h"

#define ROWS_DEFAULT 24u
#define BAR_CELLS 8
#define IN_FLIGHT_OLD_NS NSEC_PER_SEC
#define NOTES_MOST 3u /* lines of one kind below the table */

static void header_append(const struct trace_screen *screen, const struct trace_rows *rows,
			  const struct text_style *style, struct buf *out)
{
	const Ingero__V1__Summary *figures = screen->figures;
	char who[128] = "", cost[48] = "", elapsed[32] = "";
	const char *demo = screen->setting->demo;
	const char *parts[] = {
		"ingero", demo ? "demo" : screen->host, demo ? demo : screen->clock, who, elapsed, cost
	};

	if (rows->n_processes == 1)
		(void)snprintf(
			who, sizeof(who), "%s of %s",
			trace_process_label(rows->rows.items[0].op->process_name, rows->rows.items[0].op->pid, 22).text,
			user_name(rows->rows.items[0].op->uid).text);
	else if (rows->n_processes > 1)
		(void)snprintf(who, sizeof(who), "%s processes %s", units_count(rows->n_processes).text,
			       screen->setting->scope);
	if (figures)
		(void)snprintf(elapsed, sizeof(elapsed), "%s", units_ns(figures->window_ns, 0).text);
	if (figures && figures->cost && !demo)
		(void)snprintf(cost, sizeof(cost), "cost %s", units_ratio(figures->cost->probe_ratio, 0).text);
	text_parts(out, style, TEXT_BOLD, "  ", parts, ARRAY_SIZE(parts));
}

struct bar {
	char text[4 * BAR_CELLS + 1];
};

static struct bar bar_of(double ratio)
{
	struct bar bar = { .text = "" };
	int n = (int)(ratio * BAR_CELLS + 0.5);

	for (int i = 0; i < BAR_CELLS; i++)
		strcat(bar.text, i < n ? "▇" : "░");
	return bar;
}

static void machine_append(const struct machine_load *load, const struct text_style *style, struct buf *out)
{
	char cpu[96] = "", memory[96] = "", average[32] = "", pressure[48] = "";
	const char *parts[] = { cpu, memory, average, pressure };

	if (load->cpu_ratio >= 0)
		(void)snprintf(cpu, sizeof(cpu), "cpu %s %4s", bar_of(load->cpu_ratio).text,
			       units_ratio(load->cpu_ratio, UNITS_TIGHT).text);
	if (load->memory_ratio >= 0)
		(void)snprintf(memory, sizeof(memory), "mem %s %4s", bar_of(load->memory_ratio).text,
			       units_ratio(load->memory_ratio, UNITS_TIGHT).text);
	if (load->load >= 0)
		(void)snprintf(average, sizeof(average), "load %.1f", load->load);
	if (load->pressure_ratio >= 0)
		(void)snprintf(pressure, sizeof(pressure), "cpu pressure %s",
			       units_ratio(load->pressure_ratio, UNITS_TIGHT).text);
	text_parts(out, style, TEXT_PLAIN, "   ", parts, ARRAY_SIZE(parts));
}

/* Behind whom the marked rows wait: a line for each process and neighbour, most time first. */
static void behind_append(const struct trace_screen *screen, const struct trace_rows *rows,
			  const struct text_style *style, struct buf *out)
{
	uint32_t seen[NOTES_MOST] = { 0 };
	unsigned int n_seen = 0, n_lines = 0;

	for (size_t i = 0; i < rows->rows.n && n_seen < NOTES_MOST; i++) {
		const struct trace_row *row = &rows->rows.items[i];
		struct trace_behind behind;
		bool is_new = row->waits_for_cpu;

		for (unsigned int k = 0; k < n_seen; k++)
			is_new = is_new && seen[k] != row->op->pid;
		if (!is_new)
			continue;
		seen[n_seen++] = row->op->pid;
		behind = trace_behind_of(screen->figures, row->op->pid);
		for (size_t k = 0; k < TRACE_BEHIND_MOST && behind.most[k] && n_lines < NOTES_MOST; k++, n_lines++)
			text_line(out, style, TEXT_LOUD, "▲ %s%swaits for the CPU behind %s: %s",
				  rows->n_processes > 1
					  ? trace_process_label(row->op->process_name, row->op->pid, 16).text
					  : "",
				  rows->n_processes > 1 ? " " : "", trace_who(behind.most[k]).text,
				  units_part_ns(behind.most[k]->ns, behind.sum_ns).text);
	}
}

static void in_flight_append(const struct trace_screen *screen, const struct text_style *style, struct buf *out)
{
	const Ingero__V1__InFlight *shown[NOTES_MOST] = { NULL };
	size_t n_old = 0;

	for (size_t i = 0; i < screen->figures->n_in_flight; i++) {
		const Ingero__V1__InFlight *next = screen->figures->in_flight[i];

		if (next->age_ns < IN_FLIGHT_OLD_NS)
			continue;
		n_old++;
		for (size_t k = 0; k < NOTES_MOST && next; k++) {
			const Ingero__V1__InFlight *here = shown[k];

			if (!here || next->age_ns > here->age_ns) {
				shown[k] = next;
				next = here;
			}
		}
	}
	for (size_t k = 0; k < NOTES_MOST && shown[k]; k++) {
		struct blame_view blame = blame_view_of(shown[k]->blame_ns);
		enum blame_view_class class = blame_view_largest(&blame, 0);
		char so_far[48] = "";

		if (class != BLAME_VIEW_COUNT)
			(void)snprintf(so_far, sizeof(so_far), " (%s %s)", blame_view_label(class),
				       units_ratio((double)blame.ns[class] / (double)blame.sum_ns, UNITS_TIGHT).text);
		text_line(out, style, TEXT_LOUD, "▲ in progress for %s%s: %s, %s, thread %u",
			  units_ns(shown[k]->age_ns, 0).text, so_far, trace_op_label(shown[k]->op).text,
			  trace_process_label(shown[k]->process_name, shown[k]->pid, 16).text, shown[k]->tid);
	}
	if (n_old > NOTES_MOST)
		text_line(out, style, TEXT_DIM, "and %zu more calls in progress", n_old - NOTES_MOST);
}

static void libraries_wanted(struct buf *text)
{
	for (size_t i = 0; layer_library(i); i++)
		(void)buf_printf(text, "%s%s", i ? ", " : "", layer_library(i));
}

static void waiting_append(const struct trace_screen *screen, const struct text_style *style, struct buf *out)
{
	const struct trace_setting *setting = screen->setting;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (setting->demo) {
		(void)buf_append_text(&text, "the demo begins ...");
	} else if (!setting->start) {
		(void)buf_append_text(&text, "attaching ...");
	} else if (setting->n_libraries == 0) {
		(void)buf_printf(&text, "waiting for a process %s to load a CUDA library (", setting->scope);
		libraries_wanted(&text);
		(void)buf_append_text(&text, "); none is mapped now");
	} else {
		(void)buf_printf(&text, "waiting for the first CUDA call of a process %s; %zu %s attached (%s)",
				 setting->scope, setting->n_libraries,
				 setting->n_libraries == 1 ? "library is" : "libraries are", setting->start->back_end);
	}
	text_paragraph(out, style, "", buf_text(&text));
}

static unsigned int lines_count(struct buf *text)
{
	unsigned int n = 0;

	for (const char *p = buf_text(text); *p; p++)
		n += *p == '\n';
	return n;
}

/* Everything below the table; its height decides how many rows the table may have. */
static void notes_append(const struct trace_screen *screen, const struct trace_rows *rows,
			 const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf footer = BUF_INIT;

	if (screen->figures) {
		behind_append(screen, rows, style, out);
		in_flight_append(screen, style, out);
		trace_waits_append(out, style, screen->figures);
		host_life_append(out, style, screen->figures);
		trace_report_footer(screen->setting, screen->figures, &footer);
		(void)buf_append_text(&footer, " · ");
	}
	if (screen->setting->start)
		not_shown_append(out, style, "", screen->setting->start->not_shown,
				 screen->setting->start->n_not_shown);
	(void)buf_append_text(&footer, "q ends");
	text_paragraph(out, style, "", buf_text(&footer));
	if (screen->figures && trace_finding_worst(screen->figures))
		trace_finding_append_one(trace_finding_worst(screen->figures), trace_report_explain(screen->setting),
					 style, out);
	trace_report_problem(screen->figures ? screen->figures->store : NULL, style, out);
}

int trace_screen_append(const struct trace_screen *screen, const struct text_style *style, struct buf *out)
{
	CLEANUP(trace_rows_done) struct trace_rows rows = TRACE_ROWS_INIT;
	CLEANUP(buf_done) struct buf above = BUF_INIT;
	CLEANUP(buf_done) struct buf below = BUF_INIT;
	unsigned int room = style->rows ? style->rows : ROWS_DEFAULT, used;
	int r = 0;

	if (screen->figures)
		r = trace_rows_build(screen->figures, screen->previous, &rows);
	if (r < 0)
		return r;

	header_append(screen, &rows, style, &above);
	if (screen->machine)
		machine_append(screen->machine, style, &above);
	text_line(&above, style, TEXT_PLAIN, "%s", "");
	notes_append(screen, &rows, style, &below);
	(void)buf_append_text(out, buf_text(&above));

	if (rows.rows.n == 0) {
		waiting_append(screen, style, out);
		text_line(out, style, TEXT_PLAIN, "%s", "");
	} else {
		used = lines_count(&above) + lines_count(&below) + 1; /* the table's titles */
		r = trace_rows_append(&rows, style, room > used + 1 ? room - used : 2, out);
		if (r < 0)
			return r;
	}
	(void)buf_append_text(out, buf_text(&below));
	return out->failed || above.failed || below.failed ? -ENOMEM : 0;
}
