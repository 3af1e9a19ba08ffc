// SPDX-License-Identifier: Apache-2.0
/*
 * Blame as lines: time, class, bar. The lines sum to the total: classes that are not shown become one line, "the rest".
 */
#pragma once

#include "libingero/render/blame.h"
#include "libingero/render/text.h"

#define EXPLAIN_LABEL_COLUMNS 11 /* "  where    " */

struct explain_bars {
	const Ingero__V1__Blame *blame;
	uint64_t whole_ns;	     /* total of the classes; 0: their sum */
	enum blame_view_class first; /* class of the cause, shown first; BLAME_VIEW_COUNT: ordered by size alone */
	const char *first_note;	     /* text after its bar: "88 % behind hog (pid 42, root)"; NULL: nothing */
	unsigned int most;	     /* maximum number of classes shown */
	bool is_exact;		     /* shows nanoseconds instead of rounded units */
};

/** explain_bars_append() - append the lines; nothing for blame that was not measured */
void explain_bars_append(const struct explain_bars *bars, const struct text_style *style, struct buf *out);
