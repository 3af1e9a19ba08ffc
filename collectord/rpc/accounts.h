// SPDX-License-Identifier: Apache-2.0
/*
 * Accounts of the threads of processes, live, as messages.
 */
#pragma once

#include "base/arena.h"
#include "ingero/v1/ingero.pb-c.h"

struct rpc_context;
struct scope;
struct since;

/**
 * answer_accounts() - where the wall clock of threads in scope went, into a summary: driving threads first
 * @since: NULL: since the first calls of the threads
 * Return: 0 or -ENOMEM
 */
int answer_accounts(const struct rpc_context *context, const struct scope *scope, const struct since *since,
		    struct arena *arena, Ingero__V1__Summary *summary);
