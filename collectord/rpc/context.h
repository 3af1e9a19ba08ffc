// SPDX-License-Identifier: Apache-2.0
/*
 * What handlers work on: the parts of the daemon, introduced by daemon.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

struct call;
struct figures;
struct lease;
struct lease_set;
struct operations;
struct probe_set;
struct read_hub;
struct source;
struct store;
struct target_set;
struct trace_hub;

struct rpc_context {
	uv_loop_t *loop;
	struct source *source;	    /* NULL where nothing can be captured: see probes_reason */
	uint64_t source_started_ns; /* on its clock */
	struct figures *figures;    /* NULL without a source */
	const char *probes_reason;  /* why not, or why no better back end is used; "" if neither */
	bool is_loading;	    /* there is no source yet: see wait */
	/* What only the kernel half has; NULL under another source. */
	struct probe_set *probes;
	struct target_set *targets;
	struct lease_set *leases;
	struct trace_hub *traces;
	const char *recorded;	 /* whose calls are captured though nobody asks */
	const char *record_whom; /* whose should be: `recorded` differs until that is applied, and where it cannot be */
	struct store *store;	 /* that is being written; NULL: nothing is kept, see store_problem */
	const char *store_problem; /* why nothing is kept, or what was set aside; "" if neither */
	const char *store_path;	   /* what questions are answered from; NULL: there is no database */
	struct read_hub *reads;	   /* questions to it under way */
	bool is_private;	   /* of the client that started this daemon: what it may open it may see all of */
	uint64_t started_ns;
	uint64_t ring_bytes; /* of call records; fixed when the daemon starts */
	/* Answers of Query.Operations under way. */
	LIST_HEAD(, operations) operations;
	/*
	 * For handlers that need to know what is captured, first of all: while that is being found out the call is
	 * taken and its handler called again later. Return: whether it was.
	 */
	bool (*wait)(struct rpc_context *context, struct call *call);
	/* Bring rings and figures up to now, before an answer is built from them. */
	void (*refresh)(struct rpc_context *context);
	/* The same, and what was found up to now is judged and, where something is kept, kept. */
	void (*settle)(struct rpc_context *context);
	/* A lease ends: programs that are held for it go on, while its call can still ask the caller to let them. */
	void (*let_go)(struct rpc_context *context, const struct lease *lease);
	/* A process belongs to a client of ours as long as its lease lasts: the guardian of what is held for that. */
	void (*guard)(struct rpc_context *context, uint32_t pid, bool begins);
	void *owner;
};
