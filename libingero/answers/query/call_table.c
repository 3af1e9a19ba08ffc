// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/query/call_table.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/layer.h"
#include "libingero/answers/host.h"
#include "libingero/answers/time.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/render/blame.h"
#include "libingero/render/units.h"

#define PROCESS_COLUMNS 18u
#define OP_COLUMNS 32u
#define CUT_LEAST 8u /* columns of process and operation when they give way */
#define NOTE_TITLE "most of it"

/* The order in which parts give way: digits of the time, long notes, gaps, notes. */
static const struct {
	unsigned int clock;
	unsigned int note_most;
	unsigned int gap;
} plans[] = { { 15, 28, 2 }, { 12, 28, 2 }, { 12, 13, 2 }, { 8, 13, 1 }, { 12, 0, 2 }, { 8, 0, 1 } };

struct cells {
	char clock[32];
	struct trace_label process;
	struct trace_label op;
	struct units_text took;
	struct buf note;
	bool is_bad;
};

static void cells_done(struct cells *cells)
{
	buf_done(&cells->note);
}

/* Errors in the words of CUDA. */
static void error_append(const Ingero__V1__Event *event, struct buf *out)
{
	const char *name = layer_error_name(event->source, event->ret_code);

	if (name)
		(void)buf_append_text(out, name);
	else
		(void)buf_printf(out, "error %" PRId32, event->ret_code);
}

static void cells_fill(const Ingero__V1__Event *event, struct cells *cells)
{
	struct blame_view blame = blame_view_of(event->blame_ns);
	enum blame_view_class class = blame_view_largest(&blame, 0);
	bool is_host = host_is_source(event->source);

	(void)snprintf(cells->clock, sizeof(cells->clock), "%.15s",
		       clock_text_exact(event->timestamp_unix_ns).text + strlen("2026-01-31 "));
	cells->process = trace_process_label(event->process_name, event->program, event->pid, PROCESS_COLUMNS);
	cells->op = trace_op_label(event->op);
	cells->took = is_host ? (struct units_text){ .text = "-" } : units_ns(event->duration_ns, UNITS_TIGHT);
	cells->is_bad = is_host ? host_event_is_bad(event) : event->ret_code != 0;
	if (is_host)
		host_event_append(&cells->note, event);
	else if (event->ret_code)
		error_append(event, &cells->note);
	else if (class != BLAME_VIEW_COUNT)
		(void)buf_printf(&cells->note, "%s %s", blame_view_label(class),
				 units_ratio((double)blame.ns[class] / (double)blame.sum_ns, UNITS_TIGHT).text);
}

static unsigned int width_of(const struct call_table *t)
{
	return t->clock + t->process + t->op + t->took + t->note + t->id + (t->note ? 5 : 4) * t->gap;
}

void call_table_plan(struct call_table *table, const Ingero__V1__EventsReply *reply, const struct text_style *style)
{
	struct call_table t = { .process = text_columns("process"),
				.op = text_columns("operation"),
				.took = text_columns("took"),
				.id = text_columns("id") };
	unsigned int note = text_columns(NOTE_TITLE), over;

	for (size_t i = 0; i < reply->n_events; i++) {
		CLEANUP(cells_done) struct cells cells = { .note = BUF_INIT };

		cells_fill(reply->events[i], &cells);
		t.process = MAX(t.process, text_columns(cells.process.text));
		t.op = MAX(t.op, MIN(text_columns(cells.op.text), OP_COLUMNS));
		t.took = MAX(t.took, text_columns(cells.took.text));
		t.id = MAX(t.id, text_columns(reply->events[i]->id));
		note = MAX(note, text_columns(buf_text(&cells.note)));
	}
	for (size_t i = 0; i < ARRAY_SIZE(plans); i++) {
		t.clock = plans[i].clock;
		t.note = MIN(note, plans[i].note_most);
		t.gap = plans[i].gap;
		if (width_of(&t) <= style->columns)
			break;
	}
	over = width_of(&t) > style->columns ? width_of(&t) - style->columns : 0;
	if (over && t.process > CUT_LEAST) {
		unsigned int cut = MIN(over, t.process - CUT_LEAST);

		t.process -= cut;
		over -= cut;
	}
	t.op -= MIN(over, t.op - CUT_LEAST);
	*table = t;
}

static void cell_append(struct buf *out, const struct text_style *style, const char *text, unsigned int columns,
			unsigned int gap)
{
	unsigned int used = text_append(out, style, text, columns);

	text_spaces(out, columns - used + gap);
}

static void right_append(struct buf *out, const struct text_style *style, const char *text, unsigned int columns,
			 unsigned int gap)
{
	text_spaces(out, columns - MIN(text_columns(text), columns));
	(void)text_append(out, style, text, columns);
	text_spaces(out, gap);
}

void call_table_append_title(const struct call_table *t, const struct text_style *style, struct buf *out)
{
	text_tone(out, style, TEXT_BOLD);
	cell_append(out, style, "time", t->clock, t->gap);
	cell_append(out, style, "process", t->process, t->gap);
	cell_append(out, style, "operation", t->op, t->gap);
	right_append(out, style, "took", t->took, t->gap);
	if (t->note)
		cell_append(out, style, NOTE_TITLE, t->note, t->gap);
	(void)buf_append_text(out, "id");
	text_tone(out, style, TEXT_PLAIN);
	(void)buf_append_text(out, "\n");
}

void call_table_append(const struct call_table *t, const Ingero__V1__Event *event, const struct text_style *style,
		       struct buf *out)
{
	CLEANUP(cells_done) struct cells cells = { .note = BUF_INIT };
	unsigned int id = text_columns(event->id), longer = id > t->id ? id - t->id : 0, note;
	unsigned int op = t->op - MIN(longer, t->op - MIN(t->op, CUT_LEAST));
	struct trace_label process;
	bool is_below;

	cells_fill(event, &cells);
	note = text_columns(buf_text(&cells.note));
	process = trace_process_label(event->process_name, event->program, event->pid, t->process);
	is_below = note > t->note && (cells.is_bad || t->note || host_is_source(event->source));
	cells.clock[MIN(t->clock, sizeof(cells.clock) - 1)] = '\0'; /* digits beyond are left out */
	if (cells.is_bad)
		text_tone(out, style, TEXT_LOUD);
	cell_append(out, style, cells.clock, t->clock, t->gap);
	cell_append(out, style, process.text, t->process, t->gap);
	cell_append(out, style, cells.op.text, op, t->gap);
	right_append(out, style, cells.took.text, t->took, t->gap);
	if (t->note)
		cell_append(out, style, is_below ? "" : buf_text(&cells.note), t->note, t->gap);
	(void)buf_append_text(out, event->id);
	if (is_below && note) {
		(void)buf_append_text(out, "\n");
		text_spaces(out, t->clock + t->gap);
		(void)text_append(out, style, buf_text(&cells.note), style->columns - t->clock - t->gap);
	}
	if (cells.is_bad)
		text_tone(out, style, TEXT_PLAIN);
	(void)buf_append_text(out, "\n");
}
