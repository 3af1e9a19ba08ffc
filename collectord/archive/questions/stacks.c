// SPDX-License-Identifier: Apache-2.0
/* Method Stacks: recorded calls by the stack that made them, with an estimate of all calls (read/call_sums.h). */
#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "archive/job.h"
#include "archive/questions/bounds.h"
#include "archive/questions/message.h"
#include "archive/read/call_sums.h"
#include "archive/tables/unknown_op.h"
#include "events/event_message.h"
#include "ingero/v1/ingero.pb-c.h"

#define STACKS_LIMIT_DEFAULT 10000
#define STACKS_BATCH_ROWS 400
#define STACKS_BATCH_BYTES (256u * 1024) /* of frames; beyond, a message is sent */
#define STACKS_OPS_MAX 64		 /* maximum operations of one name, one for each source */

struct stacks {
	struct reader_job *job;
	const Ingero__V1__StacksRequest *request;
	struct call_sums_wish wish;
	struct reader_bounds bounds; /* window of the figures */
	uint32_t ops[STACKS_OPS_MAX];
	struct call_sums sums;
	struct arena arena;
	Ingero__V1__StackRow *batch[STACKS_BATCH_ROWS];
	size_t n_batch;
	size_t batch_bytes;
	Ingero__V1__StacksEnd end;
	Ingero__V1__Window window;
	Ingero__V1__Lost lost;
	ARRAY(Ingero__V1__Gap *) gaps;
};

/* ---- rows ---- */

static int stacks_batch_send(struct stacks *s, Ingero__V1__StacksEnd *end)
{
	Ingero__V1__StacksReply reply = INGERO__V1__STACKS_REPLY__INIT;
	int r;

	reply.rows = s->batch;
	reply.n_rows = s->n_batch;
	reply.end = end;
	r = reader_reply(s->job, &reply.base);
	s->n_batch = s->batch_bytes = 0;
	arena_done(&s->arena);
	store_reader_stacks_trim(s->job->reader);
	return r;
}

static int row_stack_set(struct stacks *s, const struct call_sum *sum, Ingero__V1__StackRow *row)
{
	const struct read_stack *stack = NULL;
	int r = sum->stack ? store_reader_stack(s->job->reader, sum->stack, &stack) : 0;

	if (r < 0 || !stack)
		return r;
	row->stack = reader_stack(&s->arena, stack);
	return row->stack ? 0 : -ENOMEM;
}

static int stacks_row_add(struct stacks *s, const struct call_sum *sum)
{
	const struct read_op *op = store_reader_op(s->job->reader, sum->op);
	Ingero__V1__StackRow *row = ARENA_NEW(&s->arena, Ingero__V1__StackRow);
	int r;

	if (!row)
		return -ENOMEM;
	ingero__v1__stack_row__init(row);
	row->pid = sum->process->pid;
	row->process_name = (char *)(uintptr_t)sum->process->comm;
	row->uid = sum->process->uid;
	if (sum->process->tells_node) {
		row->node_told_case = INGERO__V1__STACK_ROW__NODE_TOLD_NODE;
		row->node = (char *)(uintptr_t)sum->process->node;
	}
	row->source = (char *)(uintptr_t)(op ? op->source : "");
	row->op = (char *)(uintptr_t)(op ? op->name : "");
	row->count = sum->count;
	row->total_ns = sum->total_ns;
	row->bytes = sum->bytes;
	row->errors = sum->errors;
	row->p50_ns = histogram_quantile(&sum->durations, 0.50, sum->max_ns);
	row->p99_ns = histogram_quantile(&sum->durations, 0.99, sum->max_ns);
	row->max_ns = sum->max_ns;
	row->counted = sum->counted;
	row->counted_ns = sum->counted_ns;
	row->is_inner = sum->is_inner;
	row->blame_ns = blame_to_message_of(sum->raw_ns, sum->blame_ns, sum->measured, &s->arena);
	r = row->blame_ns ? row_stack_set(s, sum, row) : -ENOMEM;
	if (r < 0)
		return r;
	s->batch[s->n_batch++] = row;
	s->batch_bytes += ingero__v1__stack_row__get_packed_size(row);
	return s->n_batch == STACKS_BATCH_ROWS || s->batch_bytes > STACKS_BATCH_BYTES ? stacks_batch_send(s, NULL) : 0;
}

/* ---- the end ---- */

static int stacks_gap_add(const Ingero__V1__Gap *gap, void *data)
{
	struct stacks *s = data;
	Ingero__V1__Gap *copy;

	(void)reader_lost_add(&s->lost, gap->reason, gap->count);
	if (s->gaps.n == READER_GAPS_MAX)
		return 0;
	copy = reader_gap_copy(&s->arena, gap);
	return copy ? ARRAY_PUSH(&s->gaps, copy) : -ENOMEM;
}

static int stacks_end(struct stacks *s)
{
	int r = store_reader_gaps(s->job->reader, s->bounds.from_unix_ns, s->bounds.to_unix_ns, stacks_gap_add, s);

	s->window.from_unix_ns = s->sums.from_unix_ns;
	s->window.to_unix_ns = s->sums.to_unix_ns;
	s->window.calls = s->sums.counted;
	s->window.processes = s->sums.processes;
	s->window.events_told_case = INGERO__V1__WINDOW__EVENTS_TOLD_EVENTS;
	s->window.events = s->sums.calls;
	reader_bounds_tell(&s->bounds, &s->window);
	s->end.rows = s->sums.rows.n;
	s->end.calls = s->sums.calls;
	s->end.without = s->sums.without;
	s->end.merged = s->sums.merged;
	s->end.incomplete = s->sums.incomplete;
	s->end.is_sampled = s->sums.is_sampled;
	s->end.window = &s->window;
	s->end.lost = store_reader_tells_losses(s->job->reader) ? &s->lost : NULL;
	s->end.gaps = s->gaps.items;
	s->end.n_gaps = s->gaps.n;
	return r ? r : stacks_batch_send(s, &s->end);
}

/* ---- the question ---- */

/* Return: 0, 1 when the error was sent, -errno */
static int wish_set(struct stacks *s)
{
	const Ingero__V1__StacksRequest *q = s->request;
	int r;

	s->wish.pids = q->pids;
	s->wish.n_pids = q->n_pids;
	if (q->span) {
		s->wish.from_unix_ns = s->bounds.from_unix_ns = q->span->from_unix_ns;
		s->wish.to_unix_ns = s->bounds.to_unix_ns = q->span->to_unix_ns;
	}
	if (s->wish.to_unix_ns && s->wish.from_unix_ns >= s->wish.to_unix_ns)
		return reader_fail(CALL_ERROR_INVALID, "the window ends before it begins: exchange its bounds");
	if (q->op[0]) {
		s->wish.ops = s->ops;
		s->wish.n_ops = store_reader_find_op(s->job->reader, q->op, s->ops, STACKS_OPS_MAX);
		if (!s->wish.n_ops) {
			char why[UNKNOWN_OP_BYTES];

			unknown_op_say(s->job->reader, q->op, why);
			return reader_fail(CALL_ERROR_INVALID, "%s", why);
		}
	}
	r = reader_bounds_widen(s->job, q->pids, q->n_pids, &s->bounds);
	s->wish.figures_from_ns = s->bounds.from_unix_ns;
	s->wish.figures_to_ns = s->bounds.to_unix_ns;
	return r;
}

int reader_stacks(struct reader_job *job)
{
	struct stacks *s = calloc(1, sizeof(*s));
	uint64_t limit;
	int r;

	if (!s)
		return reader_fail_errno(job, -ENOMEM);
	*s = (struct stacks){ .job = job,
			      .end = INGERO__V1__STACKS_END__INIT,
			      .window = INGERO__V1__WINDOW__INIT,
			      .lost = INGERO__V1__LOST__INIT };
	s->request = ingero__v1__stacks_request__unpack(NULL, job->request_bytes, job->request);
	if (!s->request)
		return reader_fail(CALL_ERROR_PROTOCOL, "the request is not valid for method Stacks");
	r = wish_set(s);
	if (r > 0)
		return r;
	limit = s->request->limit ? s->request->limit : STACKS_LIMIT_DEFAULT;
	r = r ? r : call_sums_read(job->reader, &s->wish, &s->sums);
	for (size_t i = 0; r == 0 && i < s->sums.rows.n && i < limit; i++)
		r = reader_is_late(job) ? -ETIME : stacks_row_add(s, &s->sums.rows.items[i]);
	if (r == 0)
		r = stacks_end(s);
	return r ? reader_fail_errno(job, r) : 0;
}
