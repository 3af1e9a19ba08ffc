// SPDX-License-Identifier: Apache-2.0
#include "cli/window.h"

#include <errno.h>
#include <stdio.h>

#include "cli/output.h"

int option_since_parse(const struct option *row, const char *text, void *field, char *error)
{
	char label[64];
	int r = window_since_parse(text, field);

	if (r == -EDOM)
		return option_refuse(error, "'--%s' %s covers no time; take a duration such as 5m, or leave it out",
				     row->name, option_quote(text).text);
	(void)snprintf(label, sizeof(label), "'--%s'", row->name);
	return r < 0 ? option_check(row, label, text, NULL, error) : 0;
}

const char *window_contradicts(const struct window_wish *wish)
{
	switch (window_fault(wish)) {
	case WINDOW_FAULT_NONE:
		break;
	case WINDOW_FAULT_SINCE_AND_FROM:
		return "'--since' and '--from' exclude each other: take one";
	case WINDOW_FAULT_SINCE_AND_TO:
		return "'--since' ends now; with '--to' give '--from'";
	case WINDOW_FAULT_EMPTY:
		return "'--from' is not before '--to': the window is empty";
	}
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
	struct clock_time to = window_end(wish);

	note_say("from", &wish->from);
	note_say("to", &to);
	return window_span(wish, default_ns, now_unix_ns);
}
