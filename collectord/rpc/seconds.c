// SPDX-License-Identifier: Apache-2.0
#include "rpc/seconds.h"

#include <errno.h>
#include <string.h>

#include "capture.h"
#include "clock.h"
#include "events/source.h"
#include "rpc/accounts.h"
#include "rpc/answer.h"
#include "rpc/context.h"
#include "rpc/cost.h"
#include "rpc/scope.h"

#define PIECE_ROWS 1000
#define PIECE_BYTES (512 * 1024) /* of operations and accounts; calls in progress and neighbours fit beside them */
#define FIELD_BYTES 8		 /* number and length of a message in a list */

void seconds_done(struct seconds *s)
{
	since_done(&s->since);
	arena_done(&s->arena);
	ARRAY_DONE(&s->pieces);
}

size_t seconds_bytes(const struct seconds *s)
{
	return since_bytes(&s->since) + arena_bytes(&s->arena);
}

Ingero__V1__Summary *seconds_pending(const struct seconds *s)
{
	return s->n_told < s->pieces.n ? s->pieces.items[s->n_told] : NULL;
}

static Ingero__V1__Summary *piece_add(struct seconds *s)
{
	Ingero__V1__Summary *piece = ARENA_NEW(&s->arena, Ingero__V1__Summary);
	Ingero__V1__Operation **rows = ARENA_NEW_N(&s->arena, Ingero__V1__Operation *, PIECE_ROWS);

	if (!piece || !rows)
		return NULL;
	ingero__v1__summary__init(piece);
	piece->operations = rows;
	if (ARRAY_PUSH(&s->pieces, piece) < 0)
		return NULL;
	if (s->pieces.n > 1)
		s->pieces.items[s->pieces.n - 2]->more = true;
	return piece;
}

/* Adds the row of one operation since the last one and notes its figures, or does neither. */
static int second_row_add(struct seconds *s, const struct rpc_context *context, const struct process_figures *p,
			  const struct op_used *used, struct since_process *then, uint64_t window_ns)
{
	struct op_used *noted = op_list_take(&then->ops, used->id);
	Ingero__V1__Summary *piece = s->pieces.items[s->pieces.n - 1];
	struct op_figures figures, next;
	Ingero__V1__Operation *row;
	int r;

	if (!noted)
		return -ENOMEM;
	if (op_figures_is_same(&used->figures, &noted->figures))
		return 0;
	if (piece->n_operations == PIECE_ROWS)
		piece = piece_add(s);
	if (!piece)
		return -ENOMEM;
	r = op_figures_copy(&used->figures, &next);
	if (r < 0)
		return r;
	r = op_figures_copy(&used->figures, &figures);
	if (r == 0) {
		op_figures_subtract(&figures, &noted->figures);
		figures.max_ns = histogram_longest_ns(&figures.durations, MAX(used->recent_ns, noted->recent_ns));
		figures_set_error(&figures, p->process, used->id, s->since.since_ns);
		r = answer_operation(context, &s->arena, p, used->id, &figures, &row);
		op_figures_done(&figures);
	}
	if (r < 0) {
		op_figures_done(&next);
		return r;
	}
	row->rate_told_case = INGERO__V1__OPERATION__RATE_TOLD_RATE;
	row->rate = window_ns ? (double)row->count * (double)NSEC_PER_SEC / (double)window_ns : 0;
	piece->operations[piece->n_operations++] = row;
	op_figures_done(&noted->figures);
	noted->figures = next;
	noted->recent_ns = 0;
	return 0;
}

static int rows_add(struct seconds *s, const struct rpc_context *context, const struct scope *scope, uint64_t window_ns)
{
	int r = 0;

	for (size_t i = 0; i < figures_count(context->capture->figures) && r == 0; i++) {
		const struct process_figures *p = figures_get(context->capture->figures, i);

		struct since_process *then;

		if (!scope_sees_process(scope, p))
			continue;
		then = since_note(&s->since, p->id);
		r = then ? 0 : -ENOMEM;
		for (size_t k = 0; k < p->ops.used.n && r == 0; k++)
			r = second_row_add(s, context, p, p->ops.used.items[k], then, window_ns);
		if (r == 0 && p->behind.n)
			r = since_behind(then, p);
		if (r == 0 && p->accounts.n)
			r = since_accounts(then, p);
	}
	return r;
}

/* Adds the accounts after the rows, in several pieces. */
static int accounts_spread(struct seconds *s, const Ingero__V1__Summary *rest)
{
	Ingero__V1__Summary *piece = s->pieces.items[s->pieces.n - 1];
	size_t bytes = rest->n_accounts ? ingero__v1__summary__get_packed_size(piece) : 0;

	for (size_t i = 0; i < rest->n_accounts; i++) {
		size_t n = ingero__v1__account__get_packed_size(rest->accounts[i]) + FIELD_BYTES;

		if (bytes + n > PIECE_BYTES && bytes) {
			piece = piece_add(s);
			if (!piece)
				return -ENOMEM;
			bytes = 0;
		}
		if (!piece->n_accounts)
			piece->accounts = &rest->accounts[i];
		piece->n_accounts++;
		bytes += n;
	}
	return 0;
}

/* Builds everything but the rows since the last one, before any row is noted. */
static int rest_build(struct seconds *s, const struct rpc_context *context, const struct scope *scope,
		      Ingero__V1__Summary *rest)
{
	int r = answer_in_flight(context, scope, &s->arena, rest);

	if (r == 0)
		r = answer_behind(context, scope, &s->since, &s->arena, rest);
	if (r == 0)
		r = answer_accounts(context, scope, &s->since, &s->arena, rest);
	if (r < 0)
		return r;
	rest->lost = answer_lost(context, &s->arena, scope, &s->since);
	rest->cost = cost_message(context, &s->arena, scope, &s->since);
	return rest->lost && rest->cost ? 0 : -ENOMEM;
}

int seconds_build(struct seconds *s, const struct rpc_context *context, const struct scope *scope,
		  uint64_t subscriber_slow)
{
	uint64_t from_ns = s->since.since_ns, to_ns = context->capture->source->ops->now_ns(context->capture->source);
	Ingero__V1__Summary rest = INGERO__V1__SUMMARY__INIT, *last;
	int r;

	s->pieces.n = s->n_told = 0;
	arena_done(&s->arena);
	r = rest_build(s, context, scope, &rest);
	if (r == 0 && !piece_add(s))
		r = -ENOMEM;
	if (r < 0) {
		s->pieces.n = 0;
		return r;
	}

	r = rows_add(s, context, scope, to_ns - from_ns);
	if (r == 0)
		r = accounts_spread(s, &rest);
	last = s->pieces.items[s->pieces.n - 1];
	last->timestamp_unix_ns = clock_to_unix_ns(to_ns);
	last->window_ns = to_ns - from_ns;
	last->from_told_case = INGERO__V1__SUMMARY__FROM_TOLD_FROM_UNIX_NS;
	last->from_unix_ns = s->since_unix_ns ? s->since_unix_ns : clock_to_unix_ns(from_ns);
	last->to_told_case = INGERO__V1__SUMMARY__TO_TOLD_TO_UNIX_NS;
	last->to_unix_ns = last->timestamp_unix_ns;
	last->in_flight = rest.in_flight;
	last->n_in_flight = rest.n_in_flight;
	last->behind = rest.behind;
	last->n_behind = rest.n_behind;
	last->lost = rest.lost;
	last->lost->subscriber_slow = subscriber_slow - s->subscriber_slow;
	last->lost->forgotten = s->forgotten;
	last->cost = rest.cost;

	s->subscriber_slow = subscriber_slow;
	s->forgotten = 0;
	s->since_unix_ns = last->timestamp_unix_ns;
	since_restart(&s->since, context, scope->identity);
	s->since.since_ns = to_ns;
	return r;
}

bool seconds_is_empty(struct seconds *s)
{
	const Ingero__V1__Summary *last = s->pieces.n ? s->pieces.items[s->pieces.n - 1] : NULL;

	if (last && (s->pieces.n > 1 || last->n_operations || last->window_ns))
		return false;
	s->pieces.n = 0;
	return true;
}

void seconds_forget(struct seconds *s, const struct process_figures *process)
{
	s->forgotten += since_calls(process, &s->since, 0);
	since_forget(&s->since, process->id);
}

int seconds_pass(struct seconds *s, const struct rpc_context *context, const struct scope *scope)
{
	for (size_t i = 0; i < figures_count(context->capture->figures); i++) {
		const struct process_figures *p = figures_get(context->capture->figures, i);
		struct since_process *then;

		if (!scope_sees_process(scope, p))
			continue;
		then = since_note(&s->since, p->id);
		if (!then)
			return -ENOMEM;
		for (size_t k = 0; k < p->ops.used.n; k++) {
			const struct op_used *used = p->ops.used.items[k];
			struct op_used *noted;

			if (!used->recent_ns)
				continue;
			noted = op_list_take(&then->ops, used->id);
			if (!noted)
				return -ENOMEM;
			noted->recent_ns = MAX(noted->recent_ns, used->recent_ns);
		}
	}
	return 0;
}
