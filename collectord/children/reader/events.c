// SPDX-License-Identifier: Apache-2.0
/*
 * Method Events: the newest calls that match, oldest first, and what they are a part of.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "children/reader/job.h"
#include "children/reader/message.h"
#include "children/reader/newest.h"
#include "ingero/v1/ingero.pb-c.h"
#include "store/read_order.h"

#define LIMIT_DEFAULT 10000
#define LIMIT_MAX 10000000 /* eight bytes each are held to find where they begin */
#define BATCH_EVENTS 400   /* of one message: at about 250 bytes each, beyond what one socket message holds */
#define OPS_MAX 64	   /* sources that have an operation of one name */

struct events {
	struct reader_job *job;
	const Ingero__V1__EventsRequest *request;
	struct read_filter filter;
	uint32_t ops[OPS_MAX];
	uint64_t surplus; /* oldest ones to leave out */
	uint64_t matched;
	struct arena arena;
	Ingero__V1__Event *batch[BATCH_EVENTS];
	size_t n_batch;
};

static int batch_send(struct events *e, Ingero__V1__EventsEnd *end)
{
	Ingero__V1__EventsReply reply = INGERO__V1__EVENTS_REPLY__INIT;
	int r;

	reply.events = e->batch;
	reply.n_events = e->n_batch;
	reply.end = end;
	r = reader_reply(e->job, &reply.base);
	e->n_batch = 0;
	arena_done(&e->arena);
	return r;
}

static int batch_add(struct events *e, const struct read_event *event)
{
	Ingero__V1__Event *message = reader_event(&e->arena, e->job->reader, event);

	if (!message)
		return -ENOMEM;
	e->batch[e->n_batch++] = message;
	return e->n_batch == BATCH_EVENTS ? batch_send(e, NULL) : 0;
}

static int events_send(struct events *e)
{
	struct read_order *order = NULL;
	struct read_event event;
	int r = read_order_open(e->job->reader, &e->filter, &order);

	while (r == 0) {
		r = read_order_next(order, &event);
		if (r == 0)
			break;
		if (r == 1 && e->surplus) {
			e->surplus--;
			r = 0;
		} else if (r == 1) {
			r = batch_add(e, &event);
		} else if (r == -EAGAIN) {
			r = reader_is_late(e->job) ? -ETIME : 0;
		}
	}
	read_order_close(order);
	return r;
}

/* ---- the end ---- */

struct gap_list {
	struct arena *arena;
	Ingero__V1__EventsEnd *end;
	ARRAY(Ingero__V1__Gap *) gaps;
};

static int gap_add(const Ingero__V1__Gap *gap, void *data)
{
	struct gap_list *list = data;
	Ingero__V1__Gap *copy;

	(void)reader_lost_add(list->end->lost, gap->reason, gap->count);
	if (list->gaps.n == READER_GAPS_MAX)
		return 0;
	copy = reader_gap_copy(list->arena, gap);
	return copy ? ARRAY_PUSH(&list->gaps, copy) : -ENOMEM;
}

static bool is_wanted_op(const struct events *e, const struct read_op *op)
{
	for (size_t i = 0; i < e->filter.n_ops; i++)
		if (op && op->id == e->filter.ops[i])
			return true;
	return !e->filter.ops;
}

static int events_end(struct events *e)
{
	CLEANUP(read_window_done) struct read_window window = { .from_unix_ns = 0 };
	Ingero__V1__EventsEnd end = INGERO__V1__EVENTS_END__INIT;
	Ingero__V1__Window about = INGERO__V1__WINDOW__INIT;
	Ingero__V1__Lost lost = INGERO__V1__LOST__INIT;
	struct gap_list list = { .arena = &e->arena, .end = &end };
	int r;

	r = store_reader_window(e->job->reader, e->request->span ? e->request->span->from_unix_ns : 0,
				e->request->span ? e->request->span->to_unix_ns : 0, e->filter.pids, e->filter.n_pids,
				&window);
	if (r)
		return r;
	for (size_t i = 0; i < window.figures.n; i++) {
		uint64_t n = op_figures_count(&window.figures.items[i].figures);

		about.calls += n;
		about.processes += i == 0 || window.figures.items[i].process != window.figures.items[i - 1].process;
		if (is_wanted_op(e, window.figures.items[i].op))
			end.counted += n;
	}
	about.from_unix_ns = window.from_unix_ns;
	about.to_unix_ns = window.to_unix_ns;
	about.events = e->matched;
	end.matched = e->matched;
	end.window = &about;
	end.lost = &lost;
	r = store_reader_gaps(e->job->reader, e->request->span ? e->request->span->from_unix_ns : 0,
			      e->request->span ? e->request->span->to_unix_ns : 0, gap_add, &list);
	end.gaps = list.gaps.items;
	end.n_gaps = list.gaps.n;
	if (r == 0)
		r = batch_send(e, &end);
	ARRAY_DONE(&list.gaps);
	return r;
}

/* ---- the question ---- */

/* Return: 0, or 1 when the caller was told what is wrong */
static int filter_set(struct events *e)
{
	const Ingero__V1__EventsRequest *q = e->request;

	e->filter.columns = BLOCK_ALL_COLUMNS;
	e->filter.min_duration_ns = q->min_duration_ns;
	if (q->span) {
		e->filter.from_unix_ns = q->span->from_unix_ns;
		e->filter.to_unix_ns = q->span->to_unix_ns;
	}
	if (q->n_pids) {
		e->filter.pids = q->pids;
		e->filter.n_pids = q->n_pids;
	}
	if (q->op[0]) {
		e->filter.ops = e->ops;
		e->filter.n_ops = store_reader_find_op(e->job->reader, q->op, e->ops, OPS_MAX);
		if (!e->filter.n_ops)
			return reader_fail(CALL_ERROR_INVALID,
					   "no operation '%.64s' was ever recorded here; 'SELECT name FROM ops' lists "
					   "those that were",
					   q->op);
	}
	if (q->limit > LIMIT_MAX)
		return reader_fail(CALL_ERROR_INVALID, "a limit of more than %d calls: ask in pieces, or export them",
				   LIMIT_MAX);
	return 0;
}

int reader_events(struct reader_job *job)
{
	struct events *e = calloc(1, sizeof(*e));
	uint64_t limit, from = 0;
	int r;

	if (!e)
		return reader_fail_errno(job, -ENOMEM);
	e->job = job;
	e->request = ingero__v1__events_request__unpack(NULL, job->request_bytes, job->request);
	if (!e->request)
		return reader_fail(CALL_ERROR_PROTOCOL, "this is no question about calls");
	if (filter_set(e))
		return 1;

	limit = e->request->limit ? e->request->limit : LIMIT_DEFAULT;
	r = store_reader_count(job->reader, &e->filter, &e->matched);
	if (r == 0 && e->matched > limit)
		r = reader_newest(job, &e->filter, limit, &from, &e->surplus);
	if (from)
		e->filter.from_unix_ns = from;
	if (r == 0)
		r = events_send(e);
	if (r == 0)
		r = events_end(e);
	return r ? reader_fail_errno(job, r) : 0;
}
