// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps the daemon's own CPU time within a limit: measured each second, of all its threads and of its parser children.
 * Beyond the limit, calls of the users with most records are left out in the kernel half (thinning.h). Questions are
 * not counted: they have a budget of their own (rpc/cpu_budget.h).
 */
#pragma once

#include <stdint.h>

struct own_cpu;
struct probe_set;

/**
 * own_cpu_open() - begin; @probes is borrowed and outlives it
 * @limit: CPU time per time, above 0; 1: one CPU
 * Return: 0 or -ENOMEM
 */
int own_cpu_open(struct probe_set *probes, double limit, struct own_cpu **ret_own);
/** own_cpu_close() - all calls become records again; NULL is allowed */
void own_cpu_close(struct own_cpu *own);
/** own_cpu_record() - a record of the process in a slot was read */
void own_cpu_record(struct own_cpu *own, uint32_t slot);
/**
 * own_cpu_second() - measure and decide; to be called about each second
 * @children_ns: CPU time of the parser children until now
 */
void own_cpu_second(struct own_cpu *own, uint64_t children_ns);
