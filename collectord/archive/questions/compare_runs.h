// SPDX-License-Identifier: Apache-2.0
/*
 * Processes that a side of a comparison names: by their ids, which may have been given again, or as a run of a program.
 */
#pragma once

#include "archive/questions/compare_series.h"

/*
 * Processes of one program are of one run, as the ranks of a distributed run, if one begins before all earlier ones
 * have ended, or this soon after one of them.
 */
#define COMPARE_RUN_NS (10 * NSEC_PER_SEC)

/** compare_last_processes() - of each process id the last process that made calls, if there is one. Return: 0, -errno
 */
int compare_last_processes(struct store_reader *reader, const uint32_t *pids, size_t n_pids, process_ids_wanted *ret);
/**
 * compare_run() - processes of a run of a program that made calls
 * @name: of the processes, or of their script
 * @back: 0: the last run, 1: the one before
 * @ret_n_runs: number of runs
 * Return: 0; -ENOENT: there is no such run; -errno
 */
int compare_run(struct store_reader *reader, const char *name, uint32_t back, process_ids_wanted *ret,
		size_t *ret_n_runs);
