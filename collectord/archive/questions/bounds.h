// SPDX-License-Identifier: Apache-2.0
/* Time of the figures beyond the requested window: figures are stored in rows, and a row is counted whole. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ingero/v1/ingero.pb-c.h"

struct reader_job;

struct reader_bounds {
	uint64_t from_unix_ns, to_unix_ns; /* 0: open */
	Ingero__V1__Widened widened;
};

/**
 * reader_bounds_widen() - widen the request to the rows in which these processes called
 * @bounds: from and to are set; widened is filled in
 * Return: 0 or -errno
 */
int reader_bounds_widen(struct reader_job *job, const uint32_t *pids, size_t n_pids, struct reader_bounds *bounds);
/** reader_bounds_tell() - put the bounds into an answer; @bounds must outlive it */
void reader_bounds_tell(struct reader_bounds *bounds, Ingero__V1__Window *window);
