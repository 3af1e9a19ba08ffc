// SPDX-License-Identifier: Apache-2.0
/*
 * Waits from entries written by hand, as the kernel half's map has them: each wait is told once, whatever is evicted
 * from the map, and memory has an end.
 */
#include "figures/wait_book.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define MS NSEC_PER_MSEC
#define MAIN 4711
#define LOADER 4720

static void book_freep(struct wait_book **b)
{
	wait_book_free(*b);
}

static void list_done(struct wait_list *list)
{
	ARRAY_DONE(list);
}

/* The values of the map at each reading: ms, count; 0: it has no such entry. */
static void readings_are_differences(void)
{
	static const struct {
		const char *name;
		uint64_t ms, count, max_ms;
		uint64_t want_ms, want_count, want_max_ms; /* of the tick */
		uint64_t so_far_ms;
	} rows[] = {
		{ "the first", 10, 2, 8, 10, 2, 8, 10 },
		{ "no more", 10, 2, 8, 0, 0, 0, 10 },
		{ "a longer one", 40, 3, 30, 30, 1, 30, 40 },
		{ "shorter ones: none was longer than all together", 45, 5, 30, 5, 2, 5, 45 },
		{ "evicted", 0, 0, 0, 0, 0, 0, 45 },
		{ "here again, with more than it had", 50, 1, 50, 50, 1, 50, 95 },
		{ "evicted and here again between two readings", 7, 1, 7, 7, 1, 7, 102 },
	};
	const struct wait_key key = { .resource = 0x7f00,
				      .tid = MAIN,
				      .waker_tgid = LOADER,
				      .waker_tid = LOADER,
				      .slot = 1,
				      .class = BLAME_LOCK,
				      .kind = RESOURCE_PIPE };
	CLEANUP(book_freep) struct wait_book *b = wait_book_new();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct wait_value value = { .ns = rows[i].ms * MS,
					    .max_ns = rows[i].max_ms * MS,
					    .count = rows[i].count,
					    .waker_uid = 1000,
					    .waker_comm = "loader",
					    .name = "pipe" };
		CLEANUP(list_done) struct wait_list tick = { .n = 0 };
		CLEANUP(list_done) struct wait_list all = { .n = 0 };

		if (rows[i].ms)
			CHECK_INT_EQ(rows[i].name, wait_book_note(b, &key, &value, i), 0);
		wait_book_forget(b, i);
		CHECK_INT_EQ(rows[i].name, wait_book_tick(b, NULL, 0, &tick), 0);
		CHECK_INT_EQ(rows[i].name, wait_book_show(b, NULL, 0, &all), 0);
		CHECK_INT_EQ(rows[i].name, tick.n, rows[i].want_ms ? 1 : 0);
		CHECK_INT_EQ(rows[i].name, all.n, 1);
		CHECK_INT_EQ(rows[i].name, all.items[0].ns, rows[i].so_far_ms * MS);
		CHECK_STR_EQ(rows[i].name, all.items[0].waker_comm, "loader");
		CHECK_STR_EQ(rows[i].name, all.items[0].name, "pipe");
		if (tick.n) {
			CHECK_INT_EQ(rows[i].name, tick.items[0].ns, rows[i].want_ms * MS);
			CHECK_INT_EQ(rows[i].name, tick.items[0].count, rows[i].want_count);
			CHECK_INT_EQ(rows[i].name, tick.items[0].max_ns, rows[i].want_max_ms * MS);
			CHECK_INT_EQ(rows[i].name, tick.items[0].waker_tgid, LOADER);
			CHECK_INT_EQ(rows[i].name, tick.items[0].resource, 0x7f00);
		}
		wait_book_taken(b);
	}
}

/* Each difference makes another wait. */
static void waits_are_apart(void)
{
	static const struct wait_key keys[] = {
		{ .resource = 1, .tid = MAIN, .class = BLAME_LOCK, .kind = RESOURCE_FUTEX },
		{ .resource = 2, .tid = MAIN, .class = BLAME_LOCK, .kind = RESOURCE_FUTEX },
		{ .resource = 1, .tid = LOADER, .class = BLAME_LOCK, .kind = RESOURCE_FUTEX },
		{ .resource = 1, .tid = MAIN, .op = 7, .class = BLAME_LOCK, .kind = RESOURCE_FUTEX },
		{ .resource = 1, .tid = MAIN, .class = BLAME_LOCK, .kind = RESOURCE_GIL },
		{ .resource = 1, .tid = MAIN, .class = BLAME_OTHER, .kind = RESOURCE_FUTEX },
		{ .resource = 1, .tid = MAIN, .waker_tid = LOADER, .class = BLAME_LOCK, .kind = RESOURCE_FUTEX },
		{ .resource = 1, .device = 8, .tid = MAIN, .class = BLAME_LOCK, .kind = RESOURCE_FUTEX },
		{ .resource = 1, .tid = LOADER, .class = BLAME_LOCK, .kind = RESOURCE_FUTEX, .is_meanwhile = 1 },
	};
	CLEANUP(book_freep) struct wait_book *b = wait_book_new();
	CLEANUP(list_done) struct wait_list all = { .n = 0 };
	const struct account accounts[] = { { .tid = MAIN }, { .tid = 0 } };
	const struct wait_value strange = { .ns = MS, .count = 1 };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct wait_value value = { .ns = (i + 1) * MS, .max_ns = MS, .count = 1 };

		CHECK_INT_EQ("note", wait_book_note(b, &keys[i], &value, 0), 0);
	}
	CHECK_INT_EQ("a class that there is not",
		     wait_book_note(b, &(struct wait_key){ .class = BLAME_COUNT }, &strange, 0), 0);
	CHECK_INT_EQ("show", wait_book_show(b, accounts, ARRAY_SIZE(accounts), &all), 0);
	CHECK_INT_EQ("all", all.n, ARRAY_SIZE(keys));
	for (size_t i = 0; i < all.n; i++) {
		CHECK_INT_EQ("the longest first", all.items[i].ns, (ARRAY_SIZE(keys) - i) * MS);
		CHECK("of a thread that has an account, or of who ended its waits",
		      all.items[i].is_meanwhile ? all.items[i].tid == LOADER
						: all.items[i].tid == MAIN || all.items[i].tid == 0);
	}
}

/* A file after the other: the longest are told singly, and no time is lost. */
static void memory_has_an_end(void)
{
	CLEANUP(book_freep) struct wait_book *b = wait_book_new();
	CLEANUP(list_done) struct wait_list all = { .n = 0 };
	CLEANUP(list_done) struct wait_list tick = { .n = 0 };
	uint64_t all_ns = 0, tick_ns = 0, want_ns = 0;

	for (uint64_t reading = 0; reading < 3; reading++) {
		for (uint64_t i = 0; i < 1000; i++) {
			struct wait_key key = {
				.resource = i + 1, .tid = MAIN, .class = BLAME_BLOCK_IO, .kind = RESOURCE_INODE
			};
			uint64_t ms = (i * 7919) % 1009 + 1;
			struct wait_value value = { .ns = (reading + 1) * ms * MS,
						    .max_ns = ms * MS,
						    .count = reading + 1 };

			CHECK_INT_EQ("note", wait_book_note(b, &key, &value, reading), 0);
			want_ns += ms * MS;
		}
		wait_book_forget(b, reading);
		if (reading == 0)
			wait_book_taken(b);
	}
	CHECK_INT_EQ("show", wait_book_show(b, NULL, 0, &all), 0);
	CHECK_INT_EQ("tick", wait_book_tick(b, NULL, 0, &tick), 0);
	CHECK_INT_EQ("no more than these and their sum", all.n, WAITS_MOST + 1);
	for (size_t i = 0; i < all.n; i++)
		all_ns += all.items[i].ns;
	for (size_t i = 0; i < tick.n; i++)
		tick_ns += tick.items[i].ns;
	CHECK_INT_EQ("all of the time", all_ns, want_ns);
	CHECK_INT_EQ("two readings of three", tick_ns, want_ns / 3 * 2);
	CHECK_INT_EQ("the sum is the thread's", all.items[0].tid, MAIN);
	CHECK_INT_EQ("of files", all.items[0].kind, RESOURCE_INODE);
	CHECK_INT_EQ("of no one", all.items[0].resource, 0);
	CHECK_INT_EQ("of its class", all.items[0].class, BLAME_BLOCK_IO);
}

/* A sum of each of many threads, and then one of all others. */
static void sums_have_an_end(void)
{
	CLEANUP(book_freep) struct wait_book *b = wait_book_new();
	CLEANUP(list_done) struct wait_list all = { .n = 0 };
	uint64_t all_ns = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		struct wait_key key = { .tid = MAIN + i, .waker_tid = i, .class = BLAME_LOCK, .kind = RESOURCE_FUTEX };
		struct wait_value value = { .ns = MS, .max_ns = MS, .count = 1 };

		CHECK_INT_EQ("note", wait_book_note(b, &key, &value, 0), 0);
	}
	CHECK_INT_EQ("show", wait_book_show(b, NULL, 0, &all), 0);
	CHECK_INT_EQ("no more than these, their sums and one", all.n, 2 * WAITS_MOST + 1);
	for (size_t i = 0; i < all.n; i++)
		all_ns += all.items[i].ns;
	CHECK_INT_EQ("all of the time", all_ns, 1000 * MS);
	CHECK_INT_EQ("of nobody", all.items[0].tid, 0);
	CHECK_INT_EQ("the rest", all.items[0].ns, (1000 - 2 * WAITS_MOST) * MS);
}

/* Wakers of waits of a second each, the longest first. */
static void long_lists_are_folded(void)
{
	static const struct {
		const char *name;
		size_t n, singly, most;
		size_t want_n;
		uint64_t want_first_ms, want_sum_ms; /* 0: there is no sum */
	} rows[] = {
		{ "short enough", 4, 2, 4, 4, 1000, 0 },
		{ "two and a sum", 10, 2, 4, 3, 8000, 8000 },
		{ "a sum alone", 10, 0, 4, 1, 10000, 10000 },
		{ "no room for the sum", 10, 2, 1, 1, 8000, 8000 },
		{ "none", 0, 2, 4, 0, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(list_done) struct wait_list list = { .n = 0 };
		uint64_t sum_ns = 0;

		for (uint32_t k = 0; k < rows[i].n; k++) {
			struct account_wait w = { .ns = 1000 * MS,
						  .count = 1,
						  .max_ns = (k + 1) * MS,
						  .tid = MAIN,
						  .waker_tgid = LOADER + k,
						  .waker_tid = LOADER + k,
						  .class = BLAME_OTHER,
						  .kind = RESOURCE_CHILD };

			CHECK_INT_EQ(rows[i].name, ARRAY_PUSH(&list, w), 0);
		}
		wait_list_fold(&list, rows[i].singly, rows[i].most);
		CHECK_INT_EQ(rows[i].name, list.n, rows[i].want_n);
		for (size_t k = 0; k < list.n; k++) {
			CHECK_INT_EQ(rows[i].name, list.items[k].kind, RESOURCE_CHILD);
			CHECK_INT_EQ(rows[i].name, list.items[k].tid, MAIN);
			if (list.items[k].waker_tgid)
				continue;
			sum_ns += list.items[k].ns;
			CHECK_INT_EQ(rows[i].name, list.items[k].max_ns, rows[i].n * MS);
		}
		CHECK_INT_EQ(rows[i].name, sum_ns, rows[i].want_sum_ms * MS);
		if (list.n)
			CHECK_INT_EQ(rows[i].name, list.items[0].ns, rows[i].want_first_ms * MS);
	}
}

int main(void)
{
	readings_are_differences();
	waits_are_apart();
	memory_has_an_end();
	sums_have_an_end();
	long_lists_are_folded();
	return check_result();
}
