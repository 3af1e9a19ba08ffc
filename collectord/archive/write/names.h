// SPDX-License-Identifier: Apache-2.0
/*
 * Rows of processes as they were written last, so that damage to their table takes no names while a recorder runs. The
 * writing thread has copies of its own, as the process table belongs to the loop.
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
 * names_set() - set an entry. Without memory it is missing: after damage its row may be lost, as all would without this
 * table.
 */
void names_set(struct names *names, const struct batch_process *process);
