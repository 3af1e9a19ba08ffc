// SPDX-License-Identifier: Apache-2.0
/* What stacks are compared by: time, number of calls, bytes, or the time of one class of blame. */
#pragma once

#include <stdbool.h>

#include "libingero/render/blame.h"
#include "libingero/render/flame.h"

enum stack_measure_kind { STACK_TIME, STACK_COUNT, STACK_BYTES, STACK_BLAME };

struct stack_measure {
	enum stack_measure_kind kind;
	enum blame_view_class class; /* of STACK_BLAME */
};

/* "time", "count", "bytes", "blame:on_cpu", ...; NULL-terminated */
extern const char *const stack_measure_names[];

/** stack_measure_parse() - the measure of one of these names. Return: 0 or -EINVAL */
int stack_measure_parse(const char *text, struct stack_measure *ret);
/** stack_measure_value() - its name and unit for a profile */
struct flame_value stack_measure_value(const struct stack_measure *measure);
/**
 * stack_measure_of() - value of a row. Time and count are those of all calls, estimated where not all were recorded;
 * bytes and blame are those of the recorded ones
 */
uint64_t stack_measure_of(const struct stack_measure *measure, const Ingero__V1__StackRow *row);
/** stack_row_counted() - calls made from there, recorded or not */
uint64_t stack_row_counted(const Ingero__V1__StackRow *row);
/** stack_row_counted_ns() - their time */
uint64_t stack_row_counted_ns(const Ingero__V1__StackRow *row);
