// SPDX-License-Identifier: Apache-2.0
/* Context of the handlers: the parts of the daemon, connected by daemon.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

struct call;
struct capture;
struct io_hub;
struct operations;
struct read_hub;
struct recording;
struct store;
struct trace_hub;

/* Share of its own CPU time that the thread which loses most spends in probes, 0...1. */
struct cost_ratios {
	double low, high; /* if caches are warm at every call, and if they never are */
};

struct rpc_context {
	uv_loop_t *loop;
	struct capture *capture;	   /* its collect, settle and let_go are for handlers, too */
	const struct recording *recording; /* users whose calls are captured without a request */
	struct trace_hub *traces;
	struct io_hub *io; /* of those that run `ingero io`; NULL: none */
	struct store *store;	   /* that is being written; NULL: nothing is kept, see store_problem */
	const char *store_problem; /* why nothing is kept, or what was set aside; "" if neither */
	bool must_keep;		   /* the file was named by the client: no trace runs while nothing is kept */
	const char *store_path; /* what questions are answered from, or several, with a NUL between; NULL: there is no
				   database */
	size_t store_path_bytes;
	struct read_hub *reads; /* questions to it under way */
	bool is_private;	/* of the client that started this daemon: what it may open it may see all of */
	uint64_t started_ns;
	uint64_t ring_bytes;		     /* of call records; fixed when the daemon starts */
	struct cost_ratios forgotten_ratios; /* of processes that no figures have any more */
	uint32_t n_closing; /* probes of traces that have ended which are still to be closed, a second ago */
	/* Answers of Query.Operations under way. */
	LIST_HEAD(, operations) operations;
	/*
	 * For handlers that need to know what is captured, first of all: while that is being found out the call is
	 * taken and its handler called again later. Return: whether it was.
	 */
	bool (*wait)(struct rpc_context *context, struct call *call);
	/* A process that belongs to a client of a user as long as its lease lasts: the guardian of its held processes.
	 * @uid: of the client */
	void (*guard)(struct rpc_context *context, uint32_t pid, uint32_t uid, bool begins);
	void *owner;
};

/**
 * context_settle() - bring rings and figures up to now, run the detectors, and store the results if there is a database
 */
void context_settle(struct rpc_context *context);
