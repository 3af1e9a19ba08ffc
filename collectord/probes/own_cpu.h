// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps the CPU time that records of calls take within a limit. Measured is what reading them, their stacks and storing
 * them takes, by the share of their user; beyond the limit, calls of the users whose records cost most are left out in
 * the kernel half (thinning.h). Whatever else the daemon does is no reason to leave any out.
 */
#pragma once

#include <stdint.h>

#include "bpf/record.h"

struct own_cpu;
struct probe_set;

/* What a record is of, for its cost. */
enum own_cpu_use { OWN_CPU_CALL, OWN_CPU_OTHER /* is not thinned: its cost is nobody's */ };

/* The cost of storing records, as its thread knows it. */
struct own_cpu_store {
	uint64_t (*used_ns)(void *data); /* CPU time since it began; NULL: nothing is stored */
	void *data;
};

/* What records take, and may take: CPU time per time; 1: one CPU. */
struct own_cpu_share {
	double limit;
	double used; /* in the second before the last decision; negative: there was none yet */
};

/**
 * own_cpu_open() - begin; @probes is borrowed and outlives it
 * @limit: CPU time per time, above 0; 1: one CPU
 * @store: copied; its data is borrowed
 * Return: 0 or -ENOMEM
 */
int own_cpu_open(struct probe_set *probes, double limit, const struct own_cpu_store *store, struct own_cpu **ret_own);
/** own_cpu_close() - all calls become records again; NULL is allowed */
void own_cpu_close(struct own_cpu *own);
/** own_cpu_record() - a record of the process in a slot was read, and is used from now on. NULL is allowed, as below */
void own_cpu_record(struct own_cpu *own, uint32_t slot, enum own_cpu_use use);
/** own_cpu_turn_end() - all records that were there were used */
void own_cpu_turn_end(struct own_cpu *own);
/** own_cpu_stack_begin() - a stack was read, perhaps while another record is used */
void own_cpu_stack_begin(struct own_cpu *own);
/** own_cpu_stack_end() - it was used */
void own_cpu_stack_end(struct own_cpu *own, uint32_t slot, enum own_cpu_use use);
/** own_cpu_second() - decide; to be called about each second. NULL is allowed */
void own_cpu_second(struct own_cpu *own);
/** own_cpu_share() - Return: what records take and may take. @own: not NULL */
struct own_cpu_share own_cpu_share(const struct own_cpu *own);
