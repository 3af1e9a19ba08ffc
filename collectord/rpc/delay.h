// SPDX-License-Identifier: Apache-2.0
/* The largest loss of time in an answer (detect/delay.h has the rule). */
#pragma once

#include "base/arena.h"
#include "ingero/v1/ingero.pb-c.h"

struct rpc_context;
struct scope;
struct since;

/**
 * delay_find() - the operation with the largest delay
 * @since: NULL: since the daemon started
 * @summary: with all findings and `behind` in it, for the remedy
 * @ret_delay: NULL: no significant delay
 * Return: 0 or -ENOMEM
 */
int delay_find(const struct rpc_context *context, const struct scope *scope, const struct since *since,
	       struct arena *arena, const Ingero__V1__Summary *summary, Ingero__V1__Delay **ret_delay);
