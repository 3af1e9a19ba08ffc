// SPDX-License-Identifier: Apache-2.0
/*
 * Which time a question is about, as every command that reads takes it: --since,
 * or --from and --to.
 */
#pragma once

#include "cli/options.h"
#include "ingero/v1/ingero.pb-c.h"

struct window_wish {
	uint64_t since_ns; /* 0: not given */
	struct clock_time from;
	struct clock_time to;
};

/* The three rows, bound to a struct window_wish that is a member of the command's FIELDS. */
#define WINDOW_OPTIONS(member, default_words)                                                                          \
	OPTION_ROW(DURATION, "since", member.since_ns,                                                                 \
		   "How far back, such as 90s, 1h30m, 2d or 1w; default: " default_words, .value = "TIME"),            \
		OPTION_ROW(TIME, "from", member.from,                                                                  \
			   "From this clock time on: 14:03, '2026-01-31 14:03:21', local unless Z or +02:00 follows",  \
			   .value = "WHEN", .parse = option_time_parse),                                               \
		OPTION_ROW(TIME, "to", member.to, "Up to this clock time; default: now", .value = "WHEN",              \
			   .parse = option_time_parse)

/* A paragraph for the help of these commands. */
#define WINDOW_PARAGRAPH                                                                                               \
	"A clock time without a date is today's, or yesterday's where that is still ahead. Where the clocks are put "  \
	"back, the first of two equal times is meant; where they are put forward, a time that is skipped means that "  \
	"moment. A zone behind the time says which without doubt."

/** window_contradicts() - Return: NULL, or a sentence */
const char *window_contradicts(const struct window_wish *wish);
/** window_is_given() - whether any of the three was */
bool window_is_given(const struct window_wish *wish);
/**
 * window_resolve() - what the daemon is asked for, saying on stderr how a doubtful clock time was taken
 * @default_ns: how far back where nothing was given; 0: from the beginning
 */
Ingero__V1__Span window_resolve(const struct window_wish *wish, uint64_t default_ns, uint64_t now_unix_ns);
