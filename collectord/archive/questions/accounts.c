// SPDX-License-Identifier: Apache-2.0
#include "archive/questions/accounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "detect/delay.h"
#include "events/op.h"
#include "figures/account_message.h"

/* Rows of one process in the window, and the messages made of them. */
struct process_accounts {
	const struct read_process *process;
	const struct read_part *parts;
	size_t n_parts;
	ARRAY(struct account) accounts; /* sorted by tid; the sum of several threads (tid 0) comes first */
	ARRAY(uint64_t) lost_ns;	/* lost time of each account */
	ARRAY(uint64_t) own_lost_ns;	/* lost_ns without waits for a lock between calls */
	const struct read_wait *waits;
	size_t n_waits;
	ARRAY(struct account_wait) own_waits; /* copies, made when one of its threads is told */
	ARRAY(struct behind_figures) behind;
};

struct chosen {
	size_t process;
	size_t account;
	uint64_t lost_ns;
	uint64_t own_lost_ns;
	bool is_driving;
	bool is_found; /* the thread of a finding */
};

struct accounts_work {
	struct reader_job *job;
	const struct accounts_query *query;
	ARRAY(struct process_accounts) processes;
	ARRAY(struct chosen) chosen;
	size_t n_threads; /* number of threads that could be chosen */
};

static void work_done(struct accounts_work *work)
{
	for (size_t i = 0; i < work->processes.n; i++) {
		struct process_accounts *p = &work->processes.items[i];

		for (size_t k = 0; k < p->accounts.n; k++)
			account_done(&p->accounts.items[k]);
		ARRAY_DONE(&p->accounts);
		ARRAY_DONE(&p->lost_ns);
		ARRAY_DONE(&p->own_lost_ns);
		ARRAY_DONE(&p->own_waits);
		ARRAY_DONE(&p->behind);
	}
	ARRAY_DONE(&work->processes);
	ARRAY_DONE(&work->chosen);
}

static bool part_is_wanted(const struct accounts_query *query, const struct read_part *part)
{
	for (size_t i = 0; i < query->n_ops; i++)
		if (part->where == ACCOUNT_IN && part->op && part->op->id == query->ops[i])
			return true;
	return !query->ops;
}

/* Row of ops.def for an operation; NULL: none. In a file of another version the id may mean another operation. */
static const struct op *known_as(const struct read_op *op)
{
	const struct op *known = op ? op_get(op->id) : NULL;

	return known && strcmp(known->name, op->name) == 0 ? known : NULL;
}

static bool is_lost(const struct read_part *part)
{
	return part->where != ACCOUNT_NOT_KNOWN && !delay_is_expected(known_as(part->op), part->class);
}

/*
 * A thread that gets its work from another thread of the process, such as PyTorch's autograd thread, waits at a lock
 * for work. The cause of that wait is in the account of the other thread.
 */
static bool is_handed_work(const struct read_part *part)
{
	return part->where == ACCOUNT_BETWEEN && part->class == BLAME_LOCK;
}

/* Whether an account stands for its process rather than another one. */
static bool is_preferred(const struct chosen *a, const struct chosen *b)
{
	if (a->is_found != b->is_found)
		return a->is_found;
	if (a->own_lost_ns != b->own_lost_ns)
		return a->own_lost_ns > b->own_lost_ns;
	return a->lost_ns > b->lost_ns;
}

static int threads_add(const struct accounts_query *query, struct process_accounts *p)
{
	int r = 0;

	for (size_t i = 0, n = 0; i < p->n_parts && r == 0; i += n) {
		struct account account;
		uint64_t lost_ns = 0, own_lost_ns = 0;

		r = read_thread_account(&p->parts[i], p->n_parts - i, &account, &n);
		for (size_t k = i; k < i + n; k++)
			if (part_is_wanted(query, &p->parts[k]) && is_lost(&p->parts[k])) {
				lost_ns += p->parts[k].ns;
				own_lost_ns += is_handed_work(&p->parts[k]) ? 0 : p->parts[k].ns;
			}
		if (r == 0)
			r = ARRAY_PUSH(&p->lost_ns, lost_ns);
		if (r == 0)
			r = ARRAY_PUSH(&p->own_lost_ns, own_lost_ns);
		if (r == 0)
			r = ARRAY_PUSH(&p->accounts, account);
		if (r < 0)
			account_done(&account);
	}
	return r;
}

/* Splits the rows of a window by process: rows of each kind are sorted by process. */
static int processes_split(struct accounts_work *work, const struct read_window *window)
{
	size_t wait = 0, behind = 0;
	int r = 0;

	for (size_t i = 0, end; i < window->parts.n && r == 0; i = end) {
		struct process_accounts *p;
		uint32_t id = window->parts.items[i].process->id;

		for (end = i + 1; end < window->parts.n && window->parts.items[end].process->id == id;)
			end++;
		r = ARRAY_PUSH(&work->processes, ((struct process_accounts){ .process = window->parts.items[i].process,
									     .parts = &window->parts.items[i],
									     .n_parts = end - i }));
		if (r < 0)
			break;
		p = &work->processes.items[work->processes.n - 1];
		r = threads_add(work->query, p);
		while (wait < window->waits.n && window->waits.items[wait].process->id < id)
			wait++;
		p->waits = window->waits.items + wait;
		for (; wait < window->waits.n && window->waits.items[wait].process->id == id; wait++)
			p->n_waits++;
		for (; behind < window->behind.n && window->behind.items[behind].process->id <= id && r == 0;
		     behind++) {
			const struct read_behind *b = &window->behind.items[behind];
			struct behind_figures row = { .ns = b->ns,
						      .tgid = b->tgid,
						      .uid = b->uid,
						      .is_between = b->is_between,
						      .is_guarded = b->is_guarded };

			memcpy(row.comm, b->comm, sizeof(row.comm));
			if (b->process->id == id)
				r = ARRAY_PUSH(&p->behind, row);
		}
	}
	return r;
}

static bool has_wanted_part(const struct accounts_work *work, const struct process_accounts *p, uint32_t tid)
{
	for (size_t i = 0; i < p->n_parts; i++)
		if (p->parts[i].tid == tid && part_is_wanted(work->query, &p->parts[i]))
			return true;
	return false;
}

static bool is_finding_of(const Ingero__V1__Finding *f, const struct read_process *p)
{
	return f->pid == p->pid && f->start_time_unix_ns == p->start_unix_ns && f->exec_generation == p->exec_gen &&
	       (!f->node_told_case || strcmp(f->node, p->node) == 0);
}

/* Thread of the process's worst finding that names one; 0: none does. */
static uint32_t found_thread(const struct accounts_query *query, const struct read_process *p)
{
	for (size_t i = 0; i < query->n_findings; i++)
		if (query->findings[i]->tid_told_case && is_finding_of(query->findings[i], p))
			return query->findings[i]->tid;
	return 0;
}

static int process_choose(struct accounts_work *work, size_t at)
{
	const struct process_accounts *p = &work->processes.items[at];
	struct chosen worst = { .process = at, .account = SIZE_MAX };
	uint32_t found = found_thread(work->query, p->process);
	int r = 0;

	for (size_t i = 0; i < p->accounts.n && r == 0; i++) {
		uint32_t tid = p->accounts.items[i].tid;
		struct chosen c = { .process = at,
				    .account = i,
				    .lost_ns = p->lost_ns.items[i],
				    .own_lost_ns = p->own_lost_ns.items[i],
				    .is_driving = p->accounts.items[i].is_driving,
				    .is_found = tid && tid == found };

		if (!has_wanted_part(work, p, tid))
			continue;
		work->n_threads++;
		if (work->query->which == ACCOUNTS_EVERY_THREAD)
			r = ARRAY_PUSH(&work->chosen, c);
		else if ((c.is_driving || c.is_found) && (worst.account == SIZE_MAX || is_preferred(&c, &worst)))
			worst = c;
	}
	return r == 0 && worst.account != SIZE_MAX ? ARRAY_PUSH(&work->chosen, worst) : r;
}

static int chosen_compare(const void *a, const void *b)
{
	const struct chosen *x = a, *y = b;

	if (x->is_driving != y->is_driving)
		return x->is_driving ? -1 : 1;
	if (x->lost_ns != y->lost_ns)
		return x->lost_ns > y->lost_ns ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->account > y->account) - (x->account < y->account);
}

static const char *stored_op_name(uint32_t op, void *data)
{
	struct reader_job *job = data;
	const struct read_op *row = store_reader_op(job->reader, op);

	return row ? row->name : NULL;
}

static bool reader_may_name(uint32_t uid, bool is_guarded, void *data)
{
	const struct reader_job *job = data;

	return read_scope_names(&job->scope, uid, is_guarded);
}

/* Removes all parts but those in calls of the requested operations. */
static void parts_keep(const struct accounts_work *work, Ingero__V1__Account *message)
{
	size_t n = 0;

	message->wall_ns = 0;
	for (size_t i = 0; i < message->n_parts; i++) {
		Ingero__V1__AccountPart *part = message->parts[i];
		bool is_kept = false;

		for (size_t k = 0; k < work->query->n_ops && part->op_told_case; k++) {
			const char *name = stored_op_name(work->query->ops[k], work->job);

			is_kept = is_kept || (name && strcmp(name, part->op) == 0);
		}
		if (!is_kept)
			continue;
		message->parts[n++] = part;
		message->wall_ns += part->ns;
	}
	message->n_parts = n;
}

/* Return: 0 or -ENOMEM */
static int waits_copy(struct process_accounts *p)
{
	int r = 0;

	for (size_t i = p->own_waits.n; i < p->n_waits && r == 0; i++)
		r = ARRAY_PUSH(&p->own_waits, *p->waits[i].wait);
	return r;
}

static Ingero__V1__Account *chosen_message(const struct accounts_work *work, const struct chosen *c,
					   struct arena *arena)
{
	struct process_accounts *p = &work->processes.items[c->process];
	bool has_waits = waits_copy(p) == 0;
	const struct account_process process = {
		.pid = p->process->pid,
		.uid = p->process->uid,
		.name = p->process->comm,
		.program = &p->process->program,
		.accounts = p->accounts.items,
		.n_accounts = p->accounts.n,
		.waits = p->own_waits.items,
		.n_waits = p->own_waits.n,
		.behind = p->behind.items,
		.n_behind = p->behind.n,
		.op_name = stored_op_name,
		.may_name = reader_may_name,
		.data = work->job,
	};
	Ingero__V1__Account *message =
		has_waits ? account_to_message(&process, &p->accounts.items[c->account], arena) : NULL;

	if (message && p->process->tells_node) {
		message->node_told_case = INGERO__V1__ACCOUNT__NODE_TOLD_NODE;
		message->node = (char *)(uintptr_t)p->process->node;
	}
	if (message && work->query->ops)
		parts_keep(work, message);
	return message;
}

int reader_accounts(struct reader_job *job, const struct read_window *window, const struct accounts_query *query,
		    struct arena *arena, struct accounts_answer *ret)
{
	CLEANUP(work_done) struct accounts_work work = { .job = job, .query = query };
	int r = processes_split(&work, window);

	for (size_t i = 0; i < work.processes.n && r == 0; i++)
		r = process_choose(&work, i);
	if (r < 0)
		return r;
	if (work.chosen.n)
		qsort(work.chosen.items, work.chosen.n, sizeof(*work.chosen.items), chosen_compare);
	*ret = (struct accounts_answer){ .n_all = work.chosen.n, .n_threads = work.n_threads };
	ret->rows = ARENA_NEW_N(arena, Ingero__V1__Account *, MIN(work.chosen.n, query->most) + 1);
	if (!ret->rows)
		return -ENOMEM;
	while (ret->n < MIN(work.chosen.n, query->most)) {
		ret->rows[ret->n] = chosen_message(&work, &work.chosen.items[ret->n], arena);
		if (!ret->rows[ret->n])
			return -ENOMEM;
		ret->n++;
	}
	return 0;
}
