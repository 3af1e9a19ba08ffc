// SPDX-License-Identifier: Apache-2.0
/* Position at which the newest N calls begin. */
#pragma once

#include <stdint.h>

struct read_filter;
struct read_time;
struct reader_job;

/**
 * reader_newest() - position of the n-th newest matching call, in the filter's order
 * @n:           at least 1
 * @ret_since:   0 if fewer calls match
 * @ret_surplus: number of calls beyond the n, at the same position
 * Return: 0, -ETIME or -errno
 */
int reader_newest(struct reader_job *job, const struct read_filter *filter, uint64_t n, struct read_time *ret_since,
		  uint64_t *ret_surplus);
