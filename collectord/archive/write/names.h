// SPDX-License-Identifier: Apache-2.0
/*
 * Rows of table process as they were last written: if the table is damaged while a recorder runs, they are written
 * again. The writing thread has copies of its own, because the process table belongs to the loop.
 */
#pragma once

#include "archive/write/batch.h"

#define NAMES_MAX 4096 /* 400 KiB; beyond it those that ended are removed first, then the oldest */

struct names {
	ARRAY(struct batch_process) items;
	struct number_map at; /* by id */
};

void names_done(struct names *names);
/**
 * names_set() - set an entry; replaces the entry of its id. Without memory the entry is missing, and its row cannot be
 * written again after damage.
 */
void names_set(struct names *names, const struct batch_process *process);
