// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/window.h"

#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/parse.h"

int window_since_parse(const char *text, uint64_t *ret_ns)
{
	uint64_t ns;
	int r = parse_duration(text, &ns);

	if (r == 0 && ns == 0)
		r = -EDOM;
	if (r == 0)
		*ret_ns = ns;
	return r;
}

bool window_is_given(const struct window_wish *wish)
{
	return wish->since_ns || wish->from.unix_ns || wish->to.unix_ns;
}

/* The end of "00:00 to 23:59" may lie in the future: behind a start of today it is today's, not yesterday's. */
struct clock_time window_end(const struct window_wish *wish)
{
	const struct clock_time *from = &wish->from, *to = &wish->to;

	if (from->unix_ns >= to->unix_ns && !from->today_unix_ns && to->today_unix_ns > from->unix_ns)
		return (struct clock_time){ .unix_ns = to->today_unix_ns, .note = to->today_note };
	return *to;
}

enum window_fault window_fault(const struct window_wish *wish)
{
	if (wish->since_ns && wish->from.unix_ns)
		return WINDOW_FAULT_SINCE_AND_FROM;
	if (wish->since_ns && wish->to.unix_ns)
		return WINDOW_FAULT_SINCE_AND_TO;
	if (wish->from.unix_ns && wish->to.unix_ns && wish->from.unix_ns >= window_end(wish).unix_ns)
		return WINDOW_FAULT_EMPTY;
	return WINDOW_FAULT_NONE;
}

Ingero__V1__Span window_span(const struct window_wish *wish, uint64_t default_ns, uint64_t now_unix_ns)
{
	uint64_t back_ns = wish->since_ns ? wish->since_ns : default_ns;
	Ingero__V1__Span span = INGERO__V1__SPAN__INIT;

	span.from_unix_ns = wish->from.unix_ns;
	span.to_unix_ns = window_end(wish).unix_ns;
	if (wish->since_ns || (!window_is_given(wish) && back_ns))
		span.from_unix_ns = now_unix_ns > back_ns ? now_unix_ns - back_ns : 0;
	return span;
}

/* Less than a second more, and no more than was asked for, is not worth a line. */
static bool window_is_as_asked(const Ingero__V1__Window *window)
{
	const Ingero__V1__Widened *w = window->widened;
	uint64_t from_ns, to_ns, before_ns, after_ns;

	if (!w)
		return true;
	from_ns = MAX(w->asked_from_unix_ns, window->from_unix_ns);
	to_ns = w->asked_to_unix_ns ? MIN(w->asked_to_unix_ns, window->to_unix_ns) : window->to_unix_ns;
	before_ns = from_ns - window->from_unix_ns;
	after_ns = window->to_unix_ns - to_ns;
	return before_ns < NSEC_PER_SEC && after_ns < NSEC_PER_SEC && from_ns + before_ns + after_ns <= to_ns;
}

void window_widened_append(const Ingero__V1__Window *window, uint64_t now_unix_ns, struct buf *out)
{
	const Ingero__V1__Widened *w = window ? window->widened : NULL;
	uint64_t row_s;

	if (!window || window_is_as_asked(window))
		return;
	row_s = (w->row_ns + NSEC_PER_SEC / 2) / NSEC_PER_SEC;
	(void)buf_append_text(out, "wider than asked (");
	if (w->asked_from_unix_ns && w->asked_to_unix_ns)
		(void)buf_append_text(out,
				      clock_span_text(w->asked_from_unix_ns, w->asked_to_unix_ns, now_unix_ns).text);
	else if (w->asked_from_unix_ns)
		(void)buf_printf(out, "since %s", clock_text(w->asked_from_unix_ns, now_unix_ns).text);
	else
		(void)buf_printf(out, "up to %s", clock_text(w->asked_to_unix_ns, now_unix_ns).text);
	(void)buf_append_text(out, "): figures of that time are stored in spans of ");
	if (row_s >= 3600)
		(void)buf_append_text(out, "an hour");
	else if (row_s >= 60)
		(void)buf_append_text(out, "a minute");
	else
		(void)buf_printf(out, "%" PRIu64 " s", MAX(row_s, 1));
}
