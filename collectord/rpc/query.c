// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers of the service Query: one question, one reply, within the caller's scope.
 */
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/arena.h"
#include "clock.h"
#include "events/source.h"
#include "figures/figures.h"
#include "ingero/v1/ingero.pb-c.h"
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

void rpc_query_status(Ingero__V1__Query_Service *service, const Ingero__V1__StatusRequest *request,
		      Ingero__V1__StatusReply_Closure closure, void *closure_data)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	struct call *call = closure_data;
	struct rpc_context *context = call_context(call);
	struct scope scope = { .identity = call_identity(call) };
	Ingero__V1__StatusReply reply = INGERO__V1__STATUS_REPLY__INIT;
	struct coverage_libraries libraries = { .n = 0 };
	struct coverage_processes processes = { .n = 0 };
	struct utsname names = { .release = "" };

	(void)service;
	if (request->look && context->wait(context, call))
		return;
	(void)uname(&names);
	reply.version = (char *)INGERO_VERSION;
	reply.pid = (uint32_t)getpid();
	reply.uptime_ns = clock_now_ns() - context->started_ns;
	reply.kernel = names.release;
	reply.back_end = (char *)(context->source	? context->source->ops->name(context->source)
				  : context->is_loading ? "loading"
							: "none");
	reply.back_end_reason = (char *)context->probes_reason;
	reply.leases = trace_hub_count(context->traces, scope.identity);
	reply.recorded = (char *)context->recorded;
	reply.record_whom = (char *)context->record_whom;

	if (context->source)
		context->refresh(context);
	if (request->look && context->targets && coverage_look(context, scope.identity) < 0) {
		call_fail(call, CALL_ERROR_INTERNAL, "the processes could not be listed");
		return;
	}
	for (size_t i = 0; context->figures && i < figures_count(context->figures); i++) {
		const struct process_figures *p = figures_get(context->figures, i);

		reply.processes += !p->gone_ns && scope_sees(&scope, p->tgid, p->uid, p->flags & PROCESS_MIXED_IDS);
	}
	reply.cost = cost_message(context, &arena, &scope, NULL);
	reply.lost = answer_lost(context, &arena, NULL);
	reply.store = answer_store(context, &arena);
	if (!reply.cost || !reply.lost || !reply.store ||
	    coverage_libraries(context, &arena, scope.identity, COVERAGE_BYTES, &libraries) < 0 ||
	    coverage_processes(context, &arena, scope.identity, NULL, &processes) < 0 ||
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
	closure(&reply, closure_data);
}

static int piece_reply(Ingero__V1__Summary *piece, void *data)
{
	/* Operations is answered by one message: its rows are few enough, or the caller narrows them by pid. */
	if (piece->more)
		return -E2BIG;
	return call_reply(data, &piece->base);
}

void rpc_query_operations(Ingero__V1__Query_Service *service, const Ingero__V1__OperationsRequest *request,
			  Ingero__V1__Summary_Closure closure, void *closure_data)
{
	struct call *call = closure_data;
	struct rpc_context *context = call_context(call);
	struct scope scope = { .identity = call_identity(call) };
	int r;

	(void)service;
	(void)closure;
	if (context->wait(context, call))
		return;
	if (!context->source) {
		call_fail(call, CALL_ERROR_UNAVAILABLE, "nothing is captured here: %s", context->probes_reason);
		return;
	}
	if (request->n_pids) {
		scope.pids = request->pids;
		scope.n_pids = request->n_pids;
	}
	context->refresh(context);
	r = answer_summary(context, &scope, NULL, &(struct answer_seen){ .life = NULL }, piece_reply, call);
	if (r == -E2BIG)
		call_fail(call, CALL_ERROR_INVALID, "more than fits one answer: name some of the processes in 'pids'");
	else if (r < 0)
		call_fail(call, CALL_ERROR_INTERNAL, "the answer could not be built (%s)", strerror(-r));
}
