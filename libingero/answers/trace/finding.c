// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/trace/finding.h"

#include <stdlib.h>
#include <string.h>

#include "base/finding_order.h"
#include "libingero/answers/explain/cause.h"
#include "libingero/answers/stack/place.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/render/units.h"

#define FINDINGS_MOST 5u /* lines before a summary; explain has the rest */
#define ID_CHARS 6
#define TOLD_MOST 1024u /* far more than anybody reads; beyond it updates are not compared */

void trace_told_done(struct trace_told *told)
{
	ARRAY_DONE(&told->findings);
}

bool trace_finding_is_news(struct trace_told *told, const Ingero__V1__Finding *f)
{
	struct trace_told_one now = { .severity = explain_severity(f),
				      .is_over = f->end_unix_ns != 0,
				      .lost_ns = f->lost_ns };

	(void)snprintf(now.id, sizeof(now.id), "%s", f->id);
	for (size_t i = 0; i < told->findings.n; i++) {
		struct trace_told_one *before = &told->findings.items[i];
		bool is_news = now.severity > before->severity || now.is_over != before->is_over;

		if (strcmp(before->id, now.id) != 0)
			continue;
		if (!is_news)
			now.lost_ns = before->lost_ns;
		*before = now;
		return is_news;
	}
	if (told->findings.n < TOLD_MOST)
		(void)ARRAY_PUSH(&told->findings, now); /* without memory its line may be repeated */
	return true;
}

/* Whether its line would be the last one that it had, to the letter. */
static bool is_finding_told(const struct trace_told *told, const Ingero__V1__Finding *f)
{
	for (size_t i = 0; told && i < told->findings.n; i++) {
		const struct trace_told_one *before = &told->findings.items[i];

		if (strcmp(before->id, f->id) == 0)
			return before->severity == explain_severity(f) && before->is_over == (f->end_unix_ns != 0) &&
			       before->lost_ns == f->lost_ns;
	}
	return false;
}

static int order_of(const Ingero__V1__Finding *a, const Ingero__V1__Finding *b)
{
	return finding_order(
		&(struct finding_place){
			.severity = a->severity, .lost_ns = a->lost_ns, .start_ns = a->start_unix_ns, .id = a->id },
		&(struct finding_place){
			.severity = b->severity, .lost_ns = b->lost_ns, .start_ns = b->start_unix_ns, .id = b->id });
}

/* A finding without another process in it is its own cause: "was throttled by its CPU quota", "out of its CPU quota".
 */
static bool is_title_said(const Ingero__V1__Finding *f)
{
	return f->title && *f->title && f->cause && !f->cause->processes && strcmp(f->cause->kind, f->kind) == 0;
}

/* Whether a cause is a clause of its own: it has a verb, or begins with a share. */
static bool is_clause(const Ingero__V1__Finding *f, const struct explain_cause *cause)
{
	return strncmp(cause->text, "waits ", 6) == 0 ||
	       strncmp(cause->text, f->cause->words, strlen(f->cause->words)) != 0;
}

/* A title and a cause that say the same become one clause. */
static void event_append(const Ingero__V1__Finding *f, bool has_process, bool has_chain, struct buf *text)
{
	struct explain_cause cause = explain_cause_text(f), event = explain_event_text(f, has_chain);

	if (event.text[0] && has_process) {
		(void)buf_printf(text, "%s (pid %u) %s", trace_process_name(f->process_name, f->program).text, f->pid,
				 event.text);
		return;
	}
	if (event.text[0]) {
		(void)buf_printf(text, "%s %s", trace_process_name_short(f->process_name, f->program).text, event.text);
		return;
	}
	(void)buf_append_text(text, f->title && *f->title ? f->title : f->kind);
	if (cause.text[0] && !is_title_said(f))
		(void)buf_printf(text, "%s %s", is_clause(f, &cause) ? "," : "", cause.text);
	if (has_process)
		(void)buf_printf(text, " in %s (pid %u)", trace_process_name(f->process_name, f->program).text, f->pid);
}

void trace_finding_event_append(const Ingero__V1__Finding *f, struct buf *text)
{
	event_append(f, /* has_process= */ true, /* has_chain= */ true, text);
}

/* Parts of a sentence that are left out where there is no room for them. */
#define SENTENCE_PROCESS 0x1u
#define SENTENCE_CHAIN 0x2u
#define SENTENCE_FROM 0x4u

static void finding_site_append(const Ingero__V1__Finding *f, struct buf *text)
{
	CLEANUP(buf_done) struct buf site = BUF_INIT;

	stack_site_append(f->from, &site);
	if (site.n)
		(void)buf_printf(text, ", from %s", buf_text(&site));
}

/* Without mark and severity, which have their own tone. @parts: SENTENCE_* */
static void sentence_append(const Ingero__V1__Finding *f, unsigned int parts, const char *explain, struct buf *text)
{
	event_append(f, parts & SENTENCE_PROCESS, parts & SENTENCE_CHAIN, text);
	if (f->lost_ns)
		(void)buf_printf(text, ": %s lost%s", units_ns(f->lost_ns, 0).text, f->end_unix_ns ? "" : " so far");
	if (f->end_unix_ns)
		(void)buf_printf(text, "%s over after %s", f->lost_ns ? "," : ":", units_ns(f->present_ns, 0).text);
	if (parts & SENTENCE_FROM)
		finding_site_append(f, text);
	if (explain)
		(void)buf_printf(text, " · %s %.*s", explain, ID_CHARS, f->id);
}

static void paragraph_append(const Ingero__V1__Finding *f, const char *mark, const char *explain,
			     const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	char first[32];

	sentence_append(f, SENTENCE_PROCESS | SENTENCE_CHAIN | SENTENCE_FROM, explain, &text);
	(void)snprintf(first, sizeof(first), "%s %s ", mark, f->severity);
	text_tone(out, style, f->end_unix_ns ? TEXT_PLAIN : TEXT_LOUD);
	text_paragraph(out, style, first, buf_text(&text));
	text_tone(out, style, TEXT_PLAIN);
}

void trace_finding_append(const Ingero__V1__Finding *f, const char *explain, const struct text_style *style,
			  struct buf *out)
{
	paragraph_append(f, "▲", explain, style, out);
}

void trace_finding_append_now(const Ingero__V1__Finding *f, const char *explain, const struct text_style *style,
			      struct buf *out)
{
	paragraph_append(f, f->end_unix_ns ? " " : "▲", explain, style, out);
}

void trace_finding_append_one(const Ingero__V1__Finding *f, const char *explain, const struct text_style *style,
			      struct buf *out)
{
	static const unsigned int shorter[] = { SENTENCE_CHAIN | SENTENCE_FROM, SENTENCE_CHAIN, 0 };
	bool has_shorter = explain_event_text(f, true).text[0] || f->from;
	unsigned int mark = text_columns("▲ ") + text_columns(f->severity) + 1;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	/* What was lost is not to be cut: better without the command, then without the line, then without the chain. */
	sentence_append(f, SENTENCE_CHAIN | SENTENCE_FROM, explain, &text);
	for (size_t i = 0;
	     has_shorter && i < ARRAY_SIZE(shorter) && mark + text_columns(buf_text(&text)) > style->columns; i++) {
		buf_consume(&text, text.n);
		sentence_append(f, shorter[i], NULL, &text);
	}
	text_line(out, style, TEXT_LOUD, "▲ %s %s", f->severity, buf_text(&text));
}

const Ingero__V1__Finding *trace_finding_worst(const Ingero__V1__Summary *summary)
{
	const Ingero__V1__Finding *worst = NULL;

	for (size_t i = 0; i < summary->n_findings; i++)
		if (!summary->findings[i]->end_unix_ns && (!worst || order_of(summary->findings[i], worst) < 0))
			worst = summary->findings[i];
	return worst;
}

static int finding_compare(const void *a, const void *b)
{
	return order_of(*(const Ingero__V1__Finding *const *)a, *(const Ingero__V1__Finding *const *)b);
}

static int finding_compare_now(const void *a, const void *b)
{
	const Ingero__V1__Finding *x = *(const Ingero__V1__Finding *const *)a,
				  *y = *(const Ingero__V1__Finding *const *)b;

	if (!x->end_unix_ns != !y->end_unix_ns)
		return x->end_unix_ns ? 1 : -1;
	return order_of(x, y);
}

static const Ingero__V1__Finding **findings_sort(const Ingero__V1__Summary *summary,
						 int (*compare)(const void *, const void *))
{
	const Ingero__V1__Finding **list = calloc(summary->n_findings + 1, sizeof(const Ingero__V1__Finding *));

	for (size_t i = 0; list && i < summary->n_findings; i++)
		list[i] = summary->findings[i];
	if (list && summary->n_findings)
		qsort(list, summary->n_findings, sizeof(const Ingero__V1__Finding *), compare);
	return list;
}

const Ingero__V1__Finding **trace_findings_sorted(const Ingero__V1__Summary *summary)
{
	return findings_sort(summary, finding_compare);
}

const Ingero__V1__Finding **trace_findings_sorted_now(const Ingero__V1__Summary *summary)
{
	return findings_sort(summary, finding_compare_now);
}

void trace_findings_append(const Ingero__V1__Summary *summary, struct trace_told *told, const char *explain,
			   const struct text_style *style, struct buf *out)
{
	const Ingero__V1__Finding *most[FINDINGS_MOST] = { NULL };
	size_t n = 0;

	for (size_t i = 0; i < summary->n_findings; i++) {
		const Ingero__V1__Finding *next = summary->findings[i];

		if (is_finding_told(told, next) || (told && next->end_unix_ns && !trace_finding_is_news(told, next)))
			continue;
		n++;
		for (size_t k = 0; k < FINDINGS_MOST && next; k++) {
			const Ingero__V1__Finding *here = most[k];

			if (!here || order_of(next, here) < 0) {
				most[k] = next;
				next = here;
			}
		}
	}
	for (size_t k = 0; k < FINDINGS_MOST && most[k]; k++)
		trace_finding_append(most[k], explain, style, out);
	if (n > FINDINGS_MOST && explain)
		text_line(out, style, TEXT_PLAIN, "and %zu more; '%s' shows all", n - FINDINGS_MOST, explain);
	else if (n > FINDINGS_MOST)
		text_line(out, style, TEXT_PLAIN, "and %zu more", n - FINDINGS_MOST);
	if (n)
		text_line(out, style, TEXT_PLAIN, "%s", "");
}
