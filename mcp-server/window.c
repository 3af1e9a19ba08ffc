// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/window.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

struct clock_text window_time(uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / NSEC_PER_SEC);
	struct tm tm = { .tm_mday = 1 };
	struct clock_text out;
	char second[32];

	(void)gmtime_r(&seconds, &tm);
	(void)strftime(second, sizeof(second), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(out.text, sizeof(out.text), "%s.%09" PRIu64 "Z", second, (uint64_t)(unix_ns % NSEC_PER_SEC));
	return out;
}

/* A whole second, as every zone reads it. */
static void second_write(struct writer *w, const char *name, uint64_t unix_s)
{
	time_t seconds = (time_t)unix_s;
	struct tm tm = { .tm_mday = 1 };
	char text[64];

	(void)gmtime_r(&seconds, &tm);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	writer_text(w, name, text);
}

void window_write(struct writer *w, const Ingero__V1__Window *window)
{
	second_write(w, "from", window->from_unix_ns / NSEC_PER_SEC);
	second_write(w, "to", window->to_unix_ns / NSEC_PER_SEC + 1);
}

void window_arguments(struct buf *out, const Ingero__V1__Window *window, uint32_t pid)
{
	struct writer w = { .out = out };

	writer_open(&w, NULL, '{');
	if (window && window->from_unix_ns)
		window_write(&w, window);
	if (pid)
		writer_integer(&w, "pid", pid);
	writer_close(&w, '}');
}

int window_refuse(const struct window_wish *wish, struct answer *answer)
{
	switch (window_fault(wish)) {
	case WINDOW_FAULT_NONE:
		break;
	case WINDOW_FAULT_SINCE_AND_FROM:
		return answer_fail(answer, "'since' and 'from' exclude each other: take one");
	case WINDOW_FAULT_SINCE_AND_TO:
		return answer_fail(answer, "'since' ends now; with 'to' give 'from'");
	case WINDOW_FAULT_EMPTY:
		return answer_fail(answer, "'from' is not before 'to': the window is empty");
	}
	return 0;
}

void window_sql_append(const struct window_wish *wish, uint64_t default_ns, const char *column, struct buf *sql)
{
	Ingero__V1__Span span = window_span(wish, default_ns, clock_now_unix_ns());

	if (span.from_unix_ns)
		(void)buf_printf(sql, " AND %s >= %" PRIu64, column, span.from_unix_ns);
	if (span.to_unix_ns)
		(void)buf_printf(sql, " AND %s < %" PRIu64, column, span.to_unix_ns);
}
