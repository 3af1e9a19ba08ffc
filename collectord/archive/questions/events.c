// SPDX-License-Identifier: Apache-2.0
/* Method Events: the newest calls that match, oldest first, and totals of all calls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "archive/questions/bounds.h"
#include "archive/job.h"
#include "archive/questions/message.h"
#include "archive/questions/newest.h"
#include "archive/tables/unknown_op.h"
#include "events/op.h"
#include "ingero/v1/ingero.pb-c.h"
#include "archive/read/order.h"

#define LIMIT_DEFAULT 10000
#define LIMIT_MAX 10000000
#define BATCH_EVENTS 400 /* calls of one message: about 250 bytes each, more than one socket message can hold */
#define HELD_MAX 10000	 /* calls held in memory, 250 bytes each; for more calls, the file is read twice */
#define STACKS_BYTES (256u * 1024) /* frames of one message: beyond, it is sent before it has all its calls */
#define OPS_MAX 64		   /* maximum operations of one name, one for each source */

/* Copy of a call: the reader's memory of the call is no longer valid when the call is sent. */
struct held {
	struct stored_event stored;
	struct read_event event;
};

struct events {
	struct reader_job *job;
	const Ingero__V1__EventsRequest *request;
	struct read_filter filter;
	uint32_t ops[OPS_MAX];
	uint64_t matched;
	struct arena arena;
	Ingero__V1__Event *batch[BATCH_EVENTS];
	size_t n_batch;
	Ingero__V1__Stack *stacks[BATCH_EVENTS]; /* of these calls, each once */
	size_t n_stacks;
	size_t stacks_bytes;
};

static int event_batch_send(struct events *e, Ingero__V1__EventsEnd *end)
{
	Ingero__V1__EventsReply reply = INGERO__V1__EVENTS_REPLY__INIT;
	int r;

	reply.events = e->batch;
	reply.n_events = e->n_batch;
	reply.stacks = e->stacks;
	reply.n_stacks = e->n_stacks;
	reply.end = end;
	r = reader_reply(e->job, &reply.base);
	e->n_batch = e->n_stacks = e->stacks_bytes = 0;
	arena_done(&e->arena);
	store_reader_stacks_trim(e->job->reader);
	return r;
}

/* Adds a stack to the message. Return: 0, also if there is none, or -errno */
static int batch_stack_add(struct events *e, uint32_t id)
{
	const struct read_stack *stack = NULL;
	Ingero__V1__Stack *message;
	int r;

	for (size_t i = e->n_stacks; i-- > 0;)
		if (e->stacks[i]->id == id)
			return 0;
	r = store_reader_stack(e->job->reader, id, &stack);
	if (r < 0 || !stack)
		return r;
	message = reader_stack(&e->arena, stack);
	if (!message)
		return -ENOMEM;
	e->stacks[e->n_stacks++] = message;
	e->stacks_bytes += ingero__v1__stack__get_packed_size(message);
	return 0;
}

static int batch_add(struct events *e, const struct read_event *event)
{
	Ingero__V1__Event *message = reader_event(&e->arena, e->job->reader, event);
	uint32_t stack = event->event->stack;
	int r = message ? 0 : -ENOMEM;

	if (r == 0 && stack) {
		message->stack = reader_stack_id(&e->arena, stack);
		r = message->stack ? batch_stack_add(e, stack) : -ENOMEM;
	}
	if (r < 0)
		return r;
	e->batch[e->n_batch++] = message;
	return e->n_batch == BATCH_EVENTS || e->stacks_bytes > STACKS_BYTES ? event_batch_send(e, NULL) : 0;
}

/* typedef call_func - Return: 0 or -errno */
typedef int (*call_func)(struct events *e, const struct read_event *event, void *data);

/* Calls func for the first `most` calls that match the filter, in order. Return: 0 or -errno */
static int calls_walk(struct events *e, uint64_t most, call_func func, void *data)
{
	struct read_order *order = NULL;
	struct read_event event;
	int r = read_order_open(e->job->reader, &e->filter, &order);

	for (uint64_t n = 0; r == 0 && n < most;) {
		r = read_order_next(order, &event);
		if (r == 0)
			break;
		if (r == -EAGAIN) {
			r = reader_is_late(e->job) ? -ETIME : 0;
		} else if (r == 1) {
			n++;
			r = func(e, &event, data);
		}
	}
	read_order_close(order);
	return r;
}

static int call_hold(struct events *e, const struct read_event *event, void *data)
{
	struct held **next = data;

	(void)e;
	(*next)->stored = *event->event;
	(*next)->event = *event;
	(*next)++;
	return 0;
}

/* Holds the newest calls in memory: they are found newest first, and sent oldest first. */
static int newest_send(struct events *e, uint64_t limit)
{
	CLEANUP(freep) struct held *held = calloc(limit, sizeof(*held));
	struct held *next = held;
	int r;

	if (!held)
		return -ENOMEM;
	e->filter.newest_first = true;
	r = calls_walk(e, limit, call_hold, &next);
	while (r == 0 && next-- > held) {
		next->event.event = &next->stored;
		r = batch_add(e, &next->event);
	}
	return r;
}

static int call_send(struct events *e, const struct read_event *event, void *data)
{
	uint64_t *surplus = data; /* number of oldest calls to leave out */

	if (!*surplus)
		return batch_add(e, event);
	--*surplus;
	return 0;
}

static int events_send(struct events *e, uint64_t limit)
{
	uint64_t surplus = 0;
	int r = 0;

	if (limit <= HELD_MAX)
		return newest_send(e, MIN(limit, e->matched + 1));
	if (e->matched > limit)
		r = reader_newest(e->job, &e->filter, limit, &e->filter.since, &surplus);
	return r ? r : calls_walk(e, UINT64_MAX, call_send, &surplus);
}

/* ---- the end ---- */

struct gap_list {
	struct arena *arena;
	Ingero__V1__EventsEnd *end;
	ARRAY(Ingero__V1__Gap *) gaps;
};

static int events_gap_add(const Ingero__V1__Gap *gap, void *data)
{
	struct gap_list *list = data;
	Ingero__V1__Gap *copy;

	if (list->end->lost)
		(void)reader_lost_add(list->end->lost, gap->reason, gap->count);
	if (list->gaps.n == READER_GAPS_MAX)
		return 0;
	copy = reader_gap_copy(list->arena, gap);
	return copy ? ARRAY_PUSH(&list->gaps, copy) : -ENOMEM;
}

/* Whether the operation has only figures and is never recorded. In an imported file, ids are not those of ops.def. */
static bool is_figures_only(const struct read_op *op)
{
	const struct op *known;

	if (read_op_is_call(op))
		return false;
	known = op_get(op->id);
	if (known && strcmp(known->name, op->name) == 0)
		return known->traits & OP_FIGURES;
	for (size_t i = 0; i < op_count(); i++) {
		known = op_at(i);
		if (known->traits & OP_FIGURES && strcmp(known->name, op->name) == 0)
			return true;
	}
	return false;
}

static bool is_wanted_op(const struct events *e, const struct read_op *op)
{
	for (size_t i = 0; i < e->filter.n_ops; i++)
		if (op && op->id == e->filter.ops[i])
			return true;
	/* Operations that are never recorded as single calls are not counted: no call would match. */
	return !e->filter.ops && !is_figures_only(op);
}

/* Totals of the window: only counts are summed, which takes a tenth of the time of summing histograms. */
struct counted {
	const struct events *e;
	Ingero__V1__Window window;
	uint64_t n;		   /* calls of the requested operations */
	ARRAY(uint32_t) processes; /* ids; the first n_once are sorted, without duplicates */
	size_t n_once;
};

static int number_compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void processes_once(struct counted *counted)
{
	uint32_t *ids = counted->processes.items;
	size_t n = 0;

	if (counted->processes.n)
		qsort(ids, counted->processes.n, sizeof(*ids), number_compare);
	for (size_t i = 0; i < counted->processes.n; i++)
		if (!n || ids[i] != ids[n - 1])
			ids[n++] = ids[i];
	counted->processes.n = counted->n_once = n;
}

/* Duplicates are removed from time to time, so that memory depends on the number of processes, not of rows. */
static int process_count(struct counted *counted, uint32_t id)
{
	if (counted->processes.n > 2 * counted->n_once + 4096)
		processes_once(counted);
	return ARRAY_PUSH(&counted->processes, id);
}

static int bucket_count(const struct read_bucket *bucket, void *data)
{
	struct counted *counted = data;
	Ingero__V1__Window *window = &counted->window;
	const struct read_process *last = NULL;
	int r = 0;

	for (size_t i = 0; i < bucket->n_figures && r == 0; i++) {
		const struct read_figures *f = &bucket->figures[i];
		uint64_t n = op_figures_count(&f->figures);

		if (!read_pid_is_wanted(counted->e->filter.pids, counted->e->filter.n_pids, f->process->pid))
			continue;
		if (is_wanted_op(counted->e, f->op))
			counted->n += n;
		if (!read_op_is_call(f->op))
			continue;
		window->calls += n;
		if (f->process != last)
			r = process_count(counted, f->process->id);
		last = f->process;
	}
	if (!window->to_unix_ns || bucket->from_unix_ns < window->from_unix_ns)
		window->from_unix_ns = bucket->from_unix_ns;
	window->to_unix_ns = MAX(window->to_unix_ns, bucket->to_unix_ns);
	return r;
}

static int events_end(struct events *e)
{
	struct counted counted = { .e = e, .window = INGERO__V1__WINDOW__INIT };
	struct reader_bounds bounds = { .from_unix_ns = e->filter.from_unix_ns, .to_unix_ns = e->filter.to_unix_ns };
	Ingero__V1__EventsEnd end = INGERO__V1__EVENTS_END__INIT;
	Ingero__V1__Lost lost = INGERO__V1__LOST__INIT;
	struct gap_list list = { .arena = &e->arena, .end = &end };
	int r = reader_bounds_widen(e->job, e->filter.pids, e->filter.n_pids, &bounds);

	if (r == 0)
		r = store_reader_sums(e->job->reader, bounds.from_unix_ns, bounds.to_unix_ns, bucket_count, &counted);
	reader_bounds_tell(&bounds, &counted.window);
	processes_once(&counted);
	counted.window.processes = (uint32_t)counted.processes.n;
	counted.window.events_told_case = INGERO__V1__WINDOW__EVENTS_TOLD_EVENTS;
	counted.window.events = e->matched;
	ARRAY_DONE(&counted.processes);
	if (r)
		return r;
	end.counted = counted.n;
	end.matched = e->matched;
	end.window = &counted.window;
	end.lost = store_reader_tells_losses(e->job->reader) ? &lost : NULL; /* NULL: not recorded in the file */
	r = store_reader_gaps(e->job->reader, bounds.from_unix_ns, bounds.to_unix_ns, events_gap_add, &list);
	end.gaps = list.gaps.items;
	end.n_gaps = list.gaps.n;
	if (r == 0)
		r = event_batch_send(e, &end);
	ARRAY_DONE(&list.gaps);
	return r;
}

/* ---- the question ---- */

/* Return: 0, or 1 when the error was sent */
static int filter_set(struct events *e)
{
	const Ingero__V1__EventsRequest *q = e->request;

	e->filter.columns = q->stacks ? BLOCK_ALL_COLUMNS : BLOCK_ALL_COLUMNS & ~BLOCK_COLUMN(BLOCK_STACK);
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
		if (!e->filter.n_ops) {
			char why[UNKNOWN_OP_BYTES];

			unknown_op_say(e->job->reader, q->op, why);
			return reader_fail(CALL_ERROR_INVALID, "%s", why);
		}
	}
	if (q->limit > LIMIT_MAX)
		return reader_fail(CALL_ERROR_INVALID,
				   "the limit is more than %d calls: use several queries, or export the calls",
				   LIMIT_MAX);
	return 0;
}

int reader_events(struct reader_job *job)
{
	struct events *e = calloc(1, sizeof(*e));
	uint64_t limit;
	int r;

	if (!e)
		return reader_fail_errno(job, -ENOMEM);
	e->job = job;
	e->request = ingero__v1__events_request__unpack(NULL, job->request_bytes, job->request);
	if (!e->request)
		return reader_fail(CALL_ERROR_PROTOCOL, "the request is not valid for method Events");
	if (filter_set(e))
		return 1;

	limit = e->request->limit ? e->request->limit : LIMIT_DEFAULT;
	r = store_reader_count(job->reader, &e->filter, &e->matched);
	if (r == 0)
		r = events_send(e, limit);
	if (r == 0)
		r = events_end(e);
	return r ? reader_fail_errno(job, r) : 0;
}
