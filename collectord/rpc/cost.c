// SPDX-License-Identifier: Apache-2.0
#include "rpc/cost.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/fd.h"
#include "capture.h"
#include "clock.h"
#include "figures/figures.h"
#include "probes/calibrate.h"
#include "probes/probe_set.h"
#include "probes/target.h"
#include "rpc/call.h"
#include "rpc/context.h"
#include "rpc/scope.h"
#include "rpc/since.h"
#include "archive/write/store.h"

uint64_t cost_daemon_cpu_ns(void)
{
	static const int who[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < ARRAY_SIZE(who); i++) {
		struct rusage u;

		if (getrusage(who[i], &u) == 0)
			sum_ns += ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * NSEC_PER_SEC +
				  ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * NSEC_PER_USEC;
	}
	return sum_ns;
}

static uint64_t daemon_rss_bytes(void)
{
	char text[128];
	unsigned long long pages;

	if (fd_read_file_at(AT_FDCWD, "/proc/self/statm", text, sizeof(text)) < 0 ||
	    sscanf(text, "%*u %llu", &pages) != 1)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Sums over all processes in scope. */
struct cost_sums {
	uint64_t probe_ns;
	uint64_t busiest_ns; /* of one process */
	uint64_t removed_ns;
};

/* Cost of tracing one call: ten times as much for a function without a cheap place for the probe. */
static uint64_t added_ns(const struct rpc_context *context, uint32_t tgid, uint32_t op)
{
	return calibrate_added_ns(context->capture->targets ? target_set_head(context->capture->targets, tgid, op)
							    : CALL_HEAD_PLAIN);
}

static struct cost_sums cost_sum(const struct rpc_context *context, const struct scope *scope,
				 const struct since *since)
{
	struct figures_forgotten forgotten = figures_forgotten(context->capture->figures);
	struct cost_sums sums = { 0 };
	const struct process_figures *p;
	const struct since_process *then;

	/* The owners of these are not known any more: only callers that may see all processes get them. */
	if (!since && !scope->lease && !scope->pids && scope->identity->can_read_all)
		sums = (struct cost_sums){ .probe_ns = forgotten.calls * calibrate_added_ns(CALL_HEAD_PLAIN),
					   .busiest_ns = forgotten.busiest_calls * calibrate_added_ns(CALL_HEAD_PLAIN),
					   .removed_ns = forgotten.removed_ns };
	for (size_t i = 0; (p = since_next(context->capture->figures, scope, since, &i, &then));) {
		uint64_t process_ns = 0, calls;

		for (size_t k = 0; k < p->ops.used.n; k++) {
			const struct op_used *now = p->ops.used.items[k];
			const struct op_figures *before;

			calls = since_op_calls(now, then);
			if (!calls)
				continue;
			before = since_op(then, now->id);
			process_ns += calls * added_ns(context, p->process->identity.tgid, now->id);
			sums.removed_ns += now->figures.raw_ns - now->figures.total_ns;
			sums.removed_ns -= before ? before->raw_ns - before->total_ns : 0;
		}
		sums.probe_ns += process_ns;
		sums.busiest_ns = MAX(sums.busiest_ns, process_ns);
	}
	return sums;
}

static void tell_bystanders(Ingero__V1__Cost *cost, uint64_t calls, uint64_t ns_per_call)
{
	cost->bystander_calls_told_case = INGERO__V1__COST__BYSTANDER_CALLS_TOLD_BYSTANDER_CALLS;
	cost->bystander_calls = calls;
	cost->bystander_ns_told_case = INGERO__V1__COST__BYSTANDER_NS_TOLD_BYSTANDER_NS;
	cost->bystander_ns = calls * ns_per_call;
}

Ingero__V1__Cost *cost_message(const struct rpc_context *context, struct arena *arena, const struct scope *scope,
			       const struct since *since)
{
	Ingero__V1__Cost *cost = ARENA_NEW(arena, Ingero__V1__Cost);
	uint64_t window_ns = clock_now_ns() - (since ? since->since_ns : context->started_ns);
	struct probe_cost calibrated = { 0 };
	struct cost_sums sums;

	if (!cost)
		return NULL;
	ingero__v1__cost__init(cost);
	cost->daemon_cpu_ns = cost_daemon_cpu_ns() - (since ? since->daemon_cpu_ns : 0);
	cost->daemon_rss_bytes = daemon_rss_bytes();
	if (!context->capture->probes ||
	    !context->capture->figures) /* probes are not loaded, or figures did not start */
		return cost;

	sums = cost_sum(context, scope, since);
	probe_set_cost(context->capture->probes, &calibrated);
	cost->per_call_ns = calibrated.per_call_ns;
	cost->share_ns = calibrated.share_ns;
	cost->share_spread_ns = calibrated.share_spread_ns;
	cost->removed_ns = sums.removed_ns;
	cost->probe_ns = sums.probe_ns;
	cost->probe_ratio = window_ns ? (double)sums.busiest_ns / (double)window_ns : 0;
	if (scope->identity->can_read_all) /* their owners are not known */
		tell_bystanders(cost,
				probe_set_bystander_calls(context->capture->probes) -
					(since ? since->bystander_calls : 0),
				calibrated.bystander_ns);
	cost->kernel_bytes = probe_set_kernel_bytes(context->capture->probes);
	return cost;
}

void cost_keep(const struct rpc_context *context)
{
	static const struct call_identity everybody = { .can_read_all = true };
	const struct scope scope = { .identity = &everybody };
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	Ingero__V1__Cost *cost = context->store ? cost_message(context, &arena, &scope, NULL) : NULL;
	uint8_t *packed = cost ? arena_alloc(&arena, ingero__v1__cost__get_packed_size(cost) + 1) : NULL;

	if (packed) /* otherwise the stored one stays */
		store_cost(context->store, packed, ingero__v1__cost__pack(cost, packed));
}
