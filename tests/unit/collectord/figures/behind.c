// SPDX-License-Identifier: Apache-2.0
/*
 * Neighbours of one process: however many come and go, the list stays short, its times add up, and a difference of two
 * lists is that of the time between.
 */
#include "figures/behind.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "tests/support/check.h"

#define LIST_MOST (BEHIND_MOST + BEHIND_SUMS_MOST + 2)

struct neighbours {
	struct behind_book *book;
	struct behind_list list;
};

static void neighbours_begin(struct neighbours *n)
{
	*n = (struct neighbours){ .book = behind_book_new() };
}

static void neighbours_done(struct neighbours *n)
{
	behind_book_free(n->book);
	ARRAY_DONE(&n->list);
}

static void ran(struct neighbours *n, uint32_t tgid, uint32_t uid, bool is_between, uint64_t ns)
{
	const struct behind_key key = { .slot = 1, .is_between = is_between, .tgid = tgid };
	const struct behind_value value = { .ns = ns, .uid = uid, .comm = "neighbour" };

	CHECK_INT_EQ("note", behind_book_note(n->book, &key, &value), 0);
}

/* A user's processes for which the kernel half had no room. */
static void ran_sum(struct neighbours *n, uint32_t uid, uint64_t ns)
{
	const struct behind_key key = { .slot = 1, .is_sum = 1, .tgid = uid };
	const struct behind_value value = { .ns = ns, .uid = uid };

	CHECK_INT_EQ("note", behind_book_note(n->book, &key, &value), 0);
}

static void read_all(struct neighbours *n)
{
	CHECK_INT_EQ("read", behind_book_read(n->book, &n->list, /* is_complete= */ true), 0);
}

static const struct behind_figures *find(const struct behind_list *list, uint32_t tgid, uint32_t uid)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i].tgid == tgid && list->items[i].uid == uid)
			return &list->items[i];
	return NULL;
}

static uint64_t ns_of(const struct behind_list *list, uint32_t tgid, uint32_t uid)
{
	const struct behind_figures *entry = find(list, tgid, uid);

	return entry ? entry->ns : 0;
}

static uint64_t sum_of(const struct behind_list *list)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < list->n; i++)
		ns += list->items[i].ns;
	return ns;
}

/* A second: 4000 processes that never ran before, beside one that always runs. */
static uint64_t crowd(struct neighbours *n, uint32_t first, uint32_t uids, uint64_t hog_ns)
{
	uint64_t all_ns = 0;

	for (uint32_t i = 0; i < 4000; i++) {
		ran(n, first + i, 1000 + i % uids, i & 1, 100 + i % 7);
		all_ns += 100 + i % 7;
	}
	ran(n, 42, 7, false, hog_ns);
	read_all(n);
	return all_ns;
}

static void is_bounded(void)
{
	static const uint32_t uids[] = { 1, 3, 4000 };

	for (size_t c = 0; c < ARRAY_SIZE(uids); c++) {
		struct neighbours n;
		uint64_t all_ns = 0;

		neighbours_begin(&n);
		for (uint32_t s = 0; s < 5; s++) {
			all_ns += crowd(&n, 1000 + s * 4000, uids[c], (s + 1) * 1000);
			CHECK("the list is short", n.list.n <= LIST_MOST);
			CHECK("and so is its memory", n.list.room <= LIST_MOST);
			CHECK_INT_EQ("the times add up", sum_of(&n.list), all_ns + (s + 1) * 1000);
		}
		CHECK_INT_EQ("who ran for long is named", ns_of(&n.list, 42, 7), 5000);
		CHECK("the rest is told by its user", uids[c] == 4000 || ns_of(&n.list, 0, 1000));
		CHECK("or as several users'", uids[c] != 4000 || ns_of(&n.list, 0, BEHIND_UID_SEVERAL));
		neighbours_done(&n);
	}
}

/* Of each pair of readings: what was told of the second, in all and of the hog, is what came since the first. */
static void differences_are_exact(void)
{
	struct behind_list states[6] = { { .n = 0 } };
	uint64_t came[6] = { 0 };
	struct neighbours n;

	neighbours_begin(&n);
	for (size_t s = 1; s < ARRAY_SIZE(states); s++) {
		came[s] = came[s - 1] + crowd(&n, 1000 + (uint32_t)s * 4000, 2, s * 1000) + 1000;
		CHECK_INT_EQ("copy", behind_copy(&n.list, &states[s]), 0);
	}
	for (size_t to = 1; to < ARRAY_SIZE(states); to++)
		for (size_t from = 0; from <= to; from++) {
			struct behind_list since = { .n = 0 };

			CHECK_INT_EQ("difference", behind_since(&states[to], &states[from], &since), 0);
			CHECK_INT_EQ("all of it", sum_of(&since), came[to] - came[from]);
			CHECK_INT_EQ("of the hog", ns_of(&since, 42, 7), (to - from) * 1000);
			CHECK("none without time", from < to || since.n == 0);
			ARRAY_DONE(&since);
		}
	for (size_t s = 0; s < ARRAY_SIZE(states); s++)
		ARRAY_DONE(&states[s]);
	neighbours_done(&n);
}

/* It was too small for the list: part of a sum. Later it runs for long, and what it was before stays in the sum. */
static void returns_to_the_list(void)
{
	struct behind_list before = { .n = 0 }, since = { .n = 0 };
	struct neighbours n;

	neighbours_begin(&n);
	ran(&n, 5, 1000, false, 10);
	read_all(&n);
	CHECK_INT_EQ("copy", behind_copy(&n.list, &before), 0);
	for (uint32_t i = 0; i < BEHIND_MOST; i++)
		ran(&n, 100 + i, 1000, false, 1000);
	ran(&n, 5, 1000, false, 10);
	read_all(&n);
	CHECK("not listed", !find(&n.list, 5, 1000));
	CHECK_INT_EQ("in the sum", ns_of(&n.list, 0, 1000), 10);
	for (uint32_t i = 0; i < BEHIND_MOST; i++)
		ran(&n, 100 + i, 1000, false, 1000);
	ran(&n, 5, 1000, false, 2010);
	read_all(&n);
	CHECK_INT_EQ("listed with what came since", ns_of(&n.list, 5, 1000), 2000);
	CHECK_INT_EQ("one other in its place", ns_of(&n.list, 0, 1000), 1010);
	CHECK_INT_EQ("difference", behind_since(&n.list, &before, &since), 0);
	CHECK_INT_EQ("nothing is told twice", sum_of(&since), 2000 + BEHIND_MOST * 1000);
	CHECK_INT_EQ("as it came", ns_of(&since, 5, 1000), 2000);
	ARRAY_DONE(&before);
	ARRAY_DONE(&since);
	neighbours_done(&n);
}

/* A process id that another user's process has by now, and a reading that was cut short. */
static void other_cases(void)
{
	struct neighbours n;

	neighbours_begin(&n);
	ran(&n, 5, 1000, false, 10);
	read_all(&n);
	ran(&n, 5, 2000, false, 15);
	read_all(&n);
	CHECK_INT_EQ("the first one's", ns_of(&n.list, 5, 1000), 10);
	CHECK_INT_EQ("the next one's", ns_of(&n.list, 5, 2000), 5);
	CHECK_INT_EQ("read", behind_book_read(n.book, &n.list, /* is_complete= */ false), 0);
	ran(&n, 5, 2000, false, 20);
	read_all(&n);
	CHECK_INT_EQ("nothing is added twice", ns_of(&n.list, 5, 2000), 10);
	read_all(&n);
	ran(&n, 5, 2000, false, 20);
	read_all(&n);
	CHECK_INT_EQ("evicted, and anew", ns_of(&n.list, 5, 2000), 30);
	ran(&n, 5, 2000, false, 21);
	ran(&n, 5, 2000, false, 23);
	read_all(&n);
	CHECK_INT_EQ("read twice as it moved", ns_of(&n.list, 5, 2000), 33);
	neighbours_done(&n);
}

/* A row that made room begins anew at 0, in the same reading or in a later one; a user's sum is no process. */
static void check_removed(void)
{
	static const struct {
		uint64_t ns[3]; /* of the row as noted in each reading; 0: none */
		bool is_removed[3];
		uint64_t all_ns;
	} rows[] = {
		{ { 100, 250, 300 }, { false, false, false }, 300 },
		{ { 100, 250, 300 }, { true, false, false }, 400 },
		{ { 100, 250, 300 }, { false, true, false }, 550 },
		{ { 100, 250, 300 }, { true, true, true }, 650 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct neighbours n;

		neighbours_begin(&n);
		for (size_t k = 0; k < ARRAY_SIZE(rows[i].ns); k++) {
			ran(&n, 42, 7, false, rows[i].ns[k]);
			ran_sum(&n, 42, rows[i].ns[k]);
			if (rows[i].is_removed[k]) {
				ran(&n, 42, 7, false, 0);
				ran_sum(&n, 42, 0);
			}
			read_all(&n);
		}
		CHECK_INT_EQ("a process", ns_of(&n.list, 42, 7), rows[i].all_ns);
		CHECK_INT_EQ("a sum", ns_of(&n.list, 0, 42), rows[i].all_ns);
		CHECK_INT_EQ("no more", n.list.n, 2);
		neighbours_done(&n);
	}
}

int main(void)
{
	is_bounded();
	differences_are_exact();
	returns_to_the_list();
	other_cases();
	check_removed();
	return check_result();
}
