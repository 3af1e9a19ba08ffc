// SPDX-License-Identifier: Apache-2.0
/*
 * Progress lines: what was seen in each interval, where no screen shows it. The clock is that of the figures, so that
 * a demo played faster has its lines where the real thing would have them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/* How often there is a line, and when it is left out. */
struct trace_pace {
	uint64_t interval_ns;	   /* 0: no lines */
	uint64_t deadband_percent; /* nothing changed by more than this since the last line: none; 0: as idle ones only
				    */
	uint64_t heartbeat_ns;	   /* but at least one in this time; 0: however long nothing changes */
};

#define TRACE_PACE_DEFAULT                                                                                             \
	{                                                                                                              \
		.interval_ns = 10 * NSEC_PER_SEC, .heartbeat_ns = 60 * NSEC_PER_SEC                                    \
	}

/* What a line tells, as a later one is compared with it. */
struct trace_pulse {
	double calls_per_s;
	double failed_per_s;
	double percent; /* of the time, of the operation with most of it */
	double processes;
};

struct trace_progress {
	struct trace_pace pace;
	uint64_t due_ns;    /* where the interval ends; all times since the start */
	uint64_t called_ns; /* end of the last interval with a call, 0: there was none */
	uint64_t shown_ns;  /* of the last line, 0: there was none */
	struct trace_pulse shown;
};

/** trace_progress_is_due() - whether an interval ends with figures of this window */
bool trace_progress_is_due(const struct trace_progress *progress, uint64_t window_ns);
/**
 * trace_progress_append() - end the interval, and append its line unless that is left out
 * @before: figures at the end of the interval before, NULL: this is the first
 * @lead:   begins the line: who says it, "" where that is plain
 * Return: 0 or -ENOMEM
 */
int trace_progress_append(struct trace_progress *progress, const Ingero__V1__Summary *now,
			  const Ingero__V1__Summary *before, const char *lead, const struct text_style *style,
			  struct buf *out);
