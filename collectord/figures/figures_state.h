// SPDX-License-Identifier: Apache-2.0
/*
 * What figures.c and figures_accounts.c share; nobody else includes it.
 */
#pragma once

#include "base/array.h"
#include "figures/figures.h"

struct figures {
	struct process_table *table;
	ARRAY(struct process_figures *) processes;	/* in order of first sight */
	struct process_figures *by_slot[PROCESS_SLOTS]; /* borrowed from processes */
	uint32_t gone[PROCESS_SLOTS];			/* slots seen gone by the last collect */
	size_t n_gone;
	uint64_t next_id;
	struct figures_forgotten forgotten;
	uint64_t reading;		    /* number of the reading of accounts that goes on */
	uint64_t wait_reading;		    /* likewise of waits */
	ARRAY(struct account_record) early; /* a thread that ended is read once, maybe before its process is known */
	size_t n_early_before;		    /* of them, noted before the reading that goes on */
	uint64_t accounts_lost;
	struct file_table *files; /* NULL: nobody tells of files */
};

/** figures_accounts_drop() - release the accounts that a process shows */
void figures_accounts_drop(struct process_figures *p);
