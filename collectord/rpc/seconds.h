// SPDX-License-Identifier: Apache-2.0
/*
 * Figures of each second alone, for one Trace call. A second that was built is told whole, in pieces and as late as its
 * reader takes them; until then what happens meanwhile belongs to the next. So every call is in exactly one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "ingero/v1/ingero.pb-c.h"
#include "rpc/since.h"

struct rpc_context;
struct scope;

struct seconds {
	struct since since; /* everything as it was last built; recent_ns: longest call since, up to the last tick */
	struct arena arena; /* of the pieces */
	ARRAY(Ingero__V1__Summary *) pieces;
	size_t n_told;
	uint64_t since_unix_ns;	  /* as it was told; 0: nothing was */
	uint64_t subscriber_slow; /* as last built */
	uint64_t forgotten;	  /* calls that no second tells of, since the last */
};

void seconds_done(struct seconds *seconds);
/** seconds_bytes() - memory of the copies and of the pieces */
size_t seconds_bytes(const struct seconds *seconds);
/** seconds_pending() - the next piece to be told; NULL: none is left, the next second can be built */
Ingero__V1__Summary *seconds_pending(const struct seconds *seconds);
/** seconds_is_empty() - nothing was called in what was built, and it took no time: it need not be told, and is dropped
 */
bool seconds_is_empty(struct seconds *seconds);
/**
 * seconds_build() - the time since the last one; nothing is pending
 * @subscriber_slow: since the call runs
 * Return: 0; -ENOMEM, and what could not be built comes with the next
 */
int seconds_build(struct seconds *seconds, const struct rpc_context *context, const struct scope *scope,
		  uint64_t subscriber_slow);
/** seconds_forget() - figures of a process of the scope go */
void seconds_forget(struct seconds *seconds, const struct process_figures *process);
/** seconds_pass() - instead, while something is pending: a tick takes the maxima. Return: 0 or -ENOMEM */
int seconds_pass(struct seconds *seconds, const struct rpc_context *context, const struct scope *scope);
