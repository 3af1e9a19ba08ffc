// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/trace/waits.h"

#include <string.h>

#include "libingero/answers/host.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/render/blame.h"
#include "libingero/render/units.h"

#define LEAST_RATIO                                                                                                    \
	0.01 /* share of the time; below it is the scheduler's usual noise (guess: revisit with real traces) */
#define CLASS_RATIO 0.005 /* share of the time; less is rounded to nothing */

static double span_ratio(uint64_t ns, uint64_t span_ns)
{
	return span_ns ? (double)ns / (double)span_ns : 0;
}

static const Ingero__V1__Operation *most_of(const Ingero__V1__Summary *summary, const char *name)
{
	const Ingero__V1__Operation *most = NULL;

	for (size_t i = 0; i < summary->n_operations; i++) {
		const Ingero__V1__Operation *op = summary->operations[i];

		if (host_is_source(op->source) && strcmp(op->op, name) == 0 && (!most || op->total_ns > most->total_ns))
			most = op;
	}
	return most;
}

/* Appends the classes in order of their time: "other 88 %, lock 2 %". */
static void classes_append(struct buf *text, const Ingero__V1__Operation *op, uint64_t span_ns)
{
	struct blame_view blame = blame_view_of(op->blame_ns);
	unsigned int except = 1u << BLAME_VIEW_ON_CPU;
	bool is_first = true;

	for (;;) {
		enum blame_view_class class = blame_view_largest(&blame, except);

		if (class == BLAME_VIEW_COUNT || span_ratio(blame.ns[class], span_ns) < CLASS_RATIO)
			break;
		(void)buf_printf(text, "%s%s %s", is_first ? " (" : ", ", blame_view_label(class),
				 units_ratio(span_ratio(blame.ns[class], span_ns), UNITS_TIGHT).text);
		except |= 1u << class;
		is_first = false;
	}
	if (!is_first)
		(void)buf_append_text(text, ")");
}

/* Names the main thread if it makes calls; otherwise the sum of all other threads, which may exceed the time. */
void trace_waits_append(struct buf *out, const struct text_style *style, const Ingero__V1__Summary *summary)
{
	const Ingero__V1__Operation *op = most_of(summary, "wait_main");
	const char *who = "the main thread", *together = "";
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (!op) {
		op = most_of(summary, "wait_threads");
		who = "threads";
		together = " together";
	}
	if (!op || span_ratio(op->total_ns, summary->window_ns) < LEAST_RATIO)
		return;
	(void)buf_printf(&text, "%s of %s %u waited %s%s, %s of the time", who,
			 trace_process_name(op->process_name, op->program).text, op->pid,
			 units_ns(op->total_ns, 0).text, together,
			 units_ratio(span_ratio(op->total_ns, summary->window_ns), UNITS_TIGHT).text);
	classes_append(&text, op, summary->window_ns);
	text_paragraph(out, style, "between calls: ", buf_text(&text));
}

static void trace_wait_tell(struct buf *out, const struct text_style *style, const Ingero__V1__Operation *op,
			    uint64_t span_ns)
{
	struct blame_view blame = blame_view_of(op->blame_ns);
	enum blame_view_class class = blame_view_largest(&blame, 1u << BLAME_VIEW_ON_CPU);
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	(void)buf_printf(&text, "The main thread of %s (pid %u) was in no CUDA call and waited for %s of %s",
			 trace_process_name(op->process_name, op->program).text, op->pid,
			 units_ns(op->total_ns, 0).text, units_ns(span_ns, 0).text);
	if (class != BLAME_VIEW_COUNT)
		(void)buf_printf(&text, ", %s of it %s",
				 units_ratio(span_ratio(blame.ns[class], op->total_ns), UNITS_TIGHT).text,
				 blame_view_phrase(class));
	if (op->count == 1)
		(void)buf_append_text(&text, ", at once");
	else
		(void)buf_printf(&text, ": %s times, half of them longer than %s", units_count(op->count).text,
				 units_ns(op->p50_ns, 0).text);
	(void)buf_append_text(&text, "; " TRACE_WAITS_MEANING ".");
	text_paragraph(out, style, "", buf_text(&text));
}

void trace_waits_meaning(struct buf *out, const struct text_style *style, const Ingero__V1__Summary *summary)
{
	const Ingero__V1__Operation *op = most_of(summary, "wait_main");

	if (op && op->total_ns > summary->window_ns / 2)
		trace_wait_tell(out, style, op, summary->window_ns);
}
