// SPDX-License-Identifier: Apache-2.0
/* State shared by figures.c and figures_accounts.c; no other file includes this. */
#pragma once

#include "base/array.h"
#include "figures/figures.h"

struct figures {
	struct process_table *table;
	ARRAY(struct process_figures *) processes;	/* in order of first sight */
	struct process_figures *by_slot[PROCESS_SLOTS]; /* borrowed from processes */
	uint32_t gone[PROCESS_SLOTS];			/* slots whose process was gone at the last collect */
	size_t n_gone;
	uint64_t next_id;
	struct figures_forgotten forgotten;
	uint64_t reading;		    /* number of the current reading of accounts */
	uint64_t wait_reading;		    /* number of the current reading of waits */
	ARRAY(struct account_record) early; /* accounts without a known process yet; ended threads are read once */
	size_t n_early_before;		    /* entries of `early` noted before the current reading */
	uint64_t accounts_lost;
	struct file_table *files; /* paths of files; NULL: none are known */
};

/** figures_accounts_drop() - release the accounts and waits of a process */
void figures_accounts_drop(struct process_figures *p);
