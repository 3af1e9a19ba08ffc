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
			CHECK_INT_EQ(rows[i].name, wait_book_note(b, &key, &value, NULL, i), 0);
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

		CHECK_INT_EQ("note", wait_book_note(b, &keys[i], &value, NULL, 0), 0);
	}
	CHECK_INT_EQ("a class that there is not",
		     wait_book_note(b, &(struct wait_key){ .class = BLAME_COUNT }, &strange, NULL, 0), 0);
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

			CHECK_INT_EQ("note", wait_book_note(b, &key, &value, NULL, reading), 0);
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

		CHECK_INT_EQ("note", wait_book_note(b, &key, &value, NULL, 0), 0);
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

/* Of children the name remains: each has a number of its own, and most have the same name. */
static void children_are_folded_by_name(void)
{
	static const char *const comms[] = { "sh", "git", "sh", "sh" };
	CLEANUP(list_done) struct wait_list list = { .n = 0 };

	for (uint32_t k = 0; k < 40; k++) {
		struct account_wait w = { .ns = (1000 - k) * MS,
					  .count = 1,
					  .tid = MAIN,
					  .waker_tgid = LOADER + k,
					  .waker_tid = LOADER + k,
					  .waker_uid = 1000,
					  .class = BLAME_OTHER,
					  .kind = RESOURCE_CHILD };

		(void)snprintf(w.waker_comm, sizeof(w.waker_comm), "%s", comms[k % ARRAY_SIZE(comms)]);
		CHECK_INT_EQ("children", ARRAY_PUSH(&list, w), 0);
	}
	wait_list_fold(&list, 4, 8);
	CHECK_INT_EQ("four and two names", list.n, 6);
	for (size_t k = 0; k < 2 && list.n == 6; k++) {
		CHECK_STR_EQ("name", list.items[k].waker_comm, comms[k]);
		CHECK_INT_EQ("name", list.items[k].waker_uid, 1000);
		CHECK_INT_EQ("name", list.items[k].waker_tgid, 0);
		CHECK_INT_EQ("name", list.items[k].count, k ? 9 : 27);
	}
}

/* ---- a wait that goes on ---- */

/* Second by second: what the kernel half says of a wait, and what of it is told. 20 s in all, as in the row. */
static void open_waits_are_told_once(void)
{
	static const struct {
		const char *name;
		uint64_t open_s, ended_s; /* so far: of the wait that goes on, and in the map */
		uint64_t want_open_s, want_ended_s, want_earlier_s; /* of the tick */
		uint64_t want_all_s;
	} rows[] = {
		{ "it begins", 1, 0, 1, 0, 0, 1 },
		{ "it goes on", 2, 0, 1, 0, 0, 2 },
		{ "nobody looked for long", 18, 0, 16, 0, 0, 18 },
		{ "not seen, not counted yet", 0, 0, 0, 0, 0, 0 },
		{ "counted, with its waker", 0, 20, 0, 2, 18, 20 },
		{ "no more", 0, 20, 0, 0, 0, 20 },
		{ "another one, looked at before it ends", 3, 23, 0, 3, 0, 23 },
	};
	const struct wait_key key = { .resource = 4026,
				      .tid = MAIN,
				      .waker_tgid = LOADER,
				      .waker_tid = LOADER,
				      .slot = 1,
				      .class = BLAME_OTHER,
				      .kind = RESOURCE_PIPE };
	CLEANUP(book_freep) struct wait_book *b = wait_book_new();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct account_record record = { .tid = MAIN,
						       .wait_since_ns = i < 6 ? 5 : 500,
						       .wait_ns = rows[i].open_s * NSEC_PER_SEC,
						       .wait_resource = 4026,
						       .wait_class = BLAME_OTHER,
						       .wait_kind = RESOURCE_PIPE };
		struct wait_value value = { .ns = rows[i].ended_s * NSEC_PER_SEC,
					    .max_ns = rows[i].ended_s * NSEC_PER_SEC,
					    .count = rows[i].ended_s > 20 ? 2 : 1 };
		uint64_t open_ns = 0, ended_ns = 0, earlier_ns = 0, all_ns = 0;
		CLEANUP(list_done) struct wait_list tick = { .n = 0 };
		CLEANUP(list_done) struct wait_list all = { .n = 0 };

		if (rows[i].open_s)
			CHECK_INT_EQ(rows[i].name, wait_book_open(b, &record, NULL, i), 0);
		if (rows[i].ended_s)
			CHECK_INT_EQ(rows[i].name, wait_book_note(b, &key, &value, NULL, i), 0);
		wait_book_opened(b, i);
		CHECK_INT_EQ(rows[i].name, wait_book_tick(b, NULL, 0, &tick), 0);
		CHECK_INT_EQ(rows[i].name, wait_book_show(b, NULL, 0, &all), 0);
		wait_book_taken(b);
		for (size_t k = 0; k < tick.n; k++) {
			const struct account_wait *w = &tick.items[k];

			*(w->is_open ? &open_ns : &ended_ns) += w->ns;
			earlier_ns += w->earlier_ns;
			CHECK_INT_EQ(rows[i].name, w->waker_tgid, w->is_open ? 0 : LOADER);
			CHECK_INT_EQ(rows[i].name, w->count, w->is_open ? 0 : 1);
		}
		for (size_t k = 0; k < all.n; k++)
			all_ns += all.items[k].ns;
		CHECK_INT_EQ(rows[i].name, open_ns, rows[i].want_open_s * NSEC_PER_SEC);
		CHECK_INT_EQ(rows[i].name, ended_ns, rows[i].want_ended_s * NSEC_PER_SEC);
		CHECK_INT_EQ(rows[i].name, earlier_ns, rows[i].want_earlier_s * NSEC_PER_SEC);
		CHECK_INT_EQ(rows[i].name, all_ns, rows[i].want_all_s * NSEC_PER_SEC);
	}
}

/* Threads that come, wait and are never counted leave nothing for ever. */
static void open_waits_are_bounded(void)
{
	CLEANUP(book_freep) struct wait_book *b = wait_book_new();
	CLEANUP(list_done) struct wait_list all = { .n = 0 };

	for (uint32_t i = 0; i < 1000; i++) {
		const struct account_record record = { .tid = MAIN,
						       .wait_since_ns = 1 + i,
						       .wait_ns = NSEC_PER_SEC,
						       .wait_resource = i,
						       .wait_class = BLAME_OTHER,
						       .wait_kind = RESOURCE_PIPE };

		CHECK_INT_EQ("open", wait_book_open(b, &record, NULL, i), 0);
		wait_book_opened(b, i);
		wait_book_taken(b);
	}
	CHECK_INT_EQ("all", wait_book_show(b, NULL, 0, &all), 0);
	CHECK_INT_EQ("the last one goes on", all.n, 1);
	CHECK_INT_EQ(
		"nonsense",
		wait_book_open(b, &(struct account_record){ .wait_since_ns = 1, .wait_class = BLAME_COUNT }, NULL, 0),
		0);
}

/*
 * A user's program may have very many threads that wait, each for a resource of its own: the time of all is reported,
 * in few rows, and each reading takes time in proportion to their number.
 */
static void very_many_open_waits(void)
{
	enum { THREADS = 200000, READINGS = 4 };
	CLEANUP(book_freep) struct wait_book *b = wait_book_new();
	CLEANUP(list_done) struct wait_list list = { .n = 0 };
	const struct account accounts[] = { { .tid = 1 } };
	uint64_t ns = 0;

	for (uint64_t reading = 0; reading < READINGS; reading++) {
		for (uint32_t i = 0; i < THREADS; i++) {
			/* Every second thread begins another wait each time. */
			const struct account_record record = { .tid = 1 + i,
							       .wait_since_ns = 1 + (i % 2 ? reading : 0),
							       .wait_ns = MS,
							       .wait_resource = i,
							       .wait_class = BLAME_OTHER,
							       .wait_kind = RESOURCE_PIPE };

			CHECK_INT_EQ("open", wait_book_open(b, &record, NULL, reading), 0);
		}
		wait_book_opened(b, reading);
		wait_book_taken(b);
	}
	CHECK_INT_EQ("all", wait_book_show(b, accounts, ARRAY_SIZE(accounts), &list), 0);
	for (size_t i = 0; i < list.n; i++)
		ns += list.items[i].ns;
	CHECK_INT_EQ("their time", ns, (uint64_t)THREADS * MS);
	CHECK_INT_IN("rows", (int64_t)list.n, 1, 1024);
}

static void names_are_those_of_the_kind(void)
{
	static const struct {
		const char *name;
		enum resource_kind kind;
		uint64_t resource;
		char leaf[RESOURCE_NAME_BYTES];
		const char *path, *want, *shown;
	} rows[] = {
		{ "a file", RESOURCE_INODE, 7, "train.bin", "/data/train.bin", "/data/train.bin", "/data/train.bin" },
		{ "its path is not known", RESOURCE_WRITTEN, 7, "train.bin", NULL, "train.bin", "train.bin" },
		{ "no name", RESOURCE_INODE, 7, "", NULL, "", "inode 7" },
		{ "bytes of anybody's choice", RESOURCE_INODE, 7, "", "/data/\x1b[31m\xc3\xa9\xff.bin",
		  "/data/\x1b[31m\xc3\xa9\xff.bin", "/data/?[31m\xc3\xa9?.bin" },
		{ "those of the kernel half", RESOURCE_PIPE, 7, "\xc3", NULL, "\xc3", "?" },
		{ "no inode either", RESOURCE_INODE, 0, "", NULL, "", "" },
		{ "nor where it is written", RESOURCE_WRITTEN, 0, "", NULL, "", "" },
		{ "the lock of a file", RESOURCE_FILE_LOCK, 7, "a.lock", "/cache/a.lock", "/cache/a.lock",
		  "/cache/a.lock" },
		{ "the lock of a file without a name", RESOURCE_FILE_LOCK, 7, "", NULL, "", "inode 7" },
		{ "a pipe", RESOURCE_PIPE, 4026, "", NULL, "", "pipe:[4026]" },
		{ "a FIFO", RESOURCE_PIPE, 4026, "queue", "/run/queue", "/run/queue", "/run/queue" },
		{ "a socket", RESOURCE_PEER, 12, "", NULL, "", "socket:[12]" },
		{ "a peer", RESOURCE_PEER, 12, "\0\2\x1f\x90\x7f\0\0\1", NULL, "127.0.0.1:8080", "127.0.0.1:8080" },
		{ "a peer of IPv6", RESOURCE_PEER, 12, "\0\12\0\x50\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", NULL, "[::1]:80",
		  "[::1]:80" },
		{ "a peer of another kind", RESOURCE_PEER, 12, "\0\x11\0\x50", NULL, "", "socket:[12]" },
		{ "a full pipe", RESOURCE_FULL_PIPE, 4026, "", NULL, "", "pipe:[4026]" },
		{ "a full FIFO", RESOURCE_FULL_PIPE, 4026, "queue", "/run/queue", "/run/queue", "/run/queue" },
		{ "a full peer", RESOURCE_FULL_PEER, 12, "\0\2\x1f\x90\x7f\0\0\1", NULL, "127.0.0.1:8080",
		  "127.0.0.1:8080" },
		{ "a signal", RESOURCE_STOPPED, STOP_SIGNAL, "", NULL, "", "signal" },
		{ "a debugger", RESOURCE_STOPPED, STOP_DEBUGGER, "", NULL, "", "debugger" },
		{ "the freezer", RESOURCE_STOPPED, STOP_FREEZER, "", NULL, "", "freezer" },
		{ "a child", RESOURCE_CHILD, 4720, "", NULL, "", "4720" },
		{ "any child", RESOURCE_CHILD, 0, "", NULL, "", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct account_wait wait = { .kind = (uint8_t)rows[i].kind, .resource = rows[i].resource };
		char shown[ACCOUNT_WAIT_NAME_BYTES];

		account_wait_name_set(&wait, rows[i].leaf, rows[i].path);
		CHECK_STR_EQ(rows[i].name, wait.name, rows[i].want);
		account_wait_name(&wait, shown);
		CHECK_STR_EQ(rows[i].name, shown, rows[i].shown);
	}
}

int main(void)
{
	readings_are_differences();
	waits_are_apart();
	memory_has_an_end();
	sums_have_an_end();
	long_lists_are_folded();
	children_are_folded_by_name();
	open_waits_are_told_once();
	open_waits_are_bounded();
	very_many_open_waits();
	names_are_those_of_the_kind();
	return check_result();
}
