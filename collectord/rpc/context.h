// SPDX-License-Identifier: Apache-2.0
/*
 * What handlers work on: the parts of the daemon, introduced by daemon.c.
 */
#pragma once

#include <stdint.h>
#include <uv.h>

struct figures;
struct lease_set;
struct probe_set;
struct ring;
struct target_set;
struct trace_hub;

struct rpc_context {
	uv_loop_t *loop;
	struct probe_set *probes;   /* NULL where nothing can be captured: see probes_reason */
	const char *probes_reason;  /* why not, or why no better back end is used; "" if neither */
	struct target_set *targets; /* NULL without probes, as are the following */
	struct lease_set *leases;
	struct ring *ring;
	struct figures *figures;
	struct trace_hub *traces;
	uint64_t started_ns;
	uint64_t ring_bytes; /* of call records; fixed when the daemon starts */
	/* Bring rings and figures up to now, before an answer is built from them. */
	void (*refresh)(struct rpc_context *context);
	void *owner;
};
