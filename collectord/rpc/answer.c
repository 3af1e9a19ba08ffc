// SPDX-License-Identifier: Apache-2.0
#include "rpc/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "clock.h"
#include "events/event_message.h"
#include "events/op.h"
#include "events/source.h"
#include "figures/op_message.h"
#include "probes/lease.h"
#include "probes/probe_set.h"
#include "probes/target.h"
#include "procs/hidepid.h"
#include "rpc/accounts.h"
#include "rpc/call.h"
#include "rpc/context.h"
#include "rpc/cost.h"
#include "rpc/coverage.h"
#include "rpc/delay.h"
#include "rpc/findings.h"
#include "rpc/scope.h"
#include "rpc/since.h"
#include "archive/write/store.h"

/* Rows per message: at about 300 bytes each, well below the limit of 1 MiB. */
#define PIECE_ROWS 1000
#define FIELD_BYTES 8		 /* number and length of a message in a list */
#define PIECE_BYTES (768 * 1024) /* of the rows and the lists beside them */
/* Maximum number of calls in progress in an answer; more of them add nothing about a stuck program. */
#define IN_FLIGHT_MAX 1024
#define ALL_PROCESSES UINT64_MAX /* ids count from 1 */

/* ---- pieces of answers ---- */

int answer_families(const struct rpc_context *context, struct arena *arena, Ingero__V1__ProbeFamily ***ret_items,
		    size_t *ret_n)
{
	struct probe_family_state states[16];
	size_t n = context->capture->probes || context->capture->is_loading
			   ? probe_set_families(context->capture->probes, states, ARRAY_SIZE(states))
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

struct late_asked {
	const struct scope *scope;
	uint64_t from_ns;
};

/*
 * Whether the caller may see a late load. If the process ended before its owner was known, the caller may be the owner.
 */
static bool late_is_seen(const struct target_late *late, void *data)
{
	const struct late_asked *asked = data;
	const struct owner *owner = &late->owner.of;

	if (late->to_ns <= asked->from_ns) /* attached before the window: no call of the window is missing */
		return false;
	if (!late->owner.is_known)
		return true;
	if (asked->scope->lease && late->tgid && !lease_covers(asked->scope->lease, late->tgid, owner_uid(owner), 0))
		return false;
	return scope_sees(asked->scope, late->tgid, owner->uid, owner->is_guarded);
}

Ingero__V1__Lost *answer_lost(const struct rpc_context *context, struct arena *arena, const struct scope *scope,
			      const struct since *since)
{
	const struct source *source = context->capture->source;
	struct late_asked asked = { .scope = scope, .from_ns = since ? since->watched_ns : 0 };
	Ingero__V1__Lost *lost = ARENA_NEW(arena, Ingero__V1__Lost);
	uint64_t now[LOSS_COUNT] = { 0 };

	if (!lost)
		return NULL;
	ingero__v1__lost__init(lost);
	if (!source)
		return lost;

	since_losses(context, scope->identity, now);
	for (int i = 0; since && i < LOSS_COUNT; i++)
		now[i] -= since->losses[i];
#define LOSS(reason, field, kind, one, many) lost->field = now[LOSS_##reason];
#include "bpf/losses.def"
	if (context->capture->targets)
		lost->late_load = target_set_lates(context->capture->targets, since ? since->losses[LOSS_LATE_LOAD] : 0,
						   late_is_seen, &asked);
	lost->decode = source->ops->refused(source) - (since ? since->refused : 0);
	return lost;
}

int answer_operation(const struct rpc_context *context, struct arena *arena, const struct process_figures *p,
		     uint32_t id, const struct op_figures *figures, Ingero__V1__Operation **ret_row)
{
	const struct op *op = op_get(id);
	Ingero__V1__Operation *row = ARENA_NEW(arena, Ingero__V1__Operation);

	if (!row)
		return -ENOMEM;
	ingero__v1__operation__init(row);
	row->pid = p->process->identity.tgid;
	row->start_time_unix_ns = p->process->identity.start_unix_ns;
	row->process_name = arena_copy_name(arena, process_name(p->process));
	row->uid = p->process->identity.uid;
	row->source = (char *)op_layer_to_source(op ? op->layer : OP_LAYER_NONE);
	row->op = (char *)(op ? op->name : "unknown");
	op_figures_to_message(figures, row);
	error_to_message(figures->error_code, row);
	row->blame_ns = blame_to_message_of(figures->raw_ns, figures->blame_ns,
					    op_is_measured(op) ? source_measured(context->capture->source) : 0, arena);
	row->exec_generation = p->process->identity.exec_gen;
	if (!row->process_name || !row->blame_ns ||
	    program_to_message(&p->process->identity.program, arena, &row->program) < 0)
		return -ENOMEM;
	*ret_row = row;
	return 0;
}

/* ---- the summary ---- */

int answer_in_flight(const struct rpc_context *context, const struct scope *scope, struct arena *arena,
		     Ingero__V1__Summary *summary)
{
	struct in_flight_record *records = ARENA_NEW_N(arena, struct in_flight_record, IN_FLIGHT_MAX);
	int n;

	summary->in_flight = ARENA_NEW_N(arena, Ingero__V1__InFlight *, IN_FLIGHT_MAX);
	if (!records || !summary->in_flight)
		return -ENOMEM;
	n = context->capture->source->ops->in_flight(context->capture->source, records, IN_FLIGHT_MAX);
	if (n < 0)
		return n;

	for (int i = 0; i < MIN(n, IN_FLIGHT_MAX); i++) {
		const struct in_flight_record *r = &records[i];
		const struct process_figures *p = figures_find_slot(context->capture->figures, r->slot);
		uint64_t age_ns = r->now_ns - r->start_ns;
		const struct op *op = op_get(r->op);
		Ingero__V1__InFlight *row;

		if (!p || !op || p->process->identity.tgid != r->tgid || !scope_sees_process(scope, p))
			continue;
		row = summary->in_flight[summary->n_in_flight] = ARENA_NEW(arena, Ingero__V1__InFlight);
		if (!row)
			return -ENOMEM;
		ingero__v1__in_flight__init(row);
		row->pid = r->tgid;
		row->tid = r->tid;
		row->process_name = arena_copy_name(arena, process_name(p->process));
		row->op = (char *)op->name;
		row->age_ns = age_ns;
		row->blame_ns =
			blame_to_message_of(age_ns, r->blame_ns, source_measured(context->capture->source), arena);
		if (!row->process_name || !row->blame_ns ||
		    program_to_message(&p->process->identity.program, arena, &row->program) < 0)
			return -ENOMEM;
		summary->n_in_flight++;
	}
	return 0;
}

bool answer_hides_names(const struct call_identity *identity)
{
	return !identity->can_read_all && (identity->is_elsewhere || hidepid_is_on());
}

bool answer_may_name(const struct call_identity *identity, uint32_t uid, bool is_guarded)
{
	return (identity->uid == uid && !is_guarded) || !answer_hides_names(identity);
}

static int neighbour_add(const struct scope *scope, const struct process_figures *p, const struct behind_figures *b,
			 struct arena *arena, Ingero__V1__Summary *summary)
{
	Ingero__V1__Behind *row = summary->behind[summary->n_behind] = ARENA_NEW(arena, Ingero__V1__Behind);

	if (!row)
		return -ENOMEM;
	ingero__v1__behind__init(row);
	row->uid = b->uid;
	row->ns = b->ns;
	row->victim_pid = p->process->identity.tgid;
	if (answer_may_name(scope->identity, b->uid, b->is_guarded)) {
		row->pid = b->tgid;
		row->comm = arena_copy_name(arena, b->comm);
		if (!row->comm)
			return -ENOMEM;
	}
	summary->n_behind++;
	return 0;
}

static int neighbour_compare(const void *a, const void *b)
{
	const Ingero__V1__Behind *x = *(Ingero__V1__Behind *const *)a, *y = *(Ingero__V1__Behind *const *)b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

int answer_behind(const struct rpc_context *context, const struct scope *scope, const struct since *since,
		  struct arena *arena, Ingero__V1__Summary *summary)
{
	const struct process_figures *p;
	const struct since_process *then;
	size_t room = 0;

	for (size_t i = 0; i < figures_count(context->capture->figures); i++)
		room += figures_get(context->capture->figures, i)->behind.n;
	summary->behind = ARENA_NEW_N(arena, Ingero__V1__Behind *, room ? room : 1);
	if (!summary->behind)
		return -ENOMEM;

	for (size_t i = 0; (p = since_next(context->capture->figures, scope, since, &i, &then));) {
		struct behind_list behind = { .n = 0 };
		int r = behind_since(&p->behind, then ? &then->behind : NULL, &behind);

		for (size_t k = 0; k < behind.n && r == 0; k++)
			if (!behind.items[k].is_between) /* between calls: part of the accounts */
				r = neighbour_add(scope, p, &behind.items[k], arena, summary);
		ARRAY_DONE(&behind);
		if (r < 0)
			return r;
	}
	qsort(summary->behind, summary->n_behind, sizeof(*summary->behind), neighbour_compare);
	return 0;
}

static void summary_init(Ingero__V1__Summary *piece, const struct rpc_context *context, const struct since *since,
			 Ingero__V1__Operation **rows)
{
	uint64_t now_ns = context->capture->source->ops->now_ns(context->capture->source);

	ingero__v1__summary__init(piece);
	piece->timestamp_unix_ns = clock_to_unix_ns(now_ns);
	piece->window_ns = now_ns - (since ? since->since_ns : context->capture->source_started_ns);
	piece->operations = rows;
}

/* Lists of a summary that are built whole and sent in several pieces. */
static const struct {
	size_t items;
	size_t n;
} summary_lists[] = {
#define LIST(list)                                                                                                     \
	{                                                                                                              \
		offsetof(Ingero__V1__Summary, list), offsetof(Ingero__V1__Summary, n_##list)                           \
	}
	LIST(in_flight), LIST(behind), LIST(accounts), LIST(findings), LIST(libraries),
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

/* Return: 0, or -ENOBUFS: no room for a piece now */
static int piece_begin(const struct answer_seen *seen)
{
	return seen->call && !call_can_reply(seen->call) ? -ENOBUFS : 0;
}

/* Sends all but the last piece, which stays in @piece. */
static int summary_split(const struct rpc_context *context, const struct since *since, const struct answer_seen *seen,
			 struct answer_position *told, Ingero__V1__Summary *piece, answer_piece_func func, void *data)
{
	const struct answer_position from = *told;
	Ingero__V1__Summary whole;
	size_t bytes;

	memcpy(&whole, piece, sizeof(whole));
	for (size_t i = 0; i < ARRAY_SIZE(summary_lists); i++)
		*list_n(piece, i) = 0;
	bytes = ingero__v1__summary__get_packed_size(piece);
	for (size_t i = from.list; i < ARRAY_SIZE(summary_lists); i++) {
		for (size_t k = i == from.list ? from.at : 0; k < *list_n(&whole, i); k++) {
			size_t n = protobuf_c_message_get_packed_size((*list_items(&whole, i))[k]) + FIELD_BYTES;

			if (bytes + n > PIECE_BYTES) {
				int r;

				piece->more = true;
				r = func(piece, data);
				if (r < 0)
					return r;
				*told = (struct answer_position){ .process = ALL_PROCESSES, .list = i, .at = k };
				r = piece_begin(seen);
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

int answer_summary(const struct rpc_context *context, const struct scope *scope, const struct since *since,
		   const struct answer_seen *seen, answer_piece_func func, void *data)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	Ingero__V1__Operation **rows;
	struct answer_position beginning = { .process = 0 }, *told = seen->told ? seen->told : &beginning;
	struct coverage_libraries libraries = { .n = 0 };
	struct coverage_not_shown not_shown = { .n = 0 };
	Ingero__V1__Delay *delay = NULL;
	const struct process_figures *p;
	const struct since_process *then;
	Ingero__V1__Summary piece;
	int r;

	r = piece_begin(seen);
	if (r < 0)
		return r;
	rows = ARENA_NEW_N(&arena, Ingero__V1__Operation *, PIECE_ROWS);
	if (!rows)
		return -ENOMEM;
	summary_init(&piece, context, since, rows);

	for (size_t i = 0; (p = since_next(context->capture->figures, scope, since, &i, &then));) {
		if (p->id < told->process)
			continue;
		for (size_t k = 0; k < p->ops.used.n; k++) {
			const struct op_used *used = p->ops.used.items[k];
			struct op_figures figures;
			bool owned;

			if (p->id == told->process && used->id < told->op)
				continue;
			if (piece.n_operations == PIECE_ROWS) {
				piece.more = true;
				r = func(&piece, data);
				if (r < 0)
					return r;
				*told = (struct answer_position){ .process = p->id, .op = used->id };
				r = piece_begin(seen);
				if (r < 0)
					return r;
				summary_init(&piece, context, since, rows);
			}
			r = since_op_figures(used, then, &figures, &owned);
			if (r < 0)
				return r;
			if (seen->is_recent)
				figures.max_ns = histogram_longest_ns(&figures.durations, figures.max_ns);
			figures_set_error(&figures, p->process, used->id, since ? since->since_ns : 0);
			r = op_figures_count(&figures) || figures.abandoned
				    ? answer_operation(context, &arena, p, used->id, &figures,
						       &rows[piece.n_operations])
				    : -ENODATA;
			if (owned)
				op_figures_done(&figures);
			if (r == -ENODATA)
				continue; /* no calls since */
			if (r < 0)
				return r;
			piece.n_operations++;
		}
	}

	r = answer_in_flight(context, scope, &arena, &piece);
	if (r == 0)
		r = answer_behind(context, scope, since, &arena, &piece);
	if (r == 0)
		r = answer_accounts(context, scope, since, &arena, &piece);
	if (r == 0 && seen->findings)
		r = findings_fill(seen->findings, context, scope->identity, &arena, &piece);
	if (r == 0 && !seen->is_recent)
		r = delay_find(context, scope, since, &arena, &piece, &delay);
	if (r == 0 && !seen->is_recent)
		r = coverage_libraries(context, &arena, scope->identity, SIZE_MAX, &libraries);
	piece.libraries = libraries.items;
	piece.n_libraries = libraries.n;
	if (r == 0)
		r = summary_split(context, since, seen, told, &piece, func, data);
	if (r < 0)
		return r;
	if (seen->is_recent)
		return func(&piece, data);
	if (seen->tells_not_shown)
		r = coverage_not_shown(context, &arena, scope->identity, scope->lease, &not_shown);
	if (r < 0)
		return r;
	piece.delay = delay;
	piece.not_shown = not_shown.items;
	piece.n_not_shown = not_shown.n;
	piece.lost = answer_lost(context, &arena, scope, since);
	piece.cost = cost_message(context, &arena, scope, since);
	piece.store = answer_store(context, &arena);
	piece.life = (Ingero__V1__Life *)seen->life;
	if (!piece.lost || !piece.cost || !piece.store)
		return -ENOMEM;
	piece.lost->subscriber_slow = seen->subscriber_slow;
	piece.lost->forgotten = seen->forgotten;
	return func(&piece, data);
}

uint64_t answer_untold_calls(const struct answer_position *told, const struct process_figures *p,
			     const struct since *since)
{
	if (p->id < told->process)
		return 0;
	return since_calls(p, since, p->id == told->process ? told->op : 0);
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
