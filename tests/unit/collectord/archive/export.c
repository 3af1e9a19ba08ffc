// SPDX-License-Identifier: Apache-2.0
/*
 * What is exported is what was read: rows, names, durations, counts, findings, in tables that
 * Ingero's readers and the sqlite3 shell know; and nothing outside the window.
 */
#include "archive/export/export.h"

#include <errno.h>
#include <sqlite3.h>

#include "archive/foreign/import.h"
#include "archive/job.h"
#include "archive/read/read.h"
#include "tests/support/check.h"
#include "tests/support/ingero_db.h"
#include "tests/support/read_world.h"

/* What the open readers read, where that is not the file itself; the one opened last is closed first. */
static struct sqlite3 *imported[4];
static size_t n_opened;

static struct store_reader *reader_open(const char *name, struct sqlite3 *db)
{
	struct read_scope scope = { .all = true };
	struct store_reader *reader = NULL;
	char why[READ_WHY_BYTES] = "";
	int r = foreign_import(db, &scope, true, why, &imported[n_opened]);

	CHECK(name, r == 0 || r == -ENOENT);
	CHECK_INT_EQ(name, store_reader_open(r == 0 ? imported[n_opened] : db, &scope, why, &reader), 0);
	CHECK_STR_EQ(name, why, "");
	n_opened += reader != NULL;
	return reader;
}

static void reader_close(struct store_reader *reader)
{
	if (!reader)
		return;
	store_reader_close(reader);
	sqlite3_close(imported[--n_opened]);
	imported[n_opened] = NULL;
}

static int64_t ask(const char *name, struct sqlite3 *db, const char *sql)
{
	struct sqlite3_stmt *statement = NULL;
	int64_t value = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK || sqlite3_step(statement) != SQLITE_ROW)
		CHECK_STR_EQ(name, sqlite3_errmsg(db), sql);
	else
		value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}

/* A file said in numbers that must survive. */
struct told {
	struct store_reader *reader;
	uint64_t n, total_ns, pids, tids, names, stacks, starts;
	uint64_t calls, total_of_figures_ns;
	uint64_t findings, p99_ns, snapshots, frames;
};

static uint64_t text_sum(const char *text)
{
	uint64_t sum = 5381;

	while (*text)
		sum = sum * 33 + (unsigned char)*text++;
	return sum;
}

static int tell_stack(const struct read_stack *stack, void *data)
{
	struct told *told = data;

	for (size_t i = 0; i < stack->n_frames; i++)
		told->frames += text_sum(stack->frames[i].symbol) ^ text_sum(stack->frames[i].file);
	return 0;
}

static int tell_event(const struct read_event *event, void *data)
{
	struct told *told = data;

	told->n++;
	told->total_ns += event->event->call.duration_ns;
	told->pids += event->process->pid;
	told->tids += event->event->call.tid;
	told->stacks += event->event->stack != 0;
	told->starts ^= event->start_unix_ns;
	told->names += text_sum(event->process->comm);
	return event->event->stack ? store_reader_stacks(told->reader, event->event->stack, tell_stack, told) : 0;
}

static int tell_bucket(const struct read_bucket *bucket, void *data)
{
	struct told *told = data;

	for (size_t i = 0; i < bucket->n_figures; i++) {
		told->calls += op_figures_count(&bucket->figures[i].figures);
		told->total_of_figures_ns += bucket->figures[i].figures.total_ns;
		told->names += text_sum(bucket->figures[i].op->name) * op_figures_count(&bucket->figures[i].figures);
	}
	return 0;
}

static int tell_finding(const Ingero__V1__Finding *finding, void *data)
{
	struct told *told = data;

	told->findings++;
	told->p99_ns += finding->p99_ns / 1000;
	told->names += text_sum(finding->op) + text_sum(finding->severity);
	return 0;
}

static int tell_snapshot(const Ingero__V1__SystemSample *sample, void *data)
{
	struct told *told = data;

	told->snapshots++;
	told->starts ^= sample->timestamp_unix_ns;
	return 0;
}

static struct told tell(const char *name, struct store_reader *reader)
{
	struct read_filter filter = { .columns = BLOCK_ALL_COLUMNS };
	struct told told = { .reader = reader };

	CHECK_INT_EQ(name, store_reader_events(reader, &filter, tell_event, &told), 0);
	CHECK_INT_EQ(name, store_reader_buckets(reader, 0, UINT64_MAX, tell_bucket, &told), 0);
	CHECK_INT_EQ(name, store_reader_findings(reader, 0, UINT64_MAX, tell_finding, &told), 0);
	CHECK_INT_EQ(name, store_reader_snapshots(reader, 0, UINT64_MAX, tell_snapshot, &told), 0);
	return told;
}

static int export_of(struct store_reader *reader, const struct export_request *request, struct sqlite3 *out,
		     uint64_t *ret_events)
{
	struct reader_job job = { .reader = reader, .deadline_ns = UINT64_MAX, .now_unix_ns = 1 };
	int r = export_db(&job, request, out, ret_events);

	ARRAY_DONE(&job.op_numbers);
	return r;
}

static struct sqlite3 *exported(const char *name, struct store_reader *reader, const struct export_request *request,
				uint64_t *ret_events)
{
	struct sqlite3 *out = NULL;

	CHECK_INT_EQ(name, sqlite3_open(":memory:", &out), SQLITE_OK);
	CHECK_INT_EQ(name, export_of(reader, request, out, ret_events), 0);
	return out;
}

static const char *const recordings[] = { "pytorch-dataloader-starvation.db", "sample-gpu-node-01.db",
					  "sample-gpu-node-02.db" };

static void round_trip_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(recordings); i++) {
		const char *name = recordings[i];
		struct sqlite3 *db = ingero_db_open(name, false), *out;
		struct store_reader *reader = db ? reader_open(name, db) : NULL, *again;
		struct told before, after;
		uint64_t n = 0;

		if (!reader) {
			sqlite3_close(db);
			continue;
		}
		before = tell(name, reader);
		out = exported(name, reader, &(struct export_request){ 0 }, &n);
		CHECK_INT_EQ(name, n, before.n);
		again = reader_open(name, out);
		if (again) {
			after = tell(name, again);
			CHECK_INT_EQ(name, after.n, before.n);
			CHECK_INT_EQ(name, after.total_ns, before.total_ns);
			CHECK_INT_EQ(name, after.pids, before.pids);
			CHECK_INT_EQ(name, after.tids, before.tids);
			CHECK_INT_EQ(name, after.starts, before.starts);
			CHECK_INT_EQ(name, after.stacks, before.stacks);
			CHECK_INT_EQ(name, after.names, before.names);
			CHECK_INT_EQ(name, after.calls, before.calls);
			CHECK_INT_EQ(name, after.total_of_figures_ns, before.total_of_figures_ns);
			CHECK_INT_EQ(name, after.findings, before.findings);
			CHECK_INT_EQ(name, after.p99_ns, before.p99_ns);
			CHECK_INT_EQ(name, after.snapshots, before.snapshots);
			CHECK_INT_EQ(name, after.frames, before.frames);
			reader_close(again);
		}
		/* As other tools look at it. */
		CHECK_INT_EQ(name, ask(name, out, "PRAGMA user_version"), 10);
		CHECK_INT_EQ(name,
			     ask(name, out,
				 "SELECT count(*) FROM events e JOIN ops o ON e.source = o.source_id AND "
				 "e.op = o.op_id JOIN sources s ON s.id = e.source"),
			     n);
		CHECK_INT_EQ(name, ask(name, out, "SELECT count(*) FROM events WHERE id LIKE node || ':%'"), n);
		CHECK_INT_EQ(name,
			     ask(name, out,
				 "SELECT count(*) FROM events WHERE stack_hash AND stack_hash NOT IN "
				 "(SELECT hash FROM stack_traces)"),
			     0);
		CHECK_INT_EQ(name, ask(name, out, "SELECT sum(json_valid(frames)) = count(*) FROM stack_traces"),
			     before.stacks ? 1 : 0);
		CHECK_INT_EQ(name,
			     ask(name, out,
				 "SELECT sum(json_valid(timeline) AND json_valid(recommendations)) = count(*) "
				 "AND min(typeof(tail_ratio) = 'real') FROM causal_chains"),
			     1);
		CHECK_INT_EQ(name, ask(name, out, "SELECT sum(stored) FROM event_aggregates"), n);
		CHECK_INT_EQ(name, ask(name, out, "SELECT min(count >= stored) FROM event_aggregates"), 1);
		/* The lower edge of its bucket, which is 1/16 wide. */
		CHECK_INT_EQ(
			name,
			ask(name, out,
			    "SELECT count(*) FROM event_aggregates a JOIN (SELECT timestamp - timestamp % 60000000000"
			    " AS b, source AS s, op AS o, pid AS p, min(duration) AS least FROM events GROUP BY 1, 2, "
			    "3, 4)"
			    " ON b = bucket AND s = source AND o = op AND p = pid"
			    " WHERE stored = count AND (min_dur > least OR min_dur < least * 15 / 16 - 1)"),
			0);
		sqlite3_close(out);
		reader_close(reader);
		sqlite3_close(db);
	}
}

/* Parts of the first recording. */
static const struct {
	const char *name;
	uint64_t from_unix_ns, to_unix_ns;
	uint32_t pid;
	const char *sql; /* how many there are to be */
} parts[] = {
	{ "from", 1774015600000000000, 0, 0, "SELECT count(*) FROM events WHERE timestamp >= 1774015600000000000" },
	{ "to", 0, 1774015600000000000, 0, "SELECT count(*) FROM events WHERE timestamp < 1774015600000000000" },
	{ "one process", 0, 0, 2254, "SELECT count(*) FROM events WHERE pid = 2254" },
	{ "nobody", 0, 0, 77, "SELECT 0" },
	{ "no time", 1, 2, 0, "SELECT 0" },
};

static void parts_check(void)
{
	const char *file = recordings[0];
	struct sqlite3 *db = ingero_db_open(file, false);
	struct store_reader *reader = db ? reader_open(file, db) : NULL;

	for (size_t i = 0; reader && i < ARRAY_SIZE(parts); i++) {
		const char *name = parts[i].name;
		struct export_request request = { .from_unix_ns = parts[i].from_unix_ns,
						  .to_unix_ns = parts[i].to_unix_ns,
						  .pids = parts[i].pid ? &parts[i].pid : NULL,
						  .n_pids = parts[i].pid != 0 };
		uint64_t n = 0;
		struct sqlite3 *out = exported(name, reader, &request, &n);

		CHECK_INT_EQ(name, n, ask(name, db, parts[i].sql));
		CHECK_INT_EQ(name, ask(name, out, "SELECT count(*) FROM events"), n);
		sqlite3_close(out);
	}
	reader_close(reader);
	sqlite3_close(db);
}

/* Of an old day an hour's row is all there is: a window inside it has that hour, and one beside it has not. */
static void hour_check(void)
{
	const uint64_t minute = 60 * NSEC_PER_SEC, first = 1000 * 60 * minute; /* an hour since 1970 */
	static const struct {
		const char *name;
		int from, to; /* minutes of that hour */
		int64_t n, total_ns;
	} cases[] = {
		{ "within the hour", 20, 40, 40, 280 },
		{ "its end", 50, 80, 40, 280 },
		{ "from its end on", 60, 80, 0, 0 },
		{ "up to its beginning", -20, 0, 0, 0 },
	};
	CLEANUP(figures_blob_done) struct figures_blob blob = { 0 };
	struct sqlite3 *db = world_create(":memory:");
	struct store_reader *reader;

	world_boot(db, 1, 0, first);
	world_process(db, 1, 1, 42, 1000, 0, "train", 0);
	world_count(&blob, 1, 1, 40, 7);
	world_figures(db, 3600, 1000, 1, 0, 60 * minute, &blob);
	reader = reader_open("hour", db);
	for (size_t i = 0; reader && i < ARRAY_SIZE(cases); i++) {
		struct export_request request = { .from_unix_ns = first + (uint64_t)cases[i].from * minute,
						  .to_unix_ns = first + (uint64_t)cases[i].to * minute };
		uint64_t n = 0;
		struct sqlite3 *out = exported(cases[i].name, reader, &request, &n);

		CHECK_INT_EQ(cases[i].name, ask(cases[i].name, out, "SELECT sum(count) FROM event_aggregates"),
			     cases[i].n);
		CHECK_INT_EQ(cases[i].name, ask(cases[i].name, out, "SELECT sum(sum_dur) FROM event_aggregates"),
			     cases[i].total_ns);
		sqlite3_close(out);
	}
	reader_close(reader);
	sqlite3_close(db);
}

/*
 * Figures are read a little after the calls, and a call is counted when it ends and has its row when it begins: a
 * minute may have more rows than calls counted. Then it takes from the minute before or after: the sum stays.
 */
static void minutes_check(void)
{
	const uint64_t minute = 60 * NSEC_PER_SEC, first = 1000 * 60 * minute;
	enum { MINUTES = 3 };
	static const struct {
		const char *name;
		uint64_t counted[MINUTES], rows[MINUTES];
		int64_t told[MINUTES];
	} cases[] = {
		{ "as counted", { 3, 4, 5 }, { 3, 4, 5 }, { 3, 4, 5 } },
		{ "not all have a row", { 9, 8, 7 }, { 3, 4, 5 }, { 9, 8, 7 } },
		{ "counted in the minute before", { 5, 3, 4 }, { 4, 4, 4 }, { 4, 4, 4 } },
		{ "counted in the minute behind", { 2, 5, 4 }, { 3, 4, 4 }, { 3, 4, 4 } },
		{ "some before, some behind", { 4, 2, 6 }, { 3, 4, 5 }, { 3, 4, 5 } },
		{ "only some before", { 4, 2, 5 }, { 3, 4, 5 }, { 3, 4, 5 } },
		{ "the first has no count", { 0, 4, 4 }, { 1, 3, 4 }, { 1, 3, 4 } },
		{ "two take of one", { 2, 9, 2 }, { 4, 3, 4 }, { 4, 5, 4 } },
		{ "two take of one, the last", { 4, 6, 4 }, { 4, 5, 5 }, { 4, 5, 5 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *name = cases[i].name;
		struct sqlite3 *db = world_create(":memory:"), *out;
		struct store_reader *reader;
		uint64_t n = 0;

		world_boot(db, 1, 0, first);
		world_process(db, 1, 1, 42, 1000, 0, "train", 0);
		for (uint64_t at = 0; at < MINUTES; at++) {
			CLEANUP(figures_blob_done) struct figures_blob blob = { 0 };
			struct stored_event calls[9];

			for (uint64_t k = 0; k < cases[i].rows[at]; k++)
				calls[k] = world_event(1, 1, 42, at * minute + k * 1000, 7);
			(void)world_block(db, 1000, 1, 1, calls, cases[i].rows[at]);
			if (!cases[i].counted[at])
				continue;
			world_count(&blob, 1, 1, cases[i].counted[at], 7);
			world_figures(db, 60, 1000, 1, at * minute, (at + 1) * minute, &blob);
		}
		reader = reader_open(name, db);
		out = exported(name, reader, &(struct export_request){ 0 }, &n);
		for (size_t at = 0; at < MINUTES; at++) {
			char sql[128];

			(void)snprintf(sql, sizeof(sql),
				       "SELECT count FROM event_aggregates ORDER BY bucket LIMIT 1 OFFSET %zu", at);
			CHECK_INT_EQ(name, ask(name, out, sql), cases[i].told[at]);
		}
		sqlite3_close(out);
		reader_close(reader);
		sqlite3_close(db);
	}
}

/* Accounts and waits are those of the window and of the processes that were asked for. */
static void accounts_check(void)
{
	const uint64_t first = 1700000000 * NSEC_PER_SEC;
	enum { ROWS = 4, SECONDS = 10 };
	static const struct {
		const char *name;
		uint64_t from_s, to_s; /* 0: no bound */
		uint32_t pid;	       /* 0: both */
		int64_t parts, ns, waits;
	} cases[] = {
		{ "all", 0, 0, 0, 4, 2 * ROWS * 10, 2 },
		{ "one process", 0, 0, 42, 2, ROWS * 10, 1 },
		{ "nobody", 0, 0, 77, 0, 0, 0 },
		{ "a window", 10, 30, 0, 4, 2 * 2 * 10, 2 },
		{ "a window of one process", 10, 20, 43, 2, 10, 1 },
	};
	struct sqlite3 *db = world_create(":memory:");
	struct store_reader *reader;

	world_boot(db, 1, 0, first);
	world_process(db, 1, 1, 42, 1000, 0, "train", 0);
	world_process(db, 2, 1, 43, 1000, 0, "other", 0);
	for (uint64_t i = 0; i < ROWS; i++) {
		CLEANUP(figures_blob_done) struct figures_blob blob = { 0 };

		for (uint32_t p = 1; p <= 2; p++) {
			const struct stored_part cpu = { .process = p, .tid = 41 + p, .ns = 4, .class = BLAME_ON_CPU };
			const struct stored_part lock = { .process = p, .tid = 41 + p, .ns = 6, .class = BLAME_LOCK };
			const struct stored_wait wait = { .process = p,
							  .wait = { .tid = 41 + p, .ns = 5, .class = BLAME_LOCK } };

			CHECK_INT_EQ("cpu", figures_blob_add_part(&blob, &cpu), 0);
			CHECK_INT_EQ("lock", figures_blob_add_part(&blob, &lock), 0);
			CHECK_INT_EQ("wait", figures_blob_add_wait(&blob, &wait), 0);
		}
		world_figures(db, 10, 1000, 1, i * SECONDS * NSEC_PER_SEC, (i + 1) * SECONDS * NSEC_PER_SEC, &blob);
	}
	reader = reader_open("accounts", db);
	for (size_t i = 0; reader && i < ARRAY_SIZE(cases); i++) {
		const char *name = cases[i].name;
		struct export_request request = { .from_unix_ns =
							  cases[i].from_s ? first + cases[i].from_s * NSEC_PER_SEC : 0,
						  .to_unix_ns =
							  cases[i].to_s ? first + cases[i].to_s * NSEC_PER_SEC : 0,
						  .pids = cases[i].pid ? &cases[i].pid : NULL,
						  .n_pids = cases[i].pid != 0 };
		uint64_t n = 0;
		struct sqlite3 *out = exported(name, reader, &request, &n);

		CHECK_INT_EQ(name, ask(name, out, "SELECT count(*) FROM accounts"), cases[i].parts);
		CHECK_INT_EQ(name, ask(name, out, "SELECT coalesce(sum(ns), 0) FROM accounts"), cases[i].ns);
		CHECK_INT_EQ(name, ask(name, out, "SELECT count(*) FROM accounts WHERE \"where\" <> 'between'"), 0);
		CHECK_INT_EQ(name, ask(name, out, "SELECT count(*) FROM waits WHERE class = 'lock'"), cases[i].waits);
		sqlite3_close(out);
	}
	reader_close(reader);
	sqlite3_close(db);
}

static int stack_is_same(const struct read_stack *stack, void *data)
{
	const struct world_frame *want = data;

	CHECK_INT_EQ("frames again", stack->n_frames, 3);
	for (size_t i = 0; i < stack->n_frames && i < 3; i++) {
		const struct read_frame *f = &stack->frames[i];

		CHECK_INT_EQ("address", f->ip, want[i].ip);
		CHECK_STR_EQ("symbol", f->symbol, want[i].symbol ? want[i].symbol : "");
		CHECK_STR_EQ("qualified name", f->qualname, want[i].qualname ? want[i].qualname : "");
		CHECK_STR_EQ("file", f->file, want[i].file ? want[i].file : "");
		CHECK_STR_EQ("module", f->module, want[i].module ? want[i].module : "");
		CHECK_INT_EQ("line", f->line, want[i].line);
		CHECK_INT_EQ("Python", f->is_python, want[i].is_python);
	}
	return 0;
}

/* Stacks of ours: everything that is known of a frame, by Ingero's keys and ours; and back. */
static void stacks_check(void)
{
	static const struct world_frame frames[] = {
		{ .ip = 0x7f0000001000, .symbol = "cudaMalloc", .module = "/lib/libcudart.so.12" },
		{ .ip = 0x7f0000002000 },
		{ .symbol = "forward",
		  .qualname = "Net.forward",
		  .file = "/src/train.py",
		  .line = 142,
		  .is_python = true },
	};
	static const struct {
		const char *name;
		const char *sql;
		int64_t want;
	} asked[] = {
		{ "each stack of a call", "SELECT count(*) FROM stack_traces", 1 },
		{ "by its hash", "SELECT count(*) FROM events e JOIN stack_traces s ON e.stack_hash = s.hash", 2 },
		{ "a native frame",
		  "SELECT frames ->> '$[0].s' = 'cudaMalloc' AND frames ->> '$[0].i' = '0x7f0000001000' AND"
		  " frames ->> '$[0].m' = '/lib/libcudart.so.12' FROM stack_traces",
		  1 },
		{ "an address alone", "SELECT frames -> '$[1]' = '{\"i\":\"0x7f0000002000\"}' FROM stack_traces", 1 },
		{ "a frame of Python",
		  "SELECT frames -> '$[2]' = '{\"pfn\":\"forward\",\"pq\":\"Net.forward\",\"pf\":\"/src/train.py\","
		  "\"pl\":142}' FROM stack_traces",
		  1 },
	};
	struct sqlite3 *db = world_create(":memory:"), *out;
	struct store_reader *reader, *again;
	struct stored_event e[3];
	uint64_t n = 0;

	world_boot(db, 1, 0, 1700000000 * NSEC_PER_SEC);
	world_process(db, 1, 1, 42, 1000, 0, "train", 0);
	world_stack(db, 1, 1000, false, "", frames, ARRAY_SIZE(frames));
	world_stack(db, 2, 1000, false, "", frames, 1); /* of no call */
	for (uint32_t i = 0; i < ARRAY_SIZE(e); i++) {
		e[i] = world_event(1, 3, 42, i * NSEC_PER_SEC, 1000);
		e[i].stack = i < 2;
	}
	(void)world_block(db, 1000, 1, 1, e, ARRAY_SIZE(e));
	reader = reader_open("stacks", db);
	out = exported("stacks", reader, &(struct export_request){ 0 }, &n);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		CHECK_INT_EQ(asked[i].name, ask(asked[i].name, out, asked[i].sql), asked[i].want);
	again = reader_open("stacks again", out);
	if (again)
		CHECK_INT_EQ("stacks again", store_reader_stacks(again, 0, stack_is_same, (void *)(uintptr_t)frames),
			     0);
	reader_close(again);
	reader_close(reader);
	sqlite3_close(out);
	sqlite3_close(db);
}

/* Where no session says when somebody recorded, the machine's own rows are there all the same. */
static void no_session_check(void)
{
	const char *file = recordings[0];
	struct sqlite3 *db = ingero_db_open(file, true);
	struct store_reader *reader;
	uint64_t n = 0;

	if (!db)
		return;
	CHECK_INT_EQ(file, sqlite3_exec(db, "DELETE FROM sessions", NULL, NULL, NULL), SQLITE_OK);
	reader = reader_open(file, db);
	if (reader) {
		struct sqlite3 *out = exported(file, reader, &(struct export_request){ 0 }, &n);

		CHECK_INT_EQ(file, ask(file, out, "SELECT count(*) FROM system_snapshots"),
			     ask(file, db, "SELECT count(*) FROM system_snapshots"));
		CHECK_INT_EQ(file, ask(file, out, "SELECT count(*) FROM events WHERE id LIKE 'node:%'"), (int64_t)n);
		sqlite3_close(out);
	}
	reader_close(reader);
	sqlite3_close(db);
}

/* A disk that fills up: an error of that name, whenever it happens. */
static void full_check(void)
{
	const char *file = recordings[0];
	struct sqlite3 *db = ingero_db_open(file, false);
	struct store_reader *reader = db ? reader_open(file, db) : NULL;

	for (int pages = 4; reader && pages < 110; pages += 13) {
		struct sqlite3 *out = NULL;
		char sql[64];
		uint64_t n = 0;

		sqlite3_open(":memory:", &out);
		snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %d", pages);
		sqlite3_exec(out, sql, NULL, NULL, NULL);
		CHECK_INT_EQ("full", export_of(reader, &(struct export_request){ 0 }, out, &n), -ENOSPC);
		sqlite3_close(out);
	}
	reader_close(reader);
	sqlite3_close(db);
}

/* A page that is none: damage is told, however deep the tables find it. */
static void damage_check(void)
{
	const char *file = recordings[0];
	struct sqlite3 *db = ingero_db_open(file, false), *out = NULL;
	struct store_reader *reader = db ? reader_open(file, db) : NULL;
	unsigned char *data;
	sqlite3_int64 n_bytes = 0;
	size_t page_bytes;
	uint64_t n = 0;
	int64_t page;

	if (!reader)
		return;
	page = ask(file, imported[0],
		   "SELECT pageno FROM dbstat WHERE name = 'process' AND pagetype = 'leaf' ORDER BY path DESC LIMIT 1");
	page_bytes = (size_t)ask(file, imported[0], "PRAGMA page_size");
	data = sqlite3_serialize(imported[0], "main", &n_bytes, 0);
	reader_close(reader);
	sqlite3_close(db);
	db = data ? ingero_db_open_bytes(data, (size_t)n_bytes, false) : NULL;
	reader = db ? reader_open(file, db) : NULL;
	if (db) {
		memset(data + (size_t)(page - 1) * page_bytes, 0xff, page_bytes);
		sqlite3_db_release_memory(db); /* the page, if it was read before */
	}
	sqlite3_open(":memory:", &out);
	if (reader)
		CHECK_INT_EQ("damaged", export_of(reader, &(struct export_request){ 0 }, out, &n), -EBADMSG);
	sqlite3_close(out);
	reader_close(reader);
	sqlite3_close(db);
}

int main(void)
{
	damage_check();
	round_trip_check();
	parts_check();
	hour_check();
	minutes_check();
	accounts_check();
	stacks_check();
	no_session_check();
	full_check();
	return check_result();
}
