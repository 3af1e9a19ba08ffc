// SPDX-License-Identifier: Apache-2.0
#include "figures/account_book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

#define DRIVING_PART 5 /* a fifth of the calls */

struct book_part {
	struct account_part now;
	uint64_t taken_ns; /* part of now.ns that ticks have reported */
};

struct book_thread {
	uint32_t tid;
	bool is_driving; /* in the last tick */
	char comm[RECORD_COMM_BYTES];
	uint64_t since_ns;
	uint64_t reading; /* number of the last reading that had this thread */
	uint64_t wall_ns, calls;
	uint64_t user_ns, kernel_ns;
	uint64_t taken_wall_ns, taken_calls;
	uint64_t taken_user_ns, taken_kernel_ns; /* at first: when the thread was first read */
	uint64_t driven_ns;			 /* part of taken_wall_ns in ticks in which it was driving */
	ARRAY(struct book_part) parts;
};

struct account_book {
	ARRAY(struct book_thread) threads; /* ascending by tid and since_ns */
	struct account ended;		   /* sum of the ended threads that are no longer kept singly */
};

struct account_book *account_book_new(void)
{
	return calloc(1, sizeof(struct account_book));
}

void account_book_free(struct account_book *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->threads.n; i++)
		ARRAY_DONE(&b->threads.items[i].parts);
	ARRAY_DONE(&b->threads);
	account_done(&b->ended);
	free(b);
}

void account_list_done(struct account_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		account_done(&list->items[i]);
	ARRAY_DONE(list);
}

/* ---- a reading ---- */

static bool is_thread_before(const struct book_thread *t, uint32_t tid, uint64_t since_ns)
{
	return t->tid < tid || (t->tid == tid && t->since_ns < since_ns);
}

/* Entry of a thread, added if it is new. Return: NULL without memory */
static struct book_thread *thread_take(struct account_book *b, const struct account_record *r)
{
	struct book_thread *threads = b->threads.items, fresh = { .tid = r->tid, .since_ns = r->account.since_ns };
	size_t place = SORTED_PLACE(b->threads.n, i, is_thread_before(&threads[i], fresh.tid, fresh.since_ns));

	if (place < b->threads.n && threads[place].tid == fresh.tid && threads[place].since_ns == fresh.since_ns)
		return &threads[place];
	fresh.is_driving = true;
	fresh.user_ns = fresh.taken_user_ns = r->user_ns;
	fresh.kernel_ns = fresh.taken_kernel_ns = r->kernel_ns;
	memcpy(fresh.comm, r->comm, sizeof(fresh.comm));
	fresh.comm[sizeof(fresh.comm) - 1] = 0;
	if (ARRAY_PUSH(&b->threads, fresh) < 0)
		return NULL;
	threads = b->threads.items;
	memmove(&threads[place + 1], &threads[place], (b->threads.n - 1 - place) * sizeof(*threads));
	threads[place] = fresh;
	return &threads[place];
}

/* Add an entry for each part that was read and has none. Return: 0 or -ENOMEM */
static int thread_parts_take(struct book_thread *t, const struct account_part *parts, size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		struct book_part fresh = { .now = parts[i] };
		int r;

		while (at < t->parts.n && account_part_order(&t->parts.items[at].now, &parts[i]) < 0)
			at++;
		if (at < t->parts.n && account_part_order(&t->parts.items[at].now, &parts[i]) == 0)
			continue;
		fresh.now.ns = 0;
		r = ARRAY_PUSH(&t->parts, fresh);
		if (r < 0)
			return r;
		memmove(&t->parts.items[at + 1], &t->parts.items[at], (t->parts.n - 1 - at) * sizeof(fresh));
		t->parts.items[at] = fresh;
	}
	return 0;
}

/* Which parts give up growth to make up for a part that was reported too large. */
enum giver { GIVER_SAME_PLACE, GIVER_REMAINDER, GIVER_ANY, GIVER_COUNT };

static bool gives(enum giver giver, const struct account_part *part, const struct account_part *to)
{
	if (giver == GIVER_SAME_PLACE)
		return part->where == to->where && part->op == to->op;
	return giver == GIVER_ANY || (part->where == ACCOUNT_BETWEEN && part->class == BLAME_ON_CPU);
}

/*
 * @grown_ns: by how much each part would grow
 * Subtracts @ns, by which part @to was reported too large, from the parts that grow, largest growth first.
 */
static void growth_give(const struct book_thread *t, uint64_t *grown_ns, size_t to, uint64_t ns)
{
	for (enum giver giver = 0; giver < GIVER_COUNT && ns;) {
		size_t most = t->parts.n;
		uint64_t given_ns;

		for (size_t i = 0; i < t->parts.n; i++)
			if (grown_ns[i] && gives(giver, &t->parts.items[i].now, &t->parts.items[to].now) &&
			    (most == t->parts.n || grown_ns[i] > grown_ns[most]))
				most = i;
		if (most == t->parts.n) {
			giver++;
			continue;
		}
		given_ns = MIN(ns, grown_ns[most]);
		grown_ns[most] -= given_ns;
		ns -= given_ns;
	}
}

/* The sum read exceeds the sum reported by exactly the time in between. So does the total growth of all parts. */
static int thread_read(struct book_thread *t, const struct account_record *record)
{
	struct account_part parts[ACCOUNT_PARTS_MOST];
	size_t n = account_read(record, parts), at = 0;
	CLEANUP(freep) uint64_t *grown_ns = NULL;
	uint64_t *shrunk_ns;
	int r = thread_parts_take(t, parts, n);

	if (r < 0)
		return r;
	grown_ns = calloc(MAX(t->parts.n, 1), 2 * sizeof(*grown_ns));
	if (!grown_ns)
		return -ENOMEM;
	shrunk_ns = &grown_ns[t->parts.n];

	for (size_t i = 0; i < t->parts.n; i++) {
		const struct account_part *told = &t->parts.items[i].now;
		bool is_read = at < n && account_part_order(told, &parts[at]) == 0;
		uint64_t ns = is_read ? parts[at].ns : 0;

		at += is_read;
		grown_ns[i] = ns > told->ns ? ns - told->ns : 0;
		shrunk_ns[i] = told->ns > ns ? told->ns - ns : 0;
	}
	for (size_t i = 0; i < t->parts.n; i++)
		growth_give(t, grown_ns, i, shrunk_ns[i]);
	for (size_t i = 0; i < t->parts.n; i++)
		t->parts.items[i].now.ns += grown_ns[i];
	t->wall_ns = record->now_ns - record->account.since_ns;
	t->calls = MAX(t->calls, record->account.calls);
	t->user_ns = MAX(t->user_ns, record->user_ns);
	t->kernel_ns = MAX(t->kernel_ns, record->kernel_ns);
	return 0;
}

int account_book_note(struct account_book *b, const struct account_record *r, uint64_t reading)
{
	struct book_thread *t;

	if (!r->account.since_ns)
		return 0;
	t = thread_take(b, r);
	if (!t)
		return -ENOMEM;
	t->reading = reading;
	if (account_is_torn(r) || r->now_ns - r->account.since_ns <= t->wall_ns)
		return 0; /* torn or no newer: the next reading is used */
	return thread_read(t, r);
}

/* ---- threads as they are reported ---- */

/* A thread since its first call, or since the last tick. */
struct told_thread {
	const struct book_thread *thread;
	uint64_t calls, wall_ns;
	bool is_driving;
};

static bool is_driving_in_tick(const struct book_thread *t, uint64_t all_calls)
{
	return all_calls ? (t->calls - t->taken_calls) * DRIVING_PART >= all_calls : t->is_driving;
}

static bool is_driving_so_far(const struct book_thread *t, uint64_t all_calls)
{
	if (t->taken_wall_ns)
		return t->driven_ns >= t->taken_wall_ns - t->driven_ns;
	return is_driving_in_tick(t, all_calls);
}

static uint64_t calls_since_taken(const struct account_book *b)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < b->threads.n; i++)
		calls += b->threads.items[i].calls - b->threads.items[i].taken_calls;
	return calls;
}

static int told_order(const void *a, const void *b)
{
	const struct told_thread *x = a, *y = b;

	if (x->is_driving != y->is_driving)
		return x->is_driving ? -1 : 1;
	if (x->calls != y->calls)
		return x->calls > y->calls ? -1 : 1;
	if (x->wall_ns != y->wall_ns)
		return x->wall_ns > y->wall_ns ? -1 : 1;
	return x->thread->tid < y->thread->tid ? -1 : x->thread->tid > y->thread->tid;
}

static int told_add(struct account *account, const struct told_thread *told, bool is_tick)
{
	const struct book_thread *t = told->thread;
	int r = 0;

	account->calls += told->calls;
	if (is_tick) {
		account->user_ns += t->user_ns - t->taken_user_ns;
		account->kernel_ns += t->kernel_ns - t->taken_kernel_ns;
	}
	for (size_t i = 0; i < t->parts.n && r == 0; i++) {
		struct account_part part = t->parts.items[i].now;

		if (is_tick)
			part.ns -= t->parts.items[i].taken_ns;
		r = account_add(account, &part);
	}
	return r;
}

static int account_sum(struct account *to, const struct account *from)
{
	int r = 0;

	to->calls += from->calls;
	for (size_t i = 0; i < from->parts.n && r == 0; i++)
		r = account_add(to, &from->parts.items[i]);
	return r;
}

static int account_list_add(struct account_list *list, struct account *account)
{
	int r = account->wall_ns ? ARRAY_PUSH(list, *account) : 0;

	if (r < 0 || !account->wall_ns)
		account_done(account);
	*account = (struct account){ .tid = 0 };
	return r;
}

/* @told: in order of the answer; @ended: NULL: none */
static int accounts_list(const struct told_thread *told, size_t n, bool is_tick, const struct account *ended,
			 struct account_list *ret)
{
	struct account_list list = { .n = 0 };
	struct account rest = { .tid = 0 };
	size_t n_others = 0;
	int r = ended ? account_sum(&rest, ended) : 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct book_thread *t = told[i].thread;
		struct account single = { .tid = t->tid, .is_driving = told[i].is_driving };

		n_others += !told[i].is_driving;
		if (n_others > ACCOUNT_OTHERS_MOST) {
			r = told_add(&rest, &told[i], is_tick);
			continue;
		}
		memcpy(single.comm, t->comm, sizeof(single.comm));
		r = told_add(&single, &told[i], is_tick);
		if (r == 0)
			r = account_list_add(&list, &single);
		else
			account_done(&single);
	}
	if (r == 0)
		r = account_list_add(&list, &rest);
	else
		account_done(&rest);
	if (r < 0)
		account_list_done(&list);
	else
		*ret = list;
	return r;
}

int account_book_show(const struct account_book *b, struct account_list *ret)
{
	CLEANUP(freep) struct told_thread *told = calloc(MAX(b->threads.n, 1), sizeof(*told));
	uint64_t all_calls = calls_since_taken(b);

	if (!told)
		return -ENOMEM;
	for (size_t i = 0; i < b->threads.n; i++) {
		const struct book_thread *t = &b->threads.items[i];

		told[i] = (struct told_thread){ .thread = t,
						.calls = t->calls,
						.wall_ns = t->wall_ns,
						.is_driving = is_driving_so_far(t, all_calls) };
	}
	qsort(told, b->threads.n, sizeof(*told), told_order);
	return accounts_list(told, b->threads.n, /* is_tick= */ false, &b->ended, ret);
}

int account_book_tick(const struct account_book *b, struct account_list *ret)
{
	CLEANUP(freep) struct told_thread *told = calloc(MAX(b->threads.n, 1), sizeof(*told));
	uint64_t all_calls = calls_since_taken(b);
	size_t n = 0;

	if (!told)
		return -ENOMEM;
	for (size_t i = 0; i < b->threads.n; i++) {
		const struct book_thread *t = &b->threads.items[i];

		if (t->wall_ns > t->taken_wall_ns)
			told[n++] = (struct told_thread){ .thread = t,
							  .calls = t->calls - t->taken_calls,
							  .wall_ns = t->wall_ns - t->taken_wall_ns,
							  .is_driving = is_driving_in_tick(t, all_calls) };
	}
	qsort(told, n, sizeof(*told), told_order);
	return accounts_list(told, n, /* is_tick= */ true, NULL, ret);
}

/* ---- after a tick ---- */

static void thread_taken(struct book_thread *t, uint64_t all_calls)
{
	if (t->wall_ns > t->taken_wall_ns) {
		t->is_driving = is_driving_in_tick(t, all_calls);
		if (t->is_driving)
			t->driven_ns += t->wall_ns - t->taken_wall_ns;
	}
	t->taken_wall_ns = t->wall_ns;
	t->taken_calls = t->calls;
	t->taken_user_ns = t->user_ns;
	t->taken_kernel_ns = t->kernel_ns;
	for (size_t i = 0; i < t->parts.n; i++)
		t->parts.items[i].taken_ns = t->parts.items[i].now.ns;
}

/* Add a thread to the sum of ended threads. Parts for which there is no memory stay until the next tick. */
static void thread_fold(struct account_book *b, size_t i)
{
	struct book_thread *t = &b->threads.items[i];

	b->ended.calls += t->calls;
	t->calls = t->taken_calls = 0;
	while (t->parts.n) {
		const struct account_part *last = &t->parts.items[t->parts.n - 1].now;

		if (account_add(&b->ended, last) < 0)
			return;
		t->wall_ns -= last->ns;
		t->taken_wall_ns = t->wall_ns;
		t->parts.n--;
	}
	ARRAY_DONE(&t->parts);
	memmove(t, t + 1, (b->threads.n - 1 - i) * sizeof(*t));
	b->threads.n--;
}

static bool thread_has_ended(const struct book_thread *t, uint64_t reading)
{
	return t->reading + 1 < reading;
}

/* Return: index of the shortest-lived thread that ended; the number of threads if no more ended than are kept */
static size_t ended_shortest(const struct account_book *b, uint64_t reading)
{
	const struct book_thread *threads = b->threads.items;
	size_t n_ended = 0, shortest = b->threads.n;

	for (size_t i = 0; i < b->threads.n; i++) {
		if (!thread_has_ended(&threads[i], reading))
			continue;
		n_ended++;
		if (shortest == b->threads.n || threads[i].wall_ns < threads[shortest].wall_ns)
			shortest = i;
	}
	return n_ended > ACCOUNT_ENDED_MOST ? shortest : b->threads.n;
}

void account_book_taken(struct account_book *b, uint64_t reading)
{
	uint64_t all_calls = calls_since_taken(b);
	size_t shortest;

	for (size_t i = 0; i < b->threads.n; i++)
		thread_taken(&b->threads.items[i], all_calls);
	for (size_t i = b->threads.n; i-- > 0;)
		if (thread_has_ended(&b->threads.items[i], reading) && !is_driving_so_far(&b->threads.items[i], 0))
			thread_fold(b, i);
	while ((shortest = ended_shortest(b, reading)) < b->threads.n) {
		size_t n = b->threads.n;

		thread_fold(b, shortest);
		if (b->threads.n == n)
			break;
	}
}
