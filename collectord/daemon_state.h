// SPDX-License-Identifier: Apache-2.0
/*
 * The daemon's parts, for the files that start, serve and stop it: daemon*.c alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/cleanup.h"
#include "daemon.h"
#include "probes/discover.h"
#include "probes/hold.h"
#include "rpc/context.h"
#include "service.h"

struct child;
struct engine;
struct lease;
struct lease_set;
struct pipeline;
struct process_table;
struct probe_set;
struct read_hub;
struct server;
struct source;
struct source_sinks;
struct target_library;
struct target_set;
struct trace_hub;
struct tracers;

struct daemon {
	uv_loop_t loop;
	uv_signal_t signals[2];
	bool is_private;
	bool is_stopping;
	bool is_loading; /* the probes come: at once, or when somebody has asked for something */
	uv_timer_t load_timer;
	int result;		  /* of what failed while serving */
	struct source *source;	  /* NULL where nothing can be captured */
	struct probe_set *probes; /* of the kernel half; NULL for a demo */
	char probes_reason[512];
	struct child *parser;
	struct target_set *targets;
	struct discover discover;
	struct lease_set *leases;
	struct daemon_policy policy_wish; /* what the configuration says, for when the probes are there */
	struct lease *policy;		  /* the daemon's own; NULL: only what callers ask for is captured */
	char recorded[32];		  /* whom it names, for people */
	char record_whom[32];		  /* whom the configuration names */
	struct store *store;		  /* NULL: nothing is kept */
	char store_problem[512];
	struct process_table *processes; /* NULL without a source, as are the next two */
	struct engine *engine;
	struct pipeline *pipeline;
	uint64_t settled_ns;
	struct host *host;
	uint64_t cost_kept_ns;
	struct trace_hub *traces;
	struct tracers *tracers;
	struct read_hub *reads;
	struct server *server;
	struct rpc_context context;
	struct hold hold;
	struct service service; /* unless private */
	bool can_leave;		/* the socket is systemd's: whoever comes later starts the next one */
	char *why;		/* what could not be started */
	size_t why_bytes;
	const struct daemon_options *options;
};

/** daemon_failed() - what could not be started: said at once, and to whoever may serve in our place. Return: r */
int daemon_failed(struct daemon *d, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);
/** daemon_capture_start() - whatever calls come from. Return: 0; -errno, said */
int daemon_capture_start(struct daemon *d);
/** daemon_capture_soon() - load the probes in the loop's next turn, where that is still to be done */
void daemon_capture_soon(struct daemon *d);
/** daemon_capture_load() - the same at once, and answer who waits for it. Return: 0, also without probes; -errno, said
 */
int daemon_capture_load(struct daemon *d);
/** daemon_context_fill() - handlers learn of what is there now */
void daemon_context_fill(struct daemon *d);
/** daemon_ring_bytes() - of call records */
uint64_t daemon_ring_bytes(const struct daemon_options *options);
/** daemon_behind(), daemon_library(), daemon_sinks - what the parts
 * report to */
void daemon_behind(uint32_t tgid, struct behind_value *value, void *data);
void daemon_library(const struct target_library *library, void *data);
extern const struct source_sinks daemon_sinks;

/** daemon_stop() - stopping twice is harmless; what the loop holds goes in its last turns */
void daemon_stop(struct daemon *d);
/** daemon_listen() - before anything is given up: not everybody may listen there. Return: 0 or -errno, said */
int daemon_listen(struct daemon *d);
/**
 * daemon_policy_begin() - capture whom the configuration names, once the probes are there
 * Every process is looked at, which takes as long as half of the loading: whoever waited for the probes is answered
 * before. Return: 0, also when it was begun; -errno, said
 */
int daemon_policy_begin(struct daemon *d);
/** daemon_policy_wish() - whom the configuration names: captured once that is applied */
void daemon_policy_wish(struct daemon *d, const struct daemon_policy *policy);
/** daemon_policy_apply() - capture whom it names from now on. Return: 0, or -errno with all as it was */
int daemon_policy_apply(struct daemon *d);
