// SPDX-License-Identifier: Apache-2.0
/* The window of a question, as every reading command takes it: --since, or --from and --to. */
#pragma once

#include "cli/options.h"
#include "libingero/answers/window.h"

/* In the answer, beside a window that is the default. */
#define WINDOW_DEFAULT_WORDS(time) "the last " time " ('--since' covers more)"

/* The three rows, bound to a struct window_wish that is a member of the command's FIELDS. */
#define WINDOW_OPTIONS(member, default_words)                                                                          \
	OPTION_ROW(DURATION, "since", member.since_ns,                                                                 \
		   "Start, as a time before now such as 90s, 1h30m, 2d or 1w; default: " default_words,                \
		   .value = "TIME", .parse = option_since_parse),                                                      \
		OPTION_ROW(TIME, "from", member.from,                                                                  \
			   "Start, as a clock time: 14:03, '2026-01-31 14:03:21', local unless Z or +02:00 follows",   \
			   .value = "WHEN", .parse = option_time_parse),                                               \
		OPTION_ROW(TIME, "to", member.to, "End, as a clock time; default: now", .value = "WHEN",               \
			   .parse = option_time_parse)

/* A paragraph for the help of these commands. */
#define WINDOW_PARAGRAPH                                                                                               \
	"A clock time without a date is today's, or yesterday's if today's is in the future; after a "                 \
	"'--from' of today, '--to' is today's, too. Where the clocks are put back, the first of two equal times is "   \
	"meant; "                                                                                                      \
	"where they are put forward, a time that is skipped means that "                                               \
	"moment. A zone after the time removes the doubt."

/** option_since_parse() - parse an OPTION_DURATION row that says how far back; the field is a uint64_t */
int option_since_parse(const struct option *row, const char *text, void *field, char *error);
/** window_contradicts() - Return: NULL, or the sentence of a contradiction */
const char *window_contradicts(const struct window_wish *wish);
/**
 * window_resolve() - fill in the window of a request; prints on stderr how a doubtful clock time was read
 * @default_ns: length of the default window; 0: from the beginning
 */
Ingero__V1__Span window_resolve(const struct window_wish *wish, uint64_t default_ns, uint64_t now_unix_ns);
