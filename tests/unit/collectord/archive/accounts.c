// SPDX-License-Identifier: Apache-2.0
/*
 * Accounts of threads and their waits: what ticks told, from the writer through a file to readers of several scopes.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "archive/questions/accounts.h"
#include "archive/read/read.h"
#include "archive/tables/tables.h"
#include "archive/write/batch.h"
#include "archive/write/store.h"
#include "base/cleanup.h"
#include "events/op.h"
#include "figures/tick.h"
#include "tests/support/check.h"
#include "tests/support/store_world.h"

/* Longer than the last component alone may be. */
#define TRAIN_PATH                                                                                                     \
	"/data/a directory/with many/more of them/than the kernel half's name of a resource/has room for/train.tar"

enum { ALICE = 1000, BOB = 2000, PID = 4711, LOADER = 4720 };

#define MS NSEC_PER_MSEC

static struct process trainer = { .n_references = 1,
				  .identity = { .start_boot_ns = 7, .tgid = PID, .uid = ALICE, .comm = "python3" } };

/* Names of the process that ends its waits and of the one that runs meanwhile. */
static const char *loader_name = "loader", *hog_name = "hog";
/* Their user, and whether he may not inspect them. */
static uint32_t others_uid = BOB;
static bool are_others_guarded;

/* One second of a thread that drives and of one that does not, with what they waited for. */
static void second_add(struct store_world *world, struct store *store, uint32_t n)
{
	static const struct account_part driving[] = {
		{ .ns = 400 * MS, .where = ACCOUNT_BETWEEN, .class = BLAME_ON_CPU },
		{ .ns = 350 * MS, .where = ACCOUNT_BETWEEN, .class = BLAME_NETWORK },
		{ .ns = 200 * MS, .where = ACCOUNT_IN, .class = BLAME_DEVICE, .op = 3 },
		{ .ns = 50 * MS, .where = ACCOUNT_IN, .class = BLAME_LOCK, .op = 0 },
	};
	static const struct account_part idle[] = {
		{ .ns = 1000 * MS, .where = ACCOUNT_BETWEEN, .class = BLAME_SLEEP },
	};
	struct account_wait waits[] = {
		{ .ns = 300 * MS,
		  .max_ns = (10 + n) * MS,
		  .count = 30,
		  .tid = PID,
		  .class = BLAME_NETWORK,
		  .kind = RESOURCE_PIPE,
		  .resource = 77,
		  .waker_tgid = LOADER,
		  .waker_tid = LOADER,
		  .waker_uid = others_uid,
		  .is_waker_guarded = are_others_guarded },
		{ .ns = 40 * MS,
		  .max_ns = 40 * MS,
		  .count = 1,
		  .tid = PID,
		  .class = BLAME_NETWORK,
		  .kind = RESOURCE_INODE,
		  .resource = 12,
		  .name = TRAIN_PATH,
		  .device_name = "nvme0n1" },
	};
	struct behind_figures behind[] = {
		{ .ns = 5 * MS, .tgid = 99, .uid = others_uid, .is_guarded = are_others_guarded },
		{ .ns = 7 * MS, .tgid = 99, .uid = others_uid, .is_between = true, .is_guarded = are_others_guarded }
	};
	struct tick tick = { .from_ns = world->now_ns, .to_ns = world->now_ns + NSEC_PER_SEC };
	struct tick_process process = { .process = &trainer, .first_call_ns = WORLD_FIRST_NS };
	struct account accounts[] = { { .tid = PID, .is_driving = true }, { .tid = PID + 1 } };

	(void)snprintf(waits[0].waker_comm, sizeof(waits[0].waker_comm), "%s", loader_name);
	for (size_t i = 0; i < ARRAY_SIZE(behind); i++)
		(void)snprintf(behind[i].comm, sizeof(behind[i].comm), "%s", hog_name);
	for (size_t i = 0; i < ARRAY_SIZE(driving); i++)
		(void)ARRAY_PUSH(&accounts[0].parts, driving[i]);
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
		(void)ARRAY_PUSH(&accounts[1].parts, idle[i]);
	for (size_t i = 0; i < ARRAY_SIZE(accounts); i++)
		(void)ARRAY_PUSH(&process.accounts, accounts[i]);
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
		(void)ARRAY_PUSH(&process.waits, waits[i]);
	for (size_t i = 0; i < ARRAY_SIZE(behind); i++)
		(void)ARRAY_PUSH(&process.behind, behind[i]);
	(void)ARRAY_PUSH(&tick.processes, process);
	world->now_ns = world->ticked_ns = tick.to_ns;
	store_tick(store, &tick);
	ARRAY_DONE(&accounts[0].parts);
	ARRAY_DONE(&accounts[1].parts);
	ARRAY_DONE(&process.accounts);
	ARRAY_DONE(&process.waits);
	ARRAY_DONE(&process.behind);
	ARRAY_DONE(&tick.processes);
}

static const struct {
	const char *name;
	uint32_t seconds; /* recorded */
	struct read_scope scope;
	uint64_t from_s, to_s; /* window; 0: no bound */
	uint64_t want_s;       /* seconds of each account in it */
	uint32_t want_waker;
} cases[] = {
	{ "one second", 1, { .all = true }, 0, 0, 1, LOADER },
	{ "rows of 10 s and of a minute", 130, { .all = true }, 0, 0, 130, LOADER },
	{ "a window of rows", 130, { .all = true }, 20, 60, 40, LOADER },
	{ "the owner", 25, { .uid = ALICE }, 0, 0, 25, LOADER },
	{ "the owner, who may not know others' processes",
	  25,
	  { .uid = ALICE, .names_hidden = true },
	  0,
	  0,
	  25,
	  READ_PID_HIDDEN },
	{ "a second of the owner, others not to be known",
	  1,
	  { .uid = ALICE, .names_hidden = true },
	  0,
	  0,
	  1,
	  READ_PID_HIDDEN },
	{ "another user", 25, { .uid = BOB }, 0, 0, 0, 0 },
};

/* Sum of the parts that are so. */
static uint64_t parts_ms(const struct read_window *window, uint32_t tid, enum account_where where,
			 enum blame_class class)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < window->parts.n; i++) {
		const struct read_part *p = &window->parts.items[i];

		if (p->tid == tid && p->where == where && p->class == class)
			ns += p->ns;
	}
	return ns / MS;
}

static void window_check(const struct read_window *window, size_t c)
{
	const char *name = cases[c].name;
	uint64_t s = cases[c].want_s;

	CHECK_INT_EQ(name, window->parts.n, s ? 5 : 0);
	CHECK_INT_EQ(name, window->waits.n, s ? 2 : 0);
	CHECK_INT_EQ(name, window->behind.n, s ? 2 : 0);
	CHECK_INT_EQ(name, parts_ms(window, PID, ACCOUNT_BETWEEN, BLAME_ON_CPU), 400 * s);
	CHECK_INT_EQ(name, parts_ms(window, PID, ACCOUNT_BETWEEN, BLAME_NETWORK), 350 * s);
	CHECK_INT_EQ(name, parts_ms(window, PID, ACCOUNT_IN, BLAME_DEVICE), 200 * s);
	CHECK_INT_EQ(name, parts_ms(window, PID, ACCOUNT_IN, BLAME_LOCK), 50 * s);
	CHECK_INT_EQ(name, parts_ms(window, PID + 1, ACCOUNT_BETWEEN, BLAME_SLEEP), 1000 * s);
	for (size_t i = 0; i < window->parts.n; i++) {
		const struct read_part *p = &window->parts.items[i];

		CHECK_INT_EQ(name, p->is_driving, p->tid == PID);
		CHECK_INT_EQ(name, p->op ? p->op->id : 0, p->class == BLAME_DEVICE ? 3 : 0);
	}
	for (size_t i = 0; i < window->waits.n; i++) {
		const struct account_wait *w = window->waits.items[i].wait;
		bool is_pipe = w->kind == RESOURCE_PIPE, is_told = is_pipe && cases[c].want_waker == LOADER;

		CHECK_INT_EQ(name, w->ns / MS, (is_pipe ? 300 : 40) * s);
		CHECK_INT_EQ(name, w->count, (is_pipe ? 30 : 1) * s);
		CHECK_INT_EQ(name, w->waker_tgid, is_pipe ? cases[c].want_waker : 0);
		CHECK_INT_EQ(name, w->waker_tid, is_told ? LOADER : 0);
		CHECK_INT_EQ(name, w->waker_uid, is_pipe ? BOB : 0);
		CHECK_STR_EQ(name, w->waker_comm, is_told ? "loader" : "");
		CHECK_STR_EQ(name, w->name, is_pipe ? "" : TRAIN_PATH);
		CHECK_STR_EQ(name, w->device_name, is_pipe ? "" : "nvme0n1");
		if (is_pipe && !cases[c].to_s)
			CHECK_INT_EQ(name, w->max_ns / MS, 10 + cases[c].seconds - 1);
	}
	for (size_t i = 0; i < window->behind.n; i++)
		CHECK_INT_EQ(name, window->behind.items[i].ns / MS, (window->behind.items[i].is_between ? 7 : 5) * s);
}

static void parts_text(const Ingero__V1__Account *account, struct buf *out)
{
	for (size_t i = 0; i < account->n_parts; i++) {
		const Ingero__V1__AccountPart *p = account->parts[i];

		(void)buf_printf(out, "%s %s %s %llu", p->where, p->op_told_case ? p->op : "-", p->class_,
				 (unsigned long long)(p->ns / MS));
		if (p->resource)
			(void)buf_printf(out, " %s(%s)", p->resource->kind, p->resource->name);
		if (p->by)
			(void)buf_printf(out, " by %s %u uid %u", p->by->comm, p->by->pid, p->by->uid);
		(void)buf_append_text(out, "; ");
	}
}

/* One second of the thread that drives, as a message. */
static const char told[] = "between - on_cpu 400; between - network 300 pipe(pipe:[77]) by loader 4720 uid 2000; "
			   "in cudaLaunchKernel device 200; in - lock 50; between - network 40 inode(" TRAIN_PATH
			   "); between - network 10; ";
static const char hidden[] = "between - on_cpu 400; between - network 300 pipe(pipe:[77]) by  0 uid 2000; "
			     "in cudaLaunchKernel device 200; in - lock 50; between - network 40 inode(" TRAIN_PATH
			     "); between - network 10; ";

static void messages_check(struct store_reader *reader, const struct read_window *window, size_t c)
{
	static const uint32_t launch = 3;
	const struct {
		struct accounts_query query;
		size_t want, want_all, want_threads;
		uint64_t wall_ms; /* of the first, in a second */
	} queries[] = {
		{ { .which = ACCOUNTS_WORST_DRIVING, .most = 9 }, 1, 1, 2, 1000 },
		{ { .which = ACCOUNTS_EVERY_THREAD, .most = 9 }, 2, 2, 2, 1000 },
		{ { .which = ACCOUNTS_EVERY_THREAD, .most = 1 }, 1, 2, 2, 1000 },
		{ { .which = ACCOUNTS_EVERY_THREAD, .most = 9, .ops = &launch, .n_ops = 1 }, 1, 1, 1, 200 },
	};
	struct reader_job job = { .reader = reader, .scope = cases[c].scope };

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		CLEANUP(arena_done) struct arena arena = ARENA_INIT;
		CLEANUP(buf_done) struct buf text = BUF_INIT;
		struct accounts_answer answer = { .n = 0 };
		uint64_t sum_ns = 0;

		CHECK_INT_EQ(cases[c].name, reader_accounts(&job, window, &queries[i].query, &arena, &answer), 0);
		CHECK_INT_EQ(cases[c].name, answer.n, cases[c].want_s ? queries[i].want : 0);
		CHECK_INT_EQ(cases[c].name, answer.n_all, cases[c].want_s ? queries[i].want_all : 0);
		CHECK_INT_EQ(cases[c].name, answer.n_threads, cases[c].want_s ? queries[i].want_threads : 0);
		if (!answer.n)
			continue;
		CHECK(cases[c].name, answer.rows[0]->is_driving);
		CHECK_INT_EQ(cases[c].name, answer.rows[0]->tid, PID);
		CHECK_INT_EQ(cases[c].name, answer.rows[0]->wall_ns / MS, queries[i].wall_ms * cases[c].want_s);
		for (size_t k = 0; k < answer.rows[0]->n_parts; k++)
			sum_ns += answer.rows[0]->parts[k]->ns;
		CHECK_INT_EQ(cases[c].name, sum_ns, answer.rows[0]->wall_ns);
		if (answer.n > 1)
			CHECK(cases[c].name, !answer.rows[1]->is_driving);
		if (cases[c].want_s != 1 || queries[i].query.ops)
			continue;
		parts_text(answer.rows[0], &text);
		CHECK_STR_EQ(cases[c].name, buf_text(&text), cases[c].want_waker == LOADER ? told : hidden);
	}
}

/* What SQL says of one second: SELECT, and the one text that it gives to who may know others' processes and who may
 * not. */
static const struct {
	const char *name;
	const char *select;
	const char *want, *want_hidden;
} statements[] = {
	{ "parts",
	  "SELECT group_concat(printf('%d %d %s %s %s %s %d', pid, tid, is_driving, \"where\", class, ifnull(op_name, "
	  "'-'),"
	  " ns / 1000000), '; ') FROM accounts",
	  "4711 4711 1 between on_cpu - 400; 4711 4711 1 between network - 350; 4711 4711 1 in lock - 50; "
	  "4711 4711 1 in device cudaLaunchKernel 200; 4711 4712 0 between sleep - 1000",
	  NULL },
	{ "the parts are the wall clock",
	  "SELECT group_concat(printf('%d %d %d', tid, sum, wall), '; ') FROM (SELECT tid, sum(ns) / 1000000 AS sum,"
	  " max(wall_ns) / 1000000 AS wall FROM accounts GROUP BY pid, tid)",
	  "4711 1000 1000; 4712 1000 1000", NULL },
	{ "waits",
	  "SELECT group_concat(printf('%d %d %s %s %s %s %s by %s %s %s uid %s: %d, %d, %d', pid, tid, \"where\", "
	  "class,"
	  " ifnull(op_name, '-'), ifnull(resource_kind, '-'), ifnull(resource_name, '-'), ifnull(by_pid, '-'),"
	  " ifnull(by_tid, '-'), ifnull(by_comm, '-'), ifnull(by_uid, '-'), count, ns / 1000000, max_ns / 1000000), '; "
	  "')"
	  " FROM waits",
	  "4711 4711 between network - inode " TRAIN_PATH " by - - - uid -: 1, 40, 40; "
	  "4711 4711 between network - pipe pipe:[77] by 4720 4720 loader uid 2000: 30, 300, 10",
	  "4711 4711 between network - inode " TRAIN_PATH " by - - - uid -: 1, 40, 40; "
	  "4711 4711 between network - pipe pipe:[77] by - - - uid 2000: 30, 300, 10" },
	{ "a process",
	  "SELECT count(*) || ' ' || (SELECT count(*) FROM waits WHERE pid = 4711) FROM accounts WHERE pid = 4711",
	  "5 2", NULL },
	{ "another process",
	  "SELECT count(*) || ' ' || (SELECT count(*) FROM waits WHERE pid = 4712) FROM accounts WHERE pid = 4712",
	  "0 0", NULL },
	{ "an operation in any spelling", "SELECT group_concat(class) FROM accounts WHERE op_name = 'CUDALAUNCHKERNEL'",
	  "device", NULL },
};

static void statements_check(struct store_reader *reader, size_t c)
{
	struct reader_job job = { .reader = reader, .scope = cases[c].scope };
	struct sqlite3 *db = NULL;

	CHECK_INT_EQ(cases[c].name, sqlite3_open(":memory:", &db), SQLITE_OK);
	CHECK_INT_EQ(cases[c].name, tables_install(db, &job), 0);
	for (size_t i = 0; i < ARRAY_SIZE(statements); i++) {
		bool is_hidden = cases[c].want_waker == READ_PID_HIDDEN && statements[i].want_hidden;
		struct sqlite3_stmt *statement = NULL;

		CHECK_INT_EQ(statements[i].name, sqlite3_prepare_v2(db, statements[i].select, -1, &statement, NULL),
			     SQLITE_OK);
		CHECK_INT_EQ(statements[i].name, sqlite3_step(statement), SQLITE_ROW);
		CHECK_STR_EQ(statements[i].name, (const char *)sqlite3_column_text(statement, 0),
			     is_hidden ? statements[i].want_hidden : statements[i].want);
		(void)sqlite3_finalize(statement);
	}
	(void)sqlite3_close(db);
	ARRAY_DONE(&job.op_numbers);
}

static void from_tick_to_window(void)
{
	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		uint64_t from = cases[c].from_s ? WORLD_UNIX_NS + cases[c].from_s * NSEC_PER_SEC : 0;
		uint64_t to = cases[c].to_s ? WORLD_UNIX_NS + cases[c].to_s * NSEC_PER_SEC : 0;
		CLEANUP(read_window_done) struct read_window window = { .from_unix_ns = 0 };
		char why[READ_WHY_BYTES] = "";
		struct store_reader *reader = NULL;
		struct store_world world;
		struct sqlite3 *db = NULL;
		struct store *store;

		store_world_init(&world);
		store = store_world_open(&world);
		for (uint32_t i = 0; i < cases[c].seconds; i++)
			second_add(&world, store, i);
		store_close(store);
		trainer.row = 0; /* of this file */
		CHECK_INT_EQ(cases[c].name, sqlite3_open_v2(world.path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
		CHECK_INT_EQ(cases[c].name, store_reader_open(db, &cases[c].scope, why, &reader), 0);
		if (reader) {
			CHECK_INT_EQ(cases[c].name, store_reader_window(reader, from, to, NULL, 0, &window), 0);
			window_check(&window, c);
			messages_check(reader, &window, c);
			if (cases[c].want_s == 1)
				statements_check(reader, c);
			store_reader_close(reader);
		}
		(void)sqlite3_close(db);
		store_world_done(&world);
	}
}

/* Waits for files of which none is read twice: an answer has as many as one second may have, and no time is lost. */
static void fresh_waits(void)
{
	enum { SECONDS = 150, FRESH = 100 };
	CLEANUP(read_window_done) struct read_window window = { .from_unix_ns = 0 };
	const struct read_scope scope = { .all = true };
	char why[READ_WHY_BYTES] = "";
	struct store_reader *reader = NULL;
	struct store_world world;
	struct sqlite3 *db = NULL;
	struct store *store;
	uint64_t ns = 0, count = 0;

	store_world_init(&world);
	store = store_world_open(&world);
	for (uint64_t i = 0; i < SECONDS; i++) {
		struct tick tick = { .from_ns = world.now_ns, .to_ns = world.now_ns + NSEC_PER_SEC };
		struct tick_process process = { .process = &trainer, .first_call_ns = WORLD_FIRST_NS };

		for (uint64_t k = 0; k < FRESH; k++)
			(void)ARRAY_PUSH(&process.waits, ((struct account_wait){ .tid = PID,
										 .class = BLAME_BLOCK_IO,
										 .kind = RESOURCE_INODE,
										 .resource = i * FRESH + k,
										 .count = 1,
										 .ns = 2 * MS,
										 .max_ns = 2 * MS }));
		(void)ARRAY_PUSH(&tick.processes, process);
		world.now_ns = world.ticked_ns = tick.to_ns;
		store_tick(store, &tick);
		ARRAY_DONE(&process.waits);
		ARRAY_DONE(&tick.processes);
	}
	store_close(store);
	trainer.row = 0;
	CHECK_INT_EQ("fresh waits", sqlite3_open_v2(world.path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	CHECK_INT_EQ("fresh waits", store_reader_open(db, &scope, why, &reader), 0);
	if (reader) {
		CHECK_INT_EQ("fresh waits", store_reader_window(reader, 0, 0, NULL, 0, &window), 0);
		store_reader_close(reader);
	}
	CHECK_INT_EQ("fresh waits, told", window.waits.n, FIGURES_WAITS_MOST + 1);
	for (size_t i = 0; i < window.waits.n; i++) {
		ns += window.waits.items[i].wait->ns;
		count += window.waits.items[i].wait->count;
	}
	CHECK_INT_EQ("fresh waits, their time", ns / MS, 2 * SECONDS * FRESH);
	CHECK_INT_EQ("fresh waits, their number", count, SECONDS * FRESH);
	(void)sqlite3_close(db);
	store_world_done(&world);
}

static uint32_t op_number(const char *name)
{
	for (uint32_t id = 1; op_get(id); id++)
		if (strcmp(op_get(id)->name, name) == 0)
			return id;
	CHECK(name, false);
	return 0;
}

/*
 * Of several driving threads the one is told of that is kept from its own work: a thread of which another's work is
 * done, as autograd's, waits at a lock for most of the time.
 */
static void worst_driving(void)
{
	static const struct {
		const char *name;
		struct account_part parts[2][2]; /* of PID and of PID + 1 */
		uint32_t want_tid;
	} kinds[] = {
		{ "a hog between the calls of one, work is handed to the other",
		  { { { .ns = 450 * MS, .class = BLAME_RUNNABLE }, { .ns = 550 * MS, .class = BLAME_ON_CPU } },
		    { { .ns = 800 * MS, .class = BLAME_LOCK }, { .ns = 200 * MS, .class = BLAME_RUNNABLE } } },
		  PID },
		{ "locks alone",
		  { { { .ns = 300 * MS, .class = BLAME_LOCK }, { .ns = 700 * MS, .class = BLAME_ON_CPU } },
		    { { .ns = 800 * MS, .class = BLAME_LOCK }, { .ns = 200 * MS, .class = BLAME_ON_CPU } } },
		  PID + 1 },
	};

	for (size_t c = 0; c < ARRAY_SIZE(kinds); c++) {
		CLEANUP(read_window_done) struct read_window window = { .from_unix_ns = 0 };
		CLEANUP(arena_done) struct arena arena = ARENA_INIT;
		const struct accounts_query query = { .which = ACCOUNTS_WORST_DRIVING, .most = 9 };
		struct reader_job job = { .scope = { .all = true } };
		struct read_process process = { .id = 1, .pid = PID, .comm = "python3" };
		struct accounts_answer answer = { .n = 0 };

		for (uint32_t i = 0; i < 4; i++) {
			const struct account_part *part = &kinds[c].parts[i / 2][i % 2];

			(void)ARRAY_PUSH(&window.parts, ((struct read_part){ .process = &process,
									     .tid = PID + i / 2,
									     .is_driving = true,
									     .where = ACCOUNT_BETWEEN,
									     .class = part->class,
									     .ns = part->ns }));
		}
		CHECK_INT_EQ(kinds[c].name, reader_accounts(&job, &window, &query, &arena, &answer), 0);
		CHECK_INT_EQ(kinds[c].name, answer.n, 1);
		if (answer.n)
			CHECK_INT_EQ(kinds[c].name, answer.rows[0]->tid, kinds[c].want_tid);
	}
}

/* A process with findings has the account of the thread that the worst of them is about. */
static void found_thread(void)
{
	static const struct {
		const char *name;
		struct {
			uint32_t pid, exec_gen, tid; /* tid 0: it names none */
			uint64_t start_unix_ns;
			const char *node; /* NULL: not told */
		} findings[2];		  /* the worst first; pid 0: none */
		uint32_t want_tid;
	} kinds[] = {
		{ "no finding", { { .pid = 0 } }, PID },
		{ "of the thread that lost less", { { PID, 1, PID + 1, 7, NULL } }, PID + 1 },
		{ "of a thread with few calls", { { PID, 1, PID + 2, 7, NULL } }, PID + 2 },
		{ "of several threads", { { PID, 1, 0, 7, NULL } }, PID },
		{ "of a thread without an account", { { PID, 1, PID + 9, 7, NULL } }, PID },
		{ "of another process", { { PID + 1, 1, PID + 1, 7, NULL } }, PID },
		{ "of the process that had its id before", { { PID, 1, PID + 1, 6, NULL } }, PID },
		{ "of another program of the process", { { PID, 0, PID + 1, 7, NULL } }, PID },
		{ "of another machine", { { PID, 1, PID + 1, 7, "node-8" } }, PID },
		{ "of this machine", { { PID, 1, PID + 1, 7, "node-7" } }, PID + 1 },
		{ "the worst of two", { { PID, 1, PID + 1, 7, NULL }, { PID, 1, PID, 7, NULL } }, PID + 1 },
		{ "the worst that names a thread", { { PID, 1, 0, 7, NULL }, { PID, 1, PID + 1, 7, NULL } }, PID + 1 },
	};
	static const uint64_t lost_ms[] = { 450, 200, 0 };

	for (size_t c = 0; c < ARRAY_SIZE(kinds); c++) {
		CLEANUP(read_window_done) struct read_window window = { .from_unix_ns = 0 };
		CLEANUP(arena_done) struct arena arena = ARENA_INIT;
		Ingero__V1__Finding findings[] = { INGERO__V1__FINDING__INIT, INGERO__V1__FINDING__INIT };
		Ingero__V1__Finding *rows[] = { &findings[0], &findings[1] };
		struct accounts_query query = { .which = ACCOUNTS_WORST_DRIVING, .most = 9, .findings = rows };
		struct reader_job job = { .scope = { .all = true } };
		struct read_process process = {
			.id = 1, .pid = PID, .exec_gen = 1, .start_unix_ns = 7, .node = "node-7", .comm = "python3"
		};
		struct accounts_answer answer = { .n = 0 };

		for (size_t i = 0; i < ARRAY_SIZE(rows) && kinds[c].findings[i].pid; i++) {
			findings[i].pid = kinds[c].findings[i].pid;
			findings[i].exec_generation = kinds[c].findings[i].exec_gen;
			findings[i].start_time_unix_ns = kinds[c].findings[i].start_unix_ns;
			if (kinds[c].findings[i].tid) {
				findings[i].tid_told_case = INGERO__V1__FINDING__TID_TOLD_TID;
				findings[i].tid = kinds[c].findings[i].tid;
			}
			if (kinds[c].findings[i].node) {
				findings[i].node_told_case = INGERO__V1__FINDING__NODE_TOLD_NODE;
				findings[i].node = (char *)(uintptr_t)kinds[c].findings[i].node;
			}
			query.n_findings++;
		}
		for (uint32_t i = 0; i < ARRAY_SIZE(lost_ms); i++) {
			struct read_part part = { .process = &process,
						  .tid = PID + i,
						  .is_driving = i < 2,
						  .where = ACCOUNT_BETWEEN,
						  .class = BLAME_RUNNABLE,
						  .ns = lost_ms[i] * MS };

			if (part.ns)
				(void)ARRAY_PUSH(&window.parts, part);
			part.class = BLAME_ON_CPU;
			part.ns = 1000 * MS - part.ns;
			(void)ARRAY_PUSH(&window.parts, part);
		}
		CHECK_INT_EQ(kinds[c].name, reader_accounts(&job, &window, &query, &arena, &answer), 0);
		CHECK_INT_EQ(kinds[c].name, answer.n, 1);
		CHECK_INT_EQ(kinds[c].name, answer.n_threads, 3);
		if (answer.n)
			CHECK_INT_EQ(kinds[c].name, answer.rows[0]->tid, kinds[c].want_tid);
	}
}

/* What nobody's call or wait changed need not be on the disk at once. */
static void idle_threads(void)
{
	static const struct {
		const char *name;
		const char *op; /* with a time of its own; NULL: none */
		bool has_wait;
		bool is_urgent;
	} kinds[] = {
		{ "threads that are idle", NULL, false, false },
		{ "a thread that waited", NULL, true, false },
		{ "a thread that wakes up now and then", "wait_main", true, false },
		{ "a thread that called", "cudaLaunchKernel", false, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct stored_part part = { .ns = 5, .process = 1, .tid = 7, .class = BLAME_SLEEP };
		const struct stored_wait wait = { .process = 1, .wait = { .ns = 5, .tid = 7, .class = BLAME_LOCK } };
		struct figures_blob *blob;
		struct batch *batch = NULL;

		CHECK_INT_EQ(kinds[i].name, batch_new(&batch), 0);
		blob = batch_owner(batch_figures(batch, 1, 0, 1), ALICE);
		CHECK_INT_EQ(kinds[i].name, figures_blob_add_part(blob, &part), 0);
		if (kinds[i].op)
			CHECK(kinds[i].name, figures_blob_at(blob, 1, op_number(kinds[i].op)) != NULL);
		if (kinds[i].has_wait)
			CHECK_INT_EQ(kinds[i].name, figures_blob_add_wait(blob, &wait), 0);
		CHECK_INT_EQ(kinds[i].name, batch_is_urgent(batch), kinds[i].is_urgent);
		batch_free(batch);
	}
}

/* A process may give itself any name. The file keeps its bytes; an answer has them without control characters. */
static void names_scrubbed(void)
{
	static const char raw[] = "\x1b[m\xc2\x9b\xe2\x80\xae\xff"
				  "a",
			  told_as[] = "?[m???a";
	static const char *const selects[] = {
		"SELECT name FROM process_names",
		"SELECT comm FROM accounts",
		"SELECT by_comm FROM waits WHERE by_comm IS NOT NULL",
		"SELECT comm || '' FROM behind",
		"SELECT behind_comm FROM behind",
		"SELECT script FROM processes",
		"SELECT name FROM processes",
	};
	struct reader_job job = { .scope = { .all = true } };
	const struct process before = trainer;
	char why[READ_WHY_BYTES] = "";
	struct sqlite3 *db = NULL, *asked = NULL;
	struct store_world world;
	struct store *store;

	(void)snprintf(trainer.identity.comm, sizeof(trainer.identity.comm), "%s", raw);
	(void)snprintf(trainer.identity.program.script, sizeof(trainer.identity.program.script), "%s", raw);
	loader_name = hog_name = raw;
	store_world_init(&world);
	store = store_world_open(&world);
	second_add(&world, store, 0);
	store_close(store);
	trainer = before;
	loader_name = "loader";
	hog_name = "hog";
	CHECK_INT_EQ("names", sqlite3_open_v2(world.path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	CHECK_INT_EQ("names", store_reader_open(db, &job.scope, why, &job.reader), 0);
	CHECK_INT_EQ("names", sqlite3_open(":memory:", &asked), SQLITE_OK);
	CHECK_INT_EQ("names", job.reader ? tables_install(asked, &job) : -1, 0);
	for (size_t i = 0; i < ARRAY_SIZE(selects) && job.reader; i++) {
		struct sqlite3_stmt *statement = NULL;

		CHECK_INT_EQ(selects[i], sqlite3_prepare_v2(asked, selects[i], -1, &statement, NULL), SQLITE_OK);
		CHECK_INT_EQ(selects[i], sqlite3_step(statement), SQLITE_ROW);
		CHECK_STR_EQ(selects[i], (const char *)sqlite3_column_text(statement, 0), told_as);
		(void)sqlite3_finalize(statement);
	}
	(void)sqlite3_close(asked);
	if (job.reader)
		store_reader_close(job.reader);
	(void)sqlite3_close(db);
	ARRAY_DONE(&job.op_numbers);
	store_world_done(&world);
}

/* Processes of the reader's own user: under hidepid only those are named that the user may inspect. */
static void own_neighbours(void)
{
	static const struct {
		const char *name;
		struct read_scope scope;
		bool are_guarded;
		bool want_named;
	} scopes[] = {
		{ "one's own, under hidepid", { .uid = ALICE, .names_hidden = true }, false, true },
		{ "one's own that is guarded, under hidepid", { .uid = ALICE, .names_hidden = true }, true, false },
		{ "one's own that is guarded", { .uid = ALICE }, true, true },
		{ "a guarded one, to who sees all", { .all = true, .names_hidden = true }, true, true },
	};
	static const char sql[] = "SELECT (SELECT count(by_pid) + count(by_comm) FROM waits) || ' ' || "
				  "(SELECT count(DISTINCT behind_pid) + count(DISTINCT behind_comm) FROM behind)";

	others_uid = ALICE;
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		CLEANUP(read_window_done) struct read_window window = { .from_unix_ns = 0 };
		CLEANUP(arena_done) struct arena arena = ARENA_INIT;
		CLEANUP(buf_done) struct buf text = BUF_INIT;
		const struct accounts_query query = { .which = ACCOUNTS_WORST_DRIVING, .most = 9 };
		struct reader_job job = { .scope = scopes[i].scope };
		struct accounts_answer answer = { .n = 0 };
		struct sqlite3 *db = NULL, *asked = NULL;
		struct sqlite3_stmt *statement = NULL;
		char why[READ_WHY_BYTES] = "";
		struct store_world world;
		struct store *store;

		are_others_guarded = scopes[i].are_guarded;
		store_world_init(&world);
		store = store_world_open(&world);
		for (uint32_t n = 0; n < 15; n++) /* sums of seconds, too */
			second_add(&world, store, n);
		store_close(store);
		trainer.row = 0;
		CHECK_INT_EQ(scopes[i].name, sqlite3_open_v2(world.path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
		CHECK_INT_EQ(scopes[i].name, store_reader_open(db, &job.scope, why, &job.reader), 0);
		CHECK_INT_EQ(scopes[i].name, store_reader_window(job.reader, 0, 0, NULL, 0, &window), 0);
		CHECK_INT_EQ(scopes[i].name, window.behind.n, 2);
		for (size_t k = 0; k < window.behind.n; k++) {
			CHECK_INT_EQ(scopes[i].name, window.behind.items[k].tgid, scopes[i].want_named ? 99 : 0);
			CHECK_STR_EQ(scopes[i].name, window.behind.items[k].comm, scopes[i].want_named ? "hog" : "");
		}
		CHECK_INT_EQ(scopes[i].name, reader_accounts(&job, &window, &query, &arena, &answer), 0);
		CHECK_INT_EQ(scopes[i].name, answer.n, 1);
		if (answer.n)
			parts_text(answer.rows[0], &text);
		CHECK(scopes[i].name,
		      strstr(buf_text(&text), scopes[i].want_named ? " by loader 4720 uid 1000;" : " by  0 uid 1000;"));
		CHECK_INT_EQ(scopes[i].name, sqlite3_open(":memory:", &asked), SQLITE_OK);
		CHECK_INT_EQ(scopes[i].name, tables_install(asked, &job), 0);
		CHECK_INT_EQ(scopes[i].name, sqlite3_prepare_v2(asked, sql, -1, &statement, NULL), SQLITE_OK);
		CHECK_INT_EQ(scopes[i].name, sqlite3_step(statement), SQLITE_ROW);
		CHECK_STR_EQ(scopes[i].name, (const char *)sqlite3_column_text(statement, 0),
			     scopes[i].want_named ? "2 2" : "0 0");
		(void)sqlite3_finalize(statement);
		(void)sqlite3_close(asked);
		store_reader_close(job.reader);
		(void)sqlite3_close(db);
		ARRAY_DONE(&job.op_numbers);
		store_world_done(&world);
	}
	others_uid = BOB;
	are_others_guarded = false;
}

int main(void)
{
	from_tick_to_window();
	own_neighbours();
	names_scrubbed();
	fresh_waits();
	worst_driving();
	found_thread();
	idle_threads();
	return check_result();
}
