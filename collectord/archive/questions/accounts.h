// SPDX-License-Identifier: Apache-2.0
/* Accounts of threads in a window, as messages. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "archive/job.h"
#include "ingero/v1/ingero.pb-c.h"

enum accounts_which {
	ACCOUNTS_EVERY_THREAD,	/* driving threads first, then other threads; both by lost time, most first */
	ACCOUNTS_WORST_DRIVING, /* of each process the driving thread that lost most time; by lost time, most first */
};

struct accounts_query {
	enum accounts_which which;
	size_t most;	     /* maximum messages */
	const uint32_t *ops; /* ids of operations: only parts in their calls are returned; NULL: all parts */
	size_t n_ops;
	/* Findings, worst first. With ACCOUNTS_WORST_DRIVING, a process has the account of the first one's thread. */
	Ingero__V1__Finding *const *findings;
	size_t n_findings;
};

struct accounts_answer {
	Ingero__V1__Account **rows; /* in the arena */
	size_t n;
	size_t n_all;	  /* number of threads chosen; greater than n if there were more than `most` */
	size_t n_threads; /* number of threads; greater than n_all if only one of each process was chosen */
};

/**
 * reader_accounts() - accounts of the threads in a window
 * @arena, @window: must outlive the answer
 * Return: 0 or -ENOMEM
 */
int reader_accounts(struct reader_job *job, const struct read_window *window, const struct accounts_query *query,
		    struct arena *arena, struct accounts_answer *ret);
