// SPDX-License-Identifier: Apache-2.0
/*
 * Counts and percentiles of any window are those of the calls in it, exactly, at the bounds of what is kept: random
 * seconds with random calls, written by the recorder and read again at once, after it has ended, and a day later.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "events/op.h"
#include "figures/tick.h"
#include "archive/read/read.h"
#include "tests/support/check.h"
#include "tests/support/store_world.h"

#define RUNS 1
#define TICKS 5200 /* of about a second: more than an hour, so that there are minutes without their ten seconds */
#define PROCESSES 3
#define OPS 2
#define CALLS_MOST 6 /* of an operation in a tick */
#define WINDOWS 60
#define SLOW_TICKS 64 /* each in a batch of its own */
#define SECOND NSEC_PER_SEC
#define DAY_NS (86400 * SECOND)

static const double ratios[] = { 0, 0.25, 0.5, 0.95, 0.99, 1 };

/* What really happened. */
struct moment {
	uint64_t from_unix_ns, to_unix_ns;
	uint32_t calls[PROCESSES][OPS][CALLS_MOST]; /* durations; 0: none */
};

struct truth {
	struct store_world world;
	struct moment *moments;
	size_t n;
	uint64_t seed;
	bool pauses; /* the process of one owner makes no calls in three seconds of ten */
};

static uint64_t random_below(struct truth *t, uint64_t n)
{
	/* splitmix64 */
	uint64_t z = t->seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (z ^ (z >> 31)) % n;
}

static uint64_t unix_of(const struct truth *t, uint64_t mono_ns)
{
	return mono_ns + (uint64_t)t->world.offset_ns;
}

static void moment_play(struct truth *t, struct store *store)
{
	struct tick tick = { .from_ns = t->world.now_ns };
	struct process processes[PROCESSES] = { 0 };
	struct moment *m = &t->moments[t->n++];

	t->world.now_ns += SECOND / 2 + random_below(t, SECOND);
	tick.to_ns = t->world.now_ns;
	*m = (struct moment){ .from_unix_ns = unix_of(t, tick.from_ns), .to_unix_ns = unix_of(t, tick.to_ns) };
	for (uint32_t p = 0; p < PROCESSES; p++) {
		struct tick_process process = { .process = &processes[p], .first_call_ns = WORLD_FIRST_NS };

		processes[p].identity = (struct process_identity){
			.start_boot_ns = 1000 + p, .start_unix_ns = 5000 + p, .tgid = 100 + p, .uid = 1000 + p % 2
		};
		for (uint32_t op = 0; op < OPS; op++) {
			struct tick_op row = { .op = op_get((int)op + 1) };
			bool is_paused = t->pauses && p == 1 && t->n % 10 < 3;
			uint64_t n = is_paused ? 0 : random_below(t, CALLS_MOST + 1);

			for (uint64_t i = 0; i < n; i++) {
				uint32_t ns = (uint32_t)(1 + random_below(t, 1ull << (1 + random_below(t, 30))));

				m->calls[p][op][i] = ns;
				row.figures.total_ns += ns;
				row.figures.raw_ns += ns;
				row.figures.max_ns = MAX(row.figures.max_ns, ns);
				CHECK("add", histogram_add(&row.figures.durations, histogram_bucket_of(ns), 1) == 0);
			}
			if (n)
				CHECK("op", ARRAY_PUSH(&process.ops, row) == 0);
		}
		if (process.ops.n)
			CHECK("process", ARRAY_PUSH(&tick.processes, process) == 0);
	}
	store_tick(store, &tick);
	tick_done(&tick);
}

/* Figures of the calls that were in [from, to). Return: how many seconds lie across a bound */
static unsigned int truth_of(const struct truth *t, uint64_t from, uint64_t to, uint32_t p, uint32_t op,
			     struct op_figures *ret)
{
	unsigned int n_cut = 0;

	*ret = (struct op_figures){ .total_ns = 0 };
	for (size_t i = 0; i < t->n; i++) {
		const struct moment *m = &t->moments[i];
		bool is_in = m->from_unix_ns >= from && m->to_unix_ns <= to;

		n_cut += !is_in && m->to_unix_ns > from && m->from_unix_ns < to;
		for (size_t k = 0; is_in && k < CALLS_MOST && m->calls[p][op][k]; k++) {
			ret->total_ns += m->calls[p][op][k];
			ret->max_ns = MAX(ret->max_ns, m->calls[p][op][k]);
			(void)histogram_add(&ret->durations, histogram_bucket_of(m->calls[p][op][k]), 1);
		}
	}
	return n_cut;
}

static void reader_closep(struct store_reader **reader)
{
	store_reader_close(*reader);
}

static void db_closep(sqlite3 **db)
{
	(void)sqlite3_close(*db);
}

static const struct op_figures *found(const struct read_window *window, uint32_t p, uint32_t op)
{
	static const struct op_figures nothing;

	for (size_t i = 0; i < window->figures.n; i++) {
		const struct read_figures *row = &window->figures.items[i];

		if (row->process->pid == 100 + p && row->op && row->op->id == op + 1)
			return &row->figures;
	}
	return &nothing;
}

/* @off_ns: how far the bounds of the answer may be from those of the question */
static void window_check(const char *when, struct truth *t, struct store_reader *reader, uint64_t from, uint64_t to,
			 uint64_t off_ns)
{
	CLEANUP(read_window_done) struct read_window window = { .from_unix_ns = 0 };

	CHECK_INT_EQ(when, store_reader_window(reader, from, to, NULL, 0, &window), 0);
	CHECK(when, window.to_unix_ns > 0); /* there are calls all the time */
	if (from && window.from_unix_ns)
		CHECK(when, window.from_unix_ns + off_ns >= from && window.from_unix_ns <= from + off_ns);
	if (to && window.to_unix_ns)
		CHECK(when, window.to_unix_ns + off_ns >= to && window.to_unix_ns <= to + off_ns);
	for (uint32_t p = 0; p < PROCESSES; p++)
		for (uint32_t op = 0; op < OPS; op++) {
			const struct op_figures *got = found(&window, p, op);
			struct op_figures want;

			CHECK_INT_EQ(when, truth_of(t, window.from_unix_ns, window.to_unix_ns, p, op, &want), 0);
			CHECK_INT_EQ(when, op_figures_count(got), op_figures_count(&want));
			CHECK_INT_EQ(when, got->total_ns, want.total_ns);
			CHECK_INT_EQ(when, got->max_ns, want.max_ns);
			for (size_t i = 0; i < ARRAY_SIZE(ratios); i++)
				CHECK_INT_EQ(when, histogram_quantile(&got->durations, ratios[i], got->max_ns),
					     histogram_quantile(&want.durations, ratios[i], want.max_ns));
			op_figures_done(&want);
		}
}

static void file_check(const char *when, struct truth *t, uint64_t fine_from_unix_ns)
{
	CLEANUP(db_closep) sqlite3 *db = NULL;
	CLEANUP(reader_closep) struct store_reader *reader = NULL;
	struct read_scope scope = { .all = true };
	uint64_t first = t->moments[0].from_unix_ns, last = t->moments[t->n - 1].to_unix_ns;
	char why[READ_WHY_BYTES];

	CHECK_INT_EQ(when, sqlite3_open_v2(t->world.path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	CHECK_INT_EQ(when, sqlite3_exec(db, "BEGIN", NULL, NULL, NULL), SQLITE_OK); /* as the reader child does */
	CHECK_INT_EQ(when, store_reader_open(db, &scope, why, &reader), 0);
	if (!reader)
		return;
	window_check(when, t, reader, 0, 0, 0);
	for (int i = 0; i < WINDOWS; i++) {
		uint64_t from = first + random_below(t, last - first);
		uint64_t to = from + 1 + random_below(t, last - from);
		/* The nearest bound is half a row away, of a tick that did not end on it; a window shorter than the
		 * rows gets those that it lies in, whole. */
		uint64_t level_ns = from >= fine_from_unix_ns ? 10 * SECOND : 60 * SECOND;

		window_check(when, t, reader, from, to, (to - from < level_ns ? level_ns : level_ns / 2) + 2 * SECOND);
		window_check(when, t, reader, from / level_ns * level_ns,
			     MIN(to / level_ns * level_ns + level_ns, last), level_ns / 2 + 2 * SECOND);
	}
}

static void run(uint64_t seed)
{
	struct truth t = { .moments = calloc(TICKS, sizeof(struct moment)), .seed = seed };
	struct store *store;
	uint64_t now_unix_ns;

	CHECK("memory", t.moments != NULL);
	store_world_init(&t.world);
	store = store_world_open(&t.world);
	for (size_t i = 0; t.moments && i < TICKS; i++) {
		moment_play(&t, store);
		if (i % 64 == 0)
			CHECK_INT_EQ("flush", store_flush(store), 0);
	}
	CHECK_INT_EQ("flush", store_flush(store), 0);
	now_unix_ns = unix_of(&t, t.world.now_ns);
	/* The last hour is kept in ten seconds; what is older may be, until it is looked through. */
	file_check("while it records", &t, now_unix_ns - 3500 * SECOND);
	store_close(store);
	file_check("right after", &t, now_unix_ns - 3500 * SECOND);

	t.world.now_ns += DAY_NS;
	store_close(store_world_open(&t.world));
	file_check("a day later", &t, UINT64_MAX);
	store_world_done(&t.world);
	free(t.moments);
}

/*
 * The rows of an owner without calls at the bounds of ten seconds are shorter than those of another owner. An answer
 * has either both rows or none.
 */
static void run_pauses(void)
{
	struct truth t = { .moments = calloc(SLOW_TICKS, sizeof(struct moment)), .seed = 3, .pauses = true };
	CLEANUP(db_closep) sqlite3 *db = NULL;
	CLEANUP(reader_closep) struct store_reader *reader = NULL;
	struct read_scope scope = { .all = true };
	char why[READ_WHY_BYTES];
	struct store *store;

	CHECK("memory", t.moments != NULL);
	store_world_init(&t.world);
	store = store_world_open(&t.world);
	for (size_t i = 0; t.moments && i < SLOW_TICKS; i++) {
		moment_play(&t, store);
		CHECK_INT_EQ("flush", store_flush(store), 0);
	}
	CHECK_INT_EQ("pauses", sqlite3_open_v2(t.world.path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	CHECK_INT_EQ("pauses", store_reader_open(db, &scope, why, &reader), 0);
	for (uint64_t from = 0; reader && from < SLOW_TICKS * SECOND / 2; from += SECOND / 4)
		window_check("pauses", &t, reader, t.moments[0].from_unix_ns + from,
			     t.moments[0].from_unix_ns + from + 20 * SECOND, 7 * SECOND);
	store_reader_close(reader);
	reader = NULL;
	store_close(store);
	store_world_done(&t.world);
	free(t.moments);
}

int main(void)
{
	run_pauses();
	for (uint64_t i = 0; i < RUNS; i++)
		run(i + 1);
	return check_result();
}
