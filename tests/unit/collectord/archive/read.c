// SPDX-License-Identifier: Apache-2.0
/*
 * What is read from a file is what was put there: for its owner alone, each call once,
 * in order of time, and nothing of what is damaged.
 */
#include "archive/read/read.h"

#include <errno.h>
#include <limits.h>
#include <sqlite3.h>

#include "tests/support/check.h"
#include "tests/support/read_world.h"
#include "archive/read/order.h"

#define SECOND 1000000000ull
#define UNIX 1700000000000000000ull /* at second 1000 of the first boot */

enum { ALICE = 1000, BOB = 2000, CAROL = 3001 };
enum { ALICE_TRAIN = 1, ALICE_SERVE, BOB_TRAIN, ALICE_MIXED, ALICE_LATER, CAROLS };
enum { MALLOC = 1, LAUNCH = 3, WAIT = 5 }; /* of ops.def */

static uint64_t at(uint64_t second)
{
	return second * SECOND;
}

static uint64_t wall(uint64_t second)
{
	return UNIX + (second - 1000) * SECOND;
}

/*
 * Boot 1 from second 1000 on, the wall clock set back by 30 s at second 1200. Alice has a block of
 * each process, a mixed one and a tail row; Bob a block. Boot 2 a day later.
 */
static struct sqlite3 *make(void)
{
	struct sqlite3 *db = world_create(":memory:");
	struct stored_event e[100];

	world_boot(db, 1, at(1000), UNIX);
	world_clock(db, 1, at(1200), wall(1200) - 30 * SECOND);
	world_boot(db, 2, at(10), wall(1000 + 86400));
	world_process(db, ALICE_TRAIN, 1, 11, ALICE, 0, "train", at(1000));
	world_process(db, ALICE_SERVE, 1, 12, ALICE, 0, "serve", at(1000));
	world_process(db, BOB_TRAIN, 1, 21, BOB, 0, "train", at(1000));
	world_process(db, ALICE_MIXED, 1, 13, ALICE, PROCESS_GUARDED, "sudo", at(1000));
	world_process(db, ALICE_LATER, 2, 11, ALICE, 0, "later", at(10));

	for (unsigned int i = 0; i < 100; i++) /* a call a second; each tenth long */
		e[i] = world_event(ALICE_TRAIN, LAUNCH, 11, at(1000 + i), i % 10 ? 1000 : SECOND / 2);
	(void)world_block(db, ALICE, 1, ALICE_TRAIN, e, 100);
	for (unsigned int i = 0; i < 40; i++) /* among them, in a block that overlaps */
		e[i] = world_event(i % 4 == 3 ? ALICE_MIXED : ALICE_SERVE, i % 2 ? WAIT : MALLOC, 12,
				   at(1050 + i) + SECOND / 2, 2000);
	(void)world_block(db, ALICE, 1, 0, e, 40);
	for (unsigned int i = 0; i < 50; i++)
		e[i] = world_event(BOB_TRAIN, LAUNCH, 21, at(1000 + i), 3000);
	(void)world_block(db, BOB, 1, BOB_TRAIN, e, 50);
	for (unsigned int i = 0; i < 20; i++) /* around the step */
		e[i] = world_event(ALICE_TRAIN, LAUNCH, 11, at(1190 + i), 4000);
	(void)world_tail(db, ALICE, 1, e, 20);
	for (unsigned int i = 0; i < 5; i++) /* before it, and later than what comes after by the wall clock */
		e[i] = world_event(ALICE_SERVE, LAUNCH, 12, at(1175 + i), 2500);
	(void)world_block(db, ALICE, 1, ALICE_SERVE, e, 5);
	for (unsigned int i = 0; i < 5; i++)
		e[i] = world_event(ALICE_LATER, LAUNCH, 11, at(20 + i), 5000);
	(void)world_tail(db, ALICE, 2, e, 5);
	return db;
}

static struct store_reader *open_as(struct sqlite3 *db, bool all, uint32_t uid, bool names_hidden)
{
	struct read_scope scope = { .all = all, .uid = uid, .names_hidden = names_hidden };
	struct store_reader *reader = NULL;
	char why[READ_WHY_BYTES];

	CHECK_INT_EQ("opened", store_reader_open(db, &scope, why, &reader), 0);
	if (!reader)
		exit(1);
	return reader;
}

/* ---- which calls ---- */

static int count_one(const struct read_event *event, void *data)
{
	(void)event;
	++*(uint64_t *)data;
	return 0;
}

static void calls_test(struct sqlite3 *db)
{
	static const uint32_t pid_11[] = { 11 }, pid_13[] = { 13 }, pids[] = { 12, 21 }, waits[] = { WAIT },
			      nobody[] = { 4711 };
	static const struct {
		const char *name;
		bool all;
		uint32_t uid;
		struct read_filter filter;
		uint64_t want;
	} cases[] = {
		{ "everybody's", true, 0, { .from_unix_ns = 0 }, 100 + 40 + 50 + 20 + 10 },
		{ "her own, without the process of mixed ids",
		  false,
		  ALICE,
		  { .from_unix_ns = 0 },
		  100 + 30 + 20 + 10 },
		{ "his own", false, BOB, { .from_unix_ns = 0 }, 50 },
		{ "a stranger's", false, 3000, { .from_unix_ns = 0 }, 0 },
		{ "of another owner, asked for", false, ALICE, { .has_uid = true, .uid = BOB }, 0 },
		{ "of one owner, by who sees all", true, 0, { .has_uid = true, .uid = BOB }, 50 },
		{ "a pid in both boots", false, ALICE, { .pids = pid_11, .n_pids = 1 }, 100 + 20 + 5 },
		{ "a pid of mixed ids", false, ALICE, { .pids = pid_13, .n_pids = 1 }, 0 },
		{ "the same, by who sees all", true, 0, { .pids = pid_13, .n_pids = 1 }, 10 },
		{ "pids, one of them another's", false, ALICE, { .pids = pids, .n_pids = 2 }, 35 },
		{ "a pid that never was", true, 0, { .pids = nobody, .n_pids = 1 }, 0 },
		{ "an operation", false, ALICE, { .ops = waits, .n_ops = 1 }, 10 },
		{ "long ones", false, ALICE, { .min_duration_ns = SECOND / 4 }, 10 },
		{ "short ones", false, ALICE, { .max_duration_ns = 1000 }, 90 },
		{ "a block cut by the window", false, ALICE, { .to_unix_ns = UNIX + 10 * SECOND }, 10 },
		{ "its first moment counts, its last does not",
		  false,
		  ALICE,
		  { .from_unix_ns = UNIX + 10 * SECOND, .to_unix_ns = UNIX + 20 * SECOND },
		  10 },
		/* Seconds 1180 to 1190 by the wall clock: twice, as it was set back. */
		{ "a time that came twice",
		  false,
		  ALICE,
		  { .from_unix_ns = UNIX + 170 * SECOND, .to_unix_ns = UNIX + 175 * SECOND },
		  5 },
		{ "the other boot", false, ALICE, { .from_unix_ns = UNIX + 80000 * SECOND }, 5 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct store_reader *reader = open_as(db, cases[i].all, cases[i].uid, false);
		uint64_t walked = 0, counted = 0;

		CHECK_INT_EQ(cases[i].name, store_reader_events(reader, &cases[i].filter, count_one, &walked), 0);
		CHECK_INT_EQ(cases[i].name, walked, cases[i].want);
		CHECK_INT_EQ(cases[i].name, store_reader_count(reader, &cases[i].filter, &counted), 0);
		CHECK_INT_EQ(cases[i].name, counted, cases[i].want);
		store_reader_close(reader);
	}
}

static const struct {
	const char *name;
	struct read_filter filter;
} orders[] = {
	{ "oldest first", { .columns = BLOCK_ALL_COLUMNS } },
	{ "newest first", { .columns = BLOCK_ALL_COLUMNS, .newest_first = true } },
	{ "by the wall clock, oldest first", { .columns = BLOCK_ALL_COLUMNS, .by_wall_clock = true } },
	{ "by the wall clock, newest first",
	  { .columns = BLOCK_ALL_COLUMNS, .by_wall_clock = true, .newest_first = true } },
};

/* As the order asked for has it, whatever place the reader itself gave it. */
static struct read_time place_of(const struct read_event *event, bool by_wall_clock)
{
	return by_wall_clock ? (struct read_time){ .ns = event->start_unix_ns }
			     : (struct read_time){ .boot = event->process->boot, .ns = event->event->call.start_ns };
}

/* Walks `most` calls. Return: how many there were; those out of order or without their columns in ret_wrong */
static unsigned int order_walk(struct store_reader *reader, const struct read_filter *filter, unsigned int most,
			       unsigned int *ret_wrong, struct read_time *ret_last)
{
	struct read_order *order = NULL;
	struct read_event event;
	unsigned int n = 0;
	int r;

	*ret_wrong = 0;
	CHECK_INT_EQ("order", read_order_open(reader, filter, &order), 0);
	while (n < most && ((r = read_order_next(order, &event)) == 1 || r == -EAGAIN)) {
		struct read_time at;

		if (r == -EAGAIN)
			continue;
		at = place_of(&event, filter->by_wall_clock);
		*ret_wrong += n && (filter->newest_first ? read_time_is_before(ret_last, &at)
							 : read_time_is_before(&at, ret_last));
		*ret_wrong += event.event->call.duration_ns == 0 || event.event->call.tid == 0;
		*ret_last = at;
		n++;
	}
	CHECK("order", n == most || r == 0);
	read_order_close(order);
	return n;
}

static void order_test(struct sqlite3 *db)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct store_reader *reader = open_as(db, true, 0, false);
		struct read_filter filter = orders[i].filter;
		unsigned int n_wrong, n_before;
		struct read_time last;

		CHECK_INT_EQ(orders[i].name, order_walk(reader, &filter, UINT_MAX, &n_wrong, &last), 220);
		CHECK_INT_EQ(orders[i].name, n_wrong, 0);
		/* From where a walk stopped the rest goes on: twice are the calls of that very moment alone. */
		n_before = order_walk(reader, &filter, 150, &n_wrong, &filter.since);
		if (!filter.newest_first) {
			unsigned int n_after = order_walk(reader, &filter, UINT_MAX, &n_wrong, &last);

			CHECK(orders[i].name, n_before + n_after > 220 && n_before + n_after < 225);
			CHECK_INT_EQ(orders[i].name, n_wrong, 0);
		}
		store_reader_close(reader);
	}
}

/* ---- damage ---- */

static int gap_note(const Ingero__V1__Gap *gap, void *data)
{
	uint64_t *lost = data;

	if (strcmp(gap->reason, "damaged") == 0)
		*lost += gap->count;
	return 0;
}

static void damage_test(void)
{
	static const struct {
		const char *name;
		const char *sql;
		uint64_t left; /* of alice's 160 */
		uint64_t gone;
	} cases[] = {
		{ "a byte of a block", "UPDATE block_data SET data = CAST(zeroblob(length(data)) AS BLOB) WHERE id = 1",
		  60, 100 },
		{ "a block's contents gone", "DELETE FROM block_data WHERE id = 1", 60, 100 },
		{ "a block cut short", "UPDATE block_data SET data = substr(data, 1, 20) WHERE id = 2", 130, 40 },
		{ "a tail row's checksum", "UPDATE tail SET crc = crc + 1 WHERE boot = 1", 140, 20 },
		{ "a block's checksum", "UPDATE block SET crc = 0 WHERE id = 2", 130, 40 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sqlite3 *db = make();
		struct store_reader *reader;
		struct read_filter filter = { .columns = BLOCK_ALL_COLUMNS };
		uint64_t n = 0, lost = 0;

		world_exec(db, cases[i].sql);
		reader = open_as(db, false, ALICE, false);
		CHECK_INT_EQ(cases[i].name, store_reader_events(reader, &filter, count_one, &n), 0);
		CHECK_INT_EQ(cases[i].name, n, cases[i].left);
		CHECK_INT_EQ(cases[i].name, store_reader_events(reader, &filter, count_one, &n), 0); /* told once */
		CHECK_INT_EQ(cases[i].name, store_reader_gaps(reader, 0, 0, gap_note, &lost), 0);
		CHECK_INT_EQ(cases[i].name, lost, cases[i].gone);
		store_reader_close(reader);
		sqlite3_close(db);
	}
}

/* ---- figures ---- */

/* n calls in each row of a level from one second to another, `step` seconds each. */
static void rows_add(struct sqlite3 *db, int level, uint32_t uid, uint32_t process, uint64_t from, uint64_t to,
		     uint64_t step, uint64_t n)
{
	for (uint64_t t = from; t < to; t += step) {
		struct figures_blob blob = { .figures = { .items = NULL } };

		world_count(&blob, process, LAUNCH, n, 1000);
		world_figures(db, level, uid, 1, at(t), at(t + step), &blob);
		figures_blob_done(&blob);
	}
}

static void window_test(void)
{
	static const struct {
		const char *name;
		uint64_t from, to; /* seconds; 0: no bound */
		uint64_t calls;
		uint64_t really_from, really_to;
	} cases[] = {
		/* One call a second, all along; hours to 7200, minutes from 3600 on, 10 s from 7200 on. */
		{ "all of it, each call once", 0, 0, 7800, 0, 7800 },
		{ "at bounds of 10 s", 7210, 7230, 20, 7210, 7230 },
		{ "at bounds of a minute", 3660, 3780, 120, 3660, 3780 },
		{ "at bounds of an hour", 0, 3600, 3600, 0, 3600 },
		{ "over two resolutions", 7140, 7220, 80, 7140, 7220 },
		{ "between bounds: the nearest ones", 7214, 7236, 30, 7210, 7240 },
		{ "within an hour: that hour", 1000, 1010, 3600, 0, 3600 },
		{ "where nothing was", 20000, 30000, 0, 0, 0 },
	};
	struct sqlite3 *db = world_create(":memory:");
	struct store_reader *reader;

	world_boot(db, 1, 0, UNIX);
	world_process(db, ALICE_TRAIN, 1, 11, ALICE, 0, "train", 0);
	world_process(db, BOB_TRAIN, 1, 21, BOB, 0, "train", 0);
	rows_add(db, 3600, ALICE, ALICE_TRAIN, 0, 7200, 3600, 3600);
	rows_add(db, 60, ALICE, ALICE_TRAIN, 3600, 7800, 60, 60);
	rows_add(db, 10, ALICE, ALICE_TRAIN, 7200, 7800, 10, 10);
	rows_add(db, 60, BOB, BOB_TRAIN, 0, 600, 60, 7);
	reader = open_as(db, false, ALICE, false);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct read_window window;
		uint64_t from = cases[i].from ? UNIX + at(cases[i].from) : 0;
		uint64_t to = cases[i].to ? UNIX + at(cases[i].to) : 0;
		uint64_t calls = 0;

		CHECK_INT_EQ(cases[i].name, store_reader_window(reader, from, to, NULL, 0, &window), 0);
		for (size_t k = 0; k < window.figures.n; k++)
			calls += op_figures_count(&window.figures.items[k].figures);
		CHECK_INT_EQ(cases[i].name, calls, cases[i].calls);
		CHECK_INT_EQ(cases[i].name, window.figures.n, cases[i].calls != 0);
		if (cases[i].calls) {
			CHECK_INT_EQ(cases[i].name, (window.from_unix_ns - UNIX) / SECOND, cases[i].really_from);
			CHECK_INT_EQ(cases[i].name, (window.to_unix_ns - UNIX) / SECOND, cases[i].really_to);
		}
		read_window_done(&window);
	}
	store_reader_close(reader);
	sqlite3_close(db);
}

/* Processes of two owners, who started theirs in turns: each is summed over all rows, in order. */
static void in_turns_test(void)
{
	enum { HOURS = 3, EACH = 40 };
	struct sqlite3 *db = world_create(":memory:");
	struct read_window window;
	struct store_reader *reader;

	world_boot(db, 1, 0, UNIX);
	for (uint32_t p = 1; p <= 2 * EACH; p++)
		world_process(db, p, 1, 100 + p, p % 2 ? ALICE : BOB, 0, "train", 0);
	for (uint32_t hour = 0; hour < HOURS; hour++)
		for (uint32_t owner = 0; owner < 2; owner++) {
			struct figures_blob blob = { .figures = { .items = NULL } };

			/* In each hour the last ones are new. */
			for (uint32_t p = 2 - owner; p <= 2 * EACH * (hour + 1) / HOURS; p += 2)
				world_count(&blob, p, LAUNCH, p, 1000);
			world_figures(db, 3600, owner ? ALICE : BOB, 1, at(hour * 3600), at(hour * 3600 + 3600), &blob);
			figures_blob_done(&blob);
		}
	reader = open_as(db, true, 0, false);
	CHECK_INT_EQ("in turns", store_reader_window(reader, 0, 0, NULL, 0, &window), 0);
	CHECK_INT_EQ("in turns", window.figures.n, 2 * EACH);
	for (uint32_t i = 0; i < window.figures.n; i++) {
		const struct read_figures *f = &window.figures.items[i];
		uint32_t p = i + 1, hours = 0;

		for (uint32_t hour = 0; hour < HOURS; hour++)
			hours += p <= 2 * EACH * (hour + 1) / HOURS;
		CHECK_INT_EQ("in order", f->process->pid, 100 + p);
		CHECK_INT_EQ("summed", op_figures_count(&f->figures), hours * p);
	}
	read_window_done(&window);
	store_reader_close(reader);
	sqlite3_close(db);
}

/* Rows of 10 s that are half gone: the minute that has all of it is taken instead. */
static void half_gone_test(void)
{
	struct sqlite3 *db = world_create(":memory:");
	struct read_window window;
	struct store_reader *reader;

	world_boot(db, 1, 0, UNIX);
	world_process(db, ALICE_TRAIN, 1, 11, ALICE, 0, "train", 0);
	rows_add(db, 60, ALICE, ALICE_TRAIN, 0, 120, 60, 60);
	rows_add(db, 10, ALICE, ALICE_TRAIN, 30, 120, 10, 10);
	reader = open_as(db, false, ALICE, false);
	CHECK_INT_EQ("half gone", store_reader_window(reader, 0, 0, NULL, 0, &window), 0);
	CHECK_INT_EQ("half gone", window.figures.n, 1);
	if (window.figures.n)
		CHECK_INT_EQ("half gone", op_figures_count(&window.figures.items[0].figures), 120);
	read_window_done(&window);
	store_reader_close(reader);
	sqlite3_close(db);
}

/* Who was silent for a part of a minute has no rows of it: the rest is exact all the same. */
static void pause_test(void)
{
	static const struct {
		const char *name;
		uint64_t from, to;
		bool is_damaged; /* a row of the silence was one, and its checksum wrong */
		uint64_t calls;
	} cases[] = {
		{ "a minute with a pause", 60, 120, false, 20 },
		{ "what was before the pause", 60, 80, false, 10 },
		{ "what was behind it", 90, 120, false, 10 },
		{ "a row that was set aside: the minute has its calls", 60, 120, true, 20 },
		{ "over minutes", 60, 180, false, 80 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sqlite3 *db = world_create(":memory:");
		struct read_window window;
		struct store_reader *reader;
		uint64_t calls = 0;

		world_boot(db, 1, 0, UNIX);
		world_process(db, ALICE_TRAIN, 1, 11, ALICE, 0, "train", 0);
		rows_add(db, 60, ALICE, ALICE_TRAIN, 60, 120, 60, 20);
		rows_add(db, 60, ALICE, ALICE_TRAIN, 120, 180, 60, 60);
		rows_add(db, 10, ALICE, ALICE_TRAIN, 60, 70, 10, 10);
		rows_add(db, 10, ALICE, ALICE_TRAIN, 110, 120, 10, cases[i].is_damaged ? 5 : 10);
		rows_add(db, 10, ALICE, ALICE_TRAIN, 120, 180, 10, 10);
		if (cases[i].is_damaged)
			world_exec(db, "INSERT INTO gap(boot, t0, t1, reason, count, uid) VALUES(1, 80000000000,"
				       " 90000000000, 'damaged', 1, 1000)");
		reader = open_as(db, false, ALICE, false);
		CHECK_INT_EQ(
			cases[i].name,
			store_reader_window(reader, UNIX + at(cases[i].from), UNIX + at(cases[i].to), NULL, 0, &window),
			0);
		for (size_t k = 0; k < window.figures.n; k++)
			calls += op_figures_count(&window.figures.items[k].figures);
		CHECK_INT_EQ(cases[i].name, calls, cases[i].calls);
		read_window_done(&window);
		store_reader_close(reader);
		sqlite3_close(db);
	}
}

/* ---- findings ---- */

struct found {
	unsigned int n;
	uint32_t pid;
	char comm[32], words[32], takes[32];
	uint32_t processes;
	size_t n_advice;
	uint64_t start_unix_ns;
};

static int finding_note(const Ingero__V1__Finding *f, void *data)
{
	struct found *found = data;

	found->n++;
	found->pid = f->cause->pid;
	found->n_advice = f->n_advice;
	found->start_unix_ns = f->start_unix_ns;
	found->processes = f->cause->processes;
	(void)snprintf(found->comm, sizeof(found->comm), "%s", f->cause->comm);
	(void)snprintf(found->words, sizeof(found->words), "%s", f->cause->words);
	(void)snprintf(found->takes, sizeof(found->takes), "%s", f->cause->takes);
	return 0;
}

static void findings_test(void)
{
	static const struct {
		const char *name;
		bool all;
		uint32_t uid;
		bool hidden;
		uint64_t from, to; /* seconds of the wall clock after UNIX; 0: no bound */
		unsigned int n;
		uint32_t pid;
		const char *comm;
		size_t n_advice;
	} cases[] = {
		{ "the neighbour is named", false, ALICE, false, 0, 0, 1, 4242, "logrotate", 1 },
		{ "unless names are hidden", false, ALICE, true, 0, 0, 1, 0, "", 0 },
		{ "but to who sees all", true, 0, true, 0, 0, 2, 4242, "logrotate", 1 },
		{ "another's is missing", false, BOB, false, 0, 0, 0, 0, "", 0 },
		{ "it overlaps the window", false, ALICE, false, 15, 16, 1, 4242, "logrotate", 1 },
		{ "it was over before", false, ALICE, false, 21, 0, 0, 0, "", 0 },
		{ "it came after", false, ALICE, false, 0, 10, 0, 0, "", 0 },
	};
	struct sqlite3 *db = make();

	world_finding(db, "00000000000000aa", ALICE, 1, ALICE_TRAIN, 11, FINDING_HIGH, SECOND, at(1010), at(1020), 4242,
		      BOB, "logrotate");
	world_finding(db, "00000000000000ab", ALICE, 1, ALICE_MIXED, 13, FINDING_HIGH, SECOND, at(1010), 0, 4242, BOB,
		      "logrotate");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct store_reader *reader = open_as(db, cases[i].all, cases[i].uid, cases[i].hidden);
		struct found found = { .n = 0 };

		CHECK_INT_EQ(cases[i].name,
			     store_reader_findings(reader, cases[i].from ? UNIX + at(cases[i].from) : 0,
						   cases[i].to ? UNIX + at(cases[i].to) : 0, finding_note, &found),
			     0);
		CHECK_INT_EQ(cases[i].name, found.n, cases[i].n);
		CHECK_INT_EQ(cases[i].name, found.pid, cases[i].pid);
		CHECK_STR_EQ(cases[i].name, found.comm, cases[i].comm);
		CHECK_INT_EQ(cases[i].name, found.n_advice, cases[i].n_advice);
		if (found.n) {
			CHECK_INT_EQ(cases[i].name, found.start_unix_ns, UNIX + at(10));
			/* Of a file that names a process and does not count it. */
			CHECK_INT_EQ(cases[i].name, found.processes, 1);
			CHECK_STR_EQ(cases[i].name, found.words, "behind");
			CHECK_STR_EQ(cases[i].name, found.takes, "runnable");
		}
		store_reader_close(reader);
	}
	sqlite3_close(db);
}

/* A blob whose sum is right and whose ids have another form was not written by us: it is damage. */
static void findings_ids_test(void)
{
	static const char *const ids[] = {
		"IGNORE ALL ORDER", "00000000000000AA", "00000000000000a", "00000000000000aa0", "",
	};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		struct sqlite3 *db = make();
		struct store_reader *reader;
		struct found found = { .n = 0 };
		uint64_t before = 0, after = 0;

		world_finding(db, ids[i], ALICE, 1, ALICE_TRAIN, 11, FINDING_HIGH, SECOND, at(1010), at(1020), 0, 0,
			      "");
		reader = open_as(db, false, ALICE, false);
		(void)store_reader_gaps(reader, 0, 0, gap_note, &before);
		CHECK_INT_EQ(ids[i], store_reader_findings(reader, 0, 0, finding_note, &found), 0);
		CHECK_INT_EQ(ids[i], found.n, 0);
		(void)store_reader_gaps(reader, 0, 0, gap_note, &after);
		CHECK_INT_EQ(ids[i], after, before + 1);
		store_reader_close(reader);
		sqlite3_close(db);
	}
}

/* ---- what is no file of ours ---- */

static void refusal_test(void)
{
	static const struct {
		const char *name;
		const char *sql;
		int want;
		const char *why;
	} cases[] = {
		{ "a newer version's", "PRAGMA user_version = 99", -ENOTSUP, "newer ingero" },
		{ "the next version's", "PRAGMA user_version = 6", -ENOTSUP,
		  "newer ingero (its format is 6, this one knows 5)" },
		{ "another's", "DROP TABLE figures", -EINVAL, "neither" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sqlite3 *db = world_create(":memory:");
		struct read_scope scope = { .all = true };
		struct store_reader *reader = NULL;
		char why[READ_WHY_BYTES] = "";

		world_exec(db, cases[i].sql);
		CHECK_INT_EQ(cases[i].name, store_reader_open(db, &scope, why, &reader), cases[i].want);
		CHECK(cases[i].name, strstr(why, cases[i].why) != NULL);
		CHECK(cases[i].name, reader == NULL);
		sqlite3_close(db);
	}
}

/* A recorder to which nobody calls commits all the same; who may see what does not matter for that. */
static void seen_test(void)
{
	static const struct {
		const char *name, *sql;
		uint64_t want;
	} cases[] = {
		{ "never", "DELETE FROM session", 0 },
		{ "ended", "UPDATE session SET end_ns = seen_ns", 0 },
		{ "records", "SELECT 1", UNIX + 60 * SECOND },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sqlite3 *db = world_create(":memory:");
		struct store_reader *reader;
		uint64_t seen = 4711;

		world_boot(db, 1, at(1000), UNIX);
		world_exec(db,
			   "INSERT INTO session(boot, start_ns, version, kernel, back_end, cpus, memory_bytes, node,"
			   " seen_ns) VALUES(1, 1000000000000, '', '', '', 1, 1, '', 1060000000000)");
		world_exec(db, cases[i].sql);
		reader = open_as(db, false, ALICE, false);
		CHECK_INT_EQ(cases[i].name, store_reader_seen(reader, &seen), 0);
		CHECK_INT_EQ(cases[i].name, seen, cases[i].want);
		store_reader_close(reader);
		sqlite3_close(db);
	}
}

/* A call of Bob's and figures of Carol's, of an operation without a row in ops.def. */
static void others_add(struct sqlite3 *db)
{
	struct figures_blob blob = { .figures = { .n = 0 } };
	struct stored_event call;

	world_process(db, BOB_TRAIN, 1, 21, BOB, 0, "train", at(1000));
	world_process(db, CAROLS, 1, 31, CAROL, 0, "train", at(1000));
	call = world_event(BOB_TRAIN, OP_GIVEN, 21, at(1000), 1000);
	(void)world_block(db, BOB, 1, BOB_TRAIN, &call, 1);
	world_count(&blob, CAROLS, OP_GIVEN, 1, 1000);
	world_figures(db, 10, CAROL, 1, at(1000), at(1010), &blob);
	figures_blob_done(&blob);
}

/*
 * Names that came with a library, which may be another user's, are in no list of a caller of one user, and cannot be
 * guessed by one who has no rows of them.
 */
static void unlisted_test(void)
{
	static const struct {
		const char *name, *boot;
		bool all;
		uint32_t uid;
		bool want, is_found;
	} cases[] = {
		{ "who may see everything", "a boot", true, ALICE, false, true },
		{ "a user", "a boot", false, ALICE, true, false },
		{ "a user who has calls of it", "a boot", false, BOB, true, true },
		{ "a user who has figures of it", "a boot", false, CAROL, true, true },
		{ "of a file that was imported", "import:1", false, ALICE, false, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sqlite3 *db = world_create(":memory:");
		char sql[256];
		struct store_reader *reader;
		const struct read_op *op;
		uint32_t id;

		world_boot(db, 1, at(1000), UNIX);
		(void)snprintf(sql, sizeof(sql),
			       "UPDATE boot SET boot_id = '%s'; INSERT INTO op(id, source, name, short_name)"
			       " VALUES(%d, 'nccl', 'ncclOther', 'ncclOther')",
			       cases[i].boot, OP_GIVEN);
		world_exec(db, sql);
		others_add(db);
		reader = open_as(db, cases[i].all, cases[i].uid, false);
		CHECK_INT_EQ(cases[i].name, store_reader_find_op(reader, "NCCLOTHER", &id, 1), cases[i].is_found);
		op = store_reader_op(reader, OP_GIVEN);
		CHECK(cases[i].name, op && strcmp(op->name, "ncclOther") == 0);
		CHECK_INT_EQ(cases[i].name, op && op->is_unlisted, cases[i].want);
		op = store_reader_op(reader, LAUNCH);
		CHECK_INT_EQ(cases[i].name, op && op->is_unlisted, false);
		store_reader_close(reader);
		sqlite3_close(db);
	}
}

int main(void)
{
	unlisted_test();
	struct sqlite3 *db = make();

	calls_test(db);
	order_test(db);
	sqlite3_close(db);
	damage_test();
	window_test();
	half_gone_test();
	in_turns_test();
	pause_test();
	findings_test();
	findings_ids_test();
	refusal_test();
	seen_test();
	return check_result();
}
