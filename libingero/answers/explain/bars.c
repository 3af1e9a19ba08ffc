// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/explain/bars.h"

#include <string.h>

#include "libingero/render/units.h"

#define BAR_COLUMNS 10u
#define CLASS_COLUMNS 8u	/* "runnable" */
#define EXACT_CLASS_COLUMNS 12u /* "not measured" */
#define VALUE_COLUMNS 7u
#define EXACT_COLUMNS 18u /* "999 999 999 999 ns" */

struct line {
	const char *label;
	const char *note;
	uint64_t ns;
	enum text_tone tone;
};

static void bar_line_append(const struct explain_bars *bars, const struct line *line, uint64_t most_ns, bool is_first,
			    const struct text_style *style, struct buf *out)
{
	unsigned int columns = bars->is_exact ? EXACT_COLUMNS : VALUE_COLUMNS;
	unsigned int n = most_ns ? (unsigned int)((double)line->ns / (double)most_ns * BAR_COLUMNS + 0.5) : 0;
	char bar[BAR_COLUMNS * sizeof("▇")] = "";
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	char value[40];

	for (unsigned int i = 0; i < MAX(n, line->ns ? 1u : 0u); i++)
		strcat(bar, "▇");
	if (bars->is_exact)
		(void)snprintf(value, sizeof(value), "%s ns", units_count(line->ns).text);
	else
		(void)snprintf(value, sizeof(value), "%s", units_ns(line->ns, UNITS_TIGHT).text);

	(void)buf_append_text(&text, is_first ? "  where    " : "           ");
	text_spaces(&text, columns > text_columns(value) ? columns - text_columns(value) : 0);
	(void)buf_printf(&text, "%s  %-*s %s", value, (int)(bars->is_exact ? EXACT_CLASS_COLUMNS : CLASS_COLUMNS),
			 line->label, bar);
	if (line->note) {
		unsigned int used = text_columns(buf_text(&text)),
			     left = BAR_COLUMNS - MIN(text_columns(bar), BAR_COLUMNS);

		if (used + left + 2 + text_columns(line->note) <= style->columns) {
			text_spaces(&text, left + 2);
			(void)buf_append_text(&text, line->note);
		} else {
			text_line(out, style, line->tone, "%s", buf_text(&text));
			buf_consume(&text, text.n);
			text_spaces(&text, EXPLAIN_LABEL_COLUMNS + columns + 2);
			text_tone(out, style, line->tone);
			text_paragraph(out, style, buf_text(&text), line->note);
			text_tone(out, style, TEXT_PLAIN);
			return;
		}
	}
	text_line(out, style, line->tone, "%s", buf_text(&text));
}

void explain_bars_append(const struct explain_bars *bars, const struct text_style *style, struct buf *out)
{
	struct blame_view view = blame_view_of(bars->blame);
	uint64_t whole_ns = MAX(bars->whole_ns, view.sum_ns), most_ns = 0, shown_ns = 0;
	unsigned int shown = 0, n_shown = 0, n_left = 0;

	for (size_t i = 0; i < BLAME_VIEW_COUNT; i++) {
		most_ns = MAX(most_ns, view.ns[i]);
		n_left += view.ns[i] > 0;
	}
	if (whole_ns == 0 || !bars->blame)
		return;

	for (; n_shown < bars->most && n_left > 0; n_shown++, n_left--) {
		bool is_cause = n_shown == 0 && bars->first < BLAME_VIEW_COUNT && view.ns[bars->first] > 0;
		enum blame_view_class class = is_cause ? bars->first : blame_view_largest(&view, shown);
		struct line line = { .label = blame_view_label(class), .ns = view.ns[class] };

		if (is_cause) {
			line.note = bars->first_note;
			line.tone = TEXT_LOUD;
		}
		bar_line_append(bars, &line, most_ns, n_shown == 0, style, out);
		shown |= 1u << class;
		shown_ns += line.ns;
	}
	if (view.sum_ns > shown_ns) {
		struct line line = { .label = "the rest", .ns = view.sum_ns - shown_ns, .tone = TEXT_DIM };

		bar_line_append(bars, &line, most_ns, n_shown == 0, style, out);
		n_shown++;
	}
	if (whole_ns > view.sum_ns) {
		struct line line = { .label = "not measured", .ns = whole_ns - view.sum_ns, .tone = TEXT_DIM };

		bar_line_append(bars, &line, MAX(most_ns, line.ns), n_shown == 0, style, out);
	}
}
