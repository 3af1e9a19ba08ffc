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
#include "figures/account_cpu.h"
#include "figures/figures.h"
#include "probes/budget.h"
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

/* Time that tracing took, from calibrated costs: if caches are warm at every call, and if they never are. */
struct probe_time {
	uint64_t low_ns, high_ns;
};

/* Sums over all processes in scope. */
struct cost_sums {
	struct probe_time probes;
	struct cost_ratios ratios;
	uint64_t removed_ns;
};

/* Ten times as much for a function without a cheap place for the probe. */
static void probe_time_add(struct probe_time *time, enum call_head head, uint64_t calls)
{
	time->low_ns += calls * calibrate_added_ns(head);
	time->high_ns += calls * calibrate_added_most_ns(head);
}

static enum call_head op_head(const struct rpc_context *context, uint32_t tgid, uint32_t op)
{
	return context->capture->targets ? target_set_head(context->capture->targets, tgid, op) : CALL_HEAD_PLAIN;
}

/* Share of the wall clock, where CPU time is not measured: no more than the share of CPU time. */
static double wall_share(const struct process_figures *p, uint64_t since_ns, uint64_t now_ns, uint64_t ns)
{
	uint64_t end_ns = p->gone_ns ? p->gone_ns : now_ns, begin_ns = MAX(p->first_call_ns, since_ns);

	return end_ns > begin_ns ? MIN((double)ns / (double)(end_ns - begin_ns), 1.0) : 0;
}

static void process_ratios(struct cost_ratios *ratios, const struct process_figures *p,
			   const struct since_process *then, const struct probe_time *time, uint64_t since_ns,
			   uint64_t now_ns)
{
	const struct account_moment *before = then ? &then->accounts : NULL;
	uint64_t n_before = before ? account_calls(before->accounts.items, before->accounts.n) : 0;
	uint64_t n_calls = p->n_outer - MIN(n_before, p->n_outer);
	double rate = account_call_rate(p->accounts.items, p->accounts.n, before);
	double low = rate < 0 ? wall_share(p, since_ns, now_ns, time->low_ns)
			      : account_worst_share(rate, n_calls, time->low_ns);
	double high = rate < 0 ? wall_share(p, since_ns, now_ns, time->high_ns)
			       : account_worst_share(rate, n_calls, time->high_ns);

	ratios->low = MAX(ratios->low, low);
	ratios->high = MAX(ratios->high, high);
}

static void cost_process_add(struct cost_sums *sums, const struct rpc_context *context, const struct process_figures *p,
			     const struct since_process *then, uint64_t since_ns, uint64_t now_ns)
{
	struct probe_time time = { .low_ns = 0 };

	for (size_t k = 0; k < p->ops.used.n; k++) {
		const struct op_used *now = p->ops.used.items[k];
		const struct op_figures *before;
		uint64_t calls = since_op_calls(now, then);

		if (!calls)
			continue;
		before = since_op(then, now->id);
		probe_time_add(&time, op_head(context, p->process->identity.tgid, now->id), calls);
		sums->removed_ns += now->figures.raw_ns - now->figures.total_ns;
		sums->removed_ns -= before ? before->raw_ns - before->total_ns : 0;
	}
	sums->probes.low_ns += time.low_ns;
	sums->probes.high_ns += time.high_ns;
	process_ratios(&sums->ratios, p, then, &time, since_ns, now_ns);
}

void cost_forget(struct rpc_context *context, const struct process_figures *process)
{
	struct cost_sums sums = { .ratios = context->forgotten_ratios };

	cost_process_add(&sums, context, process, NULL, context->started_ns, clock_now_ns());
	context->forgotten_ratios = sums.ratios;
}

static struct cost_sums cost_sum(const struct rpc_context *context, const struct scope *scope,
				 const struct since *since, uint64_t now_ns)
{
	struct figures_forgotten forgotten = figures_forgotten(context->capture->figures);
	uint64_t since_ns = since ? since->since_ns : context->started_ns;
	struct cost_sums sums = { .removed_ns = 0 };
	const struct process_figures *p;
	const struct since_process *then;

	/* The owners of these are not known any more: only callers that may see all processes get them. */
	if (!since && !scope->lease && !scope->pids && scope->identity->can_read_all) {
		probe_time_add(&sums.probes, CALL_HEAD_PLAIN, forgotten.calls);
		sums.removed_ns = forgotten.removed_ns;
		sums.ratios = context->forgotten_ratios;
	}
	for (size_t i = 0; (p = since_next(context->capture->figures, scope, since, &i, &then));)
		cost_process_add(&sums, context, p, then, since_ns, now_ns);
	return sums;
}

static void tell_bystanders(Ingero__V1__Cost *cost, uint64_t calls, uint64_t ns_per_call)
{
	cost->bystander_calls_told_case = INGERO__V1__COST__BYSTANDER_CALLS_TOLD_BYSTANDER_CALLS;
	cost->bystander_calls = calls;
	cost->bystander_ns_told_case = INGERO__V1__COST__BYSTANDER_NS_TOLD_BYSTANDER_NS;
	cost->bystander_ns = calls * ns_per_call;
}

/*
 * Programs of the stand-in libraries paid 0.98 to 1.09 times the low figure, PyTorch 1.2 to 1.85 times (emulated and
 * stepped heads; the high figure is 2.3 times the low one).
 */
static double likely(double low, double high)
{
	return low + (high - low) / 8;
}

static void tell_probes(Ingero__V1__Cost *cost, const struct cost_sums *sums)
{
	cost->probe_ns = (uint64_t)likely((double)sums->probes.low_ns, (double)sums->probes.high_ns);
	cost->probe_ratio = likely(sums->ratios.low, sums->ratios.high);
	cost->low_ratio_told_case = INGERO__V1__COST__LOW_RATIO_TOLD_LOW_RATIO;
	cost->low_ratio = sums->ratios.low;
	cost->high_ratio_told_case = INGERO__V1__COST__HIGH_RATIO_TOLD_HIGH_RATIO;
	cost->high_ratio = sums->ratios.high;
}

/* The caller hears that it is another user's process, and nothing else of it. */
static void tell_forced(Ingero__V1__Cost *cost, const struct budget *budget, const struct scope *scope)
{
	const struct scope all_of_caller = { .identity = scope->identity };
	struct budget_forcing by;

	if (!budget_forced_by(budget, &by))
		return;
	if (scope_sees(&all_of_caller, by.tgid, by.uid, by.is_guarded)) {
		cost->forced_by_pid_told_case = INGERO__V1__COST__FORCED_BY_PID_TOLD_FORCED_BY_PID;
		cost->forced_by_pid = by.tgid;
	} else {
		cost->forced_by_others_told_case = INGERO__V1__COST__FORCED_BY_OTHERS_TOLD_FORCED_BY_OTHERS;
		cost->forced_by_others = true;
	}
}

static void tell_budget(Ingero__V1__Cost *cost, const struct budget *budget, const struct scope *scope)
{
	double kept = budget ? budget_share_kept(budget) : 0;

	if (!budget)
		return;
	if (kept > 0) {
		cost->exact_budget_ratio_told_case = INGERO__V1__COST__EXACT_BUDGET_RATIO_TOLD_EXACT_BUDGET_RATIO;
		cost->exact_budget_ratio = kept;
	}
	cost->budget_ratio_told_case = INGERO__V1__COST__BUDGET_RATIO_TOLD_BUDGET_RATIO;
	cost->budget_ratio = budget_share(budget);
	cost->level_told_case = INGERO__V1__COST__LEVEL_TOLD_LEVEL;
	cost->level = (char *)budget_rung_name(budget_rung(budget));
	tell_forced(cost, budget, scope);
}

Ingero__V1__Cost *cost_message(const struct rpc_context *context, struct arena *arena, const struct scope *scope,
			       const struct since *since)
{
	Ingero__V1__Cost *cost = ARENA_NEW(arena, Ingero__V1__Cost);
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

	sums = cost_sum(context, scope, since, clock_now_ns());
	probe_set_cost(context->capture->probes, &calibrated);
	cost->per_call_ns = calibrated.per_call_ns;
	cost->share_ns = calibrated.share_ns;
	cost->share_spread_ns = calibrated.share_spread_ns;
	cost->removed_ns = sums.removed_ns;
	tell_probes(cost, &sums);
	if (scope->identity->can_read_all) /* their owners are not known */
		tell_bystanders(cost,
				probe_set_bystander_calls(context->capture->probes) -
					(since ? since->bystander_calls : 0),
				calibrated.bystander_ns);
	tell_budget(cost, context->capture->budget, scope);
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
