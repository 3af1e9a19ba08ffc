// SPDX-License-Identifier: Apache-2.0
/* The window of a question, and in words the time that an answer covers. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/answers/time.h"

/* As people give it: how far back, or clock times. */
struct window_wish {
	uint64_t since_ns; /* 0: not given */
	struct clock_time from;
	struct clock_time to;
};

enum window_fault {
	WINDOW_FAULT_NONE,
	WINDOW_FAULT_SINCE_AND_FROM,
	WINDOW_FAULT_SINCE_AND_TO,
	WINDOW_FAULT_EMPTY, /* it ends before it begins */
};

/**
 * window_since_parse() - "90s", "5m", "2d": how far back
 * Return: 0; -EINVAL: no duration; -ERANGE: longer than any clock runs; -EDOM: "0", "0s": that covers no time
 */
int window_since_parse(const char *text, uint64_t *ret_ns);
/** window_is_given() - whether any of the three was given */
bool window_is_given(const struct window_wish *wish);
/** window_fault() - what the wish contradicts */
enum window_fault window_fault(const struct window_wish *wish);
/** window_end() - the end that is meant: behind a start of today it is today's, also in the future */
struct clock_time window_end(const struct window_wish *wish);
/**
 * window_span() - the window of a request
 * @default_ns: length of the default window; 0: from the beginning
 */
Ingero__V1__Span window_span(const struct window_wish *wish, uint64_t default_ns, uint64_t now_unix_ns);

/**
 * window_widened_append() - append "wider than asked (...): why", where figures reach a second or more beyond the
 * question, or further than the question itself
 */
void window_widened_append(const Ingero__V1__Window *window, uint64_t now_unix_ns, struct buf *out);
