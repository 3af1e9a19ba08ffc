// SPDX-License-Identifier: Apache-2.0
/*
 * What tracing costs: those that are traced, those that only map the same files, and the machine.
 */
#pragma once

#include <stdint.h>

#include "ingero/v1/ingero.pb-c.h"

struct arena;
struct rpc_context;
struct scope;
struct since;

/** cost_message() - @since: NULL: since the daemon started. Return: NULL without memory */
Ingero__V1__Cost *cost_message(const struct rpc_context *context, struct arena *arena, const struct scope *scope,
			       const struct since *since);
/** cost_keep() - hand the store what recording has cost up to now, of everybody; without one nothing is done */
void cost_keep(const struct rpc_context *context);
/** cost_daemon_cpu_ns() - the daemon's own time, its children's included */
uint64_t cost_daemon_cpu_ns(void);
