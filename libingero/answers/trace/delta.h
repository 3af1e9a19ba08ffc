// SPDX-License-Identifier: Apache-2.0
/*
 * What happened between two figures of one trace, as figures: counts, times and blame. Percentiles are of no such part,
 * since figures carry no histograms.
 */
#pragma once

#include "ingero/v1/ingero.pb-c.h"

struct trace_delta {
	Ingero__V1__Summary view; /* lists are ours; texts and the rest are borrowed from the later figures */
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
 * trace_delta_build() - operations that were called meanwhile, and who ran while they waited
 * @now:    borrowed for as long as the delta lives
 * @before: earlier figures, or NULL: the whole window
 * Return: 0 or -ENOMEM
 */
int trace_delta_build(const Ingero__V1__Summary *now, const Ingero__V1__Summary *before, struct trace_delta *ret_delta);
