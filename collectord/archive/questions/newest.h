// SPDX-License-Identifier: Apache-2.0
/* Start of the newest N calls. */
#pragma once

#include <stdint.h>

struct read_filter;
struct read_time;
struct reader_job;

/**
 * reader_newest() - position of the n-th newest matching call, in the filter's order
 * @n:           at least 1
 * @ret_since:   0 when fewer match
 * @ret_surplus: number of calls at this very moment beyond the n
 * Return: 0, -ETIME or -errno
 */
int reader_newest(struct reader_job *job, const struct read_filter *filter, uint64_t n, struct read_time *ret_since,
		  uint64_t *ret_surplus);
