// SPDX-License-Identifier: Apache-2.0
/*
 * Where the newest N calls begin.
 */
#pragma once

#include <stdint.h>

struct read_filter;
struct read_time;
struct reader_job;

/**
 * reader_newest() - where the n-th newest call that matches stands, in the order that the filter asks for
 * @n:           at least 1
 * @ret_since:   0 when there are fewer after all
 * @ret_surplus: how many of those that stand at this very moment are beyond the n
 * Return: 0, -ETIME or -errno
 */
int reader_newest(struct reader_job *job, const struct read_filter *filter, uint64_t n, struct read_time *ret_since,
		  uint64_t *ret_surplus);
