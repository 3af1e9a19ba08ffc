// SPDX-License-Identifier: Apache-2.0
/*
 * Method Blame: how threads spent the wall-clock time of a window.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "archive/job.h"
#include "archive/questions/accounts.h"
#include "archive/questions/bounds.h"
#include "archive/questions/message.h"
#include "archive/tables/unknown_op.h"
#include "ingero/v1/ingero.pb-c.h"

#define ACCOUNTS_MOST 1000u
#define SOURCES_MOST 64 /* maximum operations of one name */

struct blame {
	struct reader_job *job;
	const Ingero__V1__BlameRequest *request;
	struct reader_bounds bounds;
	uint32_t ops[SOURCES_MOST];
	size_t n_ops;
	struct arena arena;
	Ingero__V1__BlameReply reply;
	Ingero__V1__Window window;
	Ingero__V1__Lost lost;
	ARRAY(Ingero__V1__Gap *) gaps;
};

/* Return: 0, 1 when the error was sent, -errno */
static int blame_scope_set(struct blame *b)
{
	const Ingero__V1__BlameRequest *q = b->request;

	if (q->span) {
		b->bounds.from_unix_ns = q->span->from_unix_ns;
		b->bounds.to_unix_ns = q->span->to_unix_ns;
	}
	if (b->bounds.to_unix_ns && b->bounds.from_unix_ns >= b->bounds.to_unix_ns)
		return reader_fail(CALL_ERROR_INVALID, "the window ends before it begins: exchange its bounds");
	if (q->op[0]) {
		b->n_ops = store_reader_find_op(b->job->reader, q->op, b->ops, SOURCES_MOST);
		if (!b->n_ops) {
			char why[UNKNOWN_OP_BYTES];

			unknown_op_say(b->job->reader, q->op, why);
			return reader_fail(CALL_ERROR_INVALID, "%s", why);
		}
	}
	return reader_bounds_widen(b->job, q->pids, q->n_pids, &b->bounds);
}

static int blame_accounts_set(struct blame *b)
{
	CLEANUP(read_window_done) struct read_window window = { .from_unix_ns = 0 };
	size_t most = b->request->accounts_max;
	const struct accounts_query query = { .which = ACCOUNTS_EVERY_THREAD,
					      .most = most ? MIN(most, ACCOUNTS_MOST) : ACCOUNTS_MOST,
					      .ops = b->n_ops ? b->ops : NULL,
					      .n_ops = b->n_ops };
	struct accounts_answer answer = { .n = 0 };
	int r = store_reader_window(b->job->reader, b->bounds.from_unix_ns, b->bounds.to_unix_ns, b->request->pids,
				    b->request->n_pids, &window);

	if (r == 0)
		r = reader_accounts(b->job, &window, &query, &b->arena, &answer);
	b->window.from_unix_ns = window.from_unix_ns;
	b->window.to_unix_ns = window.to_unix_ns;
	reader_calls_count(&window, &b->window);
	reader_bounds_tell(&b->bounds, &b->window);
	b->reply.window = &b->window;
	b->reply.accounts = answer.rows;
	b->reply.n_accounts = answer.n;
	b->reply.more_accounts = (uint32_t)(answer.n_all - answer.n);
	return r;
}

static int blame_gap_add(const Ingero__V1__Gap *gap, void *data)
{
	struct blame *b = data;
	Ingero__V1__Gap *copy;

	(void)reader_lost_add(&b->lost, gap->reason, gap->count);
	if (b->gaps.n == READER_GAPS_MAX)
		return 0;
	copy = reader_gap_copy(&b->arena, gap);
	return copy ? ARRAY_PUSH(&b->gaps, copy) : -ENOMEM;
}

/* Sends the reply as one message: rows that do not fit are cut from the end of the lists. */
static int blame_send(struct blame *b)
{
	Ingero__V1__BlameReply *reply = &b->reply;
	size_t n_all = reply->n_accounts + reply->more_accounts;
	int r;

	while ((r = reader_reply(b->job, &reply->base)) == -EMSGSIZE) {
		if (reply->n_accounts > 1)
			reply->n_accounts /= 2;
		else if (reply->n_gaps > 1)
			reply->n_gaps /= 2;
		else
			break;
		reply->more_accounts = (uint32_t)(n_all - reply->n_accounts);
	}
	return r;
}

int reader_blame(struct reader_job *job)
{
	struct blame *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return reader_fail_errno(job, -ENOMEM);
	*b = (struct blame){ .job = job,
			     .arena = ARENA_INIT,
			     .reply = INGERO__V1__BLAME_REPLY__INIT,
			     .window = INGERO__V1__WINDOW__INIT,
			     .lost = INGERO__V1__LOST__INIT };
	b->request = ingero__v1__blame_request__unpack(NULL, job->request_bytes, job->request);
	if (!b->request)
		return reader_fail(CALL_ERROR_PROTOCOL, "the request is not valid for method Blame");

	r = blame_scope_set(b);
	if (r > 0)
		return r;
	if (r == 0)
		r = blame_accounts_set(b);
	if (r == 0) /* last, because the steps before may find damaged rows, which are gaps */
		r = store_reader_gaps(job->reader, b->bounds.from_unix_ns, b->bounds.to_unix_ns, blame_gap_add, b);
	b->reply.lost = store_reader_tells_losses(job->reader) ? &b->lost : NULL;
	b->reply.gaps = b->gaps.items;
	b->reply.n_gaps = b->gaps.n;
	if (r == 0)
		r = blame_send(b);
	return r ? reader_fail_errno(job, r) : 0;
}
