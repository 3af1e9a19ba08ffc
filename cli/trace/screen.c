// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/screen.h"

#include <errno.h>
#include <string.h>

#include "base/layer.h"
#include "libingero/answers/account/text.h"
#include "libingero/answers/cost.h"
#include "libingero/answers/host.h"
#include "libingero/answers/libraries.h"
#include "libingero/answers/trace/behind.h"
#include "libingero/answers/trace/finding.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/answers/trace/waits.h"
#include "libingero/render/units.h"
#include "libingero/render/user.h"

#define ROWS_DEFAULT 24u
#define BAR_CELLS 8
/* What goes on for so long is shown: within two seconds of its beginning, with one between frames. */
#define GOES_ON_NS (NSEC_PER_SEC * 3 / 4)
#define APART_NS (NSEC_PER_SEC / 2) /* figures of one moment are made one after the other */
#define NOTES_MOST 3u		    /* maximum lines of one kind below the table */

static void header_append(const struct trace_screen *screen, const struct trace_rows *rows,
			  const struct text_style *style, struct buf *out)
{
	const Ingero__V1__Summary *figures = screen->figures;
	char who[128] = "", elapsed[32] = "", span[32] = "";
	const char *demo = screen->setting->demo;
	struct cost_words cost = { .text = "" }, thinned = { .text = "" };
	const char *parts[] = { "ingero",
				demo ? "demo" : screen->host,
				demo ? demo : screen->clock,
				who,
				screen->live->is_paused ? "paused" : "",
				thinned.text, /* before what is less important, since figures are not all exact */
				elapsed,
				span,
				cost.text };

	if (rows->n_processes == 1)
		(void)snprintf(who, sizeof(who), "%s of %s",
			       trace_process_label(rows->rows.items[0].op->process_name,
						   rows->rows.items[0].op->program, rows->rows.items[0].op->pid, 22)
				       .text,
			       user_name(rows->rows.items[0].op->uid).text);
	else if (rows->n_processes > 1)
		(void)snprintf(who, sizeof(who), "%s processes %s", units_count(rows->n_processes).text,
			       screen->setting->scope);
	if (figures)
		(void)snprintf(elapsed, sizeof(elapsed), "%s", units_ns(figures->window_ns, 0).text);
	if (screen->recent && screen->live->is_total)
		(void)snprintf(span, sizeof(span), "since the start");
	else if (screen->recent)
		(void)snprintf(span, sizeof(span), "last %.0f s",
			       (double)screen->recent->window_ns / (double)NSEC_PER_SEC);
	if (figures && figures->cost && !demo)
		*(cost_is_thinned(figures->cost) ? &thinned : &cost) = cost_header(figures->cost);
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

static bool shows_recent(const struct trace_screen *screen)
{
	return screen->recent && !screen->live->is_total;
}

/* Whether an operation of the process waits for the CPU in these rows. */
static bool process_waits(const struct trace_rows *rows, uint32_t pid)
{
	for (size_t i = 0; i < rows->rows.n; i++)
		if (rows->rows.items[i].op->pid == pid && rows->rows.items[i].waits_for_cpu)
			return true;
	return false;
}

/* Rows since the start and of the last seconds, of one trace. */
struct frame {
	struct trace_rows totals, recent;
	struct trace_rows *shown;     /* one of the two */
	const struct trace_rows *now; /* where a cause still goes on; NULL: nowhere */
};

struct behind_lines {
	uint32_t seen[NOTES_MOST]; /* processes that have a line already */
	unsigned int n_seen, n;
};

static void behind_lines_append(struct behind_lines *lines, const Ingero__V1__Summary *figures,
				const struct trace_rows *rows, const Ingero__V1__Operation *op, bool is_over,
				const struct text_style *style, struct buf *out)
{
	struct trace_behind behind = trace_behind_of(figures, op->pid);
	bool is_one = rows->n_processes == 1;

	lines->seen[lines->n_seen++] = op->pid;
	for (size_t k = 0; k < TRACE_BEHIND_MOST && behind.most[k] && lines->n < NOTES_MOST; k++, lines->n++)
		text_line(out, style, is_over ? TEXT_PLAIN : TEXT_LOUD, "%s%s%s%s behind %s: %s", is_over ? "  " : "▲ ",
			  is_one ? "" : trace_process_label(op->process_name, op->program, op->pid, 16).text,
			  is_one ? "" : " ", is_over ? "waited for the CPU" : "waits for the CPU",
			  trace_who(behind.most[k]).text, units_part_ns(behind.most[k]->ns, behind.waited_ns).text);
}

/* Behind whom the marked rows wait: a line for each process and neighbour, most time first; then who waited before. */
static void screen_behind_append(const struct trace_screen *screen, const struct frame *frame,
				 const struct text_style *style, struct buf *out)
{
	const Ingero__V1__Summary *now = shows_recent(screen) ? screen->recent : screen->figures;
	struct behind_lines lines = { .n = 0 };

	for (int is_over = 0; is_over < 2; is_over++) {
		const struct trace_rows *rows = is_over ? &frame->totals : frame->shown;

		for (size_t i = 0; i < rows->rows.n && lines.n_seen < NOTES_MOST; i++) {
			const struct trace_row *row = &rows->rows.items[i];
			bool is_new = row->waits_for_cpu && process_waits(frame->now, row->op->pid) != is_over;

			for (unsigned int k = 0; k < lines.n_seen; k++)
				is_new = is_new && lines.seen[k] != row->op->pid;
			if (is_new)
				behind_lines_append(&lines, is_over ? screen->figures : now, rows, row->op, is_over,
						    style, out);
		}
	}
}

static void calls_open_append(const struct trace_screen *screen, const struct text_style *style, struct buf *out)
{
	const Ingero__V1__InFlight *shown[NOTES_MOST] = { NULL };
	size_t n_old = 0;

	for (size_t i = 0; i < screen->figures->n_in_flight; i++) {
		const Ingero__V1__InFlight *next = screen->figures->in_flight[i];

		if (next->age_ns < GOES_ON_NS)
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
			  trace_process_label(shown[k]->process_name, shown[k]->program, shown[k]->pid, 16).text,
			  shown[k]->tid);
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

/*
 * Where the wall clock went and what is waited for now, lines for each process; with an older daemon: what its main
 * thread waits for.
 */
static void screen_accounts_append(const Ingero__V1__Summary *figures, const struct text_style *style, struct buf *out)
{
	if (!figures->n_accounts) {
		trace_waits_append(out, style, figures);
		return;
	}
	(void)account_append_processes(figures->accounts, figures->n_accounts, NOTES_MOST, style, out);
	account_append_waiting(figures->accounts, figures->n_accounts, GOES_ON_NS, NOTES_MOST, style, out);
}

/* Everything below the table except findings and keys. */
static void notes_append(const struct trace_screen *screen, const struct frame *frame, const struct text_style *style,
			 struct buf *out)
{
	CLEANUP(buf_done) struct buf footer = BUF_INIT;

	if (screen->figures) {
		screen_behind_append(screen, frame, style, out);
		calls_open_append(screen, style, out);
		screen_accounts_append(shows_recent(screen) ? screen->recent : screen->figures, style, out);
		host_life_append(out, style, screen->figures);
		trace_report_footer(screen->setting, screen->figures, &footer);
	}
	if (screen->setting->start)
		not_shown_append(out, style, "", screen->setting->start->not_shown,
				 screen->setting->start->n_not_shown);
	if (footer.n)
		text_paragraph(out, style, "", buf_text(&footer));
	trace_report_problem(screen->figures ? screen->figures->store : NULL, style, out);
}

static void keys_append(const struct trace_screen *screen, const struct text_style *style, struct buf *out)
{
	const struct trace_live *live = screen->live;
	const char *span = live->is_total ? "t last seconds" : "t since the start";
	char sort[32], findings[32];
	const char *parts[] = { "q end", "? help", screen->recent ? span : "",
				sort,	 findings, live->is_paused ? "p go on" : "p pause" };

	(void)snprintf(sort, sizeof(sort), "s sort (%s)", trace_sort_name(live->order.sort));
	(void)snprintf(findings, sizeof(findings), "f findings (%zu)",
		       screen->figures ? screen->figures->n_findings : 0);
	text_parts(out, style, TEXT_DIM, "  ", parts, ARRAY_SIZE(parts));
}

/* Findings in as many lines as there are, worst first; those that find no room whole are counted. */
static void screen_findings_append(const struct trace_screen *screen, unsigned int room, const struct text_style *style,
				   struct buf *out)
{
	const char *explain = trace_report_explain(screen->setting);
	const Ingero__V1__Finding *worst = trace_finding_worst(screen->figures);
	CLEANUP(freep) const Ingero__V1__Finding **list = trace_findings_sorted_now(screen->figures);
	size_t n = list ? screen->figures->n_findings : 0, n_shown = 0;
	CLEANUP(buf_done) struct buf lines = BUF_INIT;

	text_line(&lines, style, TEXT_PLAIN, "%s", "");
	for (unsigned int used = 2; n_shown < n; n_shown++) { /* that line, and the count */
		CLEANUP(buf_done) struct buf next = BUF_INIT;

		trace_finding_append_now(list[n_shown], explain, style, &next);
		used += lines_count(&next);
		if (used > room + (n_shown + 1 == n))
			break;
		(void)buf_append_text(&lines, buf_text(&next));
	}
	if (n_shown < n)
		text_line(&lines, style, TEXT_DIM, "and %zu more: f", n - n_shown);
	if (n_shown)
		(void)buf_append_text(out, buf_text(&lines));
	else if (worst && room)
		trace_finding_append_one(worst, explain, style, out);
}

static void help_append(const struct text_style *style, struct buf *out)
{
	static const char *const keys[][2] = {
		{ "q  ", "end with the summary" },
		{ "t  ", "figures since the start, or again of the last seconds" },
		{ "s  ", "sort by time, calls, p99 or name; then rows keep their places" },
		{ "f  ", "findings and what to do about them; again: the table" },
		{ "p  ", "pause the screen; tracing goes on" },
		{ "?  ", "this help; again: the table" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		text_paragraph(out, style, keys[i][0], keys[i][1]);
	text_paragraph(out, style, "", "Arrow keys, j, k, Page Up and Page Down scroll.");
	text_line(out, style, TEXT_PLAIN, "%s", "");
	text_paragraph(out, style, "time   ",
		       "share of the time that is shown; of several threads together it can be more than 100 %");
	text_paragraph(out, style, "blame  ", "where the two largest parts of the operation's time went, in percent");
	text_paragraph(
		out, style, "60 %   ",
		"below the table: where the time of the process's main calling thread went, in and between calls, "
		"and what it waits for now");
	text_paragraph(out, style, "▲      ", "waits for the CPU now, a call in progress, or a finding that continues");
}

static void findings_page_append(const struct trace_screen *screen, const struct text_style *style, struct buf *out)
{
	CLEANUP(freep)
	const Ingero__V1__Finding **list = screen->figures ? trace_findings_sorted_now(screen->figures) : NULL;
	size_t n = list ? screen->figures->n_findings : 0;

	if (n == 0)
		text_paragraph(out, style, "", "No finding so far.");
	for (size_t i = 0; i < n; i++) {
		trace_finding_append_now(list[i], trace_report_explain(screen->setting), style, out);
		for (size_t k = 0; k < list[i]->n_advice; k++)
			text_paragraph(out, style, k ? "      " : "  do: ", list[i]->advice[k]);
	}
}

/* A page of text, from the scrolled line on. */
static void page_append(const struct trace_screen *screen, unsigned int room, const struct text_style *style,
			struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	unsigned int n;
	const char *line;

	if (screen->live->page == TRACE_PAGE_HELP)
		help_append(style, &text);
	else
		findings_page_append(screen, style, &text);
	n = lines_count(&text);
	screen->live->first = MIN(screen->live->first, n > room ? n - room : 0);
	line = buf_text(&text);
	for (unsigned int i = 0; i < screen->live->first + room && *line; i++) {
		size_t bytes = strcspn(line, "\n");

		if (i >= screen->live->first) {
			(void)buf_append(out, line, bytes);
			(void)buf_append(out, "\n", 1);
		}
		line += bytes + (line[bytes] != '\0');
	}
}

static int screen_table_append(const struct trace_screen *screen, struct frame *frame, unsigned int room,
			       const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf notes = BUF_INIT;
	bool has_finding = screen->figures && trace_finding_worst(screen->figures);
	unsigned int used, most;
	int r;

	notes_append(screen, frame, style, &notes);
	used = lines_count(&notes);
	for (size_t i = 0; i < frame->shown->rows.n; i++) { /* a finding that is over loses its mark */
		struct trace_row *row = &frame->shown->rows.items[i];

		row->waits_for_cpu = row->waits_for_cpu && process_waits(frame->now, row->op->pid);
	}
	if (frame->shown->rows.n == 0) {
		CLEANUP(buf_done) struct buf waiting = BUF_INIT;

		waiting_append(screen, style, &waiting);
		used += lines_count(&waiting) + 1;
		text_line(&waiting, style, TEXT_PLAIN, "%s", "");
		(void)buf_append_text(out, buf_text(&waiting));
	} else {
		struct trace_rows rows = *frame->shown; /* the frame owns the items */
		size_t n = rows.rows.n;

		used += 1; /* titles */
		most = room > used + has_finding + 2 ? room - used - has_finding : 2;
		screen->live->first = n > most ? MIN(screen->live->first, n - most + 1) : 0;
		rows.first = screen->live->first;
		rows.is_scrolled = true;
		r = trace_rows_append(&rows, style, most, out);
		if (r < 0)
			return r;
		used += (unsigned int)MIN(n, (size_t)most);
	}
	(void)buf_append_text(out, buf_text(&notes));
	if (screen->figures)
		screen_findings_append(screen, room > used ? room - used : 0, style, out);
	return notes.failed ? -ENOMEM : 0;
}

/* Return: 0 or -ENOMEM */
static int frame_build(const struct trace_screen *screen, struct frame *frame)
{
	bool keeps;
	int r;

	frame->shown = shows_recent(screen) ? &frame->recent : &frame->totals;
	frame->now = screen->recent ? &frame->recent : &frame->totals;
	if (!screen->figures)
		return 0;
	r = trace_rows_build(screen->figures, screen->recent ? NULL : screen->previous, &frame->totals);
	if (r == 0 && screen->recent)
		r = trace_rows_build(screen->recent, NULL, &frame->recent);
	if (r < 0)
		return r;
	/* While the window grows, so does the data for its order. */
	keeps = screen->recent && screen->recent->window_ns + APART_NS < screen->figures->window_ns;
	return trace_order_apply(&screen->live->order, frame->shown, screen->figures, keeps);
}

int trace_screen_append(const struct trace_screen *screen, const struct text_style *style, struct buf *out)
{
	struct frame frame = { .totals = TRACE_ROWS_INIT, .recent = TRACE_ROWS_INIT };
	CLEANUP(buf_done) struct buf above = BUF_INIT;
	unsigned int room = style->rows ? style->rows : ROWS_DEFAULT, used;
	int r = frame_build(screen, &frame);

	if (r == 0) {
		header_append(screen, frame.shown, style, &above);
		if (screen->machine)
			machine_append(screen->machine, style, &above);
		text_line(&above, style, TEXT_PLAIN, "%s", "");
		(void)buf_append_text(out, buf_text(&above));
		used = lines_count(&above) + 1; /* the keys */
		room = room > used ? room - used : 0;
		if (screen->live->page == TRACE_PAGE_TABLE)
			r = screen_table_append(screen, &frame, room, style, out);
		else
			page_append(screen, room, style, out);
		keys_append(screen, style, out);
	}
	trace_rows_done(&frame.totals);
	trace_rows_done(&frame.recent);
	return r < 0 ? r : out->failed || above.failed ? -ENOMEM : 0;
}
