// SPDX-License-Identifier: Apache-2.0
/*
 * The running Trace calls, as the daemon feeds them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "events/sink.h"

struct call_identity;
struct rpc_context;
struct target_library;
struct trace_hub;

int trace_hub_new(struct trace_hub **ret_hub);
/** trace_hub_free() - every call must have ended */
void trace_hub_free(struct trace_hub *hub);
/** trace_hub_count() - number of running calls that the identity may see */
unsigned int trace_hub_count(const struct trace_hub *hub, const struct call_identity *identity);
/** trace_hub_sink() - what they show of everything that comes */
struct sink trace_hub_sink(struct trace_hub *hub);
void trace_hub_library(struct trace_hub *hub, const struct target_library *library);
/** trace_hub_resume() - ask whoever had a process held to let it go on. Return: whether anybody was asked */
bool trace_hub_resume(struct trace_hub *hub, uint32_t tgid);
/** trace_hub_exit() - a process is gone: calls that watched nothing else finish soon */
void trace_hub_exit(struct trace_hub *hub);
/** trace_hub_finish() - the daemon stops: every call sends its summary and ends */
void trace_hub_finish(struct trace_hub *hub);
