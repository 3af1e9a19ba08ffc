// SPDX-License-Identifier: Apache-2.0
/* The sum of the rows of figures that cover a window, over the files of a reader. */
#pragma once

#include "archive/read/read.h"

/* The rows of one process, which are limited by themselves, however long the window is. */
struct window_process {
	uint32_t process;	  /* id of the reader */
	struct figures_blob blob; /* with ids of the reader */
	size_t fold_at;		  /* it is folded when it has more rows of accounts */
	size_t n_folded;	  /* rows of accounts that it had when it was last folded */
};

struct window_sum {
	const uint32_t *pids; /* wanted processes; n_pids 0: all */
	size_t n_pids;
	bool without_accounts;
	uint64_t from_unix_ns, to_unix_ns;	/* that were asked for; to 0: no end */
	ARRAY(struct window_process) processes; /* sorted */
	ARRAY(uint32_t) fresh;			/* of these, the ones of the last blob */
	uint64_t first_unix_ns, last_unix_ns;	/* of the rows; UINT64_MAX and 0: there were none */
};

/** window_sum_add() - add the rows of a blob, with ids of the reader; it may lose its histograms. Return: 0 or -ENOMEM
 */
int window_sum_add(struct window_sum *sum, struct figures_blob *blob);
/** store_reader_window_add() - add the rows of all files. Return: 0 or -errno */
int store_reader_window_add(struct store_reader *reader, struct window_sum *sum);
