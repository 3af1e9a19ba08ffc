// SPDX-License-Identifier: Apache-2.0
/*
 * The difference of two figures of one trace, as figures: counts, times and blame. It has no percentiles, because
 * figures carry no histograms.
 */
#pragma once

#include "ingero/v1/ingero.pb-c.h"

struct trace_delta {
	Ingero__V1__Summary view; /* lists are owned; texts and the rest are borrowed from the later figures */
	Ingero__V1__Operation *operations;
	Ingero__V1__Blame *blames;
	Ingero__V1__Behind *behind;
};

#define TRACE_DELTA_INIT                                                                                               \
	{                                                                                                              \
		.view = INGERO__V1__SUMMARY__INIT                                                                      \
	}

void trace_delta_done(struct trace_delta *delta);
/**
 * trace_delta_build() - list the operations called in between, and the processes behind which they waited
 * @now:    later figures, borrowed for as long as the delta lives
 * @before: earlier figures, or NULL: the whole window
 * Return: 0 or -ENOMEM
 */
int trace_delta_build(const Ingero__V1__Summary *now, const Ingero__V1__Summary *before, struct trace_delta *ret_delta);
