// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/explain/finding.h"

#include <string.h>

#include "libingero/render/user.h"
#include "base/option.h"
#include "libingero/answers/explain/bars.h"
#include "libingero/answers/explain/cause.h"
#include "libingero/answers/account/text.h"
#include "libingero/answers/lost.h"
#include "libingero/answers/stack/place.h"
#include "libingero/answers/time.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/render/units.h"

#define CLASSES_MOST 3u /* maximum lines of a block in a list */
#define PROCESS_COLUMNS 16u
#define ID_CHARS_LEAST 6u /* characters of an id: short to type, and unique for a while */
#define SPAN_COLUMNS 20	  /* columns of "14:02:51 to 14:03:20" */
#define LINE_COLUMNS_MOST 1000u
#define SURE_RATIO 0.995       /* smallest ratio shown as 100 % */
#define PLACE_LEAST_RATIO 0.01 /* share of what was lost below which a place has no words of its own */

/* Behind the name of a node, if there is one. */
static const char *id_digits(const Ingero__V1__Finding *f)
{
	const char *colon = strrchr(f->id, ':');

	return colon ? colon + 1 : f->id;
}

static int id_bytes(const struct explain_finding *e)
{
	return (int)(id_digits(e->finding) - e->finding->id) + (int)e->id_chars;
}

unsigned int explain_id_chars(Ingero__V1__Finding *const *findings, size_t n)
{
	unsigned int chars = ID_CHARS_LEAST;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = i + 1; k < n; k++) {
			unsigned int same = 0;

			const char *a = id_digits(findings[i]), *b = id_digits(findings[k]);

			while (a[same] && a[same] == b[same])
				same++;
			chars = MAX(chars, same + 1);
		}
	}
	return chars;
}

static struct explain_cause when_text(const struct explain_finding *e)
{
	const Ingero__V1__Finding *f = e->finding;
	struct explain_cause out;

	if (f->end_unix_ns)
		(void)snprintf(out.text, sizeof(out.text), "%.127s",
			       clock_span_text(f->start_unix_ns, f->end_unix_ns, e->now_unix_ns).text);
	else
		(void)snprintf(out.text, sizeof(out.text),
			       e->goes_on ? "%s to now" : "since %s", /* or the recording ended first */
			       clock_text(f->start_unix_ns, e->now_unix_ns).text);
	return out;
}

const char *explain_severity_name(enum explain_severity severity)
{
	static const char *const names[] = { "", "LOW", "MEDIUM", "HIGH", "CRITICAL" };

	return names[severity];
}

enum explain_severity explain_severity(const Ingero__V1__Finding *f)
{
	enum explain_severity severity = EXPLAIN_CRITICAL;

	while (severity > EXPLAIN_OTHER && strcmp(f->severity, explain_severity_name(severity)) != 0)
		severity--;
	return severity;
}

static const char *title_of(const Ingero__V1__Finding *f)
{
	return f->title && *f->title ? f->title : f->kind;
}

/* "1 HIGH  headline                     14:02:51 to now" */
static void headline_append(const struct explain_finding *e, const struct text_style *style, struct buf *out)
{
	const Ingero__V1__Finding *f = e->finding;
	struct explain_cause when = when_text(e);
	char number[24] = "";
	unsigned int used, room = style->columns;

	if (e->number)
		(void)snprintf(number, sizeof(number), "%zu ", e->number);
	used = text_columns(number) + text_columns(f->severity) + 2 + text_columns(title_of(f));

	text_tone(out, style, TEXT_BOLD);
	(void)text_append(out, style, number, room);
	text_tone(out, style, TEXT_PLAIN);
	text_tone(out, style, explain_severity(f) >= EXPLAIN_HIGH ? TEXT_LOUD : TEXT_BOLD);
	(void)text_append(out, style, f->severity, room);
	text_tone(out, style, TEXT_PLAIN);
	text_spaces(out, 2);
	text_tone(out, style, TEXT_BOLD);
	(void)text_append(out, style, title_of(f),
			  room > used - text_columns(title_of(f)) ? room - (used - text_columns(title_of(f))) : 1);
	text_tone(out, style, TEXT_PLAIN);
	if (used + 2 + text_columns(when.text) <= room) {
		text_spaces(out, MIN(room, 100) > used + text_columns(when.text)
					 ? MIN(room, 100) - used - text_columns(when.text)
					 : 2);
		(void)text_append(out, style, when.text, room);
		(void)buf_append_text(out, "\n");
	} else {
		(void)buf_append_text(out, "\n");
		text_paragraph(out, style, "  when     ", when.text);
	}
}

static void finding_who_append(const Ingero__V1__Finding *f, const struct text_style *style, struct buf *out)
{
	struct process_name name = trace_process_name(f->process_name, f->program);
	const char *container = f->program ? f->program->container : NULL;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	/* Files recorded by Ingero have no owners, and no process of some chains. */
	if (!f->pid)
		(void)buf_append_text(&text, "not recorded");
	else if (f->uid == UINT32_MAX)
		(void)buf_printf(&text, "%s (pid %u%s%s)", name.text, f->pid, f->node_told_case ? " on " : "",
				 f->node_told_case ? f->node : "");
	else
		(void)buf_printf(&text, "%s (pid %u%s%s, %s%s%s)", name.text, f->pid, f->node_told_case ? " on " : "",
				 f->node_told_case ? f->node : "", user_name(f->uid).text,
				 container ? ", container " : "", container ? container : "");
	if (f->calls && f->slow_calls)
		(void)buf_printf(&text, ": %s slow of", units_count(f->slow_calls).text);
	else if (f->calls)
		(void)buf_append_text(&text, ":");
	if (f->calls)
		(void)buf_printf(&text, " %s", units_things(f->calls, "call", "calls").text);
	if (f->calls && f->op && *f->op && !strstr(title_of(f), f->op))
		(void)buf_printf(&text, " of %s", f->op);
	if (f->calls && f->p99_ns)
		(void)buf_printf(&text, ", p99 %s", units_ns(f->p99_ns, 0).text);
	if (f->calls && f->usual_ns)
		(void)buf_printf(&text, ", usually %s", units_ns(f->usual_ns, 0).text);
	text_paragraph(out, style, "  who      ", buf_text(&text));
}

/* The line of the program that made the calls, or waited. */
static void finding_from_append(const Ingero__V1__Finding *f, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	stack_site_append(f->from, &text);
	if (text.n)
		text_paragraph(out, style, "  from     ", buf_text(&text));
}

/* A figure of the evidence, in nanoseconds; 0: there is none of that name. */
static uint64_t evidence_ns(const Ingero__V1__Finding *f, const char *name)
{
	for (size_t i = 0; i < f->n_evidence; i++) {
		double value = f->evidence[i]->value;

		if (strcmp(f->evidence[i]->name, name) == 0 && value > 0 && value < 1.8e19)
			return (uint64_t)value;
	}
	return 0;
}

struct explain_places explain_places(const Ingero__V1__Finding *f)
{
	struct explain_places p = { .op = f->op ? f->op : "", .lost_ns = f->lost_ns };

	p.in_ns = evidence_ns(f, "in_calls_ns");
	p.op_ns = MIN(evidence_ns(f, "in_op_ns"), p.in_ns);
	p.between_ns = evidence_ns(f, "between_calls_ns");
	return p;
}

void explain_places_append(const struct explain_places *p, struct buf *text)
{
	const struct {
		const char *before, *name;
		uint64_t ns;
	} places[] = {
		{ "in ", p->op, p->op_ns },
		{ "in ", p->op_ns ? "other calls" : "calls", p->in_ns - p->op_ns },
		{ "between ", "calls", p->between_ns },
	};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		n += (double)places[i].ns >= PLACE_LEAST_RATIO * (double)p->lost_ns;
	for (size_t i = 0, told = 0; i < ARRAY_SIZE(places) && n > 1; i++)
		if ((double)places[i].ns >= PLACE_LEAST_RATIO * (double)p->lost_ns)
			(void)buf_printf(text, "%s%s %s%s", told++ ? ", " : ": ", units_ns(places[i].ns, 0).text,
					 places[i].before, places[i].name);
}

/* The thread with its own part. Recordings of earlier versions know only that it is half or more. */
static void lost_thread_append(const Ingero__V1__Finding *f, struct buf *text)
{
	struct account_thread thread = account_thread(f->pid, f->tid);
	struct units_text own = units_ns(f->tid_lost_ns, 0);

	if (!f->tid_lost_ns_told_case)
		(void)buf_printf(text, ", most of it in its %s", thread.text);
	else if (strcmp(own.text, units_ns(f->lost_ns, 0).text) == 0)
		(void)buf_printf(text, ", in its %s", thread.text);
	else
		(void)buf_printf(text, ", %s of it in its %s", own.text, thread.text);
}

static void lost_line_append(const Ingero__V1__Finding *f, const struct text_style *style, struct buf *out)
{
	struct explain_places places;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (f->lost_ns == 0)
		return;
	(void)buf_append_text(&text, units_ns(f->lost_ns, 0).text);
	if (f->present_ns && f->lost_ns <= f->present_ns)
		(void)buf_printf(&text, " of the %s in which it was seen", units_ns(f->present_ns, 0).text);
	else if (f->present_ns && !f->tid_told_case)
		(void)buf_printf(&text, " of several threads in the %s in which it was seen",
				 units_ns(f->present_ns, 0).text);
	if (f->tid_told_case)
		lost_thread_append(f, &text);
	places = explain_places(f);
	explain_places_append(&places, &text);
	if (f->recurrence)
		(void)buf_printf(&text, " · came back %s", units_things(f->recurrence, "time", "times").text);
	text_paragraph(out, style, "  lost     ", buf_text(&text));
}

static void finding_where_append(const Ingero__V1__Finding *f, unsigned int most, const struct text_style *style,
				 struct buf *out)
{
	CLEANUP(buf_done) struct buf note = BUF_INIT;
	struct blame_view view = blame_view_of(f->blame_ns);
	struct explain_bars bars = {
		.blame = f->blame_ns,
		.first = blame_view_parse(f->cause ? f->cause->takes : NULL),
		.most = most,
	};

	explain_cause_append(f, &note);
	bars.first_note = buf_text(&note);
	explain_bars_append(&bars, style, out);
	if (note.n && (bars.first == BLAME_VIEW_COUNT || view.ns[bars.first] == 0))
		text_paragraph(out, style, "  cause    ", buf_text(&note));
}

static void advice_append(const Ingero__V1__Finding *f, size_t most, const struct text_style *style, struct buf *out)
{
	for (size_t i = 0; i < f->n_advice && i < most; i++)
		text_paragraph(out, style, i ? "           " : "  do       ", f->advice[i]);
}

static struct explain_command command_text(const char *command_name, const char *db)
{
	struct explain_command command;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	(void)buf_printf(&text, "ingero %s", command_name);
	for (const char *p = db; p;) {
		size_t n = strcspn(p, "\n");
		CLEANUP(freep) char *name = strndup(p, n);

		if (!name)
			break;
		(void)buf_printf(&text, " --db %s",
				 strpbrk(name, " \t'\"\\$&;*?#()<>|`") ? option_quote(name).text : name);
		p = p[n] ? p + n + 1 : NULL;
	}
	if (db && (strlen(db) >= sizeof(command.text) / 2 || text.n >= sizeof(command.text)))
		(void)snprintf(command.text, sizeof(command.text), "ingero %s --db FILE%s", command_name,
			       strchr(db, '\n') ? " --db FILE" : "");
	else
		(void)snprintf(command.text, sizeof(command.text), "%s", buf_text(&text));
	return command;
}

struct explain_command explain_command(const char *db)
{
	return command_text("explain", db);
}

struct explain_command blame_command(const char *db)
{
	return command_text("blame", db);
}

static void proof_append(const struct explain_finding *e, bool has_more, const struct text_style *style,
			 struct buf *out)
{
	const Ingero__V1__Finding *f = e->finding;
	uint64_t n_lost = lost_sum(e->lost, LOST_COUNTS) + lost_sum(e->lost, LOST_DETAIL);
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (f->confidence >= SURE_RATIO)
		(void)buf_append_text(&text, "measured on every call");
	else
		(void)buf_printf(&text, "confidence %s", units_ratio(f->confidence, UNITS_TIGHT).text);
	if (e->lost && n_lost == 0)
		(void)buf_append_text(&text, ", nothing lost");
	else if (e->lost)
		(void)buf_append_text(&text, "; something was lost meanwhile: see the end");
	if (has_more && !e->is_forgotten)
		(void)buf_printf(&text, " · more: %s %.*s", explain_command(e->db).text, id_bytes(e), f->id);
	text_paragraph(out, style, "  proof    ", buf_text(&text));
}

static void evidence_append(const Ingero__V1__Finding *f, const struct text_style *style, struct buf *out)
{
	for (size_t i = 0; i < f->n_evidence; i++) {
		const Ingero__V1__Evidence *evidence = f->evidence[i];
		uint64_t whole =
			evidence->value > 0 && evidence->value < 1.8e19 ? (uint64_t)(evidence->value + 0.5) : 0;
		char value[48];

		if (strcmp(evidence->unit, "ns") == 0 && evidence->value >= 0)
			(void)snprintf(value, sizeof(value), "%s", units_ns(whole, 0).text);
		else if (strcmp(evidence->unit, "bytes") == 0 && evidence->value >= 0)
			(void)snprintf(value, sizeof(value), "%s", units_bytes(whole).text);
		else if (strcmp(evidence->unit, "count") == 0 && evidence->value >= 0)
			(void)snprintf(value, sizeof(value), "%s", units_count(whole).text);
		else if (strcmp(evidence->unit, "ratio") == 0 && evidence->value >= 0 && evidence->value <= 1)
			(void)snprintf(value, sizeof(value), "%s", units_ratio(evidence->value, 0).text);
		else
			(void)snprintf(value, sizeof(value), "%g %s", evidence->value, evidence->unit);
		text_line(out, style, TEXT_PLAIN, "%s%-28s %s", i ? "           " : "  facts    ", evidence->name,
			  value);
	}
}

static void examples_append(const struct explain_finding *e, const struct text_style *style, struct buf *out)
{
	const Ingero__V1__Finding *f = e->finding;
	size_t n_kept = 0;

	for (size_t i = 0; i < f->n_examples; i++) {
		const Ingero__V1__ExampleCall *call = f->examples[i];
		bool is_kept = call->id && *call->id;

		n_kept += is_kept;
		/* The id is for copying: it comes before text that a narrow terminal may cut. */
		text_line(out, style, TEXT_PLAIN, "%s%7s  %s  %s", i ? "           " : "  calls    ",
			  units_ns(call->duration_ns, UNITS_TIGHT).text, is_kept ? call->id : "not recorded",
			  clock_text(call->timestamp_unix_ns, e->now_unix_ns).text);
	}
	if (n_kept)
		text_sentence(out, style, TEXT_DIM, "           ", "%s ID shows one", explain_command(e->db).text);
}

void explain_finding_append(const struct explain_finding *e, const struct text_style *style, struct buf *out)
{
	headline_append(e, style, out);
	finding_who_append(e->finding, style, out);
	finding_from_append(e->finding, style, out);
	lost_line_append(e->finding, style, out);
	finding_where_append(e->finding, CLASSES_MOST, style, out);
	advice_append(e->finding, 1, style, out);
	proof_append(e, /* has_more= */ true, style, out);
}

void explain_finding_append_all(const struct explain_finding *e, const struct text_style *style, struct buf *out)
{
	const Ingero__V1__Finding *f = e->finding;

	headline_append(e, style, out);
	finding_who_append(f, style, out);
	finding_from_append(f, style, out);
	lost_line_append(f, style, out);
	finding_where_append(f, BLAME_VIEW_COUNT, style, out);
	advice_append(f, SIZE_MAX, style, out);
	evidence_append(f, style, out);
	examples_append(e, style, out);
	proof_append(e, /* has_more= */ false, style, out);
	text_line(out, style, TEXT_DIM, "  id       %s (%s)", f->id, f->kind);
}

/* The title with its operation's name in tables: "cudaStreamSync waited for the CPU". */
static void title_append_short(const Ingero__V1__Finding *f, struct buf *text)
{
	const char *title = title_of(f);
	size_t n = f->op ? strlen(f->op) : 0;

	if (n && strncmp(title, f->op, n) == 0)
		(void)buf_printf(text, "%s%s", trace_op_label(f->op).text, title + n);
	else
		(void)buf_append_text(text, title);
}

static void line_compose(const struct explain_finding *e, bool is_short, struct buf *text)
{
	const Ingero__V1__Finding *f = e->finding;

	(void)buf_printf(text, "%.*s  %-8s  %6s  ", id_bytes(e), f->id, f->severity,
			 f->lost_ns ? units_ns(f->lost_ns, UNITS_TIGHT).text : "-");
	if (is_short)
		(void)buf_append_text(text, clock_text(f->start_unix_ns, e->now_unix_ns).text);
	else
		(void)buf_printf(text, "%-*s", SPAN_COLUMNS, when_text(e).text);
	(void)buf_printf(text, "  %s  ",
			 f->pid ? trace_process_label(f->process_name, f->program, f->pid, PROCESS_COLUMNS).text : "-");
	if (is_short)
		title_append_short(f, text);
	else
		(void)buf_append_text(text, title_of(f));
}

void explain_finding_append_line(const struct explain_finding *e, const struct text_style *style, struct buf *out)
{
	struct text_style line = *style;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (style->rows == 0)
		line.columns = LINE_COLUMNS_MOST; /* a file gets the whole line, for searches */
	line_compose(e, /* is_short= */ false, &text);
	if (text_columns(buf_text(&text)) > line.columns) {
		buf_consume(&text, text.n);
		line_compose(e, /* is_short= */ true, &text);
	}
	text_line(out, &line, TEXT_PLAIN, "%s", buf_text(&text));
}
