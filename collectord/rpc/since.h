// SPDX-License-Identifier: Apache-2.0
/*
 * How things stood when a lease began: taken away from what is there later, it leaves what happened since. Each lease
 * has a book of its own, by the id that the figures give a process, as an entry of the process table has no place for
 * one record of each lease.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "figures/account_delta.h"
#include "figures/figures.h"

struct call_identity;
struct rpc_context;
struct scope;

struct since_process {
	uint64_t id;
	struct op_list ops;
	struct behind_list behind;
	struct account_moment accounts;
};

struct since {
	uint64_t since_ns;
	uint64_t watched_ns;		 /* when who asks began to watch: what was lost before that is no loss of his */
	struct since_process *processes; /* by id */
	size_t n_processes;
	size_t bytes; /* since_bytes() when it was taken, or measured again */
	uint64_t losses[LOSS_COUNT];
	uint64_t refused;
	uint64_t bystander_calls;
	uint64_t daemon_cpu_ns;
};

/** since_take() - remember now, of processes that the identity may see. Return: 0 or -ENOMEM */
int since_take(const struct rpc_context *context, const struct call_identity *identity, struct since *ret_since);
void since_done(struct since *since);
/** since_bytes() - memory that the copies hold */
size_t since_bytes(const struct since *since);

/**
 * since_note() - a process that came later: it had nothing then
 * Return: the process, NULL without memory
 */
struct since_process *since_note(struct since *since, uint64_t id);
/** since_forget() - of one that is not told of any more */
void since_forget(struct since *since, uint64_t id);
/** since_behind() - of one process, as it is now. Return: 0 or -ENOMEM */
int since_behind(struct since_process *then, const struct process_figures *now);
/** since_accounts() - of one process, as they are now. Return: 0 or -ENOMEM */
int since_accounts(struct since_process *then, const struct process_figures *now);
/** since_losses() - totals of the losses that may concern the identity */
void since_losses(const struct rpc_context *context, const struct call_identity *identity,
		  uint64_t ret_losses[LOSS_COUNT]);
/** since_restart() - what is of no process, as it is now */
void since_restart(struct since *since, const struct rpc_context *context, const struct call_identity *identity);

/**
 * since_next() - next process that the scope sees, of those that had not ended when @since began
 * @since: NULL: of all
 * @i: index where to go on; 0 at first
 * @ret_then: the process as it was then; NULL: it came later
 * Return: borrowed; NULL: there is no other
 */
const struct process_figures *since_next(const struct figures *figures, const struct scope *scope,
					 const struct since *since, size_t *i, const struct since_process **ret_then);
/** since_find() - a process as it was then. Return: NULL when it came later, or @since is NULL */
const struct since_process *since_find(const struct since *since, uint64_t id);
/** since_op() - one operation of it as it was then. Return: NULL when it had none, or @then is NULL */
const struct op_figures *since_op(const struct since_process *then, uint32_t op);
/**
 * since_op_figures() - of one operation since then; NULL: since it began
 * @ret: borrows, or where *ret_owned owns: op_figures_done() then
 * Return: 0 or -ENOMEM
 */
int since_op_figures(const struct op_used *now, const struct since_process *then, struct op_figures *ret,
		     bool *ret_owned);
/** since_op_calls() - of one operation since then; 0 of what is no call */
uint64_t since_op_calls(const struct op_used *now, const struct since_process *then);
/** since_calls() - of a process since then, NULL: since it began; of the operations from @first on */
uint64_t since_calls(const struct process_figures *p, const struct since *since, uint32_t first);
