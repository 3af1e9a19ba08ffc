// SPDX-License-Identifier: Apache-2.0
/* One side of a comparison, as people name it: a time, processes, or a file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ingero/v1/ingero.pb-c.h"

#define COMPARE_SIDE_PIDS_MOST 64
#define COMPARE_SIDE_ERROR_BYTES 256

#define COMPARE_SIDE_RUN_BYTES 64

enum compare_side_kind { COMPARE_TIME, COMPARE_PIDS, COMPARE_RUN, COMPARE_FILE };

struct compare_side {
	enum compare_side_kind kind;
	const char *path;		       /* FILE; borrowed of what was parsed */
	uint64_t from_unix_ns, to_unix_ns;     /* TIME; 0: from the beginning, to the end */
	char run[COMPARE_SIDE_RUN_BYTES];      /* RUN: name of a program; else "" */
	uint32_t runs_back;		       /* 0: its last run, 1: the one before */
	uint32_t pids[COMPARE_SIDE_PIDS_MOST]; /* PIDS */
	size_t n_pids;
};

/**
 * compare_side_parse() - read one side: "10m", "10m..5m", "14:00..14:10", "pid:4711", "pid:4711,4712",
 * "run:train.py", "run:train.py~1", "before.db"
 * @is_file: whether the text names a file that exists; texts with a slash, or that end in .db, are files in any case
 * @error:   COMPARE_SIDE_ERROR_BYTES
 * Return: 0; -EINVAL with a sentence
 */
int compare_side_parse(const char *text, bool is_file, uint64_t now_unix_ns, struct compare_side *ret, char *error);
/** compare_sides_fault() - Return: NULL, or a sentence why these two cannot be compared */
const char *compare_sides_fault(const struct compare_side *a, const struct compare_side *b);
