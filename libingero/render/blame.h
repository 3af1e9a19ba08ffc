// SPDX-License-Identifier: Apache-2.0
/* Blame messages as arrays, and the words for their classes (bpf/blame.def). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingero/v1/ingero.pb-c.h"

enum blame_view_class {
#define BLAME(id, field, label, phrase, remedy) BLAME_VIEW_##id,
#include "bpf/blame.def"
#undef BLAME
	BLAME_VIEW_COUNT
};

struct blame_view {
	uint64_t ns[BLAME_VIEW_COUNT]; /* 0 where not measured */
	bool is_measured[BLAME_VIEW_COUNT];
	uint64_t sum_ns;
};

/** blame_view_of() - convert a message, or NULL for nothing measured, to an array */
struct blame_view blame_view_of(const Ingero__V1__Blame *blame);
/**
 * blame_view_largest() - class with the most time that is not in `except` (bit set), or BLAME_VIEW_COUNT if all are 0
 */
enum blame_view_class blame_view_largest(const struct blame_view *view, unsigned int except);
/** blame_view_waits_for_cpu_ns() - time ready but not running: runnable and quota together */
uint64_t blame_view_waits_for_cpu_ns(const struct blame_view *view);
/** blame_view_label() - one word for tables: "cpu", "runnable", "device" */
const char *blame_view_label(enum blame_view_class class);
/** blame_view_phrase() - meaning of the class, completes "spent": "waiting in the GPU driver" */
const char *blame_view_phrase(enum blame_view_class class);
/** blame_view_field() - its field in message Blame: "on_cpu" */
const char *blame_view_field(enum blame_view_class class);
/** blame_view_parse() - class by its field name in message Blame; BLAME_VIEW_COUNT: no such field */
enum blame_view_class blame_view_parse(const char *field);
