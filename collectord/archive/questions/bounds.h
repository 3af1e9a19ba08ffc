// SPDX-License-Identifier: Apache-2.0
/*
 * Figures are stored in rows, and a row is counted as a whole: they may cover more than the requested window. Here the
 * window is widened to the bounds of the rows.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ingero/v1/ingero.pb-c.h"

struct reader_job;

struct reader_bounds {
	uint64_t from_unix_ns, to_unix_ns; /* 0: no bound */
	Ingero__V1__Widened widened;
};

/**
 * reader_bounds_widen() - widen the window to the bounds of the rows that have figures of these processes
 * @bounds: from and to are given and may be changed; widened is filled in
 * Return: 0 or -errno
 */
int reader_bounds_widen(struct reader_job *job, const uint32_t *pids, size_t n_pids, struct reader_bounds *bounds);
/** reader_bounds_tell() - put the widening into an answer, if there is any; @bounds must outlive the answer */
void reader_bounds_tell(struct reader_bounds *bounds, Ingero__V1__Window *window);
