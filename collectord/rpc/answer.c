// SPDX-License-Identifier: Apache-2.0
#include "rpc/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

#include "base/fd.h"
#include "clock.h"
#include "events/event_message.h"
#include "events/op.h"
#include "events/source.h"
#include "probes/calibrate.h"
#include "probes/lease.h"
#include "probes/probe_set.h"
#include "probes/target.h"
#include "procs/hidepid.h"
#include "rpc/access.h"
#include "rpc/call.h"
#include "rpc/context.h"
#include "rpc/coverage.h"
#include "rpc/findings.h"
#include "store/store.h"

/* Rows of one message: at about 300 bytes each well below the cap of 1 MiB. */
#define PIECE_ROWS 1000
#define FIELD_BYTES 8		 /* number and length of a message in a list */
#define PIECE_BYTES (768 * 1024) /* of the lists beside them, with those rows */
/* Calls in progress that one answer shows; deeper ones are the same stuck program again. */
#define IN_FLIGHT_MAX 1024

bool answer_sees(const struct answer_scope *scope, uint32_t tgid, uint32_t uid, bool mixed_ids)
{
	if (!access_may_see(scope->identity, uid, mixed_ids))
		return false;
	if (!scope->pids)
		return true;
	for (size_t i = 0; i < scope->n_pids; i++)
		if (scope->pids[i] == tgid)
			return true;
	return false;
}

static bool sees_process(const struct answer_scope *scope, const struct process_figures *p)
{
	if (scope->lease && !lease_covers(scope->lease, p->tgid, p->uid, p->start_boot_ns))
		return false;
	return answer_sees(scope, p->tgid, p->uid, p->flags & PROCESS_MIXED_IDS);
}

static uint64_t daemon_cpu_ns(void)
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

/* ---- state at the start of a lease ---- */

static int process_since_take(const struct process_figures *p, struct answer_since *since, size_t i)
{
	since->processes[i].id = p->id;
	since->n_processes = i + 1;

	for (int op = 0; op < OP_ID_MAX; op++) {
		int r;

		if (!p->ops[op])
			continue;
		since->processes[i].ops[op] = calloc(1, sizeof(struct op_figures));
		if (!since->processes[i].ops[op])
			return -ENOMEM;
		r = op_figures_copy(p->ops[op], since->processes[i].ops[op]);
		if (r < 0)
			return r;
	}
	for (size_t k = 0; k < p->behind.n; k++) {
		int r = ARRAY_PUSH(&since->processes[i].behind, p->behind.items[k]);

		if (r < 0)
			return r;
	}
	return 0;
}

int answer_since_take(const struct rpc_context *context, const struct call_identity *identity,
		      struct answer_since *ret_since)
{
	struct source *source = context->source;
	struct answer_since since = { .since_ns = source->ops->now_ns(source), .daemon_cpu_ns = daemon_cpu_ns() };
	size_t n = figures_count(context->figures);

	since.processes = n ? calloc(n, sizeof(*since.processes)) : NULL;
	if (n && !since.processes)
		return -ENOMEM;

	for (size_t i = 0; i < n; i++) {
		const struct process_figures *p = figures_get(context->figures, i);
		int r;

		/* What is never told needs no room: there may be a hundred such calls, of somebody who sees little. */
		if (!access_may_see(identity, p->uid, p->flags & PROCESS_MIXED_IDS))
			continue;
		r = process_since_take(p, &since, since.n_processes);
		if (r < 0) {
			answer_since_done(&since);
			return r;
		}
	}
	source->ops->losses(source, since.losses);
	since.refused = source->ops->refused(source);
	if (context->probes)
		since.bystander_calls = probe_set_bystander_calls(context->probes);
	*ret_since = since;
	return 0;
}

void answer_since_done(struct answer_since *since)
{
	for (size_t i = 0; i < since->n_processes; i++) {
		for (int op = 0; op < OP_ID_MAX; op++) {
			if (since->processes[i].ops[op])
				op_figures_done(since->processes[i].ops[op]);
			free(since->processes[i].ops[op]);
		}
		ARRAY_DONE(&since->processes[i].behind);
	}
	free(since->processes);
	*since = (struct answer_since){ .processes = NULL };
}

/* Index of a process in the remembered state, or n_processes when it came later. */
static size_t since_find(const struct answer_since *since, uint64_t id)
{
	size_t i;

	for (i = 0; since && i < since->n_processes; i++)
		if (since->processes[i].id == id)
			break;
	return i;
}

/* ---- pieces of answers ---- */

Ingero__V1__Blame *answer_blame(const struct rpc_context *context, struct arena *arena,
				const __u64 blame_ns[BLAME_COUNT], uint64_t whole_ns)
{
	return blame_to_message_of(whole_ns, blame_ns, source_measured(context->source), arena);
}

int answer_families(const struct rpc_context *context, struct arena *arena, Ingero__V1__ProbeFamily ***ret_items,
		    size_t *ret_n)
{
	struct probe_family_state states[16];
	size_t n = context->probes || context->is_loading
			   ? probe_set_families(context->probes, states, ARRAY_SIZE(states))
			   : 0;
	Ingero__V1__ProbeFamily **items = ARENA_NEW_N(arena, Ingero__V1__ProbeFamily *, n ? n : 1);

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		Ingero__V1__ProbeFamily *f = items[i] = ARENA_NEW(arena, Ingero__V1__ProbeFamily);

		if (!f)
			return -ENOMEM;
		ingero__v1__probe_family__init(f);
		f->name = arena_copy_text(arena, states[i].name);
		f->state = arena_copy_text(arena, states[i].state);
		f->reason = arena_copy_text(arena, states[i].reason);
		if (!f->name || !f->state || !f->reason)
			return -ENOMEM;
	}
	*ret_items = items;
	*ret_n = n;
	return 0;
}

Ingero__V1__Lost *answer_lost(const struct rpc_context *context, struct arena *arena, const struct answer_since *since)
{
	const struct source *source = context->source;
	Ingero__V1__Lost *lost = ARENA_NEW(arena, Ingero__V1__Lost);
	uint64_t now[LOSS_COUNT] = { 0 };

	if (!lost)
		return NULL;
	ingero__v1__lost__init(lost);
	if (!source)
		return lost;

	source->ops->losses(source, now);
	for (int i = 0; since && i < LOSS_COUNT; i++)
		now[i] -= since->losses[i];
#define LOSS(reason, field) lost->field = now[LOSS_##reason];
#include "bpf/losses.def"
#undef LOSS
	lost->decode = source->ops->refused(source) - (since ? since->refused : 0);
	return lost;
}

/* Figures of one operation of the process at `at` as they were then; NULL: it had none, or there is no then. */
static const struct op_figures *op_then(const struct answer_since *since, size_t at, int op)
{
	return since && at < since->n_processes ? since->processes[at].ops[op] : NULL;
}

/* Figures of one operation since then; *ret borrows or owns, op_figures_done() only when owned. */
static int op_since(const struct process_figures *p, const struct answer_since *since, size_t at, int op,
		    struct op_figures *ret, bool *ret_owned)
{
	const struct op_figures *then = op_then(since, at, op);
	int r;

	if (!then) {
		*ret = *p->ops[op];
		*ret_owned = false;
		return 0;
	}
	r = op_figures_copy(p->ops[op], ret);
	if (r < 0)
		return r;
	op_figures_subtract(ret, then);
	*ret_owned = true;
	return 0;
}

static int operation_fill(const struct rpc_context *context, struct arena *arena, const struct process_figures *p,
			  int id, const struct op_figures *figures, Ingero__V1__Operation **ret_row)
{
	const struct op *op = op_get((uint32_t)id);
	Ingero__V1__Operation *row = ARENA_NEW(arena, Ingero__V1__Operation);

	if (!row)
		return -ENOMEM;
	ingero__v1__operation__init(row);
	row->pid = p->tgid;
	row->start_time_unix_ns = p->start_unix_ns;
	row->process_name = arena_copy_text(arena, p->comm);
	row->uid = p->uid;
	row->source = (char *)op_layer_to_source(op ? op->layer : OP_LAYER_NONE);
	row->op = (char *)(op ? op->name : "unknown");
	row->count = op_figures_count(figures);
	row->errors = figures->errors;
	row->total_ns = figures->total_ns;
	row->total_raw_ns = figures->raw_ns;
	row->max_ns = figures->max_ns;
	row->p50_ns = histogram_quantile(&figures->durations, 0.50, figures->max_ns);
	row->p95_ns = histogram_quantile(&figures->durations, 0.95, figures->max_ns);
	row->p99_ns = histogram_quantile(&figures->durations, 0.99, figures->max_ns);
	row->bytes = figures->bytes;
	row->blame_ns = blame_to_message_of(figures->raw_ns, figures->blame_ns,
					    op_is_measured(op) ? source_measured(context->source) : 0, arena);
	row->abandoned = figures->abandoned;
	row->untimed = figures->untimed;
	row->exec_generation = p->exec_gen;
	if (!row->process_name || !row->blame_ns)
		return -ENOMEM;
	*ret_row = row;
	return 0;
}

/* Calls of one operation since then. */
static uint64_t calls_since(const struct process_figures *p, const struct answer_since *since, size_t at, int op)
{
	const struct op_figures *now = p->ops[op], *then;

	if (!now || !op_is_call(op_get((uint32_t)op)))
		return 0;
	then = op_then(since, at, op);
	return op_figures_count(now) - (then ? op_figures_count(then) : 0);
}

uint64_t answer_calls(const struct answer_scope *scope, const struct process_figures *p,
		      const struct answer_since *since)
{
	size_t at;
	uint64_t calls = 0;

	if (!sees_process(scope, p))
		return 0;
	at = since_find(since, p->id);
	for (int op = 0; op < OP_ID_MAX; op++)
		calls += calls_since(p, since, at, op);
	return calls;
}

/* Sums over everything in scope, for the cost. */
struct cost_sums {
	uint64_t probe_ns;
	uint64_t busiest_ns; /* of one process */
	uint64_t removed_ns;
};

/* What tracing adds to one call: a function without a cheap place for the probe costs ten times one that has it. */
static uint64_t added_ns(const struct rpc_context *context, uint32_t tgid, uint32_t op)
{
	return calibrate_added_ns(context->targets ? target_set_head(context->targets, tgid, op) : CALL_HEAD_PLAIN);
}

static struct cost_sums cost_sum(const struct rpc_context *context, const struct answer_scope *scope,
				 const struct answer_since *since)
{
	struct figures_forgotten forgotten = figures_forgotten(context->figures);
	struct cost_sums sums = { 0 };

	/* Whose those were is forgotten, too: they count for who may see everybody's. */
	if (!since && !scope->lease && !scope->pids && scope->identity->can_read_all)
		sums = (struct cost_sums){ .probe_ns = forgotten.calls * calibrate_added_ns(CALL_HEAD_PLAIN),
					   .busiest_ns = forgotten.busiest_calls * calibrate_added_ns(CALL_HEAD_PLAIN),
					   .removed_ns = forgotten.removed_ns };
	for (size_t i = 0; i < figures_count(context->figures); i++) {
		const struct process_figures *p = figures_get(context->figures, i);
		size_t at = since_find(since, p->id);
		uint64_t process_ns = 0, calls;

		if (!sees_process(scope, p))
			continue;
		for (int op = 0; op < OP_ID_MAX; op++) {
			const struct op_figures *now = p->ops[op], *then;

			calls = calls_since(p, since, at, op);
			if (!calls)
				continue;
			then = op_then(since, at, op);
			process_ns += calls * added_ns(context, p->tgid, (uint32_t)op);
			sums.removed_ns += now->raw_ns - now->total_ns;
			sums.removed_ns -= then ? then->raw_ns - then->total_ns : 0;
		}
		sums.probe_ns += process_ns;
		sums.busiest_ns = MAX(sums.busiest_ns, process_ns);
	}
	return sums;
}

Ingero__V1__Cost *answer_cost(const struct rpc_context *context, struct arena *arena, const struct answer_scope *scope,
			      const struct answer_since *since)
{
	Ingero__V1__Cost *cost = ARENA_NEW(arena, Ingero__V1__Cost);
	uint64_t window_ns = clock_now_ns() - (since ? since->since_ns : context->started_ns);
	struct probe_cost calibrated = { 0 };
	struct cost_sums sums;

	if (!cost)
		return NULL;
	ingero__v1__cost__init(cost);
	cost->daemon_cpu_ns = daemon_cpu_ns() - (since ? since->daemon_cpu_ns : 0);
	cost->daemon_rss_bytes = daemon_rss_bytes();
	if (!context->probes)
		return cost;

	sums = cost_sum(context, scope, since);
	probe_set_cost(context->probes, &calibrated);
	cost->per_call_ns = calibrated.per_call_ns;
	cost->share_ns = calibrated.share_ns;
	cost->share_spread_ns = calibrated.share_spread_ns;
	cost->removed_ns = sums.removed_ns;
	cost->probe_ns = sums.probe_ns;
	cost->probe_ratio = window_ns ? (double)sums.busiest_ns / (double)window_ns : 0;
	if (scope->identity->can_read_all) /* whose they are is not known */
		cost->bystander_calls =
			probe_set_bystander_calls(context->probes) - (since ? since->bystander_calls : 0);
	cost->bystander_ns = cost->bystander_calls * calibrated.bystander_ns;
	cost->kernel_bytes = probe_set_kernel_bytes(context->probes);
	return cost;
}

void answer_cost_keep(const struct rpc_context *context)
{
	static const struct call_identity everybody = { .can_read_all = true };
	const struct answer_scope scope = { .identity = &everybody };
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	Ingero__V1__Cost *cost = context->store ? answer_cost(context, &arena, &scope, NULL) : NULL;
	uint8_t *packed = cost ? arena_alloc(&arena, ingero__v1__cost__get_packed_size(cost) + 1) : NULL;

	if (packed) /* else what was kept before stays */
		store_cost(context->store, packed, ingero__v1__cost__pack(cost, packed));
}

/* ---- the summary ---- */

static int in_flight_fill(const struct rpc_context *context, const struct answer_scope *scope, struct arena *arena,
			  Ingero__V1__Summary *summary)
{
	struct in_flight_record *records = ARENA_NEW_N(arena, struct in_flight_record, IN_FLIGHT_MAX);
	int n;

	summary->in_flight = ARENA_NEW_N(arena, Ingero__V1__InFlight *, IN_FLIGHT_MAX);
	if (!records || !summary->in_flight)
		return -ENOMEM;
	n = context->source->ops->in_flight(context->source, records, IN_FLIGHT_MAX);
	if (n < 0)
		return n;

	for (int i = 0; i < MIN(n, IN_FLIGHT_MAX); i++) {
		const struct in_flight_record *r = &records[i];
		const struct process_figures *p = figures_find_slot(context->figures, r->slot);
		uint64_t age_ns = r->now_ns - r->start_ns;
		const struct op *op = op_get(r->op);
		Ingero__V1__InFlight *row;

		if (!p || !op || p->tgid != r->tgid || !sees_process(scope, p))
			continue;
		row = summary->in_flight[summary->n_in_flight] = ARENA_NEW(arena, Ingero__V1__InFlight);
		if (!row)
			return -ENOMEM;
		ingero__v1__in_flight__init(row);
		row->pid = r->tgid;
		row->tid = r->tid;
		row->process_name = arena_copy_text(arena, p->comm);
		row->op = (char *)op->name;
		row->age_ns = age_ns;
		row->blame_ns = answer_blame(context, arena, r->blame_ns, age_ns);
		if (!row->process_name || !row->blame_ns)
			return -ENOMEM;
		summary->n_in_flight++;
	}
	return 0;
}

bool answer_may_name(const struct call_identity *identity, uint32_t uid)
{
	return identity->can_read_all || identity->uid == uid || !hidepid_is_on();
}

static int behind_fill(const struct rpc_context *context, const struct answer_scope *scope,
		       const struct answer_since *since, struct arena *arena, Ingero__V1__Summary *summary)
{
	size_t room = 0;

	for (size_t i = 0; i < figures_count(context->figures); i++)
		room += figures_get(context->figures, i)->behind.n;
	summary->behind = ARENA_NEW_N(arena, Ingero__V1__Behind *, room ? room : 1);
	if (!summary->behind)
		return -ENOMEM;

	for (size_t i = 0; i < figures_count(context->figures); i++) {
		const struct process_figures *p = figures_get(context->figures, i);
		size_t at = since_find(since, p->id);

		for (size_t k = 0; sees_process(scope, p) && k < p->behind.n; k++) {
			const struct behind_figures *b = &p->behind.items[k];
			uint64_t ns = b->ns;
			Ingero__V1__Behind *row;

			for (size_t j = 0; since && at < since->n_processes && j < since->processes[at].behind.n; j++)
				if (since->processes[at].behind.items[j].tgid == b->tgid)
					ns -= since->processes[at].behind.items[j].ns;
			if (!ns)
				continue;
			row = summary->behind[summary->n_behind] = ARENA_NEW(arena, Ingero__V1__Behind);
			if (!row)
				return -ENOMEM;
			ingero__v1__behind__init(row);
			row->uid = b->uid;
			row->ns = ns;
			row->victim_pid = p->tgid;
			if (answer_may_name(scope->identity, b->uid)) {
				row->pid = b->tgid;
				row->comm = arena_copy_text(arena, b->comm);
				if (!row->comm)
					return -ENOMEM;
			}
			summary->n_behind++;
		}
	}
	return 0;
}

static void summary_init(Ingero__V1__Summary *piece, const struct rpc_context *context,
			 const struct answer_since *since, Ingero__V1__Operation **rows)
{
	uint64_t now_ns = context->source->ops->now_ns(context->source);

	ingero__v1__summary__init(piece);
	piece->timestamp_unix_ns = clock_to_unix_ns(now_ns);
	piece->window_ns = now_ns - (since ? since->since_ns : context->source_started_ns);
	piece->operations = rows;
}

static Ingero__V1__Life *life_new(struct arena *arena, const uint64_t counts[OP_ID_MAX])
{
	Ingero__V1__Life *life = ARENA_NEW(arena, Ingero__V1__Life);

	if (!life)
		return NULL;
	ingero__v1__life__init(life);
	life->execs = counts[OP_EVENT_process_exec];
	life->forks = counts[OP_EVENT_process_fork];
	life->exits = counts[OP_EVENT_process_exit];
	life->oom_kills = counts[OP_EVENT_oom_kill];
	return life;
}

/* Lists of a summary that are made whole, and told in as many pieces as they take. */
static const struct {
	size_t items;
	size_t n;
} summary_lists[] = {
#define LIST(list)                                                                                                     \
	{                                                                                                              \
		offsetof(Ingero__V1__Summary, list), offsetof(Ingero__V1__Summary, n_##list)                           \
	}
	LIST(in_flight),
	LIST(behind),
	LIST(findings),
	LIST(libraries),
#undef LIST
};

static ProtobufCMessage ***list_items(Ingero__V1__Summary *piece, size_t i)
{
	return (ProtobufCMessage ***)((char *)piece + summary_lists[i].items);
}

static size_t *list_n(Ingero__V1__Summary *piece, size_t i)
{
	return (size_t *)((char *)piece + summary_lists[i].n);
}

/* Tells of all but the last piece, which is left in @piece. */
static int summary_split(const struct rpc_context *context, const struct answer_since *since,
			 Ingero__V1__Summary *piece, answer_piece_func func, void *data)
{
	Ingero__V1__Summary whole;
	size_t bytes;

	memcpy(&whole, piece, sizeof(whole));
	for (size_t i = 0; i < ARRAY_SIZE(summary_lists); i++)
		*list_n(piece, i) = 0;
	bytes = ingero__v1__summary__get_packed_size(piece);
	for (size_t i = 0; i < ARRAY_SIZE(summary_lists); i++) {
		for (size_t k = 0; k < *list_n(&whole, i); k++) {
			size_t n = protobuf_c_message_get_packed_size((*list_items(&whole, i))[k]) + FIELD_BYTES;

			if (bytes + n > PIECE_BYTES) {
				int r;

				piece->more = true;
				r = func(piece, data);
				if (r < 0)
					return r;
				summary_init(piece, context, since, piece->operations);
				bytes = 0;
			}
			if (!*list_n(piece, i))
				*list_items(piece, i) = &(*list_items(&whole, i))[k];
			(*list_n(piece, i))++;
			bytes += n;
		}
	}
	return 0;
}

int answer_summary(const struct rpc_context *context, const struct answer_scope *scope,
		   const struct answer_since *since, const struct answer_seen *seen, answer_piece_func func, void *data)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	Ingero__V1__Operation **rows = ARENA_NEW_N(&arena, Ingero__V1__Operation *, PIECE_ROWS);
	struct coverage_libraries libraries = { .n = 0 };
	Ingero__V1__Summary piece;
	int r;

	if (!rows)
		return -ENOMEM;
	summary_init(&piece, context, since, rows);

	for (size_t i = 0; i < figures_count(context->figures); i++) {
		const struct process_figures *p = figures_get(context->figures, i);
		size_t at = since_find(since, p->id);

		for (int op = 0; sees_process(scope, p) && op < OP_ID_MAX; op++) {
			struct op_figures figures;
			bool owned;

			if (!p->ops[op])
				continue;
			if (piece.n_operations == PIECE_ROWS) {
				piece.more = true;
				r = func(&piece, data);
				if (r < 0)
					return r;
				summary_init(&piece, context, since, rows);
			}
			r = op_since(p, since, at, op, &figures, &owned);
			if (r < 0)
				return r;
			r = op_figures_count(&figures) || figures.abandoned
				    ? operation_fill(context, &arena, p, op, &figures, &rows[piece.n_operations])
				    : -ENODATA;
			if (owned)
				op_figures_done(&figures);
			if (r == -ENODATA)
				continue; /* not called since */
			if (r < 0)
				return r;
			piece.n_operations++;
		}
	}

	r = in_flight_fill(context, scope, &arena, &piece);
	if (r == 0)
		r = behind_fill(context, scope, since, &arena, &piece);
	if (r == 0 && seen->findings)
		r = findings_fill(seen->findings, context, scope->identity, &arena, &piece);
	if (r == 0)
		r = coverage_libraries(context, &arena, scope->identity, SIZE_MAX, &libraries);
	piece.libraries = libraries.items;
	piece.n_libraries = libraries.n;
	if (r == 0)
		r = summary_split(context, since, &piece, func, data);
	if (r < 0)
		return r;
	piece.lost = answer_lost(context, &arena, since);
	piece.cost = answer_cost(context, &arena, scope, since);
	piece.store = answer_store(context, &arena);
	if (seen->life)
		piece.life = life_new(&arena, seen->life);
	if (!piece.lost || !piece.cost || !piece.store || (seen->life && !piece.life))
		return -ENOMEM;
	piece.lost->subscriber_slow = seen->subscriber_slow;
	piece.lost->forgotten = seen->forgotten;
	return func(&piece, data);
}

Ingero__V1__Store *answer_store(const struct rpc_context *context, struct arena *arena)
{
	Ingero__V1__Store *message = ARENA_NEW(arena, Ingero__V1__Store);
	struct store_state state;

	if (!message)
		return NULL;
	ingero__v1__store__init(message);
	message->problem = (char *)context->store_problem;
	if (!context->store)
		return message;
	store_state(context->store, &state);
	message->path = arena_copy_text(arena, state.path);
	message->problem = arena_copy_text(arena, state.problem[0] ? state.problem : context->store_problem);
	message->bytes = state.bytes;
	message->oldest_unix_ns = state.oldest_unix_ns;
	message->not_kept = state.not_kept;
	return message->path && message->problem ? message : NULL;
}
