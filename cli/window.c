// SPDX-License-Identifier: Apache-2.0
#include "cli/window.h"

#include "base/cleanup.h"
#include "cli/output.h"
#include "libingero/answers/time.h"

bool window_is_given(const struct window_wish *wish)
{
	return wish->since_ns || wish->from.unix_ns || wish->to.unix_ns;
}

/* The end of "00:00 to 23:59" may lie in the future: behind a start of today it is today's, not yesterday's. */
static struct clock_time end_of(const struct window_wish *wish)
{
	const struct clock_time *from = &wish->from, *to = &wish->to;

	if (from->unix_ns >= to->unix_ns && !from->today_unix_ns && to->today_unix_ns > from->unix_ns)
		return (struct clock_time){ .unix_ns = to->today_unix_ns, .note = to->today_note };
	return *to;
}

const char *window_contradicts(const struct window_wish *wish)
{
	if (wish->since_ns && wish->from.unix_ns)
		return "'--since' and '--from' exclude each other: take one";
	if (wish->since_ns && wish->to.unix_ns)
		return "'--since' ends now; with '--to' give '--from'";
	if (wish->from.unix_ns && wish->to.unix_ns && wish->from.unix_ns >= end_of(wish).unix_ns)
		return "'--from' is not before '--to': the window is empty";
	return NULL;
}

static void note_say(const char *option, const struct clock_time *time)
{
	switch (time->note) {
	case CLOCK_NOTE_NONE:
		break;
	case CLOCK_NOTE_TWICE:
		output_error("'--%s' exists twice that day: the first is used, %s", option,
			     clock_text_exact(time->unix_ns).text);
		break;
	case CLOCK_NOTE_SKIPPED:
		output_error("'--%s' does not exist that day, because the clocks were put forward: used is %s", option,
			     clock_text_exact(time->unix_ns).text);
		break;
	}
}

Ingero__V1__Span window_resolve(const struct window_wish *wish, uint64_t default_ns, uint64_t now_unix_ns)
{
	Ingero__V1__Span span = INGERO__V1__SPAN__INIT;
	struct clock_time to = end_of(wish);
	uint64_t back_ns = wish->since_ns ? wish->since_ns : default_ns;

	note_say("from", &wish->from);
	note_say("to", &to);
	span.from_unix_ns = wish->from.unix_ns;
	span.to_unix_ns = to.unix_ns;
	if (wish->since_ns || (!window_is_given(wish) && back_ns))
		span.from_unix_ns = now_unix_ns > back_ns ? now_unix_ns - back_ns : 0;
	return span;
}
