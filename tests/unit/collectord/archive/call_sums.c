// SPDX-License-Identifier: Apache-2.0
/*
 * Calls summed by the stack that made them are the recorded ones, each once; the estimate of all calls is exact where
 * all were recorded, adds up to the figures where they were not, and goes to no stack where no record stands for it.
 */
#include "archive/read/call_sums.h"

#include <sqlite3.h>

#include "base/cleanup.h"
#include "tests/support/check.h"
#include "tests/support/read_world.h"

#define SECOND 1000000000ull
#define UNIX 1700000000000000000ull

enum { ALICE = 1000, BOB = 2000 };
enum { TRAIN = 1, SERVE, BOBS };
enum { MALLOC = 1, LAUNCH = 3 }; /* of ops.def */
enum { SLOW = RECORD_REASON_SLOW, SAMPLE = RECORD_REASON_SAMPLE, ALL = RECORD_REASON_ALL };

/* n records, a second apart from second `from` on, of this stack; 0: none. */
struct records {
	uint32_t process, op, stack, n;
	uint8_t reason;
	uint64_t from, duration_ns;
	uint8_t depth;
};

/* Exact figures of 10 s from second `from` on. */
struct counts {
	uint32_t process, op;
	uint64_t n, duration_ns;
	uint64_t from;
};

struct row {
	uint32_t stack; /* 0: none; the end of the list: count 0 and counted 0 */
	uint64_t count, counted, counted_ns;
	bool is_inner;
};

static const struct {
	const char *name;
	uint64_t from, to; /* window, seconds; 0: no bound */
	uint64_t figures_from, figures_to;
	struct records records[5];
	struct counts counts[3];
	struct row rows[5]; /* in order */
	bool is_sampled;
} cases[] = {
	{ .name = "nothing" },
	{ .name = "all were recorded",
	  .records = { { TRAIN, LAUNCH, 1, 6, ALL | SAMPLE, 0, 100, 0 }, { TRAIN, LAUNCH, 2, 4, ALL, 0, 1000, 0 } },
	  .counts = { { TRAIN, LAUNCH, 10, 460, 0 } },
	  .rows = { { 2, 4, 4, 4000, false }, { 1, 6, 6, 600, false } } },
	{ .name = "all were recorded, and some have no stack",
	  .records = { { TRAIN, LAUNCH, 1, 6, ALL, 0, 100, 0 }, { TRAIN, LAUNCH, 0, 4, ALL, 0, 100, 0 } },
	  .counts = { { TRAIN, LAUNCH, 10, 100, 0 } },
	  .rows = { { 1, 6, 6, 600, false }, { 0, 4, 4, 400, false } } },
	{ .name = "one in a hundred: by the shares of the records",
	  .records = { { TRAIN, LAUNCH, 1, 3, SAMPLE, 0, 100, 0 }, { TRAIN, LAUNCH, 2, 1, SAMPLE, 0, 300, 0 } },
	  .counts = { { TRAIN, LAUNCH, 400, 200, 0 } },
	  .rows = { { 1, 3, 300, 40000, false }, { 2, 1, 100, 40000, false } },
	  .is_sampled = true },
	{ .name = "slow ones count as they are",
	  .records = { { TRAIN, LAUNCH, 1, 1, SAMPLE, 0, 100, 0 },
		       { TRAIN, LAUNCH, 2, 1, SAMPLE, 0, 100, 0 },
		       { TRAIN, LAUNCH, 2, 5, SLOW, 0, 10000, 0 },
		       { TRAIN, LAUNCH, 3, 1, SLOW | SAMPLE, 0, 10000, 0 } },
	  .counts = { { TRAIN, LAUNCH, 206, 400, 0 } },
	  .rows = { { 2, 6, 105, 61200, false }, { 1, 1, 100, 11200, false }, { 3, 1, 1, 10000, false } },
	  .is_sampled = true },
	{ .name = "odd shares add up",
	  .records = { { TRAIN, LAUNCH, 1, 1, SAMPLE, 0, 100, 0 },
		       { TRAIN, LAUNCH, 2, 1, SAMPLE, 0, 100, 0 },
		       { TRAIN, LAUNCH, 3, 1, SAMPLE, 0, 100, 0 } },
	  .counts = { { TRAIN, LAUNCH, 100, 100, 0 } },
	  .rows = { { 3, 1, 34, 3334, false }, { 1, 1, 33, 3333, false }, { 2, 1, 33, 3333, false } },
	  .is_sampled = true },
	{ .name = "no record stands for the others: they belong to no stack",
	  .records = { { TRAIN, LAUNCH, 1, 2, SLOW, 0, 1000, 0 } },
	  .counts = { { TRAIN, LAUNCH, 52, 100, 0 } },
	  .rows = { { 0, 0, 50, 3200, false }, { 1, 2, 2, 2000, false } },
	  .is_sampled = true },
	{ .name = "no record at all",
	  .counts = { { TRAIN, LAUNCH, 7, 100, 0 } },
	  .rows = { { 0, 0, 7, 700, false } },
	  .is_sampled = true },
	{ .name = "each operation and process by itself",
	  .records = { { TRAIN, LAUNCH, 1, 1, SAMPLE, 0, 100, 0 },
		       { SERVE, LAUNCH, 1, 1, SAMPLE, 0, 100, 0 },
		       { TRAIN, MALLOC, 1, 2, ALL, 0, 50, 0 } },
	  .counts = { { TRAIN, LAUNCH, 10, 100, 0 }, { SERVE, LAUNCH, 20, 100, 0 }, { TRAIN, MALLOC, 2, 50, 0 } },
	  .rows = { { 1, 1, 20, 2000, false }, { 1, 1, 10, 1000, false }, { 1, 2, 2, 100, false } },
	  .is_sampled = true },
	{ .name = "a file that does not tell why calls are there",
	  .records = { { TRAIN, LAUNCH, 1, 3, 0, 0, 100, 0 }, { TRAIN, LAUNCH, 2, 1, 0, 0, 100, 0 } },
	  .counts = { { TRAIN, LAUNCH, 40, 100, 0 } },
	  .rows = { { 1, 3, 30, 3000, false }, { 2, 1, 10, 1000, false } },
	  .is_sampled = true },
	{ .name = "more records than calls were counted",
	  .records = { { TRAIN, LAUNCH, 1, 5, SAMPLE, 0, 100, 0 } },
	  .counts = { { TRAIN, LAUNCH, 3, 100, 0 } },
	  .rows = { { 1, 5, 5, 500, false } } },
	{ .name = "a call across the bounds of a window is no sample",
	  .to = 10,
	  .figures_to = 10,
	  .records = { { TRAIN, LAUNCH, 1, 5, ALL, 0, 100, 0 } },
	  .counts = { { TRAIN, LAUNCH, 6, 100, 0 } },
	  .rows = { { 1, 5, 5, 500, false } } },
	{ .name = "a window of whole rows",
	  .from = 10,
	  .to = 20,
	  .figures_from = 10,
	  .figures_to = 20,
	  .records = { { TRAIN, LAUNCH, 1, 5, SAMPLE, 0, 100, 0 },
		       { TRAIN, LAUNCH, 2, 2, SAMPLE, 10, 100, 0 },
		       { TRAIN, LAUNCH, 1, 2, SAMPLE, 12, 100, 0 } },
	  .counts = { { TRAIN, LAUNCH, 500, 100, 0 }, { TRAIN, LAUNCH, 400, 100, 10 } },
	  .rows = { { 1, 2, 200, 20000, false }, { 2, 2, 200, 20000, false } },
	  .is_sampled = true },
	{ .name = "a window within a row: its records, at the rate of the row",
	  .from = 10,
	  .to = 12,
	  .figures_from = 10,
	  .figures_to = 20,
	  .records = { { TRAIN, LAUNCH, 1, 4, SAMPLE, 10, 100, 0 }, { TRAIN, LAUNCH, 2, 4, SAMPLE, 14, 100, 0 } },
	  .counts = { { TRAIN, LAUNCH, 800, 100, 10 } },
	  .rows = { { 1, 2, 200, 20000, false } },
	  .is_sampled = true },
	{ .name = "calls within other ones are rows of their own",
	  .records = { { TRAIN, LAUNCH, 1, 2, ALL, 0, 100, 0 },
		       { TRAIN, LAUNCH, 1, 3, ALL, 4, 100, 1 },
		       { TRAIN, LAUNCH, 0, 1, ALL, 8, 100, 2 },
		       { TRAIN, LAUNCH, 0, 4, ALL, 10, 100, 0 } },
	  .counts = { { TRAIN, LAUNCH, 10, 100, 0 } },
	  .rows = { { 0, 4, 4, 400, false },
		    { 1, 3, 3, 300, true },
		    { 1, 2, 2, 200, false },
		    { 0, 1, 1, 100, true } } },
	{ .name = "calls within other ones: by the shares of the records",
	  .records = { { TRAIN, LAUNCH, 1, 3, SAMPLE, 0, 100, 0 }, { TRAIN, LAUNCH, 1, 1, SAMPLE, 4, 300, 1 } },
	  .counts = { { TRAIN, LAUNCH, 400, 200, 0 } },
	  .rows = { { 1, 3, 300, 40000, false }, { 1, 1, 100, 40000, true } },
	  .is_sampled = true },
	{ .name = "no record stands for the others: within other calls where all records are",
	  .records = { { TRAIN, LAUNCH, 1, 2, SLOW, 0, 1000, 1 } },
	  .counts = { { TRAIN, LAUNCH, 52, 100, 0 } },
	  .rows = { { 0, 0, 50, 3200, true }, { 1, 2, 2, 2000, true } },
	  .is_sampled = true },
	{ .name = "no record stands for the others: not known where one is in none",
	  .records = { { TRAIN, LAUNCH, 1, 2, SLOW, 0, 1000, 1 }, { TRAIN, LAUNCH, 1, 1, SLOW, 4, 1000, 0 } },
	  .counts = { { TRAIN, LAUNCH, 53, 100, 0 } },
	  .rows = { { 0, 0, 50, 2300, false }, { 1, 2, 2, 2000, true }, { 1, 1, 1, 1000, false } },
	  .is_sampled = true },
	{ .name = "another user's",
	  .records = { { BOBS, LAUNCH, 4, 5, SAMPLE, 0, 100, 0 }, { TRAIN, LAUNCH, 1, 1, ALL, 0, 100, 0 } },
	  .counts = { { BOBS, LAUNCH, 500, 100, 0 }, { TRAIN, LAUNCH, 1, 100, 0 } },
	  .rows = { { 1, 1, 1, 100, false } } },
};

static uint32_t owner_of(uint32_t process)
{
	return process == BOBS ? BOB : ALICE;
}

static struct sqlite3 *make(void)
{
	struct sqlite3 *db = world_create(":memory:");

	world_boot(db, 1, 0, UNIX);
	world_process(db, TRAIN, 1, 11, ALICE, 0, "train", 0);
	world_process(db, SERVE, 1, 12, ALICE, 0, "serve", 0);
	world_process(db, BOBS, 1, 21, BOB, 0, "train", 0);
	for (uint32_t i = 1; i <= 4; i++)
		world_stack(db, i, i == 4 ? BOB : ALICE, false, i == 2 ? "it is cut" : "",
			    &(struct world_frame){ .ip = i, .symbol = "f" }, 1);
	return db;
}

static void records_put(struct sqlite3 *db, const struct records *r)
{
	struct stored_event e[16];

	for (uint32_t i = 0; i < r->n; i++) {
		e[i] = world_event(r->process, r->op, 5, (r->from + i) * SECOND, r->duration_ns);
		e[i].call.reason = r->reason;
		e[i].call.depth = r->depth;
		e[i].call.args[0] = 8;
		e[i].call.ret = i == 3;
		e[i].stack = r->stack;
	}
	if (r->n)
		(void)world_block(db, owner_of(r->process), 1, r->process, e, r->n);
}

static uint64_t wall(uint64_t second)
{
	return second ? UNIX + second * SECOND : 0;
}

static void estimate_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct call_sums_wish wish = { .from_unix_ns = wall(cases[i].from),
						     .to_unix_ns = wall(cases[i].to),
						     .figures_from_ns = wall(cases[i].figures_from),
						     .figures_to_ns = wall(cases[i].figures_to) };
		const struct read_scope scope = { .uid = ALICE };
		CLEANUP(call_sums_done) struct call_sums sums = { .row_slots = NULL };
		struct store_reader *reader = NULL;
		struct sqlite3 *db = make();
		char why[READ_WHY_BYTES];
		uint64_t n = 0, n_without = 0, n_incomplete = 0;
		size_t n_rows = 0;

		for (size_t k = 0; k < ARRAY_SIZE(cases[i].records); k++)
			records_put(db, &cases[i].records[k]);
		for (size_t k = 0; k < ARRAY_SIZE(cases[i].counts) && cases[i].counts[k].n; k++) {
			const struct counts *c = &cases[i].counts[k];
			struct figures_blob blob = { .figures = { .items = NULL } };

			world_count(&blob, c->process, c->op, c->n, c->duration_ns);
			world_figures(db, 10, owner_of(c->process), 1, c->from * SECOND, (c->from + 10) * SECOND,
				      &blob);
			figures_blob_done(&blob);
		}
		CHECK_INT_EQ(cases[i].name, store_reader_open(db, &scope, why, &reader), 0);
		CHECK_INT_EQ(cases[i].name, call_sums_read(reader, &wish, &sums), 0);
		for (; n_rows < ARRAY_SIZE(cases[i].rows); n_rows++) {
			const struct row *want = &cases[i].rows[n_rows];
			const struct call_sum *got = &sums.rows.items[n_rows];

			if (!want->count && !want->counted)
				break;
			n += want->count;
			n_without += want->stack ? 0 : want->count;
			n_incomplete += want->stack == 2 ? want->count : 0;
			if (n_rows >= sums.rows.n)
				continue;
			CHECK_INT_EQ(cases[i].name, got->stack, want->stack);
			CHECK_INT_EQ(cases[i].name, got->count, want->count);
			CHECK_INT_EQ(cases[i].name, got->counted, want->counted);
			CHECK_INT_EQ(cases[i].name, got->counted_ns, want->counted_ns);
			CHECK_INT_EQ(cases[i].name, got->is_inner, want->is_inner);
		}
		CHECK_INT_EQ(cases[i].name, sums.rows.n, n_rows);
		CHECK_INT_EQ(cases[i].name, sums.calls, n);
		CHECK_INT_EQ(cases[i].name, sums.without, n_without);
		CHECK_INT_EQ(cases[i].name, sums.incomplete, n_incomplete);
		CHECK_INT_EQ(cases[i].name, sums.merged, 0);
		CHECK_INT_EQ(cases[i].name, sums.is_sampled, cases[i].is_sampled);
		store_reader_close(reader);
		sqlite3_close(db);
	}
}

/* All else that a row has; and rows put together. */
static void sums_test(void)
{
	const struct records records[] = { { TRAIN, MALLOC, 1, 5, ALL, 0, 1000, 0 },
					   { TRAIN, MALLOC, 1, 1, ALL, 6, 9000, 0 },
					   { TRAIN, MALLOC, 3, 2, ALL, 7, 50, 0 } };
	const struct call_sums_wish wish = { .from_unix_ns = 0 };
	const struct read_scope scope = { .all = true };
	CLEANUP(call_sums_done) struct call_sums sums = { .row_slots = NULL };
	struct store_reader *reader = NULL;
	struct sqlite3 *db = make();
	char why[READ_WHY_BYTES];
	struct call_sum *sum;

	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		records_put(db, &records[i]);
	CHECK_INT_EQ("sums", store_reader_open(db, &scope, why, &reader), 0);
	CHECK_INT_EQ("sums", call_sums_read(reader, &wish, &sums), 0);
	CHECK_INT_EQ("rows", sums.rows.n, 2);
	if (sums.rows.n == 2) {
		sum = &sums.rows.items[0];
		CHECK_INT_EQ("calls", sum->count, 6);
		CHECK_INT_EQ("time", sum->total_ns, 14000);
		CHECK_INT_EQ("raw time", sum->raw_ns, 14600);
		CHECK_INT_EQ("the longest", sum->max_ns, 9000);
		CHECK_INT_EQ("errors", sum->errors, 1);
		CHECK_INT_EQ("bytes of calls that did not fail", sum->bytes, 5 * 8);
		CHECK_INT_EQ("blame", sum->blame_ns[BLAME_RUNNABLE], 7000);
		CHECK_INT_EQ("durations", sum->durations.sum, 6);
		CHECK_INT_EQ("put together", call_sum_merge(sum, &sums.rows.items[1]), 0);
		CHECK_INT_EQ("calls", sum->count, 8);
		CHECK_INT_EQ("time", sum->total_ns, 14100);
		CHECK_INT_EQ("the longest", sum->max_ns, 9000);
		CHECK_INT_EQ("bytes", sum->bytes, 7 * 8);
		CHECK_INT_EQ("durations", sum->durations.sum, 8);
		CHECK_INT_EQ("estimate", sum->counted, 8);
	}
	store_reader_close(reader);
	sqlite3_close(db);
}

/* More stacks than an answer may have: their calls are summed without them, and that is told. */
static void limit_test(void)
{
	enum { MORE = 1000, STEP = 4096 };
	const struct call_sums_wish wish = { .from_unix_ns = 0 };
	const struct read_scope scope = { .all = true };
	CLEANUP(call_sums_done) struct call_sums sums = { .row_slots = NULL };
	static struct stored_event e[STEP];
	struct store_reader *reader = NULL;
	struct sqlite3 *db = make();
	char why[READ_WHY_BYTES], sql[512];
	uint64_t n = 0;

	(void)snprintf(sql, sizeof(sql),
		       "WITH RECURSIVE c(x) AS (SELECT 5 UNION ALL SELECT x + 1 FROM c LIMIT %d) INSERT INTO stack"
		       " SELECT x, 1000, 1, 0, 0, 0, 'cut at ' || x, x'', 0 FROM c",
		       CALL_SUMS_MAX + MORE);
	world_exec(db, sql);
	for (uint32_t from = 0; from < CALL_SUMS_MAX + MORE; from += STEP) {
		uint32_t n_here = MIN(STEP, CALL_SUMS_MAX + MORE - from);

		for (uint32_t i = 0; i < n_here; i++) {
			e[i] = world_event(TRAIN, LAUNCH, 5, (from + i) * 1000, 100);
			e[i].stack = 5 + from + i;
		}
		(void)world_block(db, ALICE, 1, TRAIN, e, n_here);
	}
	CHECK_INT_EQ("limit", store_reader_open(db, &scope, why, &reader), 0);
	CHECK_INT_EQ("limit", call_sums_read(reader, &wish, &sums), 0);
	CHECK_INT_EQ("rows", sums.rows.n, CALL_SUMS_MAX + 1);
	CHECK_INT_EQ("told", sums.merged, MORE);
	CHECK_INT_EQ("not without a stack", sums.without, 0);
	for (size_t i = 0; i < sums.rows.n; i++)
		n += sums.rows.items[i].count;
	CHECK_INT_EQ("no call is missing", n, CALL_SUMS_MAX + MORE);
	if (sums.rows.n)
		CHECK_INT_EQ("the row without a stack has them", sums.rows.items[0].count, MORE);
	store_reader_close(reader);
	sqlite3_close(db);
}

int main(void)
{
	estimate_test();
	sums_test();
	limit_test();
	return check_result();
}
