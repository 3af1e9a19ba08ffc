// SPDX-License-Identifier: Apache-2.0
/* Method Explain: findings of a window, worst first, with figures of the window; or one finding, or one call. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "archive/questions/accounts.h"
#include "archive/questions/bounds.h"
#include "archive/questions/findings.h"
#include "archive/job.h"
#include "archive/questions/message.h"
#include "archive/questions/newest.h"
#include "archive/questions/waits.h"
#include "events/call_id.h"
#include "ingero/v1/ingero.pb-c.h"

#define FINDINGS_DEFAULT 100
#define FINDINGS_MAX 1000
#define OPERATIONS_TOP 5
#define OPERATIONS_MAX 4000 /* maximum rows with per_process: about 150 bytes each, most of a reply */
#define BEHIND_MAX 20
#define ACCOUNTS_MAX 20
#define SESSIONS_MAX 100
#define LAST_CALLS_MAX 10000000
#define EXAMPLES_MAX 3 /* calls with frames: each at most READER_STACK_BYTES, so that a reply has room for them */

struct explain {
	struct reader_job *job;
	const Ingero__V1__ExplainRequest *request;
	uint64_t from_unix_ns, to_unix_ns; /* 0: no bound */
	uint64_t calls_from_unix_ns;	   /* start of the window of single calls if it is later; 0: from_unix_ns */
	struct reader_bounds figures;	   /* window of figures and losses */
	const uint32_t *pids;
	size_t n_pids;
	struct arena arena;
	Ingero__V1__ExplainReply reply;
	Ingero__V1__Window window;
	Ingero__V1__Lost lost;
	Ingero__V1__SystemSample peak;
	Ingero__V1__Cost cost;
	ARRAY(Ingero__V1__Gap *) gaps;
	ARRAY(Ingero__V1__Session *) sessions;
	struct findings findings;
};

/* ---- figures ---- */

/* Calls first: what the kernel counts of programs has many rows of little time. */
static int compare_total(const void *a, const void *b)
{
	const struct read_figures *x = *(const struct read_figures *const *)a;
	const struct read_figures *y = *(const struct read_figures *const *)b;
	bool x_is_call = read_op_is_call(x->op), y_is_call = read_op_is_call(y->op);

	if (x_is_call != y_is_call)
		return x_is_call ? -1 : 1;
	return (x->figures.total_ns < y->figures.total_ns) - (x->figures.total_ns > y->figures.total_ns);
}

static size_t operations_most(const Ingero__V1__ExplainRequest *request)
{
	size_t most = request->per_process ? OPERATIONS_MAX : OPERATIONS_TOP;

	return request->operations_max ? MIN(request->operations_max, most) : most;
}

static bool operation_is_wanted(const Ingero__V1__ExplainRequest *request, const struct read_op *op)
{
	if (!request->per_process && !read_op_is_call(op))
		return false;
	return !request->op_part[0] || (op && strcasestr(op->name, request->op_part));
}

static int operations_set(struct explain *e, const struct read_window *window)
{
	size_t n = window->figures.n, most = operations_most(e->request);
	const struct read_figures **order = ARENA_NEW_N(&e->arena, const struct read_figures *, n + 1);

	if (!order)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < window->figures.n; i++)
		if (operation_is_wanted(e->request, window->figures.items[i].op))
			order[n++] = &window->figures.items[i];
	qsort(order, n, sizeof(*order), compare_total);

	e->reply.more_operations = (uint32_t)(n - MIN(n, most));
	n = MIN(n, most);
	e->reply.operations = ARENA_NEW_N(&e->arena, Ingero__V1__Operation *, n + 1);
	if (!e->reply.operations)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		e->reply.operations[i] = reader_operation(&e->arena, order[i]);
		if (!e->reply.operations[i])
			return -ENOMEM;
		e->reply.n_operations++;
	}
	return 0;
}

static int behind_message_compare(const void *a, const void *b)
{
	const struct read_behind *x = *(const struct read_behind *const *)a;
	const struct read_behind *y = *(const struct read_behind *const *)b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

static int behind_set(struct explain *e, const struct read_window *window)
{
	size_t n = window->behind.n;
	const struct read_behind **order = ARENA_NEW_N(&e->arena, const struct read_behind *, n + 1);

	if (!order)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < window->behind.n; i++)
		if (!window->behind.items[i].is_between)
			order[n++] = &window->behind.items[i];
	qsort(order, n, sizeof(*order), behind_message_compare);

	n = MIN(n, BEHIND_MAX);
	e->reply.behind = ARENA_NEW_N(&e->arena, Ingero__V1__Behind *, n + 1);
	for (size_t i = 0; i < n && e->reply.behind; i++) {
		Ingero__V1__Behind *b = ARENA_NEW(&e->arena, Ingero__V1__Behind);

		if (!b)
			return -ENOMEM;
		ingero__v1__behind__init(b);
		b->pid = order[i]->tgid;
		b->uid = order[i]->uid;
		b->ns = order[i]->ns;
		b->comm = arena_copy_text(&e->arena, order[i]->comm);
		b->victim_pid = order[i]->process ? order[i]->process->pid : 0;
		if (order[i]->process && order[i]->process->tells_node) {
			b->node_told_case = INGERO__V1__BEHIND__NODE_TOLD_NODE;
			b->node = (char *)(uintptr_t)order[i]->process->node;
		}
		if (!b->comm)
			return -ENOMEM;
		e->reply.behind[e->reply.n_behind++] = b;
	}
	return e->reply.behind ? 0 : -ENOMEM;
}

/* List of operations: either calls, or operations of the host. */
struct some_ops {
	bool are_calls;
	ARRAY(uint32_t) ids;
};

static int some_op_add(const struct read_op *op, void *data)
{
	struct some_ops *ops = data;

	return read_op_is_call(op) == ops->are_calls ? ARRAY_PUSH(&ops->ids, op->id) : 0;
}

/* All recorded calls, without events of the host: headers of blocks show whether they have any. */
static int calls_kept(struct store_reader *reader, const struct read_filter *filter, uint64_t *ret_n)
{
	struct some_ops ops = { .are_calls = false };
	struct read_filter host = *filter;
	uint64_t n_all = 0, n_host = 0;
	int r = store_reader_count(reader, filter, &n_all);

	if (r == 0)
		r = store_reader_ops(reader, some_op_add, &ops);
	host.ops = ops.ids.items;
	host.n_ops = ops.ids.n;
	if (r == 0 && host.n_ops)
		r = store_reader_count(reader, &host, &n_host);
	*ret_n = n_all - n_host;
	ARRAY_DONE(&ops.ids);
	return r;
}

static int window_set(struct explain *e, const struct read_window *window)
{
	struct read_filter filter = {
		.from_unix_ns = e->calls_from_unix_ns ? e->calls_from_unix_ns : e->from_unix_ns,
		.to_unix_ns = e->to_unix_ns,
		.pids = e->pids,
		.n_pids = e->n_pids,
	};

	e->window.from_unix_ns = window->from_unix_ns;
	e->window.to_unix_ns = window->to_unix_ns;
	reader_calls_count(window, &e->window);
	reader_bounds_tell(&e->figures, &e->window);
	e->reply.window = &e->window;
	if (e->request->without_kept)
		return 0;
	e->window.events_told_case = INGERO__V1__WINDOW__EVENTS_TOLD_EVENTS;
	return calls_kept(e->job->reader, &filter, &e->window.events);
}

static int accounts_set(struct explain *e, const struct read_window *window)
{
	const struct accounts_query query = { .which = ACCOUNTS_WORST_DRIVING,
					      .most = ACCOUNTS_MAX,
					      .findings = e->findings.rows,
					      .n_findings = e->findings.n };
	struct accounts_answer answer = { .n = 0 };
	int r = reader_accounts(e->job, window, &query, &e->arena, &answer);

	e->reply.accounts = answer.rows;
	e->reply.n_accounts = answer.n;
	e->reply.more_accounts = (uint32_t)(answer.n_threads - answer.n);
	return r;
}

static int figures_set(struct explain *e)
{
	CLEANUP(read_window_done) struct read_window window = { .from_unix_ns = 0 };
	int r = (e->request->without_accounts ? store_reader_figures : store_reader_window)(
		e->job->reader, e->figures.from_unix_ns, e->figures.to_unix_ns, e->pids, e->n_pids, &window);

	if (r == 0)
		r = window_set(e, &window);
	if (r == 0)
		r = operations_set(e, &window);
	if (r == 0)
		r = behind_set(e, &window);
	if (r == 0)
		r = accounts_set(e, &window);
	if (r == 0)
		r = reader_waits(&e->arena, &window, &e->reply.waits, &e->reply.n_waits);
	return r;
}

/* ---- surrounding data ---- */

static int explain_gap_add(const Ingero__V1__Gap *gap, void *data)
{
	struct explain *e = data;
	Ingero__V1__Gap *copy;

	(void)reader_lost_add(&e->lost, gap->reason, gap->count);
	if (e->gaps.n == READER_GAPS_MAX)
		return 0;
	copy = reader_gap_copy(&e->arena, gap);
	return copy ? ARRAY_PUSH(&e->gaps, copy) : -ENOMEM;
}

static int session_add(const Ingero__V1__Session *session, void *data)
{
	struct explain *e = data;
	Ingero__V1__Session *copy;

	if ((e->to_unix_ns && session->start_unix_ns >= e->to_unix_ns) ||
	    (session->end_unix_ns && session->end_unix_ns < e->from_unix_ns) || e->sessions.n == SESSIONS_MAX)
		return 0;
	copy = ARENA_NEW(&e->arena, Ingero__V1__Session);
	if (!copy)
		return -ENOMEM;
	*copy = *session;
	copy->version = arena_copy_text(&e->arena, session->version);
	copy->kernel = arena_copy_text(&e->arena, session->kernel);
	copy->back_end = arena_copy_text(&e->arena, session->back_end);
	copy->node = arena_copy_text(&e->arena, session->node);
	if (!copy->version || !copy->kernel || !copy->back_end || !copy->node)
		return -ENOMEM;
	return ARRAY_PUSH(&e->sessions, copy);
}

static int snapshot_add(const Ingero__V1__SystemSample *s, void *data)
{
	struct explain *e = data;
	Ingero__V1__SystemSample *peak = &e->peak;

	if (!e->reply.system_peak || s->cpu_ratio > peak->cpu_ratio)
		peak->timestamp_unix_ns = s->timestamp_unix_ns;
	if (!e->reply.system_peak || s->available_bytes < peak->available_bytes)
		peak->available_bytes = s->available_bytes;
	peak->cpu_ratio = MAX(peak->cpu_ratio, s->cpu_ratio);
	peak->load_1min = MAX(peak->load_1min, s->load_1min);
	peak->memory_bytes = MAX(peak->memory_bytes, s->memory_bytes);
	peak->swap_used_bytes = MAX(peak->swap_used_bytes, s->swap_used_bytes);
	peak->major_faults = MAX(peak->major_faults, s->major_faults);
	peak->has_pressure |= s->has_pressure;
	peak->pressure_cpu = MAX(peak->pressure_cpu, s->pressure_cpu);
	peak->pressure_memory = MAX(peak->pressure_memory, s->pressure_memory);
	peak->pressure_io = MAX(peak->pressure_io, s->pressure_io);
	e->reply.system_peak = peak;
	return 0;
}

static int is_recording_set(struct explain *e)
{
	uint64_t seen = 0;
	int r;

	if (e->to_unix_ns && e->to_unix_ns < e->job->now_unix_ns)
		return 0;
	r = store_reader_seen(e->job->reader, &seen);
	e->reply.is_recording = r == 0 && seen && e->job->is_recorded;
	return r;
}

static int cost_set(struct explain *e)
{
	int r;

	if (e->job->has_cost)
		return 0;
	r = store_reader_cost(e->job->reader, e->from_unix_ns, e->to_unix_ns, &e->cost);
	if (r > 0)
		e->reply.cost = &e->cost;
	return MIN(r, 0);
}

static int surroundings_set(struct explain *e)
{
	struct store_reader *reader = e->job->reader;
	int r;

	r = store_reader_sessions(reader, session_add, e);
	if (r == 0)
		r = store_reader_snapshots(reader, e->from_unix_ns, e->to_unix_ns, snapshot_add, e);
	if (r == 0) /* last, because the steps before may find damaged rows, which are gaps */
		r = store_reader_gaps(reader, e->figures.from_unix_ns, e->figures.to_unix_ns, explain_gap_add, e);
	if (r == 0)
		r = is_recording_set(e);
	if (r == 0)
		r = cost_set(e);
	if (store_reader_tells_losses(reader))
		e->reply.lost = &e->lost;
	e->reply.gaps = e->gaps.items;
	e->reply.n_gaps = e->gaps.n;
	e->reply.sessions = e->sessions.items;
	e->reply.n_sessions = e->sessions.n;
	return r;
}

/* ---- one call ---- */

struct call_search {
	struct explain *e;
	struct call_id id;
	struct reader_node_id named;
	Ingero__V1__Event *call; /* that was found */
	uint32_t pid;
	uint64_t start_unix_ns, end_unix_ns;
};

static int call_match(const struct read_event *event, void *data)
{
	struct call_search *search = data;
	struct explain *e = search->e;

	if (event->boot != search->id.boot || event->event->call.start_ns != search->id.start_ns ||
	    event->event->call.tid != search->id.tid || !reader_node_is(&search->named, event->process->node))
		return 0;
	search->call = reader_event_with_stack(&e->arena, e->job->reader, event);
	if (!search->call)
		return -ENOMEM;
	search->pid = event->process->pid;
	search->start_unix_ns = event->start_unix_ns;
	search->end_unix_ns = event->start_unix_ns + MAX(event->event->call.duration_ns, 1);
	return 1;
}

/* Return: 1; 0: there is no such call in scope; -EINVAL: this is no id; -errno */
static int call_search(struct explain *e, const char *id, struct call_search *ret)
{
	struct read_filter filter = { .columns = BLOCK_ALL_COLUMNS };
	size_t n = store_reader_files(e->job->reader);
	int r;

	*ret = (struct call_search){ .e = e, .named = reader_node_id(id) };
	r = call_id_parse(ret->named.id, &ret->id);
	if (r < 0)
		return -EINVAL;
	/* The number of a boot is valid in one file only, so each file is searched. */
	while (r == 0 && filter.only_file < n) {
		filter.only_file++;
		filter.from_unix_ns =
			store_reader_unix(e->job->reader, filter.only_file, ret->id.boot, ret->id.start_ns);
		filter.to_unix_ns = filter.from_unix_ns + 1;
		r = store_reader_events(e->job->reader, &filter, call_match, ret);
	}
	return r;
}

static int pid_set(struct explain *e, uint32_t pid)
{
	uint32_t *only = ARENA_NEW(&e->arena, uint32_t);

	if (!only)
		return -ENOMEM;
	*only = pid;
	e->pids = only;
	e->n_pids = 1;
	return 0;
}

/* Finds the call with this id, and restricts the answer to its process. Return: 0, 1 when the error was sent, -errno */
static int call_find(struct explain *e, const char *id)
{
	struct call_search search;
	int r = call_search(e, id, &search);

	if (r == -EINVAL)
		return findings_fail_id(id);
	if (r < 0)
		return r;
	if (r == 0)
		return reader_fail(CALL_ERROR_NOT_FOUND,
				   "there is no call '%.64s' here: it was not kept, is kept no longer, or is not yours",
				   id);
	e->reply.call = search.call;
	e->from_unix_ns = e->figures.from_unix_ns = search.start_unix_ns;
	e->to_unix_ns = e->figures.to_unix_ns = search.end_unix_ns;
	return pid_set(e, search.pid);
}

/* ---- one finding ---- */

/* The example calls that are still recorded. */
static int examples_set(struct explain *e, const Ingero__V1__Finding *f)
{
	int r = 0;

	e->reply.examples = ARENA_NEW_N(&e->arena, Ingero__V1__Event *, f->n_examples + 1);
	if (!e->reply.examples)
		return -ENOMEM;
	for (size_t i = 0; i < f->n_examples && i < EXAMPLES_MAX && (r >= 0 || r == -EINVAL); i++) {
		struct call_search search;

		r = call_search(e, f->examples[i]->id, &search);
		if (r > 0)
			e->reply.examples[e->reply.n_examples++] = search.call;
	}
	return r == -EINVAL ? 0 : MIN(r, 0);
}

static int finding_find(struct explain *e, const char *id)
{
	const Ingero__V1__Finding *f;
	int r = findings_find(&e->findings, e->job, id);

	if (r)
		return r;
	f = e->findings.rows[0];
	e->from_unix_ns = e->figures.from_unix_ns = f->start_unix_ns;
	e->to_unix_ns = e->figures.to_unix_ns = f->end_unix_ns;
	r = pid_set(e, f->pid);
	return r ? r : examples_set(e, f);
}

/* ---- the question ---- */

/* Widens the window of figures to whole rows. @is_all: also that of all other data, since no time was requested */
static int figures_bounds_set(struct explain *e, bool is_all)
{
	int r;

	e->figures.from_unix_ns = e->from_unix_ns;
	e->figures.to_unix_ns = e->to_unix_ns;
	r = reader_bounds_widen(e->job, e->pids, e->n_pids, &e->figures);
	if (is_all)
		e->from_unix_ns = e->figures.from_unix_ns;
	return r;
}

static int last_calls_set(struct explain *e)
{
	struct read_filter filter = { .pids = e->pids, .n_pids = e->n_pids, .by_wall_clock = true };
	struct some_ops calls = { .are_calls = true };
	uint64_t matched = 0, surplus, n = e->request->last_calls;
	struct read_time since = { .boot = 0 };
	int r;

	if (n > LAST_CALLS_MAX)
		return reader_fail(CALL_ERROR_INVALID,
				   "more than the last %d calls were requested: use a time range instead",
				   LAST_CALLS_MAX);
	/* Only calls: events of the host, such as the end of a process, are not counted. */
	r = calls_kept(e->job->reader, &filter, &matched);
	if (r == 0)
		r = store_reader_ops(e->job->reader, some_op_add, &calls);
	filter.ops = calls.ids.items;
	filter.n_ops = calls.ids.n;
	if (r == 0 && matched > n)
		r = reader_newest(e->job, &filter, n, &since, &surplus);
	e->from_unix_ns = e->calls_from_unix_ns = since.ns;
	ARRAY_DONE(&calls.ids);
	return r ? r : figures_bounds_set(e, /* is_all= */ true);
}

/* Return: 0, 1 when the error was sent, -errno */
static int scope_set(struct explain *e)
{
	const Ingero__V1__ExplainRequest *q = e->request;

	if (q->id[0])
		return strchr(reader_node_id(q->id).id, '.') ? call_find(e, q->id) : finding_find(e, q->id);
	if (q->n_pids) {
		e->pids = q->pids;
		e->n_pids = q->n_pids;
	}
	if (q->last_calls)
		return last_calls_set(e);
	if (q->span) {
		e->from_unix_ns = q->span->from_unix_ns;
		e->to_unix_ns = q->span->to_unix_ns;
	}
	if (e->to_unix_ns && e->from_unix_ns >= e->to_unix_ns)
		return reader_fail(CALL_ERROR_INVALID, "the window ends before it begins: exchange its bounds");
	return figures_bounds_set(e, /* is_all= */ false);
}

/* Sends the reply as one message: rows that do not fit are cut from the end of the lists, the least important first. */
static int explain_send(struct explain *e)
{
	Ingero__V1__ExplainReply *reply = &e->reply;
	size_t n_threads = reply->n_accounts + reply->more_accounts;
	int r;

	while ((r = reader_reply(e->job, &reply->base)) == -EMSGSIZE) {
		if (reply->n_operations > OPERATIONS_TOP)
			reply->n_operations /= 2;
		else if (reply->n_accounts > 1)
			reply->n_accounts /= 2;
		else if (reply->n_gaps > 1)
			reply->n_gaps /= 2;
		else if (reply->n_findings > 1)
			reply->n_findings /= 2;
		else if (reply->n_examples)
			reply->n_examples--;
		else
			break;
		reply->more_findings = (uint32_t)(e->findings.n_all - reply->n_findings);
		reply->more_accounts = (uint32_t)(n_threads - reply->n_accounts);
	}
	return r;
}

int reader_explain(struct reader_job *job)
{
	struct explain *e = calloc(1, sizeof(*e));
	size_t most;
	int r;

	if (!e)
		return reader_fail_errno(job, -ENOMEM);
	*e = (struct explain){ .job = job,
			       .arena = ARENA_INIT,
			       .reply = INGERO__V1__EXPLAIN_REPLY__INIT,
			       .window = INGERO__V1__WINDOW__INIT,
			       .lost = INGERO__V1__LOST__INIT,
			       .peak = INGERO__V1__SYSTEM_SAMPLE__INIT,
			       .cost = INGERO__V1__COST__INIT };
	e->request = ingero__v1__explain_request__unpack(NULL, job->request_bytes, job->request);
	if (!e->request)
		return reader_fail(CALL_ERROR_PROTOCOL, "the request is not valid for method Explain");

	r = scope_set(e);
	if (r > 0)
		return r;
	most = e->request->findings_max ? MIN(e->request->findings_max, FINDINGS_MAX) : FINDINGS_DEFAULT;
	if (r == 0 && !e->findings.n)
		r = findings_collect(&e->findings, job, e->from_unix_ns, e->to_unix_ns, e->pids, e->n_pids, most);
	if (r == 0)
		r = figures_set(e);
	if (r == 0)
		r = surroundings_set(e);
	e->reply.findings = e->findings.rows;
	e->reply.n_findings = e->findings.n;
	e->reply.more_findings = (uint32_t)(e->findings.n_all - e->findings.n);
	if (r == 0)
		r = explain_send(e);
	return r ? reader_fail_errno(job, r) : 0;
}
