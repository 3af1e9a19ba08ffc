// SPDX-License-Identifier: Apache-2.0
/* The live screen: a function from the data to lines of text. The caller draws and reads keys. */
#pragma once

#include "cli/machine.h"
#include "cli/trace/live.h"
#include "libingero/answers/trace/report.h"

/* Contents of one frame. All borrowed; NULL where not known yet. */
struct trace_screen {
	const struct trace_setting *setting;
	struct trace_live *live; /* not NULL; its scroll position is kept within bounds here */
	const Ingero__V1__Summary *figures;
	const Ingero__V1__Summary *recent;   /* figures of the last seconds; NULL: totals are shown */
	const Ingero__V1__Summary *previous; /* the previous figures, for rates */
	const struct machine_load *machine;
	const char *host;
	const char *clock; /* local time: "14:03:21" */
};

/**
 * trace_screen_append() - append at most style->rows lines of at most style->columns
 * Return: 0 or -ENOMEM
 */
int trace_screen_append(const struct trace_screen *screen, const struct text_style *style, struct buf *out);
