// SPDX-License-Identifier: Apache-2.0
#include "cli/query/calls.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/cuda_error.h"
#include "cli/explain/report.h"
#include "cli/host.h"
#include "cli/time.h"
#include "cli/trace/rows.h"
#include "libingero/render/blame.h"
#include "libingero/render/pb_json.h"
#include "libingero/render/units.h"

#define PROCESS_COLUMNS 18u
#define OP_COLUMNS 18u

static void padded_append(struct buf *out, const struct text_style *style, const char *text, unsigned int columns)
{
	unsigned int used = text_append(out, style, text, columns);

	text_spaces(out, columns - used + 2);
}

#define DATE_CHARS 10 /* 2026-01-31 */

/* Dates stand above the calls of their day, where that is not today; zones, where the clocks were changed. */
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

/* What CUDA calls it says that it is an error. */
static void error_append(const Ingero__V1__Event *event, struct buf *out)
{
	const char *name = cuda_error_name(event->source, event->ret_code);

	if (name)
		(void)buf_append_text(out, name);
	else
		(void)buf_printf(out, "error %" PRId32, event->ret_code);
}

static void table_append(struct calls *calls, const Ingero__V1__Event *event, struct buf *out)
{
	struct blame_view blame = blame_view_of(event->blame_ns);
	enum blame_view_class class = blame_view_largest(&blame, 0);
	struct clock_text exact = clock_text_exact(event->timestamp_unix_ns);
	bool is_host = host_is_source(event->source);
	bool is_bad = is_host ? host_event_is_bad(event) : event->ret_code != 0;
	struct units_text took = units_ns(event->duration_ns, UNITS_TIGHT);
	char clock[16];

	if (is_host)
		took = (struct units_text){ .text = "-" };
	if (calls->n == 0)
		text_line(out, &calls->style, TEXT_BOLD, "%-15s  %-*s  %-*s  %7s  %s", "time", (int)PROCESS_COLUMNS,
			  "process", (int)OP_COLUMNS, "operation", "took", "most of it");
	day_append(calls, event->timestamp_unix_ns, out);
	(void)snprintf(clock, sizeof(clock), "%.15s", exact.text + strlen("2026-01-31 "));
	if (is_bad)
		text_tone(out, &calls->style, TEXT_LOUD);
	padded_append(out, &calls->style, clock, 15);
	padded_append(out, &calls->style, trace_process_label(event->process_name, event->pid, PROCESS_COLUMNS).text,
		      PROCESS_COLUMNS);
	padded_append(out, &calls->style, trace_op_label(event->op).text, OP_COLUMNS);
	text_spaces(out, 7 - MIN(text_columns(took.text), 7));
	padded_append(out, &calls->style, took.text, text_columns(took.text));
	if (is_host)
		host_event_append(out, event);
	else if (event->ret_code)
		error_append(event, out);
	else if (class != BLAME_VIEW_COUNT)
		(void)buf_printf(out, "%s %s", blame_view_label(class),
				 units_ratio((double)blame.ns[class] / (double)blame.sum_ns, UNITS_TIGHT).text);
	if (is_bad)
		text_tone(out, &calls->style, TEXT_PLAIN);
	(void)buf_append_text(out, "\n");
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
	(void)text_append(out, &whole, event->process_name, UINT32_MAX); /* a name cannot break the line */
	(void)buf_printf(out, "\t%s\t%s\t%" PRIu64 "\t%" PRId32 "\t%s\n", event->source, event->op, event->duration_ns,
			 event->ret_code, event->id);
}

int calls_take(struct calls *calls, const Ingero__V1__EventsReply *reply, struct buf *out)
{
	for (size_t i = 0; i < reply->n_events; i++, calls->n++) {
		switch (calls->form) {
		case ROWS_TABLE:
			table_append(calls, reply->events[i], out);
			break;
		case ROWS_LINES:
			line_append(calls, reply->events[i], out);
			break;
		case ROWS_JSON:
			(void)pb_json_line(out, "event", &reply->events[i]->base, NULL);
			break;
		}
	}
	return out->failed ? -ENOMEM : 0;
}

void calls_footer_append(const struct calls *calls, const Ingero__V1__EventsEnd *end, const struct text_style *style,
			 struct buf *out)
{
	const Ingero__V1__Window *window = end->window;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (calls->n < end->matched)
		(void)buf_printf(&text, "the newest %s of %s kept calls", units_count(calls->n).text,
				 units_count(end->matched).text);
	else
		(void)buf_printf(&text, "%s kept %s", units_count(calls->n).text, calls->n == 1 ? "call" : "calls");
	(void)buf_printf(&text, " of %s that were counted", units_count(end->counted).text);
	if (window && window->to_unix_ns)
		(void)buf_printf(&text, ", %s",
				 clock_span_text(window->from_unix_ns, window->to_unix_ns, calls->now_unix_ns).text);
	if (calls->n < end->matched)
		(void)buf_append_text(&text, "; '--limit' shows more");
	text_paragraph(out, style, "", buf_text(&text));
	explain_footer_append(end->lost, end->gaps, end->n_gaps, calls->now_unix_ns, style, out);
}
