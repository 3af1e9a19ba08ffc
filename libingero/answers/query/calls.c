// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/query/calls.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "libingero/answers/explain/finding.h"
#include "libingero/answers/explain/report.h"
#include "libingero/answers/stack/join.h"
#include "libingero/answers/time.h"
#include "libingero/answers/window.h"
#include "libingero/render/units.h"

#define DATE_CHARS 10 /* 2026-01-31 */

/* Dates stand above the calls of their day, unless it is today; zones, where the clocks were changed. */
static void day_append(struct calls *calls, uint64_t unix_ns, struct buf *out)
{
	uint64_t before = calls->day_unix_ns ? calls->day_unix_ns : calls->now_unix_ns;
	struct clock_text exact = clock_text_exact(unix_ns), last = clock_text_exact(before);
	const char *zone = strrchr(exact.text, ' '), *last_zone = strrchr(last.text, ' ');
	bool is_changed = calls->day_unix_ns && zone && last_zone && strcmp(zone, last_zone) != 0;

	if (strncmp(exact.text, last.text, DATE_CHARS) != 0 || is_changed)
		text_line(out, &calls->style, TEXT_DIM, "%.*s%s", DATE_CHARS, exact.text, is_changed ? zone : "");
	calls->day_unix_ns = unix_ns;
}

static void calls_table_append(struct calls *calls, const Ingero__V1__EventsReply *reply, size_t i, struct buf *out)
{
	if (calls->n == 0) {
		call_table_plan(&calls->table, reply, &calls->style);
		call_table_append_title(&calls->table, &calls->style, out);
	}
	day_append(calls, reply->events[i]->timestamp_unix_ns, out);
	call_table_append(&calls->table, reply->events[i], &calls->style, out);
}

/* RFC 3339 in UTC: the same text as in JSON, without its quotes. */
static void utc_append(struct buf *out, uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / NSEC_PER_SEC);
	struct tm tm = { .tm_mday = 1 };
	char text[32];

	(void)gmtime_r(&seconds, &tm);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)buf_printf(out, "%s.%09uZ", text, (unsigned int)(unix_ns % NSEC_PER_SEC));
}

static void line_append(struct calls *calls, const Ingero__V1__Event *event, struct buf *out)
{
	static const struct text_style whole = { .is_utf8 = true, .columns = UINT32_MAX };

	if (calls->n == 0)
		(void)buf_append_text(out,
				      "timestamp\tpid\ttid\tprocess_name\tsource\top\tduration_ns\tret_code\tid\n");
	utc_append(out, event->timestamp_unix_ns);
	(void)buf_printf(out, "\t%u\t%u\t", event->pid, event->tid);
	(void)text_append(out, &whole, event->process_name,
			  UINT32_MAX); /* control characters in a name must not break the line */
	(void)buf_printf(out, "\t%s\t%s\t%" PRIu64 "\t%" PRId32 "\t%s\n", event->source, event->op, event->duration_ns,
			 event->ret_code, event->id);
}

int calls_take(struct calls *calls, const Ingero__V1__EventsReply *reply, struct buf *out)
{
	for (size_t i = 0; i < reply->n_events; i++, calls->n++) {
		switch (calls->form) {
		case ROWS_TABLE:
			calls_table_append(calls, reply, i, out);
			break;
		case ROWS_LINES:
			line_append(calls, reply->events[i], out);
			break;
		case ROWS_JSON:
			(void)stack_event_json_line(out, reply->events[i], reply->stacks, reply->n_stacks);
			break;
		}
	}
	return out->failed ? -ENOMEM : 0;
}

void calls_footer_append(const struct calls *calls, const Ingero__V1__EventsEnd *end, const struct text_style *style,
			 struct buf *out)
{
	const Ingero__V1__Window *window = end->window;
	CLEANUP(buf_done) struct buf text = BUF_INIT, wider = BUF_INIT;

	/* Events, not calls: starts and ends of processes are among both numbers. */
	if (calls->n < end->matched)
		(void)buf_printf(&text, "the newest %s of %s recorded events", units_count(calls->n).text,
				 units_count(end->matched).text);
	else
		(void)buf_printf(&text, "%s", units_things(calls->n, "recorded event", "recorded events").text);
	(void)buf_printf(&text, " of %s counted events", units_count(end->counted).text);
	if (window && window->to_unix_ns)
		(void)buf_printf(&text, ", %s",
				 clock_span_text(window->from_unix_ns, window->to_unix_ns, calls->now_unix_ns).text);
	if (calls->words)
		(void)buf_printf(&text, ", %s", calls->words);
	if (calls->is_chosen)
		window_widened_append(window, calls->now_unix_ns, &wider);
	if (wider.n)
		(void)buf_printf(&text, ", %s", buf_text(&wider));
	if (calls->n < end->matched)
		(void)buf_append_text(&text, "; '--limit' shows more");
	if (calls->n && calls->form == ROWS_TABLE)
		(void)buf_printf(&text, "; '%s ID' shows one", explain_command(calls->db).text);
	text_paragraph(out, style, "", buf_text(&text));
	explain_footer_append(end->lost, end->gaps, end->n_gaps, calls->now_unix_ns, style, out);
}
