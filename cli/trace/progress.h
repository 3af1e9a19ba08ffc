// SPDX-License-Identifier: Apache-2.0
/*
 * Progress lines: what was seen in each interval, where no screen shows it. Their clock is that of the figures: a demo
 * played faster has its lines where a real trace would have them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/* How often a line is printed, and when it is left out. */
struct trace_pace {
	uint64_t interval_ns;	   /* 0: no lines */
	uint64_t deadband_percent; /* without a change by more than this since the last line the line is left out; 0:
				      only idle lines are */
	uint64_t heartbeat_ns;	   /* maximum time between lines; 0: none */
};

#define TRACE_PACE_DEFAULT                                                                                             \
	{                                                                                                              \
		.interval_ns = 10 * NSEC_PER_SEC, .heartbeat_ns = 60 * NSEC_PER_SEC                                    \
	}

/* The values of a line, to compare with the next. */
struct trace_pulse {
	double calls_per_s;
	double failed_per_s;
	double percent; /* share of the time of the operation with most of it */
	double processes;
};

struct trace_progress {
	struct trace_pace pace;
	uint64_t due_ns;    /* end of the interval; all times since the start */
	uint64_t called_ns; /* end of the last interval with a call; 0: none */
	uint64_t shown_ns;  /* time of the last line; 0: none */
	struct trace_pulse shown;
};

/** trace_progress_is_due() - whether figures of this window end an interval */
bool trace_progress_is_due(const struct trace_progress *progress, uint64_t window_ns);
/**
 * trace_progress_append() - end the interval, and append its line unless it is left out
 * @before: figures at the end of the previous interval; NULL: this is the first
 * @lead:   start of the line: the name of the speaker, "" where that is clear
 * Return: 0 or -ENOMEM
 */
int trace_progress_append(struct trace_progress *progress, const Ingero__V1__Summary *now,
			  const Ingero__V1__Summary *before, const char *lead, const struct text_style *style,
			  struct buf *out);
