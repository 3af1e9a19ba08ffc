// SPDX-License-Identifier: Apache-2.0
/* Cost of tracing: for traced processes, for others that map the same files, and for the machine. */
#pragma once

#include <stdint.h>

#include "ingero/v1/ingero.pb-c.h"

struct arena;
struct process_figures;
struct rpc_context;
struct scope;
struct since;

/** cost_message() - make the message. @since: NULL: since the daemon started. Return: NULL without memory */
Ingero__V1__Cost *cost_message(const struct rpc_context *context, struct arena *arena, const struct scope *scope,
			       const struct since *since);
/** cost_forget() - a process is about to be forgotten: keep its share, if it lost most of those that were */
void cost_forget(struct rpc_context *context, const struct process_figures *process);
/** cost_keep() - give the store the cost so far, of all users; without a store nothing is done */
void cost_keep(const struct rpc_context *context);
/** cost_daemon_cpu_ns() - the daemon's own time, its children's included */
uint64_t cost_daemon_cpu_ns(void);
