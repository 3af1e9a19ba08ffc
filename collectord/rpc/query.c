// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers of the service Query: questions about the current state, within the caller's scope.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/arena.h"
#include "base/array.h"
#include "capture.h"
#include "clock.h"
#include "events/source.h"
#include "figures/figures.h"
#include "ingero/v1/ingero.pb-c.h"
#include "probes/own_cpu.h"
#include "procs/closers.h"
#include "recording.h"
#include "rpc/access.h"
#include "rpc/answer.h"
#include "rpc/call.h"
#include "rpc/context.h"
#include "rpc/cost.h"
#include "rpc/coverage.h"
#include "rpc/handlers.h"
#include "rpc/scope.h"
#include "rpc/server.h"
#include "rpc/trace.h"

static void tell_record_cpu(Ingero__V1__StatusReply *reply, const struct own_cpu *own)
{
	struct own_cpu_share share;

	if (!own)
		return;
	share = own_cpu_share(own);
	reply->record_cpu_limit_ratio_told_case =
		INGERO__V1__STATUS_REPLY__RECORD_CPU_LIMIT_RATIO_TOLD_RECORD_CPU_LIMIT_RATIO;
	reply->record_cpu_limit_ratio = share.limit;
	if (share.used < 0)
		return;
	reply->record_cpu_ratio_told_case = INGERO__V1__STATUS_REPLY__RECORD_CPU_RATIO_TOLD_RECORD_CPU_RATIO;
	reply->record_cpu_ratio = share.used;
}

static void tell_daemon(const struct rpc_context *context, Ingero__V1__StatusReply *reply)
{
	const struct capture *capture = context->capture;

	reply->version = (char *)INGERO_VERSION;
	reply->pid = (uint32_t)getpid();
	reply->uptime_ns = clock_now_ns() - context->started_ns;
	reply->back_end = (char *)(capture->source	 ? capture->source->ops->name(capture->source)
				   : capture->is_loading ? "loading"
							 : "none");
	reply->back_end_reason = (char *)capture->probes_reason;
	reply->closing_probes = context->n_closing;
	reply->recorded = (char *)context->recording->now;
	reply->record_whom = (char *)context->recording->whom;
	tell_record_cpu(reply, capture->own_cpu);
}

void rpc_query_status(struct call *call, const Ingero__V1__StatusRequest *request)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	struct rpc_context *context = call_context(call);
	struct scope scope = { .identity = call_identity(call) };
	Ingero__V1__StatusReply reply = INGERO__V1__STATUS_REPLY__INIT;
	struct coverage_libraries libraries = { .n = 0 };
	struct coverage_processes processes = { .n = 0 };
	struct coverage_not_shown not_shown = { .n = 0 };
	struct utsname names = { .release = "" };

	if (request->look && context->wait(context, call))
		return;
	(void)uname(&names);
	reply.kernel = names.release;
	tell_daemon(context, &reply);
	reply.other_daemons = request->look ? daemons_count() : 0;
	reply.leases = trace_hub_count(context->traces, scope.identity);

	if (context->capture->source)
		capture_collect(context->capture);
	if (request->look && context->capture->targets && coverage_look(context, scope.identity) < 0) {
		call_fail(call, CALL_ERROR_INTERNAL, "the processes could not be listed");
		return;
	}
	for (size_t i = 0; context->capture->figures && i < figures_count(context->capture->figures); i++) {
		const struct process_figures *p = figures_get(context->capture->figures, i);

		reply.processes += !p->gone_ns && scope_sees_process(&scope, p);
	}
	reply.cost = cost_message(context, &arena, &scope, NULL);
	reply.lost = answer_lost(context, &arena, &scope, NULL);
	reply.store = answer_store(context, &arena);
	if (!reply.cost || !reply.lost || !reply.store ||
	    coverage_libraries(context, &arena, scope.identity, COVERAGE_BYTES, &libraries) < 0 ||
	    coverage_processes(context, &arena, scope.identity, NULL, &processes) < 0 ||
	    coverage_not_shown(context, &arena, scope.identity, NULL, &not_shown) < 0 ||
	    answer_families(context, &arena, &reply.families, &reply.n_families) < 0) {
		call_fail(call, CALL_ERROR_INTERNAL, "out of memory");
		return;
	}
	reply.libraries = libraries.items;
	reply.n_libraries = libraries.n;
	reply.more_libraries = libraries.more;
	reply.cuda_processes = processes.items;
	reply.n_cuda_processes = processes.n;
	reply.more_cuda_processes = processes.more;
	reply.not_shown = not_shown.items;
	reply.n_not_shown = not_shown.n;
	call_answer(call, &reply.base);
}

/* ---- operations, in several pieces ---- */

struct operations {
	LIST_ENTRY(operations) link;
	struct call *call;
	struct answer_position told;
	uint64_t forgotten;   /* calls of processes whose figures were removed before they were sent */
	bool in_pieces;	      /* the client accepts several pieces */
	bool is_all;	      /* all processes in scope; otherwise: */
	ARRAY(uint32_t) pids; /* the requested processes that exist; ids of others take no memory */
};

static void operations_free(struct operations *o)
{
	LIST_REMOVE(o, link);
	ARRAY_DONE(&o->pids);
	free(o);
}

static int operations_new(struct call *call, const Ingero__V1__OperationsRequest *request, struct operations **ret)
{
	struct rpc_context *context = call_context(call);
	const struct scope asked = { .identity = call_identity(call),
				     .pids = request->pids,
				     .n_pids = request->n_pids };
	struct operations *o = calloc(1, sizeof(*o));
	int r = o ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	LIST_INSERT_HEAD(&context->operations, o, link);
	o->call = call;
	o->in_pieces = request->in_pieces;
	o->is_all = request->n_pids == 0;
	for (size_t i = 0; !o->is_all && r == 0 && i < figures_count(context->capture->figures); i++) {
		const struct process_figures *p = figures_get(context->capture->figures, i);

		if (scope_sees_process(&asked, p))
			r = ARRAY_PUSH(&o->pids, p->process->identity.tgid);
	}
	if (r < 0)
		operations_free(o);
	else
		*ret = o;
	return r;
}

static struct scope operations_scope(const struct operations *o)
{
	static const uint32_t none;

	return (struct scope){ .identity = call_identity(o->call),
			       .pids = o->is_all   ? NULL
				       : o->pids.n ? o->pids.items
						   : &none,
			       .n_pids = o->pids.n };
}

static int operations_piece(Ingero__V1__Summary *piece, void *data)
{
	const struct operations *o = data;

	/* A client that expects one reply would take the last piece for the whole answer. */
	if (piece->more && !o->in_pieces)
		return -E2BIG;
	return call_reply(o->call, &piece->base);
}

/* Sends the rest, as far as the client has room; more after the client has read that. */
static void operations_send(struct operations *o)
{
	struct call *call = o->call;
	const struct scope scope = operations_scope(o);
	const struct answer_seen seen = { .call = call, .told = &o->told, .forgotten = o->forgotten };
	int r = answer_summary(call_context(call), &scope, NULL, &seen, operations_piece, o);

	if (r == -ENOBUFS)
		return;
	if (r == -E2BIG)
		call_fail(call, CALL_ERROR_INVALID,
			  "more than fits one message: name some of the processes in 'pids', or ask for it with "
			  "'in_pieces'");
	else if (r < 0)
		call_fail(call, CALL_ERROR_INTERNAL, "the answer could not be built (%s)", strerror(-r));
	else
		call_end(call);
	operations_free(o);
}

static void operations_drained(struct call *call, void *data)
{
	(void)call;
	operations_send(data);
}

static void operations_closed(struct call *call, void *data)
{
	(void)call;
	operations_free(data);
}

static void sink_forget(const struct process_figures *process, void *data)
{
	struct rpc_context *context = data;
	struct operations *o;

	cost_forget(context, process);
	LIST_FOREACH(o, &context->operations, link)
	{
		const struct scope scope = operations_scope(o);

		if (scope_sees_process(&scope, process))
			o->forgotten += answer_untold_calls(&o->told, process, NULL);
	}
}

struct sink rpc_operations_sink(struct rpc_context *context)
{
	static const struct sink_ops ops = { .forget = sink_forget };

	return (struct sink){ &ops, context };
}

void rpc_query_operations(struct call *call, const Ingero__V1__OperationsRequest *request)
{
	struct rpc_context *context = call_context(call);
	struct operations *o;

	if (context->wait(context, call))
		return;
	if (!context->capture->source) {
		call_fail(call, CALL_ERROR_UNAVAILABLE, "nothing is captured here: %s",
			  context->capture->probes_reason);
		return;
	}
	capture_collect(context->capture);
	if (operations_new(call, request, &o) < 0) {
		call_fail(call, CALL_ERROR_INTERNAL, "out of memory");
		return;
	}
	call_on_drain(call, operations_drained, o);
	call_on_close(call, operations_closed, o);
	operations_send(o);
}
