// SPDX-License-Identifier: Apache-2.0
/* The account of a thread for display: one line for each cause, the largest first, in percents that sum to 100. */
#pragma once

#include <stdbool.h>

#include "base/array.h"
#include "ingero/v1/ingero.pb-c.h"

#define ACCOUNT_LINES_MOST 5u /* maximum number of lines in a report */

struct account_line {
	char label[64];	  /* "waits for a pipe" */
	char detail[224]; /* wakers and resources: "from python (4720) 71 % ← reads train.bin"; "": unknown */
	size_t n_first;	  /* bytes of the detail up to the end of its first cause */
	char from[160];	  /* where the thread mostly waited: "at train.py:42 in load"; "": unknown */
	char brief[80];	  /* label and waker in few columns: "ready behind ffmpeg" */
	uint64_t ns;
	unsigned int percent; /* share of wall_ns, rounded so that all lines sum to 100 */
	bool is_wait;	      /* between calls, and not asked for by the program as sleep is */
	bool is_sleep;	      /* asked for by the program */
	bool is_call;	      /* of one operation, or of several */
	bool is_without_cpu;  /* ready, or throttled: in calls and between them */
	bool is_linked;	      /* the detail continues the label: "from python (4720)" */
};

struct account_view {
	const Ingero__V1__Account *account; /* borrowed */
	ARRAY(struct account_line) lines;
	uint64_t wall_ns; /* sum of the lines */
};

#define ACCOUNT_VIEW_INIT                                                                                              \
	{                                                                                                              \
		.wall_ns = 0                                                                                           \
	}

struct account_waiting {
	char text[224]; /* "waits 14.2 s so far for a pipe from loader (4720): pipe:[4026]"; "": in no wait */
	uint64_t ns;	/* its length so far */
};

/** account_waiting_of() - the wait between calls that the thread of the account is in */
struct account_waiting account_waiting_of(const Ingero__V1__Account *account);

void account_view_done(struct account_view *view);
/**
 * account_view_build() - make the lines of an account
 * @most: maximum number of lines; smaller causes become one line, "other"
 * @ret:  release with account_view_done(); no lines where the account has no time
 * Return: 0 or -ENOMEM
 */
int account_view_build(const Ingero__V1__Account *account, size_t most, struct account_view *ret);
