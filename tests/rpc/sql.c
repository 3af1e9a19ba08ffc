// SPDX-License-Identifier: Apache-2.0
/*
 * SQL by a stranger, against the real daemon: whatever he tries is refused or stopped with a
 * sentence of its own, nothing of another owner's comes out, and others are answered all the while.
 *
 * Under root the caller is another user than the daemon's; else the same, who sees no more.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "ingero/ingero.h"
#include "proto/frame.h"
#include "tests/rpc/refusals.h"
#include "tests/support/check.h"
#include "tests/support/read_world.h"

#define SQL "ingero.v1.Query.Sql"
#define STATUS "ingero.v1.Query.Status"
#define SECOND 1000000000ull
#define UNIX 1700000000000000000ull
#define LIMIT_NS (SECOND / 4) /* of what runs on for ever */
#define CALLER_UID 54321      /* when the test is root: nobody of this machine */

enum { LAUNCH = 3, WAIT = 5 }; /* of ops.def */

static uid_t caller;
static uid_t neighbour;

/* ---- the file ---- */

static void account_add_to(struct figures_blob *blob, uint32_t process, uint32_t tid)
{
	const struct stored_part part = { .process = process, .tid = tid, .ns = 7000 + tid, .class = BLAME_LOCK };
	const struct stored_wait wait = { .process = process, .wait = { .tid = tid, .ns = 3000 + tid, .count = 1 } };

	CHECK_INT_EQ("a part", figures_blob_add_part(blob, &part), 0);
	CHECK_INT_EQ("a wait", figures_blob_add_wait(blob, &wait), 0);
}

/* What a recorder says today, beyond world_finding(). */
static void finding_told_add(struct sqlite3 *db)
{
	Ingero__V1__Finding f = INGERO__V1__FINDING__INIT;
	Ingero__V1__Cause cause = INGERO__V1__CAUSE__INIT;

	f.id = (char *)(uintptr_t) "00000000000000cc";
	f.kind = cause.kind = (char *)(uintptr_t) "cpu_contention";
	f.pid = 11;
	f.uid = caller;
	f.lost_ns = SECOND;
	f.tid_told_case = INGERO__V1__FINDING__TID_TOLD_TID;
	f.tid = 12;
	f.tid_lost_ns_told_case = INGERO__V1__FINDING__TID_LOST_NS_TOLD_TID_LOST_NS;
	f.tid_lost_ns = 7 * SECOND / 10;
	cause.same_name_told_case = INGERO__V1__CAUSE__SAME_NAME_TOLD_SAME_NAME;
	cause.same_name = 3;
	cause.comm = (char *)(uintptr_t) "hog";
	f.cause = &cause;
	world_finding_row(db, &f, 1, 1, FINDING_LOW, SECOND, 2 * SECOND);
}

static void file_make(const char *path)
{
	struct sqlite3 *db = world_create(path);
	struct figures_blob mine = { .figures = { .items = NULL } }, his = { .figures = { .items = NULL } };
	struct stored_event e[2000];

	world_boot(db, 1, 0, UNIX);
	world_process(db, 1, 1, 11, caller, 0, "mine", SECOND);
	world_process(db, 2, 1, 21, neighbour, 0, "secret", SECOND);
	for (unsigned int i = 0; i < 2000; i++)
		e[i] = world_event(1, i % 2 ? LAUNCH : WAIT, 11, (i + 1) * SECOND, 1000 + i);
	for (unsigned int i = 0; i < 2000; i += 20) /* so many that sorting them is no small matter */
		(void)world_block(db, caller, 1, 1, e + i, 20);
	for (unsigned int i = 0; i < 777; i++)
		e[i] = world_event(2, LAUNCH, 21, (i + 1) * SECOND, 1000000 + i);
	(void)world_block(db, neighbour, 1, 2, e, 777);
	world_count(&mine, 1, LAUNCH, 5000, 1500);
	world_count(&his, 2, LAUNCH, 9000, 1000000);
	account_add_to(&mine, 1, 11);
	account_add_to(&his, 2, 21);
	world_figures(db, 10, caller, 1, SECOND, 11 * SECOND, &mine);
	world_figures(db, 10, neighbour, 1, SECOND, 11 * SECOND, &his);
	world_finding(db, "00000000000000aa", caller, 1, 1, 11, FINDING_HIGH, SECOND, SECOND, 2 * SECOND, 0, 0, "");
	world_finding(db, "00000000000000bb", neighbour, 1, 2, 21, FINDING_HIGH, SECOND, SECOND, 2 * SECOND, 0, 0, "");
	finding_told_add(db);
	world_exec(db,
		   "INSERT INTO session(boot, start_ns, end_ns, version, kernel, back_end, cpus, memory_bytes, node,"
		   " seen_ns) VALUES(1, 0, 60000000000, '', '', '', 1, 1, '', 60000000000)");
	world_exec(db, "INSERT INTO snapshot(boot, t, cpu_ratio, load_1min, memory_bytes, available_bytes,"
		       " swap_used_bytes, major_faults) VALUES(1, 5000000000, 0.5, 1, 2, 1, 0, 0)");
	/* A machine whose clock stood at 1970 at its boot; of another boot only the session is known. */
	world_boot(db, 2, 0, 7 * SECOND);
	world_exec(db,
		   "INSERT INTO session(boot, start_ns, end_ns, version, kernel, back_end, cpus, memory_bytes, node,"
		   " seen_ns) VALUES(2, 0, 60000000000, '', '', '', 1, 1, '', 60000000000),"
		   " (9, 0, 60000000000, '', '', '', 1, 1, '', 60000000000)");
	world_exec(db, "INSERT INTO snapshot(boot, t, cpu_ratio, load_1min, memory_bytes, available_bytes,"
		       " swap_used_bytes, major_faults) VALUES(2, 1000000000, 0.5, 1, 2, 1, 0, 0),"
		       " (2, 2000000000, 0.5, 1, 2, 1, 0, 0), (2, 7201000000000, 0.5, 1, 2, 1, 0, 0)");
	world_stack(db, 1, caller, false, "", &(struct world_frame){ .symbol = "open", .file = "a.c", .line = 1 }, 1);
	world_stack(db, 2, neighbour, false, "", &(struct world_frame){ .symbol = "hidden", .file = "b.c" }, 1);
	world_stack(db, 3, caller, true, "", &(struct world_frame){ .symbol = "guarded", .file = "c.c" }, 1);
	figures_blob_done(&mine);
	figures_blob_done(&his);
	CHECK_INT_EQ("the file", sqlite3_close(db), SQLITE_OK);
	CHECK_INT_EQ("its mode", chmod(path, 0600), 0);
}

/* ---- asking ---- */

struct answer {
	bool is_over;
	int r;
	uint32_t code;
	char text[1100];
	size_t n_rows;
	bool is_cut;
	char note[300];
	struct buf first; /* of each row, its first value, in words, one behind another */
};

static void on_reply(struct ingero_stream *stream, const ProtobufCMessage *message, void *data)
{
	const Ingero__V1__SqlReply *reply = (const Ingero__V1__SqlReply *)message;
	struct answer *a = data;

	(void)stream;
	for (size_t i = 0; i < reply->n_rows; i++) {
		const Ingero__V1__SqlValue *v = reply->rows[i]->n_values ? reply->rows[i]->values[0] : NULL;

		if (a->first.n > 200 || !v)
			continue;
		buf_append_text(&a->first, a->first.n ? " " : "");
		if (v->value_case == INGERO__V1__SQL_VALUE__VALUE_INTEGER)
			buf_printf(&a->first, "%lld", (long long)v->integer);
		else if (v->value_case == INGERO__V1__SQL_VALUE__VALUE_REAL)
			buf_printf(&a->first, "%g", v->real);
		else if (v->value_case == INGERO__V1__SQL_VALUE__VALUE_TEXT)
			buf_printf(&a->first, "%.60s", v->text);
		else
			buf_append_text(&a->first, "NULL");
	}
	a->n_rows += reply->n_rows;
	a->is_cut |= reply->is_cut;
	if (reply->note[0])
		(void)snprintf(a->note, sizeof(a->note), "%s", reply->note);
}

static struct ingero *connection;

static void on_end(struct ingero_stream *stream, int r, void *data)
{
	struct answer *a = data;

	(void)stream;
	a->is_over = true;
	a->r = r;
	a->code = r == -EREMOTEIO ? ingero_last_code(connection) : 0;
	(void)snprintf(a->text, sizeof(a->text), "%s", r ? ingero_last_error(connection) : "");
}

static void turn(struct ingero *ingero)
{
	struct pollfd p = { .fd = ingero_fd(ingero), .events = ingero_events(ingero) };

	(void)poll(&p, 1, -1);
	if (ingero_process(ingero) < 0) {
		fprintf(stderr, "the daemon is gone\n");
		exit(1);
	}
}

static struct ingero_stream *sql_start(const char *sql, uint64_t rows_max, uint64_t limit_ns, struct answer *ret)
{
	Ingero__V1__SqlRequest request = INGERO__V1__SQL_REQUEST__INIT;
	struct ingero_stream *stream = NULL;

	*ret = (struct answer){ .first = BUF_INIT };
	request.sql = (char *)(uintptr_t)sql;
	request.rows_max = rows_max;
	request.time_limit_ns = limit_ns;
	CHECK_INT_EQ(sql, ingero_stream_start(connection, SQL, &request.base, on_reply, on_end, ret, &stream), 0);
	return stream;
}

static void sql_run(const char *sql, uint64_t rows_max, uint64_t limit_ns, struct answer *ret)
{
	if (!sql_start(sql, rows_max, limit_ns, ret))
		return;
	while (!ret->is_over)
		turn(connection);
}

/* ---- what is answered ---- */

static const struct {
	const char *name;
	const char *sql;
	const char *want; /* first values */
} answered[] = {
	{ "own calls", "SELECT count(*) FROM events", "2000" },
	{ "only own owners", "SELECT count(DISTINCT uid) FROM events", "1" },
	{ "asked for others", "SELECT count(*) FROM events WHERE uid <> (SELECT min(uid) FROM processes)", "0" },
	{ "always true", "SELECT count(*) FROM events WHERE uid > 0 OR 1", "2000" },
	{ "his pid", "SELECT count(*) FROM events WHERE pid = 21", "0" },
	{ "an expression that fails on his rows alone",
	  "SELECT count(*) FROM events WHERE abs(-9223372036854775807 - (duration >= 1000000)) > 0", "2000" },
	{ "a name of a table as a name of his own", "WITH process AS (SELECT 1 AS id) SELECT count(*) FROM process",
	  "1" },
	{ "joined with itself", "SELECT count(*) FROM processes a, processes b WHERE a.uid <> b.uid", "0" },
	{ "row numbers tell of nobody else", "SELECT max(rowid) FROM events", "2000" },
	{ "own figures", "SELECT count FROM operations", "5000" },
	{ "of calls alone", "SELECT count(*) FROM operations WHERE source_name = 'host'", "0" },
	{ "what is none has its own", "SELECT count(*) FROM host_operations WHERE source_name <> 'host'", "0" },
	{ "who ran meanwhile", "SELECT count(*) FROM behind WHERE uid <> (SELECT min(uid) FROM processes)", "0" },
	{ "own accounts", "SELECT ns FROM accounts", "7011" },
	{ "own waits", "SELECT ns FROM waits", "3011" },
	{ "own buckets", "SELECT sum(count) FROM event_aggregates", "5000" },
	{ "own processes", "SELECT name FROM processes", "mine" },
	{ "own names", "SELECT name FROM process_names", "mine" },
	{ "own findings", "SELECT group_concat(id, ' ') FROM findings", "00000000000000aa 00000000000000cc" },
	{ "a finding of an older recorder names no thread",
	  "SELECT coalesce(tid, tid_lost_ns, cause_same_name, 'unknown') FROM findings WHERE id LIKE '%aa'",
	  "unknown" },
	{ "what a thread lost itself", "SELECT tid || ' ' || tid_lost_ns FROM findings WHERE id LIKE '%cc'",
	  "12 700000000" },
	{ "a cause of one name", "SELECT cause_same_name || ' ' || cause_comm FROM findings WHERE id LIKE '%cc'",
	  "3 hog" },
	{ "the same by their other name", "SELECT group_concat(id, ' ') FROM causal_chains",
	  "00000000000000aa 00000000000000cc" },
	{ "own stacks", "SELECT hash FROM stack_traces", "1" },
	{ "his stack by its number", "SELECT count(*) FROM stack_traces WHERE hash = 2", "0" },
	{ "that of a guarded process", "SELECT count(*) FROM stack_traces WHERE hash = 3", "0" },
	{ "own call sites", "SELECT sum(count) FROM call_sites", "2000" },
	{ "a window",
	  "SELECT count(*) FROM events WHERE timestamp >= 1700000000000000000 + 11000000000 AND timestamp < "
	  "1700000000000000000 + 21000000000",
	  "10" },
	{ "one moment", "SELECT duration FROM events WHERE timestamp = 1700000000000000000 + 11000000000", "1010" },
	{ "a fraction of a moment", "SELECT count(*) FROM events WHERE duration > 2998.5", "1" },
	{ "not a number", "SELECT count(*) FROM events WHERE pid = 'eleven'", "0" },
	{ "a number as a text", "SELECT count(*) FROM events WHERE pid = '11'", "2000" },
	{ "an operation by its short name", "SELECT count(*) FROM events WHERE op_name = 'cudaStreamSync'", "1000" },
	{ "in any case", "SELECT count(*) FROM events WHERE op_name = 'CUDASTREAMSYNCHRONIZE'", "1000" },
	{ "short, in any case, and printed long",
	  "SELECT DISTINCT op_name FROM events WHERE op_name = 'cudastreamsync'", "cudaStreamSynchronize" },
	{ "among others", "SELECT count(*) FROM events WHERE op_name IN ('cudamalloc', 'cudaStreamSync')", "1000" },
	{ "all but it", "SELECT count(*) FROM events WHERE op_name <> 'cudaStreamSync'", "1000" },
	{ "by the name of its table, either one", "SELECT name FROM ops WHERE name = 'CUDAStreamSynchronize'",
	  "cudaStreamSync" },
	{ "of figures", "SELECT count FROM operations WHERE op_name = 'cudalaunchkernel'", "5000" },
	{ "of buckets", "SELECT sum(count) FROM event_aggregates WHERE op_name = 'CudaLaunchKernel'", "5000" },
	{ "joined by name",
	  "SELECT count(*) FROM events e JOIN ops o ON e.op_name = o.name WHERE o.name = 'cudaStreamSync'", "1000" },
	{ "to the letter, who wants it so",
	  "SELECT count(*) FROM events WHERE op_name = 'cudaStreamSync' COLLATE BINARY", "0" },
	{ "grouped under one name", "SELECT count(DISTINCT op_name) FROM events", "2" },
	{ "an operation by its name", "SELECT count(*) FROM events WHERE op_name = 'cudaStreamSynchronize'", "1000" },
	{ "joined with names, as Ingero's users do",
	  "SELECT count(*) FROM events e JOIN ops o ON e.source = o.source_id AND e.op = o.op_id "
	  "WHERE o.name = 'cudaStreamSync'",
	  "1000" },
	{ "a time far ahead", "SELECT count(*) FROM system_snapshots WHERE timestamp < 9000000000000000000", "4" },
	{ "the newest", "SELECT duration FROM events ORDER BY timestamp DESC LIMIT 3", "2999 2998 2997" },
	{ "the oldest", "SELECT duration FROM events ORDER BY timestamp LIMIT 2 OFFSET 1", "1001 1002" },
	{ "a list", "SELECT count(*) FROM events WHERE op_name IN ('cudaLaunchKernel', 'cudaMalloc')", "1000" },
	{ "grouped, through the sorter", "SELECT op_name FROM events GROUP BY op_name, duration ORDER BY 1 LIMIT 1",
	  "cudaLaunchKernel" },
	{ "times in words", "SELECT datetime(min(timestamp) / 1000000000, 'unixepoch') FROM events",
	  "2023-11-14 22:13:21" },
	{ "local times", "SELECT length(datetime(0, 'unixepoch', 'localtime'))", "19" },
	{ "a window function", "SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY duration) n FROM events)",
	  "2000" },
	{ "blame adds up", "SELECT count(*) FROM events WHERE on_cpu + runnable <> duration_raw", "0" },
	{ "what is not measured is not zero", "SELECT count(device) FROM events", "0" },
	{ "the tables", ".tables",
	  "events operations event_aggregates sources ops processes process_names stack_traces "
	  "causal_chains findings system_snapshots sessions gaps host_operations behind accounts waits call_sites" },
	{ "the tables, with a semicolon and blanks", "  .tables ; ",
	  "events operations event_aggregates sources ops processes process_names stack_traces "
	  "causal_chains findings system_snapshots sessions gaps host_operations behind accounts waits call_sites" },
	{ "columns", "PRAGMA table_info(operations)",
	  "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 "
	  "26 27 28 29 30 31 32 33" },
	{ "in small letters and quotes", "pragma table_info('sources')", "0 1 2" },
	{ "printed", "SELECT printf('%5.1f us', 1234.5)", "1234.5 us" },
	{ "formatted", "SELECT format('%,d', 1234567)", "1,234,567" },
	{ "every directive",
	  "SELECT printf('%d|%5u|%-4x|%X|%o|%.2f|%g|%e|%s|%c', -7, 7, 255, 255, 8, 1.5, 0.5, 1.0, 'a', '\303\251t')",
	  "-7|    7|ff  |FF|10|1.50|0.5|1.000000e+00|a|\303\251" },
	{ "the others",
	  "SELECT printf('%q|%Q|%w|%%|%05d|%+d|%.3s|%*d|%lld', 'it''s', NULL, 'x', 42, 1, 'abcd', 4, 9, 1)",
	  "it''s|NULL|x|%|00042|+1|abc|   9|1" },
	{ "what is missing is nothing", "SELECT printf('%d%s%f')", "00.000000" },
	{ "nothing at all", "SELECT printf('') || typeof(printf(NULL))", "null" },
	{ "all of it in one text", "SELECT length(group_concat(op)) FROM events", "3999" },
	{ "quoted", "SELECT quote('x')", "'x'" },
	{ "characters", "SELECT char(65)", "A" },
	{ "a value of a JSON text", "SELECT json_extract('{\"a\":[1,2]}', '$.a[1]')", "2" },
	{ "the same in short", "SELECT '{\"a\":7}' ->> '$.a'", "7" },
	{ "JSON as a table", "SELECT value FROM json_each('[11,12]')", "11 12" },
	{ "advice one by one", "SELECT count(*) FROM findings f, json_each(f.evidence) e", "0" },
	{ "frames of a stack", "SELECT e.value ->> '$.s' FROM stack_traces s, json_each(s.frames) e", "open" },
	{ "a JSON text of rows", "SELECT json_group_array(name) FROM processes", "[\"mine\"]" },
	{ "a plan", "EXPLAIN QUERY PLAN SELECT 1", "" },
	{ "a plan of a table", "EXPLAIN QUERY PLAN SELECT * FROM events WHERE pid = 11", "" },
	{ "a comment behind it", "SELECT 1; -- that is all", "1" },
};

static void answered_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(answered); i++) {
		struct answer a;

		sql_run(answered[i].sql, 0, 0, &a);
		CHECK_INT_EQ(answered[i].name, a.r, 0);
		CHECK_STR_EQ(answered[i].name, a.text, "");
		if (answered[i].want[0])
			CHECK_STR_EQ(answered[i].name, buf_text(&a.first), answered[i].want);
		CHECK_STR_EQ(answered[i].name, a.note, "");
		buf_done(&a.first);
	}
}

/* The time between a snapshot and the next one, years here, takes no time. */
static void years_test(void)
{
	static const char sql[] = "SELECT timestamp / 1000000000 FROM system_snapshots ORDER BY timestamp";
	struct answer a;

	sql_run(sql, 0, 2 * SECOND, &a);
	CHECK_INT_EQ(sql, a.r, 0);
	CHECK_STR_EQ(sql, a.text, "");
	CHECK_STR_EQ(sql, buf_text(&a.first), "8 9 7208 1700000005");
	buf_done(&a.first);
}

/* Answered, and with a sentence on what was probably meant. */
static const struct {
	const char *sql;
	const char *note;
} noted[] = {
	{ "SELECT count(*) FROM events WHERE op_name = 'CudaStreamSnyc'",
	  "no operation is called 'CudaStreamSnyc' here; did you mean 'cudaStreamSync'?" },
	{ "SELECT count(*) FROM operations WHERE op_name = 'x'",
	  "no operation is called 'x' here; to list the names: ingero query 'SELECT name FROM ops'" },
	{ "SELECT count(*) FROM events WHERE op_name IN ('cudaMalloc', 'cudaMaloc')",
	  "no operation is called 'cudaMaloc' here; did you mean 'cudaMalloc'?" },
};

static void noted_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(noted); i++) {
		struct answer a;

		sql_run(noted[i].sql, 0, 0, &a);
		CHECK_INT_EQ(noted[i].sql, a.r, 0);
		CHECK_STR_EQ(noted[i].sql, buf_text(&a.first), "0");
		CHECK_STR_EQ(noted[i].sql, a.note, noted[i].note);
		buf_done(&a.first);
	}
}

/* ---- what is refused ---- */

static void refused_test(struct ingero *second)
{
	for (size_t i = 0; i < refusals_count; i++) {
		Ingero__V1__StatusRequest request = INGERO__V1__STATUS_REQUEST__INIT;
		ProtobufCMessage *reply = NULL;
		struct answer a;

		sql_run(refusals[i].sql, 0, LIMIT_NS, &a);
		if (!refusals[i].code && a.r == 0) { /* may be answered, if that is within its limits */
			CHECK(refusals[i].name, strstr(refusals[i].sql, "d1") != NULL);
			buf_done(&a.first);
			continue;
		}
		CHECK_INT_EQ(refusals[i].name, a.r, -EREMOTEIO);
		if (refusals[i].code)
			CHECK_INT_EQ(refusals[i].name, a.code, refusals[i].code);
		CHECK(refusals[i].name, a.code != CALL_ERROR_INTERNAL); /* the process answered: it was not killed */
		CHECK(refusals[i].name, a.text[0] && !strchr(a.text, '\n'));
		if (!strstr(a.text, refusals[i].text))
			CHECK_STR_EQ(refusals[i].name, a.text, refusals[i].text);
		buf_done(&a.first);
		CHECK_INT_EQ(refusals[i].name, ingero_call(second, STATUS, &request.base, 0, &reply), 0);
		if (reply)
			protobuf_c_message_free_unpacked(reply, NULL);
	}
}

/* ---- how much ---- */

static void rows_test(void)
{
	static const struct {
		const char *name;
		const char *sql;
		uint64_t rows_max;
		size_t n_rows;
		bool is_cut;
	} cases[] = {
		{ "fewer than asked for", "SELECT id FROM events", 3000, 2000, false },
		{ "just as many", "SELECT id FROM events", 2000, 2000, false },
		{ "one less", "SELECT id FROM events", 1999, 1999, true },
		{ "unless asked: ten thousand", FOR_EVER "SELECT x FROM c", 0, 10000, true },
		{ "more than fits the way",
		  FOR_EVER "SELECT x, 'a text of some length, so that it fills the way' FROM c", 200000, 200000, true },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct answer a;

		sql_run(cases[i].sql, cases[i].rows_max, 0, &a);
		CHECK_STR_EQ(cases[i].name, a.text, "");
		CHECK_INT_EQ(cases[i].name, a.n_rows, cases[i].n_rows);
		CHECK_INT_EQ(cases[i].name, a.is_cut, cases[i].is_cut);
		buf_done(&a.first);
	}
}

/* docs/protocol.md: four, or one less than the machine has CPUs, but two. */
static size_t running_most(void)
{
	long n = MIN(sysconf(_SC_NPROCESSORS_ONLN) - 1, 4);

	return (size_t)MAX(n, 2);
}

/* As many as one user may run at once, all for ever: another one's question waits until one of them is stopped. */
static void waiting_test(void)
{
	const size_t n = running_most();
	struct ingero_stream *streams[4];
	struct answer busy[4], last;

	for (size_t i = 0; i < n; i++)
		streams[i] = sql_start(FOR_EVER "SELECT count(*) FROM c", 0, 500 * SECOND, &busy[i]);
	(void)sql_start("SELECT 7", 0, 0, &last);
	CHECK_INT_EQ("stopped", ingero_stream_stop(streams[n - 1]), 0);
	while (!last.is_over || !busy[n - 1].is_over)
		turn(connection);
	CHECK_STR_EQ("its turn came", buf_text(&last.first), "7");
	for (size_t i = 0; i < n; i++) {
		CHECK("only the one that was stopped ended", busy[i].is_over == (i == n - 1));
		if (!busy[i].is_over)
			CHECK_INT_EQ("stopped, too", ingero_stream_stop(streams[i]), 0);
		while (!busy[i].is_over)
			turn(connection);
		CHECK("cancelled", busy[i].r == -ECANCELED || busy[i].code == CALL_ERROR_CANCELLED);
		buf_done(&busy[i].first);
	}
	buf_done(&last.first);
}

/* ---- the daemon ---- */

static pid_t daemon_start(const char *socket_path, const char *db)
{
	const char *const argv[] = { INGERO_COLLECTORD, "--socket", socket_path, "--read-db", db, NULL };
	pid_t pid = 0;

	CHECK_INT_EQ("the daemon", posix_spawn(&pid, argv[0], NULL, NULL, (char *const *)(uintptr_t)argv, environ), 0);
	return pid;
}

static struct ingero *connect_to(const char *socket_path, pid_t daemon)
{
	struct ingero_options options = { .socket_path = socket_path, .program = "test" };
	struct ingero *ingero = NULL;
	char error[512];
	int r;

	while ((r = ingero_open(&options, error, sizeof(error), &ingero)) == -ENOENT || r == -ECONNREFUSED) {
		if (kill(daemon, 0) < 0 && errno == ESRCH)
			break;
		(void)poll(NULL, 0, 10); /* until it listens */
	}
	if (r) {
		fprintf(stderr, "no connection: %s\n", error);
		exit(1);
	}
	return ingero;
}

/* As the caller, in a process of its own: its checks count through its exit status. */
static int be_caller(const char *socket_path, pid_t daemon)
{
	struct ingero *second;

	if (geteuid() == 0 && (setgid(caller) || setuid(caller)))
		return 1;
	connection = connect_to(socket_path, daemon);
	second = connect_to(socket_path, daemon);
	answered_test();
	years_test();
	noted_test();
	refused_test(second);
	rows_test();
	waiting_test();
	ingero_close(second);
	ingero_close(connection);
	return check_result();
}

int main(void)
{
	char dir[64], db[80], socket_path[80], name[96];
	pid_t daemon, child;
	int status = 0;

	caller = geteuid() == 0 ? CALLER_UID : getuid();
	neighbour = caller + 1;
	(void)snprintf(dir, sizeof(dir), "%s/ingero-sql-XXXXXX", P_tmpdir);
	if (!mkdtemp(dir) || chmod(dir, 0711))
		return 1;
	(void)snprintf(db, sizeof(db), "%s/db", dir);
	(void)snprintf(socket_path, sizeof(socket_path), "%s/socket", dir);
	file_make(db);
	daemon = daemon_start(socket_path, db);
	child = fork();
	if (child == 0)
		_exit(be_caller(socket_path, daemon));
	CHECK_INT_EQ("the caller", waitpid(child, &status, 0), child);
	CHECK_INT_EQ("the caller's checks", status, 0);

	CHECK_INT_EQ("the daemon lives", kill(daemon, SIGTERM), 0);
	CHECK_INT_EQ("and ends", waitpid(daemon, &status, 0), daemon);
	CHECK_INT_EQ("well", status, 0);
	for (size_t i = 0; i < 4; i++) {
		static const char *const ends[] = { "", "-wal", "-shm", "-journal" };

		(void)snprintf(name, sizeof(name), "%s%s", db, ends[i]);
		(void)unlink(name);
	}
	(void)unlink(socket_path);
	CHECK_INT_EQ("nothing else is left", rmdir(dir), 0);
	return check_result();
}
