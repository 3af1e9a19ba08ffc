// SPDX-License-Identifier: Apache-2.0
/*
 * Where the newest N calls begin.
 */
#pragma once

#include <stdint.h>

struct read_filter;
struct reader_job;

/**
 * reader_newest() - start of the n-th newest call that matches
 * @n:           at least 1, and no more than match: eight bytes are held for each
 * @ret_unix_ns: 0 when there are fewer after all
 * @ret_surplus: how many of those that start at this very moment are beyond the n
 * Return: 0, -ETIME or -errno
 */
int reader_newest(struct reader_job *job, const struct read_filter *filter, uint64_t n, uint64_t *ret_unix_ns,
		  uint64_t *ret_surplus);
