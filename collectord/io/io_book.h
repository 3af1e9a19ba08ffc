// SPDX-License-Identifier: Apache-2.0
/* Sums of one caller: by process, call and file, since its trace began. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "bpf/io_record.h"
#include "figures/histogram.h"

#define IO_ROWS_MOST (64u << 10) /* of one caller; further files of a process and call share a row */

struct io_sums {
	uint64_t count, errors, bytes, total_ns, gap_ns, max_ns;
	struct histogram histogram;
};

struct io_row {
	uint32_t process;
	uint32_t call;
	uint64_t file;	  /* 0: none, or all further files */
	uint32_t matched; /* version of the path that is_match is about; 0: none */
	bool is_match;	  /* of the caller's pattern */
	struct io_sums sums;
};

struct io_book {
	ARRAY(struct io_row) rows; /* in order of arrival */
	uint32_t *places;	   /* 1 + index of a row by the hash of its key; 0: free */
	size_t n_places;
	uint64_t lost; /* calls without a row, for lack of memory */
};

void io_book_done(struct io_book *book);
/** io_book_add() - add a row of the kernel half */
void io_book_add(struct io_book *book, const struct io_key *key, const struct io_cell *cell);
void io_sums_done(struct io_sums *sums);
/** io_sums_merge() - add other sums. Return: 0, or -ENOMEM with the histogram incomplete */
int io_sums_merge(struct io_sums *sums, const struct io_sums *other);
