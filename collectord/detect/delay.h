// SPDX-License-Identifier: Apache-2.0
/*
 * The largest loss of time in a window, from the sums of an answer alone: shown also if it is no finding, as in a trace
 * too short for one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "detect/advice.h"
#include "ingero/v1/ingero.pb-c.h"

struct op;

/* One operation's time in the window. */
struct delay_times {
	const struct op *op; /* NULL: the overflow cell */
	uint64_t raw_ns;
	const __u64 *blame_ns; /* BLAME_COUNT; [BLAME_ON_CPU] is ignored */
	uint16_t measured;     /* MEASURED() classes of blame_ns */
};

/** delay_is_expected() - whether the program asked for time of that class; @op: NULL: unknown, or no call */
bool delay_is_expected(const struct op *op, enum blame_class class);

/**
 * delay_judge() - the class that took most of an operation's time against its purpose
 * @window_ns: length of the window
 * @ret_class: only set with a delay
 * Return: nanoseconds lost to it; 0: no significant delay
 */
uint64_t delay_judge(const struct delay_times *times, uint64_t window_ns, enum blame_class *ret_class);

struct delay_advice {
	char text[192];
};
/**
 * delay_advice() - the remedy
 * @summary: with all findings and all of `behind` that the reader may see: a finding's own advice goes first
 * @parent: NULL: no process's parent is known
 * Return: text "" where none follows
 */
struct delay_advice delay_advice(const Ingero__V1__Summary *summary, const Ingero__V1__Operation *op,
				 enum blame_class takes, advice_parent_func parent);
