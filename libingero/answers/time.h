// SPDX-License-Identifier: Apache-2.0
/*
 * Clock times as people write and read them. The local zone belongs to the client: the daemon knows only nanoseconds
 * since 1970.
 */
#pragma once

#include <stdint.h>

enum clock_note {
	CLOCK_NOTE_NONE,
	CLOCK_NOTE_TWICE,   /* the clocks were put back over this time: its first passing is used */
	CLOCK_NOTE_SKIPPED, /* the clocks were put forward over this time: the moment of the change is used */
};

struct clock_time {
	uint64_t unix_ns; /* 0: none */
	enum clock_note note;
	uint64_t today_unix_ns; /* the time of the same reading today, in the future; 0: unix_ns is not yesterday's */
	enum clock_note today_note;
};

/**
 * clock_parse() - read "now", "14:03", "14:03:21.5", "2026-01-31", "2026-01-31 14:03", with 'T' for the space; local
 * unless "Z" or "+02:00" follows
 * @now_unix_ns: the time of "now"; a time without a date is the last such time before it
 * Return: 0; -EINVAL (not of these forms), -ERANGE (no such day or hour, or before 1970 or after 2500)
 */
int clock_parse(const char *text, uint64_t now_unix_ns, struct clock_time *ret_time);

/** clock_now_unix_ns() - Return: the wall clock */
uint64_t clock_now_unix_ns(void);

struct clock_text {
	char text[64];
};

/**
 * clock_text() - local time: "14:02:51", with its date if that is not the local date of `near`: "2026-01-31 14:02:51",
 * with its zone where the clocks are put back and the reading occurs twice: "02:30:00 CEST"
 */
struct clock_text clock_text(uint64_t unix_ns, uint64_t near_unix_ns);
struct clock_span_text {
	char text[140];
};
/**
 * clock_span_text() - "2026-01-30 23:59:51 to 2026-01-31 00:02:51", the second date only if it differs; "23:59:51" if
 * both times are in that second
 * @from_unix_ns: 0: "the beginning"
 * @to_unix_ns: 0: "now"
 */
struct clock_span_text clock_span_text(uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t now_unix_ns);
/** clock_text_exact() - local time with microseconds and zone: "2026-01-31 14:02:51.123456 +01:00" */
struct clock_text clock_text_exact(uint64_t unix_ns);
