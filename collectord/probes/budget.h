// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps what tracing takes from any thread within a share of its CPU time: measures it several times a second, from the
 * exact counts of the kernel half and the CPU time of each thread, and attaches and detaches groups of operations as
 * the governor decides (governor.h). All libraries are on one rung, which the most affected thread of the machine
 * decides.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "probes/governor.h"

struct budget;
struct probe_set;

/* A process. */
struct budget_forcing {
	uint32_t tgid, uid;
	bool is_guarded; /* its own user may not inspect it */
};
struct target_set;

/**
 * budget_open() - begin; @probes and @targets are borrowed and outlive it
 * @share: of the CPU time of a thread, above 0
 * Return: 0; -EOPNOTSUPP: this back end cannot detach quickly, or this kernel does not report CPU time; -ENOMEM
 */
int budget_open(uv_loop_t *loop, struct probe_set *probes, struct target_set *targets, double share,
		struct budget **ret_budget);
/** budget_close() - everything stays attached as it is; NULL is allowed */
void budget_close(struct budget *budget);
/** budget_share() - the share that is kept */
double budget_share(const struct budget *budget);
/** budget_rung() - the current rung */
enum governor_rung budget_rung(const struct budget *budget);
/**
 * budget_forced_by() - the process for whose sake operations are left out, of all users' processes
 * Return: false: none are left out, or it is not known
 */
bool budget_forced_by(const struct budget *budget, struct budget_forcing *ret);
/**
 * budget_share_kept() - the share that would keep tier 'always' exact, where it is not
 * Return: 0: it is exact; above 1: no budget would
 */
double budget_share_kept(const struct budget *budget);
/** budget_rung_name() - its name in messages: all, no_request, no_driver, duty, duty_all */
const char *budget_rung_name(enum governor_rung rung);
