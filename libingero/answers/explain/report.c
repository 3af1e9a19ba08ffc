// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/explain/report.h"

#include <errno.h>
#include <string.h>

#include "libingero/render/user.h"
#include "libingero/answers/account/text.h"
#include "libingero/answers/explain/call.h"
#include "libingero/answers/explain/finding.h"
#include "libingero/answers/explain/rest.h"
#include "libingero/answers/explain/waits.h"
#include "libingero/answers/lost.h"
#include "libingero/answers/recorded.h"
#include "libingero/answers/time.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/answers/window.h"
#include "libingero/render/units.h"

#define GAPS_MOST 3u		  /* lines of a screen that are worth it */
#define LIST_TITLE_LINES 2u	  /* a blank, and how many follow */
#define PRESSURE_LEAST_RATIO 0.01 /* below, memory and disks are at ease (guess: revisit with real traces) */
#define PROCESS_COLUMNS 24u
#define SHORTER_LEAST_NS (30 * NSEC_PER_SEC) /* figures that begin so much after the window are all there are */
#define RECORDED_LEAST_NS NSEC_PER_SEC	     /* a shorter time without a recording has no words */
#define LIST_LEAST 2u			     /* lines of findings without a block, on a terminal with few lines */
#define ACCOUNTS_MOST 3u		     /* maximum in text */
#define ACCOUNT_ROWS 14u		     /* lines of a terminal for each of them */
#define TABLE_ROWS_LEAST 10u		     /* maximum rows of --per-process on a terminal */

void explain_footer_append(const Ingero__V1__Lost *lost, Ingero__V1__Gap *const *gaps, size_t n_gaps,
			   uint64_t now_unix_ns, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	bool is_whole = true;

	for (size_t i = 0; i < n_gaps; i++)
		is_whole &= !lost_gap_is_recording(gaps[i]);
	lost_append(&text, lost, NULL, is_whole);
	text_paragraph(out, style, "", buf_text(&text));
	for (size_t i = 0; i < n_gaps && i < GAPS_MOST; i++) {
		const Ingero__V1__Gap *gap = gaps[i];

		buf_consume(&text, text.n);
		(void)buf_printf(&text, "%s: ", clock_span_text(gap->from_unix_ns, gap->to_unix_ns, now_unix_ns).text);
		lost_gap_append(&text, gap);
		text_paragraph(out, style, "▲ ", buf_text(&text));
	}
	if (n_gaps > GAPS_MOST)
		text_line(out, style, TEXT_PLAIN, "  and %s; '--json' lists them",
			  units_things(n_gaps - GAPS_MOST, "more gap", "more gaps").text);
}

static uint64_t from_of(const struct explain_question *q, const Ingero__V1__ExplainReply *reply)
{
	return reply->window && reply->window->from_unix_ns ? reply->window->from_unix_ns : q->from_unix_ns;
}

static uint64_t to_of(const struct explain_question *q, const Ingero__V1__ExplainReply *reply)
{
	if (reply->window && reply->window->to_unix_ns)
		return reply->window->to_unix_ns;
	return q->to_unix_ns ? q->to_unix_ns : q->now_unix_ns;
}

/* "14:02:51 to 14:07:51" */
static void span_append(const struct explain_question *q, uint64_t from_unix_ns, uint64_t to_unix_ns, struct buf *out)
{
	(void)buf_append_text(out, clock_span_text(from_unix_ns, to_unix_ns, q->now_unix_ns).text);
}

/* Whether a machine is another than those before it. */
static bool node_differs(const char **first, const char *node)
{
	if (!node || !*node)
		return false;
	if (!*first)
		*first = node;
	return strcmp(*first, node) != 0;
}

/* Whether an answer is about several machines. Rows of several files name theirs also where it is one. */
static bool has_nodes(const Ingero__V1__ExplainReply *reply)
{
	const char *first = NULL;
	bool differs = false;

	for (size_t i = 0; i < reply->n_sessions; i++)
		differs |= node_differs(&first, reply->sessions[i]->node);
	for (size_t i = 0; i < reply->n_operations; i++)
		differs |= reply->operations[i]->node_told_case && node_differs(&first, reply->operations[i]->node);
	for (size_t i = 0; i < reply->n_findings; i++)
		differs |= reply->findings[i]->node_told_case && node_differs(&first, reply->findings[i]->node);
	for (size_t i = 0; i < reply->n_accounts; i++)
		differs |= reply->accounts[i]->node_told_case && node_differs(&first, reply->accounts[i]->node);
	return differs;
}

/* "ingero-collectord 0.1.0 (session)" */
static void recorder_append(const Ingero__V1__ExplainReply *reply, struct buf *out)
{
	const Ingero__V1__Session *last = reply->n_sessions ? reply->sessions[reply->n_sessions - 1] : NULL;

	if (!last)
		return;
	if (has_nodes(reply))
		(void)buf_append_text(out, ", recorded on several machines");
	else if (strcmp(last->back_end, "import") == 0)
		(void)buf_append_text(out, ", recorded by Ingero");
	else if (strcmp(last->back_end, "demo") == 0)
		(void)buf_append_text(out, ", made up by a demo");
	else
		(void)buf_printf(out, ", recorded by ingero-collectord %s (%s)", last->version, last->back_end);
	if (reply->n_sessions > 1)
		(void)buf_printf(out, " in %zu runs", reply->n_sessions);
}

static bool something_is_missing(const Ingero__V1__ExplainReply *reply)
{
	return !reply->lost || reply->n_gaps ||
	       lost_sum(reply->lost, LOST_COUNTS) + lost_sum(reply->lost, LOST_DETAIL) > 0;
}

/* The window has no recording: why, and which times have one. */
static void unrecorded_append(const struct explain_question *q, const Ingero__V1__ExplainReply *reply,
			      const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (!q->kept_to_unix_ns) {
		(void)buf_printf(&text, "No recording of any process %s yet; 'sudo ingero trace' records", q->whose);
	} else {
		(void)buf_append_text(&text, "nothing was recorded from ");
		span_append(q, from_of(q, reply), to_of(q, reply), &text);
		(void)buf_append_text(&text, "; the recording goes from ");
		span_append(q, q->kept_from_unix_ns, q->kept_to_unix_ns, &text);
		(void)buf_printf(&text, ": ask with %s '%s'", q->from_word ? q->from_word : "--from",
				 clock_text(q->kept_from_unix_ns, q->now_unix_ns).text);
	}
	text_paragraph(out, style, "", buf_text(&text));
}

/* A line where the window differs from the question. */
static void widened_append(const struct explain_question *q, const Ingero__V1__ExplainReply *reply,
			   const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (q->is_chosen)
		window_widened_append(reply->window, q->now_unix_ns, &text);
	if (text.n)
		text_paragraph(out, style, "", buf_text(&text));
}

/* Whose calls there are, where those who were asked about made none. */
static void others_append(const struct explain_question *q, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (q->whole)
		recorded_processes_append(q->whole, &text);
	if (text.n)
		text_paragraph(out, style, "Processes that made calls: ", buf_text(&text));
}

static void failures_line_append(const Ingero__V1__ExplainReply *reply, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	explain_rest_failures(reply, &text);
	if (text.n)
		text_paragraph(out, style, "▲ ", buf_text(&text));
}

/* What findings do not cover. */
static void rest_line_append(const Ingero__V1__ExplainReply *reply, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	out->failed |= explain_rest_part(reply, &text) < 0;
	if (text.n)
		text_paragraph(out, style, "", buf_text(&text));
}

/* The time of a window that was recorded: of all runs together, which may overlap. */
struct recorded_time {
	uint64_t from_unix_ns, to_unix_ns, ns;
};

/* The run with the earliest start of those that end after a time. NULL: none */
static const Ingero__V1__Session *session_next(const Ingero__V1__ExplainReply *reply, uint64_t after_unix_ns)
{
	const Ingero__V1__Session *next = NULL;

	for (size_t i = 0; i < reply->n_sessions; i++) {
		const Ingero__V1__Session *session = reply->sessions[i];

		if (session->end_unix_ns && session->end_unix_ns <= after_unix_ns)
			continue;
		if (!next || session->start_unix_ns < next->start_unix_ns)
			next = session;
	}
	return next;
}

static struct recorded_time recorded_time(const Ingero__V1__ExplainReply *reply, uint64_t from_unix_ns,
					  uint64_t to_unix_ns)
{
	struct recorded_time t = { .ns = 0 };
	const Ingero__V1__Session *session;
	uint64_t at_unix_ns = from_unix_ns;

	while (at_unix_ns < to_unix_ns && (session = session_next(reply, at_unix_ns)) &&
	       session->start_unix_ns < to_unix_ns) {
		uint64_t start_unix_ns = MAX(at_unix_ns, session->start_unix_ns);

		/* A run without an end goes on, or broke off: nobody knows when. */
		at_unix_ns = session->end_unix_ns ? MIN(session->end_unix_ns, to_unix_ns) : to_unix_ns;
		t.ns += at_unix_ns - start_unix_ns;
		t.from_unix_ns = t.from_unix_ns ? t.from_unix_ns : start_unix_ns;
		t.to_unix_ns = at_unix_ns;
	}
	return t;
}

/* "14:02:51 to 14:03:00 (9.0 s, all that was recorded)" */
static void no_calls_span_append(const struct explain_question *q, const Ingero__V1__ExplainReply *reply,
				 struct buf *text)
{
	uint64_t from_unix_ns = from_of(q, reply), to_unix_ns = to_of(q, reply);
	struct recorded_time t = recorded_time(reply, from_unix_ns, to_unix_ns);
	bool is_last = q->kept_to_unix_ns && !q->is_chosen; /* says that it is all, or the last of it */

	if (!t.ns) { /* its run may not be known: of a later version */
		span_append(q, from_unix_ns, to_unix_ns, text);
		return;
	}
	span_append(q, t.from_unix_ns, t.to_unix_ns, text);
	(void)buf_printf(text, " (%s%s)", units_ns(t.ns, 0).text,
			 t.to_unix_ns - t.from_unix_ns > t.ns + RECORDED_LEAST_NS	    ? " of it recorded"
			 : to_unix_ns - from_unix_ns > t.ns + RECORDED_LEAST_NS && !is_last ? ", all that was recorded"
											    : "");
}

static bool has_calls(const Ingero__V1__ExplainReply *reply)
{
	return reply->window && reply->window->calls;
}

/* "no process of alice had significant delays", or made a call: then there is no header, and the sentence has the time
 */
static void nothing_found_sentence(const struct explain_question *q, const Ingero__V1__ExplainReply *reply,
				   bool has_waits, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (has_calls(reply)) {
		(void)buf_printf(&text, "%s: no process %s had significant delays%s",
				 has_waits || explain_rest_has_failures(reply) ? "No finding" : "No problem found",
				 q->whose, has_waits ? " in its calls" : "");
	} else {
		(void)buf_printf(&text, "No CUDA calls: no process %s made one from ", q->whose);
		no_calls_span_append(q, reply, &text);
		if (q->words)
			(void)buf_printf(&text, ", %s", q->words);
	}
	recorder_append(reply, &text);
	text_paragraph(out, style, "", buf_text(&text));
}

static void nothing_found_append(const struct explain_question *q, const Ingero__V1__ExplainReply *reply,
				 const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf waits = BUF_INIT;

	if (account_append_waits(reply->accounts, reply->n_accounts, &waits) < 0) {
		out->failed = true;
		return;
	}
	if (!reply->n_sessions && !has_calls(reply)) {
		unrecorded_append(q, reply, style, out);
		return;
	}
	nothing_found_sentence(q, reply, waits.n > 0, style, out);
	if (!has_calls(reply))
		others_append(q, style, out);
	if (waits.n && has_calls(reply))
		text_paragraph(out, style, "", buf_text(&waits));
	failures_line_append(reply, style, out);
	widened_append(q, reply, style, out);
	if (something_is_missing(reply))
		explain_footer_append(reply->lost, reply->gaps, reply->n_gaps, q->now_unix_ns, style, out);
}

static void explain_header_append(const struct explain_question *q, const Ingero__V1__ExplainReply *reply,
				  const struct text_style *style, struct buf *out)
{
	const Ingero__V1__Session *last = reply->n_sessions ? reply->sessions[reply->n_sessions - 1] : NULL;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (has_nodes(reply))
		(void)buf_append_text(&text, "several machines · ");
	else if (last && last->node && *last->node)
		(void)buf_printf(&text, "%.*s · ", (int)strcspn(last->node, "."), last->node);
	span_append(q, from_of(q, reply), to_of(q, reply), &text);
	if (q->words)
		(void)buf_printf(&text, ", %s", q->words);
	if (reply->window)
		(void)buf_printf(&text, " · %s of %s", units_things(reply->window->calls, "call", "calls").text,
				 units_things(reply->window->processes, "process", "processes").text);
	for (enum explain_severity severity = EXPLAIN_CRITICAL; severity > EXPLAIN_OTHER; severity--) {
		size_t n = 0;

		for (size_t k = 0; k < reply->n_findings; k++)
			n += explain_severity(reply->findings[k]) == severity;
		if (n)
			(void)buf_printf(&text, " · %zu %s", n, explain_severity_name(severity));
	}
	text_tone(out, style, TEXT_BOLD);
	text_paragraph(out, style, "", buf_text(&text));
	text_tone(out, style, TEXT_PLAIN);
}

/* Without findings; without calls the sentence has it. */
static void calm_header_append(const struct explain_question *q, const Ingero__V1__ExplainReply *reply,
			       const struct text_style *style, struct buf *out)
{
	if (!has_calls(reply))
		return;
	explain_header_append(q, reply, style, out);
	text_line(out, style, TEXT_PLAIN, "%s", "");
}

static void pressure_append(struct buf *text, const char *what, double ratio, bool always)
{
	if (always || ratio >= PRESSURE_LEAST_RATIO)
		(void)buf_printf(text, " · %s pressure %s", what, units_ratio(ratio, UNITS_TIGHT).text);
}

static void machine_line_append(const Ingero__V1__ExplainReply *reply, const struct text_style *style, struct buf *out)
{
	const Ingero__V1__SystemSample *peak = reply->system_peak;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (!peak)
		return;
	(void)buf_printf(&text, "at its worst: cpu %s", units_ratio(peak->cpu_ratio, UNITS_TIGHT).text);
	if (peak->memory_bytes && peak->available_bytes <= peak->memory_bytes)
		(void)buf_printf(
			&text, " · mem %s",
			units_ratio(1 - (double)peak->available_bytes / (double)peak->memory_bytes, UNITS_TIGHT).text);
	(void)buf_printf(&text, " · load %.1f", peak->load_1min);
	if (peak->swap_used_bytes)
		(void)buf_printf(&text, " · swap %s", units_bytes(peak->swap_used_bytes).text);
	if (peak->has_pressure) {
		pressure_append(&text, "cpu", peak->pressure_cpu, /* always= */ true);
		pressure_append(&text, "memory", peak->pressure_memory, /* always= */ false);
		pressure_append(&text, "io", peak->pressure_io, /* always= */ false);
	}
	text_paragraph(out, style, "", buf_text(&text));
}

/* Where the wall clock went: a block for each process, those that lost most first. */
static int explain_accounts_append(const struct explain_question *q, const Ingero__V1__ExplainReply *reply,
				   const struct text_style *style, struct buf *out)
{
	size_t most = style->rows ? MIN(MAX(style->rows / ACCOUNT_ROWS, 1u), ACCOUNTS_MOST) : ACCOUNTS_MOST;
	size_t n = MIN(reply->n_accounts, most), n_more = reply->n_accounts - n + reply->more_accounts;

	for (size_t i = 0; i < n; i++) {
		int r;

		if (i > 0)
			text_line(out, style, TEXT_PLAIN, "%s", "");
		r = account_append(reply->accounts[i], ACCOUNT_LINES_MOST, style, out);
		if (r < 0)
			return r;
	}
	if (n_more && q->is_forgotten)
		text_line(out, style, TEXT_DIM, "and %s", units_things(n_more, "more account", "more accounts").text);
	else if (n_more)
		text_sentence(out, style, TEXT_DIM, "", "and %s; '%s' shows all",
			      units_things(n_more, "more account", "more accounts").text, blame_command(q->db).text);
	return 0;
}

static unsigned int lines_of(struct buf *text, size_t from)
{
	unsigned int n = 0;

	for (const char *p = buf_text(text) + from; *p; p++)
		n += *p == '\n';
	return n;
}

static struct explain_finding finding_of(const struct explain_question *q, const Ingero__V1__ExplainReply *reply,
					 size_t i)
{
	return (struct explain_finding){
		.finding = reply->findings[i],
		.lost = reply->lost,
		.id_chars = explain_id_chars(reply->findings, reply->n_findings),
		.now_unix_ns = q->now_unix_ns,
		.goes_on = reply->is_recording,
		.db = q->db,
		.is_forgotten = q->is_forgotten,
	};
}

/* Blocks as long as the screen has room for one more, then a line each, as many as it has room for. */
static void report_findings_append(const struct explain_question *q, const Ingero__V1__ExplainReply *reply,
				   const struct text_style *style, unsigned int around, struct buf *out)
{
	unsigned int room = style->rows > around ? style->rows - around : 0, used = 0;
	unsigned int left;
	size_t i, most;

	for (i = 0; i < reply->n_findings && !q->is_list; i++) {
		CLEANUP(buf_done) struct buf block = BUF_INIT;
		struct explain_finding e = finding_of(q, reply, i);

		e.number = i + 1;
		text_line(&block, style, TEXT_PLAIN, "%s", "");
		explain_finding_append(&e, style, &block);
		/* The first block is always whole: it is the main answer. */
		left = (unsigned int)(reply->n_findings - i - 1);
		if (i > 0 && style->rows && used + lines_of(&block, 0) + (left ? LIST_TITLE_LINES + left : 0) > room)
			break;
		used += lines_of(&block, 0);
		(void)buf_append_text(out, buf_text(&block));
	}
	if (i < reply->n_findings)
		text_line(out, style, TEXT_PLAIN, "%s", "");
	if (i > 0 && i < reply->n_findings && q->is_forgotten)
		text_line(out, style, TEXT_DIM, "%zu more", reply->n_findings - i);
	else if (i > 0 && i < reply->n_findings)
		text_sentence(out, style, TEXT_DIM, "", "%zu more; '%s ID' shows one", reply->n_findings - i,
			      explain_command(q->db).text);
	used += LIST_TITLE_LINES;
	most = q->is_list || !style->rows ? SIZE_MAX : MAX(room > used ? room - used : 0, LIST_LEAST);
	if (most < reply->n_findings - i && most > LIST_LEAST)
		most--; /* for the count of the rest */
	for (; i < reply->n_findings && most; i++, most--) {
		struct explain_finding e = finding_of(q, reply, i);

		explain_finding_append_line(&e, style, out);
	}
	if (i < reply->n_findings)
		text_line(out, style, TEXT_DIM, "and %zu more%s", reply->n_findings - i,
			  q->is_forgotten ? "" : "; '--chains' lists all");
	if (reply->more_findings)
		text_line(out, style, TEXT_DIM, "and %u more, not listed: a shorter time, or --pid, shows them",
			  reply->more_findings);
}

static int report_table_append(const struct explain_question *q, const Ingero__V1__ExplainReply *reply,
			       const struct text_style *style, struct buf *out)
{
	CLEANUP(trace_rows_done) struct trace_rows rows = TRACE_ROWS_INIT;
	Ingero__V1__Summary summary = INGERO__V1__SUMMARY__INIT;
	uint64_t from_unix_ns = from_of(q, reply), to_unix_ns = to_of(q, reply);
	int r;

	summary.operations = reply->operations;
	summary.n_operations = reply->n_operations;
	summary.window_ns = to_unix_ns > from_unix_ns ? to_unix_ns - from_unix_ns : 1;
	r = trace_rows_build(&summary, NULL, &rows);
	if (r < 0 || rows.rows.n == 0)
		return r;
	text_line(out, style, TEXT_PLAIN, "%s", "");
	if (rows.n_processes == 1) { /* the table's process is then left out of it */
		const Ingero__V1__Operation *op = rows.rows.items[0].op;

		text_line(out, style, TEXT_BOLD, "%s of %s",
			  trace_process_label(op->process_name, op->program, op->pid, PROCESS_COLUMNS).text,
			  user_name(op->uid).text);
	}
	r = trace_rows_append(&rows, style, style->rows ? MAX(style->rows, TABLE_ROWS_LEAST) : SIZE_MAX, out);
	if (r == 0 && reply->more_operations)
		text_line(out, style, TEXT_DIM, "and %u more operations, not listed: --pid shows those of a process",
			  reply->more_operations);
	return r;
}

void explain_head_append(const struct explain_question *q, const Ingero__V1__ExplainReply *reply,
			 const struct text_style *style, struct buf *out)
{
	if (reply->n_findings == 0) {
		calm_header_append(q, reply, style, out);
		nothing_found_append(q, reply, style, out);
		return;
	}
	explain_header_append(q, reply, style, out);
	widened_append(q, reply, style, out);
	machine_line_append(reply, style, out);
	rest_line_append(reply, style, out);
	failures_line_append(reply, style, out);
}

static void one_append(const struct explain_question *q, const Ingero__V1__ExplainReply *reply,
		       const struct text_style *style, struct buf *out)
{
	if (reply->call)
		explain_call_append(reply->call, style, out);
	for (size_t i = 0; i < reply->n_findings; i++) {
		struct explain_finding e = finding_of(q, reply, i);

		if (i > 0 || reply->call)
			text_line(out, style, TEXT_PLAIN, "%s", "");
		explain_finding_append_all(&e, style, out);
	}
	explain_examples_append(reply, style, out);
	if (something_is_missing(reply)) {
		text_line(out, style, TEXT_PLAIN, "%s", "");
		explain_footer_append(reply->lost, reply->gaps, reply->n_gaps, q->now_unix_ns, style, out);
	}
}

enum explain_window explain_window_of(const struct ingero_explanation *answer, bool is_chosen)
{
	const Ingero__V1__Window *window = answer->reply->window;

	if (answer->is_last_recorded)
		return answer->kept_from_unix_ns < answer->from_unix_ns ? EXPLAIN_WINDOW_LAST
									: EXPLAIN_WINDOW_LAST_WHOLE;
	if (is_chosen || (window && window->from_unix_ns > answer->from_unix_ns + SHORTER_LEAST_NS))
		return EXPLAIN_WINDOW_ASKED;
	return EXPLAIN_WINDOW_DEFAULT;
}

int explain_report_append(const struct explain_question *q, const Ingero__V1__ExplainReply *reply,
			  const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf footer = BUF_INIT;
	size_t start = out->n;
	unsigned int lines;
	int r = 0;

	if (q->is_one && (reply->n_findings || reply->call)) {
		one_append(q, reply, style, out);
		return out->failed ? -ENOMEM : 0;
	}
	if (reply->n_findings == 0) {
		calm_header_append(q, reply, style, out);
		if (!q->is_list && reply->n_accounts) {
			r = explain_accounts_append(q, reply, style, out);
			text_line(out, style, TEXT_PLAIN, "%s", "");
		}
		nothing_found_append(q, reply, style, out);
	} else {
		explain_head_append(q, reply, style, out);
		if (!q->is_list && reply->n_accounts) {
			text_line(out, style, TEXT_PLAIN, "%s", "");
			r = explain_accounts_append(q, reply, style, out);
		}
		text_line(&footer, style, TEXT_PLAIN, "%s", "");
		explain_footer_append(reply->lost, reply->gaps, reply->n_gaps, q->now_unix_ns, style, &footer);
		lines = lines_of(out, start) + lines_of(&footer, 0) + 1; /* for the shell's prompt below */
		if (!q->is_list && explain_waits_count(reply))
			lines += EXPLAIN_WAITS_LINES;
		report_findings_append(q, reply, style, lines, out);
		(void)buf_append_text(out, buf_text(&footer));
	}
	lines = lines_of(out, start) + 1;
	if (!q->is_list && r == 0)
		r = explain_waits_append(reply, style,
					 !style->rows	       ? UINT32_MAX
					 : style->rows > lines ? style->rows - lines
							       : 0,
					 out);
	if (q->is_per_process && r == 0)
		r = report_table_append(q, reply, style, out);
	return r < 0 ? r : out->failed || footer.failed ? -ENOMEM : 0;
}
