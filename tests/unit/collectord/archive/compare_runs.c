// SPDX-License-Identifier: Apache-2.0
/*
 * Runs of a program in a recording: processes that overlap or begin soon after each other are of one run, whatever
 * their ids; of an id that was given again the last process counts; others' runs are none.
 */
#include "archive/questions/compare_runs.h"

#include <errno.h>
#include <sqlite3.h>

#include "base/cleanup.h"
#include "tests/support/check.h"
#include "tests/support/read_world.h"

#define SECOND 1000000000ull
#define UNIX 1700000000000000000ull

enum { ALICE = 1000, BOB = 2000 };
enum { LAUNCH = 3 }; /* of ops.def */

static const struct {
	uint32_t id, pid, uid;
	const char *comm, *script;
	uint32_t first_s, gone_s; /* 0: no call; not seen to end */
} processes[] = {
	{ 1, 100, ALICE, "python3", "train.py", 10, 70 },
	{ 2, 101, ALICE, "python3", "train.py", 12, 71 },   /* a rank of the same run */
	{ 3, 102, ALICE, "python3", "train.py", 60, 75 },   /* begins before they end */
	{ 4, 200, ALICE, "python3", "train.py", 100, 0 },   /* its end was not seen */
	{ 5, 201, ALICE, "python3", "train.py", 109, 0 },   /* soon after it */
	{ 6, 100, ALICE, "python3", "train.py", 300, 350 }, /* an id that was given again */
	{ 7, 400, ALICE, "python3", "serve.py", 20, 400 },
	{ 8, 401, ALICE, "etl", "", 0, 0 }, /* made no call */
	{ 9, 500, BOB, "python3", "train.py", 500, 550 },
};

static const struct {
	const char *name;
	const char *program;
	uint32_t back;
	int result;
	size_t n_runs;
	uint32_t ids[4];
} runs[] = {
	{ "the last", "train.py", 0, 0, 3, { 6 } },
	{ "the one before: ends unseen", "train.py", 1, 0, 3, { 4, 5 } },
	{ "the first: its ranks", "train.py", 2, 0, 3, { 1, 2, 3 } },
	{ "none before", "train.py", 3, -ENOENT, 3, { 0 } },
	{ "very many before", "train.py", UINT32_MAX, -ENOENT, 3, { 0 } },
	{ "by the name of the process: with what runs beside", "python3", 0, 0, 1, { 1, 2, 7, 3 } },
	{ "no call", "etl", 0, -ENOENT, 0, { 0 } },
	{ "nobody has that name", "train", 0, -ENOENT, 0, { 0 } },
};

static const struct {
	const char *name;
	uint32_t pids[2];
	uint32_t ids[2]; /* 0: none */
} lasts[] = {
	{ "an id that was given again", { 100, 101 }, { 6, 2 } },
	{ "one made no call", { 401, 400 }, { 7, 0 } },
	{ "another user's", { 500, 200 }, { 4, 0 } },
};

/* 10 s with calls. */
static void figures_put(struct sqlite3 *db, size_t i)
{
	struct figures_blob blob = { .figures = { .items = NULL } };
	uint64_t from_ns = processes[i].first_s * SECOND;

	world_count(&blob, processes[i].id, LAUNCH, 7, 1000);
	world_figures(db, 10, processes[i].uid, 1, from_ns, from_ns + 10 * SECOND, &blob);
	figures_blob_done(&blob);
}

static struct sqlite3 *recording_make(void)
{
	struct sqlite3 *db = world_create(":memory:");

	world_boot(db, 1, 0, UNIX);
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++) {
		char sql[160];

		world_process(db, processes[i].id, 1, processes[i].pid, processes[i].uid, 0, processes[i].comm,
			      processes[i].first_s * SECOND);
		(void)snprintf(sql, sizeof(sql),
			       "UPDATE process SET script = nullif('%s', ''), gone_ns = nullif(%u, 0) * 1000000000 "
			       "WHERE id = %u",
			       processes[i].script, processes[i].gone_s, processes[i].id);
		world_exec(db, sql);
		if (processes[i].first_s)
			figures_put(db, i);
	}
	return db;
}

static void ids_check(const char *name, const process_ids_wanted *ids, const uint32_t *want, size_t most)
{
	size_t n = 0;

	while (n < most && want[n])
		n++;
	/* the row of all programs has more than the table shows */
	CHECK(name, ids->n == n || (n == most && ids->n > n));
	for (size_t i = 0; i < n && i < ids->n; i++)
		CHECK_INT_EQ(name, ids->items[i], want[i]);
}

int main(void)
{
	const struct read_scope scope = { .uid = ALICE };
	struct sqlite3 *db = recording_make();
	struct store_reader *reader = NULL;
	char why[READ_WHY_BYTES];

	CHECK_INT_EQ("open", store_reader_open(db, &scope, why, &reader), 0);
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		process_ids_wanted ids = { .items = NULL };
		size_t n_runs = 0;

		CHECK_INT_EQ(runs[i].name, compare_run(reader, runs[i].program, runs[i].back, &ids, &n_runs),
			     runs[i].result);
		CHECK_INT_EQ(runs[i].name, n_runs, runs[i].n_runs);
		ids_check(runs[i].name, &ids, runs[i].ids, ARRAY_SIZE(runs[i].ids));
		ARRAY_DONE(&ids);
	}
	for (size_t i = 0; i < ARRAY_SIZE(lasts); i++) {
		process_ids_wanted ids = { .items = NULL };

		CHECK_INT_EQ(lasts[i].name, compare_last_processes(reader, lasts[i].pids, 2, &ids), 0);
		ids_check(lasts[i].name, &ids, lasts[i].ids, ARRAY_SIZE(lasts[i].ids));
		ARRAY_DONE(&ids);
	}
	store_reader_close(reader);
	(void)sqlite3_close(db);
	return check_result();
}
