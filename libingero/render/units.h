// SPDX-License-Identifier: Apache-2.0
/*
 * Numbers as people read them. The only place where numbers are rounded: machine output has nanoseconds and bytes.
 *
 * Each function returns its text by value, so that it can be an argument: buf_printf(b, "%s", units_ns(ns, 0).text).
 */
#pragma once

#include <stdint.h>

#define UNITS_TIGHT 0x1u /* for columns of a table: "1.2ms" instead of "1.2 ms" */
#define UNITS_BARE 0x2u	 /* without the unit, where the column or the sentence names it: "71" */

struct units_text {
	char text[32];
};

/**
 * units_ns() - a duration: "4.1 µs", "142 ms", "10.2 s", "1 min 12 s", "2 h 5 min"
 *
 * Tight forms ("1m12s", "2h05m") fill at most 6 columns up to 99 999 days, 7 beyond.
 */
struct units_text units_ns(uint64_t ns, unsigned int flags);
/** units_part_ns() - a part of a duration in the unit of the whole: "97 of 142 ms" */
struct units_text units_part_ns(uint64_t part_ns, uint64_t whole_ns);
/** units_count() - all digits, in groups: "412 883" */
struct units_text units_count(uint64_t n);
struct units_things {
	char text[64];
};
/** units_things() - a number and its noun: "1 call", "412 883 calls" */
struct units_things units_things(uint64_t n, const char *one, const char *many);
/** units_rate() - "136/s", "5.7k/s"; at most 6 columns below 10^12 */
struct units_text units_rate(double per_s);
/** units_bytes() - binary multiples: "1.5 GiB" */
struct units_text units_bytes(uint64_t bytes);
/**
 * units_ratio() - a share as percent: "0.6 %", "71 %"
 *
 * Tight: whole percents. A share above 0 is never shown as zero ("<1 %"), a share below 1 never as all ("99 %"); "?"
 * for NaN.
 */
struct units_text units_ratio(double ratio, unsigned int flags);
