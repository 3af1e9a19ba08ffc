// SPDX-License-Identifier: Apache-2.0
/* Accounts of threads in a window of the file, as messages. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "archive/job.h"
#include "ingero/v1/ingero.pb-c.h"

enum accounts_which {
	ACCOUNTS_EVERY_THREAD,	/* driving threads first; within driving and other threads those that lost most first */
	ACCOUNTS_WORST_DRIVING, /* one for each process: the driving thread that lost most; most lost first */
};

struct accounts_query {
	enum accounts_which which;
	size_t most;	     /* messages */
	const uint32_t *ops; /* rows of table op: only parts in their calls; NULL: all parts */
	size_t n_ops;
};

struct accounts_answer {
	Ingero__V1__Account **rows; /* in the arena */
	size_t n;
	size_t n_all;	  /* more than n if `most` was less */
	size_t n_threads; /* more than n_all if one stands for each process */
};

/**
 * reader_accounts() - accounts of the threads in a window
 * @arena, @window: must outlive the answer
 * Return: 0 or -ENOMEM
 */
int reader_accounts(struct reader_job *job, const struct read_window *window, const struct accounts_query *query,
		    struct arena *arena, struct accounts_answer *ret);
