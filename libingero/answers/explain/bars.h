// SPDX-License-Identifier: Apache-2.0
/*
 * Blame as lines: how much, which class, a bar. The lines add up: what is not shown
 * by its class is one line of the rest.
 */
#pragma once

#include "libingero/render/blame.h"
#include "libingero/render/text.h"

#define EXPLAIN_LABEL_COLUMNS 11 /* "  where    " */

struct explain_bars {
	const Ingero__V1__Blame *blame;
	uint64_t whole_ns;	     /* what the classes are to add up to; 0: their sum */
	enum blame_view_class first; /* the class of the cause, shown first; BLAME_VIEW_COUNT: by size alone */
	const char *first_note;	     /* behind its bar: "88 % behind hog (pid 42, root)"; NULL: nothing */
	unsigned int most;	     /* classes shown one by one */
	bool is_exact;		     /* every nanosecond instead of rounded units */
};

/** explain_bars_append() - nothing for blame that was not measured */
void explain_bars_append(const struct explain_bars *bars, const struct text_style *style, struct buf *out);
