// SPDX-License-Identifier: Apache-2.0
/* run_sql: the caller's SELECT on the recording. */
#include <errno.h>
#include <time.h>

#include "base/json_text.h"
#include "libingero/answers/query/rows.h"
#include "mcp-server/tool.h"

#define ROWS_DEFAULT 1000
#define ROWS_MOST 10000
#define ROWS_BYTES_MOST (1u << 20) /* of an answer; rows beyond are not collected */
#define SQL_TIME_NS (30 * NSEC_PER_SEC)

struct sql_arguments {
	const char *query;
	uint64_t limit;
};

#define ARGUMENTS struct sql_arguments
static const struct param sql_params[] = {
	PARAM_ROW(TEXT, "query", query, "One SELECT or WITH, or .tables for the names of the tables",
		  .is_required = true),
	PARAM_ROW(NUMBER, "limit", limit, "Most rows; default: 1000", .min = 1, .max = ROWS_MOST),
};

static const struct tool_member sql_members[] = {
	{ "meta", "object", "rows, truncated (more rows matched), duration_ms, note" },
	{ "columns", "array", "Names of the columns" },
	{ "data", "array", "Rows, each an array of values" },
};

static const struct answer_list sql_lists[] = {
	{ "data", "raise max_tokens, or aggregate: GROUP BY, LIMIT, fewer columns", .more = NULL },
};

static const struct answer_shape sql_shape = { .lists = sql_lists, .n_lists = ARRAY_SIZE(sql_lists) };

struct sql_rows {
	struct buf columns; /* elements, with commas between */
	struct buf data;
	struct buf note;
	uint64_t n;
	bool is_cut;
};

static void sql_row_append(struct sql_rows *rows, const Ingero__V1__SqlRow *row)
{
	if (rows->data.n > ROWS_BYTES_MOST) {
		rows->is_cut = true;
		return;
	}
	(void)buf_append_text(&rows->data, rows->n++ ? ",[" : "[");
	for (size_t i = 0; i < row->n_values; i++) {
		(void)buf_append_text(&rows->data, i ? "," : "");
		rows_value_json(row->values[i], &rows->data);
	}
	(void)buf_append_text(&rows->data, "]");
}

static int sql_reply_take(const ProtobufCMessage *message, void *data)
{
	const Ingero__V1__SqlReply *reply = (const Ingero__V1__SqlReply *)message;
	struct sql_rows *rows = data;

	for (size_t i = 0; i < reply->n_columns; i++) {
		(void)buf_append_text(&rows->columns, rows->columns.n ? "," : "");
		json_text_add(&rows->columns, reply->columns[i]);
	}
	for (size_t i = 0; i < reply->n_rows; i++)
		sql_row_append(rows, reply->rows[i]);
	rows->is_cut |= reply->is_cut;
	if (*reply->note)
		(void)buf_append_text(&rows->note, reply->note);
	return rows->data.failed || rows->columns.failed ? -ENOMEM : 0;
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static void sql_write(struct sql_rows *rows, uint64_t took_ns, struct answer *answer)
{
	struct writer w = { .out = &answer->body };

	writer_open(&w, NULL, '{');
	writer_open(&w, "meta", '{');
	writer_integer(&w, "rows", (int64_t)rows->n);
	writer_boolean(&w, "truncated", rows->is_cut);
	writer_integer(&w, "duration_ms", (int64_t)(took_ns / NSEC_PER_MSEC));
	if (rows->note.n)
		writer_text(&w, "note", buf_text(&rows->note));
	writer_close(&w, '}');
	writer_open(&w, "columns", '[');
	(void)buf_append_text(&answer->body, buf_text(&rows->columns));
	writer_close(&w, ']');
	writer_open(&w, "data", '[');
	(void)buf_append_text(&answer->body, buf_text(&rows->data));
	writer_close(&w, ']');
	writer_close(&w, '}');
}

static int sql_tool_run(const struct tool_call *call, struct answer *answer)
{
	const struct sql_arguments *a = call->arguments;
	Ingero__V1__SqlRequest request = INGERO__V1__SQL_REQUEST__INIT;
	struct sql_rows rows = { .n = 0 };
	struct ingero *ingero = tool_connect(call, answer);
	uint64_t start_ns = monotonic_ns();
	int r;

	if (!ingero)
		return -EINVAL;
	request.sql = (char *)(uintptr_t)a->query; /* the message borrows it */
	request.rows_max = a->limit ? a->limit : ROWS_DEFAULT;
	request.time_limit_ns = SQL_TIME_NS;
	r = tool_asked(ingero,
		       asker_read(ingero, "ingero.v1.Query.Sql", &request.base, sql_reply_take, &rows,
				  &call->rpc->is_cancelled),
		       answer);
	if (r == 0)
		sql_write(&rows, monotonic_ns() - start_ns, answer);
	buf_done(&rows.columns);
	buf_done(&rows.data);
	buf_done(&rows.note);
	return r < 0 ? r : answer->body.failed ? -ENOMEM : 0;
}

const struct tool tool_run_sql = {
	.name = "run_sql",
	.title = "SQL on the recording",
	.description =
		"One read-only SELECT on your rows: tables events, operations, processes, findings and more ('.tables' "
		"lists them; columns: SELECT * FROM t LIMIT 1). For questions that no other tool answers: take "
		"explain, "
		"blame and get_trace_stats first, whose figures count every call, while events are examples.",
	.params = sql_params,
	.n_params = ARRAY_SIZE(sql_params),
	.arguments_bytes = sizeof(struct sql_arguments),
	.members = sql_members,
	.n_members = ARRAY_SIZE(sql_members),
	.shape = &sql_shape,
	.run = sql_tool_run,
};
