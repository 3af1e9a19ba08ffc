// SPDX-License-Identifier: Apache-2.0
/*
 * A plain SQLite file of everything that a reader may see: the tables of a caller's SQL, one after another, in one
 * transaction.
 */
#include "archive/export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "archive/export/schema.h"
#include "archive/export/stacks.h"
#include "archive/job.h"
#include "archive/sql/sql.h"
#include "archive/tables/tables.h"
#include "base/buf.h"

/* A node, whose calls are numbered from 1. */
struct export_node {
	char name[READ_NODE_BYTES];
	uint64_t n_events;
};

struct export
{
	const struct export_request *request;
	struct store_reader *reader;
	sqlite3 *in; /* has the tables of a caller's SQL */
	sqlite3 *out;
	const char *node; /* node of the newest session, for rows that name none */
	bool has_nodes;	  /* rows are of several nodes */
	ARRAY(struct export_node) nodes;
	size_t last_node; /* index of the node that was numbered last */
	uint64_t n_events;
	struct export_stacks stacks;
};

#define NODE "coalesce(nullif(node, ''), :node)" /* node of a row */

static const struct copy {
	const char *table;
	const char *select;	  /* SELECT with WHERE; one column for each of the table */
	const char *select_nodes; /* the same if there are several nodes; NULL: no difference */
	const char *begin;	  /* start of a row; must be before the requested end; NULL: all rows */
	const char *end;	  /* end of a row and its comparison with the begin of that time */
	const char *conflict;	  /* action if the row exists; NULL: keep the existing row */
	bool has_pid;		  /* has a column pid; 0: unknown process */
	const struct table *ours; /* source of the columns; NULL: a table of Ingero, in schema.c */
} copies[] = {
	{ .table = "sources", .select = "SELECT * FROM sources" },
	{ .table = "sessions", .select = "SELECT * FROM sessions" },
	/* Ingero stores an operation's number in a byte: operations that do not fit share the last number. */
	{ .table = "events",
	  .select = "SELECT " NODE " || ':' || call_number(" NODE
		    "), timestamp, pid, tid, source, min(op, 255), duration, gpu_id,"
		    " arg0, arg1, ret_code, stack_used(stack_hash), cgroup_id, " NODE ", rank, local_rank, world_size,"
		    " comm FROM events WHERE true",
	  .begin = "timestamp",
	  .end = "timestamp >=",
	  .has_pid = true },
	{ .table = "ops", .select = "SELECT source_id, min(op_id, 255), name, name FROM ops" },
	{ .table = "stack_traces",
	  .select = "SELECT stack_known(hash), ips, frames FROM stack_traces WHERE stack_known(hash)" },
	{ .table = "process_names",
	  .select = "SELECT pid, name, seen_at FROM processes WHERE name <> ''",
	  .begin = "seen_at",
	  .end = "coalesce(gone_at, 9223372036854775807) >=",
	  .conflict = "UPDATE SET name = excluded.name, seen_at = excluded.seen_at WHERE excluded.seen_at >= seen_at",
	  .has_pid = true },
	{ .table = "system_snapshots",
	  .select = "SELECT NULL, timestamp, cpu_pct, mem_pct, mem_avail, swap_mb, load_avg FROM system_snapshots"
		    " WHERE true",
	  .begin = "timestamp",
	  .end = "timestamp >=" },
	{ .table = "event_aggregates",
	  .select = "SELECT bucket - bucket % 60000000000, source, min(op, 255), pid, count, 0, sum_dur, min_dur,"
		    " max_dur, sum_arg0 FROM event_aggregates WHERE true",
	  .select_nodes = "SELECT bucket - bucket % 60000000000, source, min(op, 255), pid, count, 0, sum_dur, min_dur,"
			  " max_dur, sum_arg0, " NODE " FROM event_aggregates WHERE true",
	  .begin = "bucket",
	  .end = "bucket_end >",
	  .conflict = "UPDATE SET count = count + excluded.count, sum_dur = sum_dur + excluded.sum_dur,"
		      " min_dur = min(min_dur, excluded.min_dur), max_dur = max(max_dur, excluded.max_dur),"
		      " sum_arg0 = sum_arg0 + excluded.sum_arg0",
	  .has_pid = true },
	{ .table = "causal_chains",
	  .select = "SELECT " NODE " || ':' || kind || '-' || substr(id, CASE instr(id, ':') WHEN 0 THEN 1 ELSE"
		    " length(node) + 2 END), detected_at, severity, summary, root_cause, explanation,"
		    " recommendations, coalesce((SELECT name FROM ops WHERE description = cuda_op LIMIT 1), cuda_op),"
		    " cuda_p99_us, cuda_p50_us, tail_ratio, timeline, " NODE " FROM causal_chains WHERE true",
	  .begin = "detected_at",
	  .end = "coalesce(ended_at, 9223372036854775807) >=",
	  .has_pid = true },
	/* Accounts and waits are of the requested window already. */
	{ .table = "accounts",
	  .select = "SELECT * FROM accounts WHERE true",
	  .has_pid = true,
	  .ours = &table_accounts },
	{ .table = "waits", .select = "SELECT * FROM waits WHERE true", .has_pid = true, .ours = &table_waits },
};

/* ---- SQL functions of these statements ---- */

static void call_number(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct export *e = sqlite3_user_data(context);
	const char *name = (const char *)sqlite3_value_text(argv[0]);
	size_t at = e->last_node;

	(void)argc;
	for (size_t i = 0; i < e->nodes.n && strcmp(e->nodes.items[at].name, name ? name : ""); i++)
		at = i;
	if (at == e->nodes.n || strcmp(e->nodes.items[at].name, name ? name : "")) {
		struct export_node node = { .n_events = 0 };

		(void)snprintf(node.name, sizeof(node.name), "%s", name ? name : "");
		at = e->nodes.n;
		if (ARRAY_PUSH(&e->nodes, node) < 0) {
			sqlite3_result_error_nomem(context);
			return;
		}
	}
	e->last_node = at;
	e->n_events++;
	sqlite3_result_int64(context, (sqlite3_int64)++e->nodes.items[at].n_events);
}

/* Hash of a call's stack; marks the stack for export. */
static void stack_used(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const struct export *e = sqlite3_user_data(context);
	struct export_stack *stack = export_stack_find(&e->stacks, sqlite3_value_int64(argv[0]));

	(void)argc;
	if (stack)
		stack->is_used = true;
	sqlite3_result_int64(context, stack ? stack->hash : 0);
}

static void stack_known(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const struct export *e = sqlite3_user_data(context);
	const struct export_stack *stack = export_stack_find(&e->stacks, sqlite3_value_int64(argv[0]));

	(void)argc;
	sqlite3_result_int64(context, stack && stack->is_used ? stack->hash : 0);
}

/* ---- copying ---- */

static void conditions_append(struct buf *sql, const struct copy *c, const struct export_request *request)
{
	if (c->begin && request->from_unix_ns)
		buf_printf(sql, " AND %s %" PRIu64, c->end, MIN(request->from_unix_ns, (uint64_t)INT64_MAX));
	if (c->begin && request->to_unix_ns)
		buf_printf(sql, " AND %s < %" PRIu64, c->begin, MIN(request->to_unix_ns, (uint64_t)INT64_MAX));
	if (c->has_pid && request->n_pids) {
		/* "+": otherwise each member of the list would be a lookup, each with a pass over the whole table. */
		buf_append_text(sql, " AND +pid IN (0");
		for (size_t i = 0; i < request->n_pids; i++)
			buf_printf(sql, ", %u", request->pids[i]);
		buf_append_text(sql, ")");
	}
}

static int statements_prepare(struct export *e, const struct copy *c, sqlite3_stmt **ret_select,
			      sqlite3_stmt **ret_insert)
{
	CLEANUP(buf_done) struct buf select = BUF_INIT, insert = BUF_INIT;
	int r, node;

	buf_append_text(&select, e->has_nodes && c->select_nodes ? c->select_nodes : c->select);
	conditions_append(&select, c, e->request);
	if (select.failed)
		return -ENOMEM;
	r = sql_prepare(e->in, buf_text(&select), ret_select);
	if (r < 0)
		return r;
	node = sqlite3_bind_parameter_index(*ret_select, ":node");
	if (node)
		sql_text(*ret_select, node, e->node);

	buf_printf(&insert, "INSERT INTO %s VALUES (?1", c->table);
	for (int i = 2; i <= sqlite3_column_count(*ret_select); i++)
		buf_printf(&insert, ", ?%d", i);
	buf_printf(&insert, ") ON CONFLICT DO %s", c->conflict ? c->conflict : "NOTHING");
	return insert.failed ? -ENOMEM : sql_prepare(e->out, buf_text(&insert), ret_insert);
}

static int table_copy(struct export *e, const struct copy *c)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *select = NULL;
	CLEANUP(sql_finalizep) sqlite3_stmt *insert = NULL;
	int r = statements_prepare(e, c, &select, &insert);

	while (r == 0 && (r = sql_step(select)) > 0) {
		for (int i = 0; i < sqlite3_column_count(select); i++)
			(void)sqlite3_bind_value(insert, i + 1, sqlite3_column_value(select, i));
		r = sql_run(insert);
	}
	return r;
}

static int exec(struct export *e, const char *sql)
{
	return sql_errno(e->out, sqlite3_exec(e->out, sql, NULL, NULL, NULL));
}

/* Creates a table that Ingero does not have. */
static int table_create(struct export *e, const struct table *table)
{
	CLEANUP(buf_done) struct buf sql = BUF_INIT;

	buf_printf(&sql, "CREATE TABLE %s (", table->name);
	for (size_t i = 0; i < table->n_columns; i++)
		if (table_column_is_shown(e->reader, &table->columns[i]))
			buf_printf(&sql, "%s\"%s\" %s", i ? ", " : "", table->columns[i].name, table->columns[i].type);
	buf_append_text(&sql, ")");
	return sql.failed ? -ENOMEM : exec(e, buf_text(&sql));
}

static int tables_write(struct export *e)
{
	static const char find_node[] =
		"SELECT coalesce((SELECT node FROM sessions WHERE node <> '' ORDER BY id DESC LIMIT 1), 'node')";
	CLEANUP(sql_finalizep) sqlite3_stmt *node = NULL;
	int r = exec(e, "BEGIN");

	if (r == 0)
		r = exec(e, export_schema);
	if (r == 0 && e->has_nodes)
		r = exec(e, export_nodes);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(copies); i++) {
		r = copies[i].ours ? table_create(e, copies[i].ours) : 0;
		if (r == 0)
			r = table_copy(e, &copies[i]);
		if (r < 0 || e->node || strcmp(copies[i].table, "sessions") != 0)
			continue;
		r = sql_prepare(e->out, find_node, &node);
		if (r == 0)
			r = MIN(sql_step(node), 0);
		e->node = (const char *)sqlite3_column_text(node, 0);
	}
	sql_resetp(&node);
	if (r == 0)
		r = exec(e, e->has_nodes ? export_stored_nodes : export_stored);
	if (r == 0)
		r = exec(e, export_finish);
	return r == 0 ? exec(e, "COMMIT") : r;
}

static int tables_open(struct export *e, struct reader_job *job)
{
	const struct {
		const char *name;
		int n_arguments;
		void (*func)(sqlite3_context *context, int argc, sqlite3_value **argv);
	} functions[] = { { "call_number", 1, call_number },
			  { "stack_used", 1, stack_used },
			  { "stack_known", 1, stack_known } };
	int r;

	if (sqlite3_open_v2(":memory:", &e->in, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
			    NULL) != SQLITE_OK)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (sqlite3_create_function_v2(e->in, functions[i].name, functions[i].n_arguments, SQLITE_UTF8, e,
					       functions[i].func, NULL, NULL, NULL) != SQLITE_OK)
			return -ENOMEM;
	r = tables_install(e->in, job);
	reader_deadline_set(job, e->in);
	return r;
}

int export_db(struct reader_job *job, const struct export_request *request, struct sqlite3 *out, uint64_t *ret_events)
{
	struct export e = { .request = request,
			    .reader = job->reader,
			    .out = out,
			    .has_nodes = store_reader_tells_nodes(job->reader) };
	int r;

	job->from_unix_ns = request->from_unix_ns;
	job->to_unix_ns = request->to_unix_ns;
	r = tables_open(&e, job);

	if (r == 0)
		r = export_stacks_load(&e.stacks, job->reader);
	if (r == 0)
		r = tables_write(&e);
	ARRAY_DONE(&e.stacks);
	ARRAY_DONE(&e.nodes);
	(void)sqlite3_close(e.in);
	*ret_events = e.n_events;
	return r;
}
