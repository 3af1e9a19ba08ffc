// SPDX-License-Identifier: Apache-2.0
/*
 * Foreign files of every generation, and hostile ones: refused with a sentence, or read without what makes no sense.
 */
#include <errno.h>

#include "archive/foreign/json.h"
#include "archive/read/order.h"
#include "imported.h"
#include "tests/support/ingero_db.h"

#define EVENTS_BEFORE                                                                                                  \
	"CREATE TABLE events (id INTEGER PRIMARY KEY, timestamp INTEGER, pid INTEGER, tid INTEGER, source INTEGER, "   \
	"op INTEGER, duration INTEGER);"
#define EVENTS_NOW                                                                                                     \
	"CREATE TABLE events (id TEXT PRIMARY KEY, timestamp INTEGER, pid INTEGER, tid INTEGER, source INTEGER, "      \
	"op INTEGER, duration INTEGER, gpu_id INTEGER, arg0 INTEGER, arg1 INTEGER, ret_code INTEGER, "                 \
	"stack_hash INTEGER, cgroup_id INTEGER, node TEXT, comm TEXT);"
#define ROWS "INSERT INTO events (id, timestamp, pid, tid, source, op, duration) VALUES "

/* What a file holds, as text: "n rows, n refused, n missing; PID:exec_gen:comm:rows ...; operations". */
static const struct {
	const char *name, *sql;
	int result;
	const char *want;
} files[] = {
	{ "nothing", "CREATE TABLE a (b);", -ENOENT, "" },
	{ "no column duration", "CREATE TABLE events (timestamp, pid, tid, source, op);", -ENOENT, "" },
	{ "a view", "CREATE VIEW events AS SELECT 1 timestamp, 1 pid, 1 tid, 1 source, 1 op, 1 duration;", -ENOENT,
	  "" },
	{ "newer", EVENTS_NOW "PRAGMA user_version = 11;", -ENOTSUP, "" },
	{ "negative version", EVENTS_NOW "PRAGMA user_version = -1;", -ENOTSUP, "" },
	{ "newest known", EVENTS_NOW "PRAGMA user_version = 10;", 0, "0 rows, 0 refused, 0 missing;" },
	{ "the first columns alone", EVENTS_BEFORE ROWS "(1, 5, 7, 8, 1, 1, 9);", 0,
	  "1 rows, 0 refused, 0 missing; 7:0::1 cudaMalloc=1" },
	{ "operations without lookup rows", EVENTS_BEFORE ROWS "(1,5,7,8,1,9,9), (2,6,7,8,8,4,9), (3,7,7,8,3,21,9);", 0,
	  "3 rows, 0 refused, 0 missing; 7:0::3 cudaMemcpy2D=1 cudaGraphLaunch=1 sched_switch_summary=1" },
	{ "numbers nobody knows", EVENTS_BEFORE ROWS "(1,5,7,8,1,77,9), (2,6,7,8,42,3,9), (3,6,7,8,3,55,9);", 0,
	  "3 rows, 0 refused, 0 missing; 7:0::3 op(77)=1 op(3)=1 host_op(55)=1" },
	{ "the file names it",
	  EVENTS_BEFORE
	  "CREATE TABLE ops (source_id, op_id, name); INSERT INTO ops VALUES (4, 99, 'cuNew'), (4, 98, x'ff41'), "
	  "(4, 97, 'cuStreamSynchronize'), ('a', 'b', 'c');" ROWS
	  "(1,5,7,8,4,99,9), (2,6,7,8,4,98,9), (3,7,7,8,4,97,9);",
	  0, "3 rows, 0 refused, 0 missing; 7:0::3 cuStreamSynchronize=1 cuNew=1 ?A=1" },
	{ "two numbers of one name",
	  EVENTS_BEFORE "CREATE TABLE ops (source_id, op_id, name); INSERT INTO ops VALUES (4, 99, 'cuNew'), "
			"(4, 98, 'cuNew');" ROWS "(1,5,7,8,4,99,9), (2,6,7,8,4,98,9);",
	  0, "2 rows, 0 refused, 0 missing; 7:0::2 cuNew=2" },
	{ "an end beyond all time", EVENTS_BEFORE ROWS "(1,5,7,8,1,1,9223372036854775807), (2,5,7,8,1,1,9);", 0,
	  "1 rows, 1 refused, 1 missing; 7:0::1 cudaMalloc=1" },
	{ "a begin beyond all time", EVENTS_BEFORE ROWS "(1,9223372036854775807,7,8,1,1,0), (2,5,7,8,1,1,9);", 0,
	  "1 rows, 1 refused, 1 missing; 7:0::1 cudaMalloc=1" },
	{ "more aggregates in a minute than are kept",
	  EVENTS_BEFORE
	  "CREATE TABLE event_aggregates (bucket, source, op, pid, count); WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL"
	  " SELECT i + 1 FROM c WHERE i < 65536 + 10) INSERT INTO event_aggregates SELECT 60000000000, 1, 1, 7, 3 FROM "
	  "c;" ROWS "(1,5,7,8,1,1,9);",
	  0, "1 rows, 10 refused, 0 missing; 7:0::1 cudaMalloc=1" },
	{ "short names", EVENTS_BEFORE ROWS "(1,5,7,8,1,5,9);", 0,
	  "1 rows, 0 refused, 0 missing; 7:0::1 cudaStreamSynchronize=1" },
	{ "makes no sense",
	  EVENTS_BEFORE ROWS
	  "(1,'x',7,8,1,1,9), (2,-5,7,8,1,1,9), (3,5,-1,8,1,1,9), (4,5,7,8,1,1,-1), (5,5,7,8,1,1,NULL), "
	  "(6,5,99999999999,8,1,1,1), (7,0,7,8,1,1,1), (8,9,7,8,-1,1,1), (9,9,7,8,1,x'00',1), (10,9,7,8,1,1,1);",
	  0, "1 rows, 9 refused, 9 missing; 7:0::1 cudaMalloc=1" },
	{ "rows were removed",
	  EVENTS_NOW "INSERT INTO events (id,timestamp,pid,tid,source,op,duration,node,comm) VALUES "
		     "('n1:3',1,7,7,1,1,1,'n1','a'), ('n1:5',2,7,7,1,1,1,'n1','a'), ('n2:1',3,7,7,1,1,1,'n2','b');",
	  0, "3 rows, 0 refused, 3 missing; 7:0:a:2 7:0:b:1 cudaMalloc=3" },
	{ "exec, exit, fork",
	  EVENTS_NOW
	  "INSERT INTO events (id,timestamp,pid,tid,source,op,duration,arg1) VALUES "
	  "(1,10,7,7,1,1,1,0), (2,20,7,7,3,5,0,0), (3,30,7,7,1,1,1,0), (4,40,7,8,3,6,0,0), (5,50,7,7,1,1,1,0), "
	  "(6,60,7,7,3,6,0,0), (7,65,7,7,3,1,1,0), (8,70,1,1,3,7,0,7), (9,80,7,7,1,1,1,0);",
	  0,
	  "9 rows, 0 refused, 0 missing; 1:0::1 7:0::1 7:1::6 7:0::1"
	  " cudaMalloc=4 sched_switch=1 process_exec=1 process_exit=2 process_fork=1" },
	{ "a number used again without a fork row",
	  EVENTS_NOW "INSERT INTO events (id,timestamp,pid,tid,source,op,duration) VALUES "
		     "(1,10,7,7,1,1,1), (2,20,7,7,3,6,0), (4,40,7,7,1,1,1), (3,30,7,7,1,1,1);",
	  0, "4 rows, 0 refused, 0 missing; 7:0::2 7:0::2 cudaMalloc=3 process_exit=1" },
	{ "names by number, two nodes",
	  EVENTS_NOW "CREATE TABLE process_names (pid, name); INSERT INTO process_names VALUES (7, 'who?'), (8, 'one');"
		     "INSERT INTO events (id,timestamp,pid,tid,source,op,duration,node) VALUES "
		     "('a:1',1,7,7,1,1,1,'a'), ('b:1',2,7,7,1,1,1,'b'), ('b:2',2,8,8,1,1,1,'b');",
	  0, "3 rows, 0 refused, 0 missing; 7:0::1 7:0::1 8:0:one:1 cudaMalloc=3" },
	{ "a long, broken name",
	  EVENTS_NOW "INSERT INTO events (id,timestamp,pid,tid,source,op,duration,comm) VALUES "
		     "(1,10,7,7,1,1,1,CAST(x'41ff42c3' AS TEXT) || 'ccccccccccccccccccccccc');",
	  0, "1 rows, 0 refused, 0 missing; 7:0:A?B?ccccccccccc:1 cudaMalloc=1" },
	{ "tables without their columns",
	  EVENTS_BEFORE
	  "CREATE TABLE stack_traces (a); CREATE TABLE causal_chains (a); CREATE TABLE system_snapshots (a);"
	  "CREATE TABLE sessions (a); CREATE TABLE event_aggregates (a); CREATE TABLE process_names (a);"
	  "CREATE TABLE sources (a); CREATE TABLE ops (a); INSERT INTO sessions VALUES (1);"
	  "INSERT INTO event_aggregates VALUES (1); INSERT INTO ops VALUES (1);" ROWS "(1,5,7,8,1,1,9);",
	  0, "1 rows, 0 refused, 0 missing; 7:0::1 cudaMalloc=1" },
	{ "everything is something else",
	  EVENTS_BEFORE
	  "CREATE TABLE stack_traces (hash, frames, ips); INSERT INTO stack_traces VALUES ('a', 1, 2), (1, x'00', 3);"
	  "CREATE TABLE causal_chains (detected_at, id); INSERT INTO causal_chains VALUES ('x', 1), (5, 2.5);"
	  "CREATE TABLE system_snapshots (timestamp, cpu_pct); INSERT INTO system_snapshots VALUES ('x', 'y'), (4, "
	  "1e999);"
	  "CREATE TABLE sessions (started_at, mem_total); INSERT INTO sessions VALUES (NULL, 'z'), (3, -4);"
	  "CREATE TABLE event_aggregates (bucket, source, op, pid, count); INSERT INTO event_aggregates VALUES "
	  "('x', 1, 1, 1, 1), (9223372036854775807, 1, 1, 7, 3), (5, 1, 1, 7, -3);" ROWS "(1,5,7,8,1,1,9);",
	  0, "1 rows, 0 refused, 0 missing; 7:0::1 cudaMalloc=1" },
};

struct text {
	char text[1024];
	size_t rows[64]; /* by process */
	uint64_t n, n_refused, n_missing;
	size_t counts[2 * OP_ID_MAX];
};

static int process_tell(const struct read_process *process, void *data)
{
	struct text *t = data;
	size_t used = strlen(t->text);

	snprintf(t->text + used, sizeof(t->text) - used, " %u:%u:%s:%" PRIu64, process->pid, process->exec_gen,
		 process->comm, (uint64_t)t->rows[process->id % ARRAY_SIZE(t->rows)]);
	return 0;
}

static int event_count(const struct read_event *event, void *data)
{
	struct text *t = data;

	t->n++;
	t->rows[event->process->id % ARRAY_SIZE(t->rows)]++;
	return 0;
}

static int gap_count(const Ingero__V1__Gap *gap, void *data)
{
	struct text *t = data;

	t->n_refused += strcmp(gap->reason, "damaged") ? 0 : gap->count;
	t->n_missing += strcmp(gap->reason, "retention") ? 0 : gap->count;
	return 0;
}

static int bucket_tell(const struct read_bucket *bucket, void *data)
{
	struct text *t = data;

	for (size_t i = 0; i < bucket->n_figures; i++)
		t->counts[bucket->figures[i].op->id % ARRAY_SIZE(t->counts)] +=
			bucket->figures[i].figures.durations.sum;
	return 0;
}

static int op_tell(const struct read_op *op, void *data)
{
	struct text *t = data;
	size_t used = strlen(t->text), n = t->counts[op->id % ARRAY_SIZE(t->counts)];

	if (n)
		snprintf(t->text + used, sizeof(t->text) - used, " %s=%zu", op->name, n);
	return 0;
}

static int nothing(const void *message, void *data)
{
	(void)message;
	++*(size_t *)data;
	return 0;
}

static int finding_seen(const Ingero__V1__Finding *finding, void *data)
{
	return nothing(finding, data);
}

static int stack_seen(const struct read_stack *stack, void *data)
{
	return nothing(stack, data);
}

static int snapshot_seen(const Ingero__V1__SystemSample *sample, void *data)
{
	return nothing(sample, data);
}

static int session_seen(const Ingero__V1__Session *session, void *data)
{
	return nothing(session, data);
}

static int gap_seen(const Ingero__V1__Gap *gap, void *data)
{
	return nothing(gap, data);
}

/* Every question is answered, whatever the answer. */
static void all_ask(const char *name, struct store_reader *reader)
{
	uint64_t from, to, n_rows;
	size_t n = 0;

	CHECK_INT_EQ(name, store_reader_stacks(reader, 0, stack_seen, &n), 0);
	CHECK_INT_EQ(name, store_reader_findings(reader, 0, 0, finding_seen, &n), 0);
	CHECK_INT_EQ(name, store_reader_snapshots(reader, 0, 0, snapshot_seen, &n), 0);
	CHECK_INT_EQ(name, store_reader_sessions(reader, session_seen, &n), 0);
	CHECK_INT_EQ(name, store_reader_gaps(reader, 0, 0, gap_seen, &n), 0);
	CHECK_INT_EQ(name, store_reader_span(reader, &from, &to), 0);
	CHECK_INT_EQ(name, store_reader_count(reader, &(struct read_filter){ 0 }, &n_rows), 0);
}

static void files_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *name = files[i].name;
		struct read_scope scope = { .all = true };
		struct store_reader *reader = NULL;
		char why[READ_WHY_BYTES] = "";
		struct sqlite3 *db = imported_file(name, files[i].sql), *imported = NULL;
		struct text t = { .text = "" };

		CHECK_INT_EQ(name, foreign_import(db, &scope, true, why, &imported), files[i].result);
		CHECK_INT_EQ(name, *why != '\0', files[i].result != 0 && files[i].result != -ENOENT);
		if (imported)
			CHECK_INT_EQ(name, store_reader_open(imported, &scope, why, &reader), 0);
		if (reader) {
			CHECK_INT_EQ(name, store_reader_events(reader, &(struct read_filter){ 0 }, event_count, &t), 0);
			CHECK_INT_EQ(name, store_reader_gaps(reader, 0, 0, gap_count, &t), 0);
			snprintf(t.text, sizeof(t.text), "%" PRIu64 " rows, %" PRIu64 " refused, %" PRIu64 " missing;",
				 t.n, t.n_refused, t.n_missing);
			store_reader_processes(reader, process_tell, &t);
			CHECK_INT_EQ(name, store_reader_buckets(reader, 0, 0, bucket_tell, &t), 0);
			store_reader_ops(reader, op_tell, &t);
			CHECK_STR_EQ(name, t.text, files[i].want);
			all_ask(name, reader);
			store_reader_close(reader);
		}
		sqlite3_close(imported);
		sqlite3_close(db);
	}
}

static int gap_tell(const Ingero__V1__Gap *gap, void *data)
{
	char *text = data;
	size_t used = strlen(text);

	snprintf(text + used, 256 - used, "%s %" PRIu64 " %llu-%llu;", gap->reason, gap->count,
		 gap->from_unix_ns / NSEC_PER_SEC, gap->to_unix_ns / NSEC_PER_SEC);
	return 0;
}

static int event_tell(const struct read_event *event, void *data)
{
	char *text = data;
	size_t used = strlen(text);

	snprintf(text + used, 256 - used, "%u.%llu:%u;", event->boot, event->start_unix_ns / NSEC_PER_SEC,
		 event->event->stack);
	return 0;
}

/* Minutes with aggregates from 60 s on; two nodes whose calls are in turn; stacks with the same frames. */
static void parts_check(void)
{
	static const char sql[] = EVENTS_NOW
		"CREATE TABLE event_aggregates (bucket, source, op, pid, count, stored);"
		"CREATE TABLE stack_traces (hash INTEGER PRIMARY KEY, ips, frames);"
		"INSERT INTO stack_traces VALUES (-5, '[]', '[\"a\"]'), (6, '[]', '[\"b\"]'), (7, '[]', '[\"a\"]');"
		"INSERT INTO event_aggregates VALUES (60000000000, 1, 1, 7, 9, 2), (120000000000, 1, 1, 7, 4, 0), "
		"(60000000000, 3, 1, 7, 9, 0), (240000000000, 1, 1, 8, 5, 0);"
		"INSERT INTO events (timestamp, pid, tid, source, op, duration, node, stack_hash) VALUES "
		"(61000000000, 7, 7, 1, 1, 1, 'a', -5), (64000000000, 7, 7, 1, 1, 1, 'a', 7),"
		"(62000000000, 7, 7, 1, 1, 1, 'b', 6), (63000000000, 7, 7, 1, 1, 1, 'b', 0);";
	static const struct {
		const char *name, *want;
		uint64_t from_s, to_s;
	} windows[] = {
		{ "all", "not_kept 11 60-179;not_kept 5 240-299;", 0, 0 },
		{ "the first minute", "not_kept 7 60-119;", 60, 120 },
		{ "in the second minute", "not_kept 4 120-179;", 130, 131 },
		{ "between", "", 180, 240 },
	};
	struct imported imported = imported_open("parts", imported_file("parts", sql));
	struct store_reader *reader = imported.reader;
	char told[256] = "";

	for (size_t i = 0; reader && i < ARRAY_SIZE(windows); i++) {
		char text[256] = "";

		CHECK_INT_EQ(windows[i].name,
			     store_reader_gaps(reader, windows[i].from_s * NSEC_PER_SEC, windows[i].to_s * NSEC_PER_SEC,
					       gap_tell, text),
			     0);
		CHECK_STR_EQ(windows[i].name, text, windows[i].want);
	}
	if (reader) {
		struct read_order *order = NULL;
		struct read_event event;
		int r = read_order_open(reader, &(struct read_filter){ .columns = BLOCK_ALL_COLUMNS }, &order);

		while (r == 0 && ((r = read_order_next(order, &event)) > 0 || r == -EAGAIN))
			r = r > 0 ? event_tell(&event, told) : 0;
		CHECK_INT_EQ("nodes", r, 0);
		CHECK_STR_EQ("nodes", told, "1.61:1;2.62:2;2.63:0;1.64:1;");
		read_order_close(order);
	}
	imported_close(&imported);
}

static int node_sum(const struct read_bucket *bucket, void *data)
{
	char *told = data;

	for (size_t i = 0; i < bucket->n_figures; i++) {
		const struct read_figures *f = &bucket->figures[i];
		size_t used = strlen(told);

		(void)snprintf(told + used, 256 - used, "%s %u: %" PRIu64 ";", f->process->node, f->process->pid,
			       op_figures_count(&f->figures));
	}
	return 0;
}

static int node_tell(const struct read_process *p, void *data)
{
	char *told = data;
	size_t used = strlen(told);

	(void)snprintf(told + used, 256 - used, "%s %u %d;", p->node, p->pid, p->tells_node);
	return 0;
}

/* A process is of its own node, not of the newest session's; so are aggregates that name one, as ours do. */
static void nodes_check(void)
{
	static const char sql[] =
		EVENTS_NOW "CREATE TABLE sessions (started_at, node); INSERT INTO sessions VALUES (1, 'a'), (2, 'b');"
			   "CREATE TABLE event_aggregates (bucket, source, op, pid, count, stored, node);"
			   "INSERT INTO event_aggregates VALUES (60000000000, 1, 1, 7, 9, 1, 'b'), (60000000000, 1, 1, "
			   "7, 4, 1, 'a'),"
			   "(60000000000, 1, 1, 8, 3, 0, 'b');"
			   "INSERT INTO events (timestamp, pid, tid, source, op, duration, node) VALUES "
			   "(61000000000, 7, 7, 1, 1, 1, 'a'), (62000000000, 7, 7, 1, 1, 1, 'b');";
	struct imported imported = imported_open("nodes", imported_file("nodes", sql));
	struct store_reader *reader = imported.reader;
	char told[256] = "";

	if (reader) {
		CHECK_INT_EQ("nodes", store_reader_processes(reader, node_tell, told), 0);
		CHECK_STR_EQ("processes of nodes", told, "a 7 1;b 7 1;b 8 1;");
		told[0] = '\0';
		CHECK_INT_EQ("nodes", store_reader_sums(reader, 0, 0, node_sum, told), 0);
		CHECK_STR_EQ("aggregates of nodes", told, "a 7: 4;b 7: 9;b 8: 3;");
	}
	imported_close(&imported);
}

static void scope_check(void)
{
	struct sqlite3 *db = ingero_db_open("sample-gpu-node-02.db", false);
	struct read_scope scope = { .uid = 0 };
	struct sqlite3 *imported = NULL;
	char why[READ_WHY_BYTES] = "";

	CHECK_INT_EQ("one user's scope", foreign_import(db, &scope, true, why, &imported), -EACCES);
	CHECK("one user's scope", strstr(why, "whose") != NULL);
	sqlite3_close(db);
}

/* "key=value;" of each field, "|" behind each element. */
static const struct {
	const char *json, *want;
} texts[] = {
	{ "", "" },
	{ "[]", "" },
	{ "null", "" },
	{ "[\"a\",\"b\"]", "=a;|=b;|" },
	{ "[{\"s\":\"f\\n\\u00e9\",\"l\":12}]", "s=f\n\xc3\xa9;l=12;|" },
	{ " [ { \"s\" : \"\\ud83d\\ude00\" , \"x\" : null } , { } ] ", "s=\xf0\x9f\x98\x80;x=;||" },
	{ "[\"\\ud83d\"]", "=?;|" },
	{ "[\"\\u0000\"]", "=?;|" },
	{ "[{\"a\":[1]}]", "" },
	{ "[[\"a\"]]", "" },
	{ "[\"a\"", "=a;|" },
	{ "[\"a", "" },
	{ "[\"a\\", "" },
	{ "[\"a\\u12", "" },
	{ "[{\"a\"", "" },
	{ "[{\"a\":}]", "" },
	{ "[\"a\" \"b\"]", "=a;|" },
	{ "[{\"a_key_that_is_far_too_long\":1}]", "a_key_that_is_f=1;|" },
	{ "[{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":\"a long one\"}]",
	  "a=1;b=2;c=3;d=4;e=5;f=6;g=7;h=8;|" },
};

static void json_check(void)
{
	static struct foreign_json_element element;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		size_t n = strlen(texts[i].json);
		char *copy = malloc(n + !n), told[256] = "";
		struct foreign_json json = { .at = copy, .end = copy + n };

		memcpy(copy, texts[i].json, n); /* without its NUL: reading beyond the end is seen */
		while (foreign_json_next(&json, &element) > 0) {
			for (size_t f = 0; f < element.n; f++)
				snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s=%s;",
					 element.fields[f].key, element.fields[f].value);
			strcat(told, "|");
		}
		CHECK_STR_EQ(texts[i].json, told, texts[i].want);
		free(copy);
	}
}

/* Bytes overwritten all over a real file: an error or an answer, and nothing else. */
static void damage_check(void)
{
	uint64_t random = 88172645463325252ull;

	for (int round = 0; round < 200; round++) {
		struct read_scope scope = { .all = true };
		struct store_reader *reader = NULL;
		char why[READ_WHY_BYTES] = "";
		struct sqlite3 *db, *imported = NULL;
		size_t n, seen = 0;
		unsigned char *data = ingero_db_unpack("sample-gpu-node-01.db", &n);
		uint64_t from, to;
		struct text t = { .text = "" };

		if (!data)
			return;
		for (int i = 0; i < 1 + round % 40; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			data[100 + random % (n - 100)] = (unsigned char)(random >> 32);
		}
		db = ingero_db_open_bytes(data, n, false);
		if (foreign_import(db, &scope, true, why, &imported) == 0 &&
		    store_reader_open(imported, &scope, why, &reader) == 0) {
			store_reader_buckets(reader, 0, 0, bucket_tell, &t);
			store_reader_stacks(reader, 0, stack_seen, &seen);
			store_reader_findings(reader, 0, 0, finding_seen, &seen);
			store_reader_snapshots(reader, 0, 0, snapshot_seen, &seen);
			store_reader_sessions(reader, session_seen, &seen);
			store_reader_gaps(reader, 0, 0, gap_seen, &seen);
			store_reader_span(reader, &from, &to);
			store_reader_close(reader);
		}
		sqlite3_close(imported);
		sqlite3_close(db);
		CHECK("damage", true);
	}
}

int main(void)
{
	files_check();
	parts_check();
	nodes_check();
	scope_check();
	json_check();
	damage_check();
	return check_result();
}
