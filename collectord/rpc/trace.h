// SPDX-License-Identifier: Apache-2.0
/*
 * The running Trace calls, as the daemon feeds them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"

struct call_identity;
struct event;
struct finding;
struct process_figures;
struct rpc_context;
struct target_library;
struct trace_hub;

int trace_hub_new(struct trace_hub **ret_hub);
/** trace_hub_free() - every call must have ended */
void trace_hub_free(struct trace_hub *hub);
/** trace_hub_count() - calls that run, of whom the identity may see */
unsigned int trace_hub_count(const struct trace_hub *hub, const struct call_identity *identity);
void trace_hub_call(struct trace_hub *hub, const struct call_record *call);
/** trace_hub_host() - an event of the host */
void trace_hub_host(struct trace_hub *hub, const struct event *event);
/** trace_hub_second() - figures were read, and their maxima are about to be taken */
void trace_hub_second(struct trace_hub *hub);
/** trace_hub_drained() - send what was gathered */
void trace_hub_drained(struct trace_hub *hub);
/** trace_hub_finding() - opened, changed or closed */
void trace_hub_finding(struct trace_hub *hub, const struct finding *finding);
/** trace_hub_forget() - the figures of a process that ended go: its calls are missing in every later answer */
void trace_hub_forget(struct trace_hub *hub, const struct process_figures *process);
void trace_hub_library(struct trace_hub *hub, const struct target_library *library);
/** trace_hub_resume() - ask whoever had a process held to let it go on. Return: whether anybody was asked */
bool trace_hub_resume(struct trace_hub *hub, uint32_t tgid);
/** trace_hub_exit() - a process is gone: calls that watched nothing else finish soon */
void trace_hub_exit(struct trace_hub *hub);
/** trace_hub_finish() - the daemon stops: every call sends its summary and ends */
void trace_hub_finish(struct trace_hub *hub);
