// SPDX-License-Identifier: Apache-2.0
/*
 * What lost most of the time that was watched, from the sums of an answer alone: told also where it is no finding, as
 * in a trace too short for one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "ingero/v1/ingero.pb-c.h"

struct op;

/* One operation's time since the watch began. */
struct delay_times {
	const struct op *op; /* NULL: no cell told which */
	uint64_t raw_ns;
	const __u64 *blame_ns; /* BLAME_COUNT; [BLAME_ON_CPU] is not looked at */
	uint16_t measured;     /* MEASURED() of what blame_ns has */
};

/** delay_is_expected() - whether time of that class is what the program asked for; @op: NULL: not known, or no call */
bool delay_is_expected(const struct op *op, enum blame_class class);

/**
 * delay_judge() - the class that took most of an operation's time against its purpose
 * @window_ns: how long was watched
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
 * Return: text "" where none follows
 */
struct delay_advice delay_advice(const Ingero__V1__Summary *summary, const Ingero__V1__Operation *op,
				 enum blame_class takes);
