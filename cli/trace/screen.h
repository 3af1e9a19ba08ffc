// SPDX-License-Identifier: Apache-2.0
/*
 * The live screen: a function from what is known to lines of text. Drawing and
 * reading keys are the caller's.
 */
#pragma once

#include "cli/machine.h"
#include "cli/trace/live.h"
#include "libingero/answers/trace/report.h"

/* One frame's contents. All borrowed; NULL where not known yet. */
struct trace_screen {
	const struct trace_setting *setting;
	struct trace_live *live; /* not NULL; how far it is scrolled is kept within bounds here */
	const Ingero__V1__Summary *figures;
	const Ingero__V1__Summary *recent;   /* figures of the last seconds; NULL: totals are shown */
	const Ingero__V1__Summary *previous; /* the figures before these: rates */
	const struct machine_load *machine;
	const char *host;
	const char *clock; /* local time: "14:03:21" */
};

/**
 * trace_screen_append() - at most style->rows lines of at most style->columns
 * Return: 0 or -ENOMEM
 */
int trace_screen_append(const struct trace_screen *screen, const struct text_style *style, struct buf *out);
