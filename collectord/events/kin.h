// SPDX-License-Identifier: Apache-2.0
/*
 * Living descendants of the processes that are shown, by process id: each record of life looks for its process here,
 * and one user's processes may be very many.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "procs/process_table.h"

/* Maximum number of living descendants; beyond it a process is shown only if it calls. */
#define KIN_MAX 65536u

/* A living descendant: its parent's record has only its id, its own records have the rest. */
struct kin {
	uint32_t tgid;		 /* 0: this place is free */
	struct process *process; /* a reference, for its name; NULL: it has no record yet */
};

/* All zero: empty. */
struct kin_table {
	struct kin
		*places; /* open addressing: a process is at its own place or behind it, with no free place between */
	size_t n_places; /* 0, or a power of two; at most half are used */
	size_t n;
};

bool kin_has(const struct kin_table *table, uint32_t tgid);
/** kin_add() - add a process that has no record yet, unless it is there; without memory the same as beyond KIN_MAX */
void kin_add(struct kin_table *table, uint32_t tgid);
/** kin_follow() - replace the process of an entry, if there is one; @process: takes a reference; NULL: it has ended */
void kin_follow(struct kin_table *table, uint32_t tgid, struct process *process);
/** kin_forget() - remove each entry for which @is_gone returns true */
void kin_forget(struct kin_table *table, bool (*is_gone)(uint32_t tgid));
/** kin_clear() - remove all, and release the memory */
void kin_clear(struct kin_table *table);
