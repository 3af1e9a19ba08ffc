// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/compare/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "libingero/answers/lost.h"
#include "libingero/answers/time.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/render/blame.h"
#include "libingero/render/units.h"

#define PARTS_SHOWN 8u
#define OPERATIONS_SHOWN 3u
#define LABEL_COLUMNS 38u
#define NUMBER_COLUMNS 10u
#define CALLS_RATIO 0.005 /* with a greater difference the calls of a unit are shown */
#define RUNTIME_SOURCE "cuda"

struct part_label {
	char text[160];
};

static struct process_name compared_name(const Ingero__V1__Compared *c)
{
	return trace_process_name(c->process_name, c->program);
}

/* "call", "cudaStreamSynchronize" */
static const char *compared_unit(const Ingero__V1__Compared *c)
{
	return c->per;
}

static struct part_label part_label(const Ingero__V1__ComparedPart *part)
{
	enum blame_view_class class = blame_view_parse(part->class_);
	struct part_label out;
	const char *did = class == BLAME_VIEW_COUNT ? part->class_ : blame_view_label(class);

	if (strcmp(part->where, "not_known") == 0)
		(void)snprintf(out.text, sizeof(out.text), "not known");
	else if (strcmp(part->where, "between") == 0)
		(void)snprintf(out.text, sizeof(out.text), "between calls: %s", did);
	else
		(void)snprintf(out.text, sizeof(out.text), "%s: %s",
			       part->op_told_case == INGERO__V1__COMPARED_PART__OP_TOLD_OP ? part->op : "other calls",
			       did);
	return out;
}

/* "+3.1 %", "-0.2 %" */
static struct units_text signed_ratio(double ratio)
{
	struct units_text out;

	(void)snprintf(out.text, sizeof(out.text), "%+.1f %%", 100 * ratio);
	return out;
}

struct signed_text {
	char text[40];
};

static struct signed_text signed_ns(int64_t ns)
{
	struct signed_text out;

	(void)snprintf(out.text, sizeof(out.text), "%s%s", ns < 0 ? "-" : "+",
		       units_ns((uint64_t)(ns < 0 ? -ns : ns), 0).text);
	return out;
}

/* ---- verdict ---- */

static void verdict_append(const Ingero__V1__Compared *c, struct buf *text)
{
	bool is_same = strcmp(c->verdict, "same") == 0;
	double percent = 100 * fabs(c->change_ratio), error = 100 * c->error_ratio;

	if (strcmp(c->verdict, "unknown") == 0) {
		(void)buf_printf(text, "cannot judge %s: %s", compared_name(c).text, c->why);
		return;
	}
	(void)buf_printf(text, "%s: %s takes ", c->verdict, compared_name(c).text);
	if (is_same)
		(void)buf_printf(text, "as long per %s (%+.1f %% ±%.1f %%)", compared_unit(c), 100 * c->change_ratio,
				 error);
	else
		(void)buf_printf(text, "%.1f %% %s per %s (±%.1f %%)", percent,
				 c->change_ratio > 0 ? "longer" : "less time", compared_unit(c), error);
	if (strcmp(c->basis, "without_runnable") == 0)
		(void)buf_append_text(text, ", not counting time ready without a CPU");
}

/* The part that changed most in the direction of the verdict. */
static const Ingero__V1__ComparedPart *part_of_verdict(const Ingero__V1__CompareReply *reply)
{
	bool is_slower = strcmp(reply->compared->verdict, "slower") == 0,
	     is_without = strcmp(reply->compared->basis, "without_runnable") == 0;

	if (!is_slower && strcmp(reply->compared->verdict, "faster") != 0)
		return NULL;
	for (size_t i = 0; i < reply->n_parts; i++)
		if (reply->parts[i]->is_told && (reply->parts[i]->change_ns > 0) == is_slower &&
		    !(is_without && strcmp(reply->parts[i]->class_, "runnable") == 0))
			return reply->parts[i];
	return NULL;
}

static void mostly_append(const Ingero__V1__CompareReply *reply, const struct text_style *style, struct buf *out)
{
	const Ingero__V1__ComparedPart *part = part_of_verdict(reply);
	enum blame_view_class class;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (!part)
		return;
	class = blame_view_parse(part->class_);
	(void)buf_printf(&text, "mostly: %s %s, %s (%s)",
			 class == BLAME_VIEW_COUNT ? part->class_ : blame_view_phrase(class),
			 strcmp(part->where, "between") == 0			       ? "between calls"
			 : part->op_told_case == INGERO__V1__COMPARED_PART__OP_TOLD_OP ? "in"
										       : "in calls",
			 signed_ns(part->change_ns).text, signed_ratio(part->change_ratio).text);
	if (part->op_told_case == INGERO__V1__COMPARED_PART__OP_TOLD_OP) {
		buf_consume(&text, text.n);
		(void)buf_printf(&text, "mostly: %s in %s, %s (%s)",
				 class == BLAME_VIEW_COUNT ? part->class_ : blame_view_phrase(class), part->op,
				 signed_ns(part->change_ns).text, signed_ratio(part->change_ratio).text);
	}
	text_paragraph(out, style, "", buf_text(&text));
}

/* ---- sides ---- */

static void side_append(const char *name, const Ingero__V1__Compared *c, const Ingero__V1__ComparedSide *side,
			const Ingero__V1__Window *window, uint64_t now_unix_ns, const struct text_style *style,
			struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	(void)buf_append_text(&text, clock_span_text(window->from_unix_ns, window->to_unix_ns, now_unix_ns).text);
	if (side->n_pids == 1)
		(void)buf_printf(&text, " · pid %" PRIu32, side->pids[0]);
	else
		(void)buf_printf(&text, " · %s", units_things(side->n_pids, "process", "processes").text);
	(void)buf_printf(&text, " · %s × %s, %s each", units_count(side->units).text, compared_unit(c),
			 units_ns(side->unit_ns, 0).text);
	text_paragraph(out, style, name, buf_text(&text));
}

/* ---- table ---- */

static void compared_row_append(struct buf *out, const struct text_style *style, enum text_tone tone, const char *label,
				const char *a, const char *b, const char *change)
{
	CLEANUP(buf_done) struct buf line = BUF_INIT;
	const struct text_style plain = { .is_utf8 = true };
	unsigned int used = text_append(&line, &plain, label, LABEL_COLUMNS);

	text_spaces(&line, LABEL_COLUMNS - used);
	for (int i = 0; i < 2; i++) {
		const char *cell = i ? b : a;
		unsigned int n = text_columns(cell);

		text_spaces(&line, n < NUMBER_COLUMNS ? NUMBER_COLUMNS - n : 1);
		(void)buf_append_text(&line, cell);
	}
	(void)buf_printf(&line, "  %s", change);
	text_line(out, style, tone, "%s", buf_text(&line));
}

static void part_append(const Ingero__V1__ComparedPart *part, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf change = BUF_INIT;

	if (part->is_told)
		(void)buf_printf(&change, "%s  %s", signed_ratio(part->change_ratio).text,
				 signed_ns(part->change_ns).text);
	else if (part->error_ns)
		(void)buf_printf(&change, "±%s", units_ns(part->error_ns, 0).text);
	else
		(void)buf_append_text(&change, "not known");
	compared_row_append(out, style, part->is_told ? TEXT_BOLD : TEXT_PLAIN, part_label(part).text,
			    units_ns(part->a_ns, 0).text, units_ns(part->b_ns, 0).text, buf_text(&change));
}

static void compared_operation_append(const Ingero__V1__ComparedOperation *op, const struct text_style *style,
				      struct buf *out)
{
	CLEANUP(buf_done) struct buf label = BUF_INIT, change = BUF_INIT;
	double a = op->a->per_unit, b = op->b->per_unit;

	(void)buf_printf(&label, "%s, p99", op->op);
	if (fabs(a - b) > CALLS_RATIO * MAX(a, b))
		(void)buf_printf(&change, "%.3g → %.3g calls", a, b);
	else
		(void)buf_printf(&change, "p50 %s → %s", units_ns(op->a->p50_ns, UNITS_TIGHT).text,
				 units_ns(op->b->p50_ns, UNITS_TIGHT).text);
	compared_row_append(out, style, TEXT_PLAIN, buf_text(&label), units_ns(op->a->p99_ns, 0).text,
			    units_ns(op->b->p99_ns, 0).text, buf_text(&change));
}

/* Operations of the program, not those that its runtime calls for it. */
static void operations_append(const Ingero__V1__CompareReply *reply, const struct text_style *style, struct buf *out)
{
	const char *source = reply->n_operations ? reply->operations[0]->source : "";
	size_t n = 0;

	for (size_t i = 0; i < reply->n_operations; i++)
		if (strcmp(reply->operations[i]->source, RUNTIME_SOURCE) == 0)
			source = RUNTIME_SOURCE;
	for (size_t i = 0; i < reply->n_operations && n < OPERATIONS_SHOWN; i++) {
		if (strcmp(reply->operations[i]->source, source) != 0)
			continue;
		compared_operation_append(reply->operations[i], style, out);
		n++;
	}
}

static void compare_table_append(const Ingero__V1__CompareReply *reply, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf head = BUF_INIT;
	size_t n = 0;

	(void)buf_printf(&head, "per %s", compared_unit(reply->compared));
	text_line(out, style, TEXT_PLAIN, "%s", "");
	compared_row_append(out, style, TEXT_DIM, buf_text(&head), "A", "B", "change");
	for (size_t i = 0; i < reply->n_parts && n < PARTS_SHOWN; i++) {
		const Ingero__V1__ComparedPart *part = reply->parts[i];
		uint64_t unit_ns = MAX(reply->compared->a->unit_ns, reply->compared->b->unit_ns);

		/* What is neither told nor a thousandth of the time is left out. */
		if (!part->is_told && MAX(part->a_ns, part->b_ns) < unit_ns / 1000)
			continue;
		part_append(part, style, out);
		n++;
	}
	operations_append(reply, style, out);
}

/* ---- end ---- */

static void compared_names_append(const char *first, char *const *names, size_t n, const struct text_style *style,
				  struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	for (size_t i = 0; i < n; i++)
		(void)buf_printf(&text, "%s%s", i ? ", " : "", names[i]);
	if (n)
		text_paragraph(out, style, first, buf_text(&text));
}

static void compared_others_append(const Ingero__V1__CompareReply *reply, const struct text_style *style,
				   struct buf *out)
{
	for (size_t i = 0; i < reply->n_others; i++) {
		CLEANUP(buf_done) struct buf text = BUF_INIT;

		verdict_append(reply->others[i], &text);
		text_paragraph(out, style, "", buf_text(&text));
	}
	if (reply->more_programs)
		text_line(out, style, TEXT_DIM, "and %s; 'pid:N' compares one process",
			  units_things(reply->more_programs, "more program", "more programs").text);
	compared_names_append("only in A: ", reply->only_a, reply->n_only_a, style, out);
	compared_names_append("only in B: ", reply->only_b, reply->n_only_b, style, out);
}

static void side_lost_append(const char *name, const Ingero__V1__Lost *lost, const struct text_style *style,
			     struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (!lost || lost_sum(lost, LOST_COUNTS) + lost_sum(lost, LOST_DETAIL) == 0)
		return;
	lost_append(&text, lost, NULL, /* is_whole= */ false);
	text_paragraph(out, style, name, buf_text(&text));
}

static void method_append(const Ingero__V1__CompareReply *reply, const struct text_style *style, struct buf *out)
{
	const Ingero__V1__Compared *c = reply->compared;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	(void)buf_printf(&text,
			 "%" PRIu32 " pieces of %s in A, %" PRIu32 " of %s in B, compared by ranks; %.0f %% sure",
			 c->a->samples, units_ns(c->a->sample_ns, 0).text, c->b->samples,
			 units_ns(c->b->sample_ns, 0).text, 100 * reply->confidence_ratio);
	text_line(out, style, TEXT_PLAIN, "%s", "");
	text_tone(out, style, TEXT_DIM);
	text_paragraph(out, style, "", buf_text(&text));
	text_tone(out, style, TEXT_PLAIN);
}

int compare_report_append(const Ingero__V1__CompareReply *reply, uint64_t now_unix_ns, const struct text_style *style,
			  struct buf *out)
{
	const Ingero__V1__Compared *c = reply->compared;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	verdict_append(c, &text);
	text_tone(out, style, TEXT_BOLD);
	text_paragraph(out, style, "", buf_text(&text));
	text_tone(out, style, TEXT_PLAIN);
	mostly_append(reply, style, out);
	if (*c->b_process_name)
		text_line(out, style, TEXT_PLAIN, "B is another program: %s", c->b_process_name);
	side_append("A  ", c, c->a, reply->a_window, now_unix_ns, style, out);
	side_append("B  ", c, c->b, reply->b_window, now_unix_ns, style, out);
	compare_table_append(reply, style, out);
	method_append(reply, style, out);
	compared_others_append(reply, style, out);
	side_lost_append("A: ", reply->a_lost, style, out);
	side_lost_append("B: ", reply->b_lost, style, out);
	return out->failed ? -ENOMEM : 0;
}
