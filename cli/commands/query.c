// SPDX-License-Identifier: Apache-2.0
/*
 * `ingero query`: recorded calls that match, or the result of the caller's SELECT. Rows are written as they arrive;
 * nothing is collected.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "cli/command.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "libingero/answers/query/calls.h"
#include "libingero/answers/query/rows.h"
#include "cli/window.h"
#include "libingero/render/units.h"

#define SINCE_DEFAULT_NS (3600 * NSEC_PER_SEC) /* the default of Ingero, too */
#define TERMINAL_CALLS 30		       /* default on a terminal: a number that a person reads */

struct query_fields {
	struct option_ids pids;
	struct window_wish window;
	const char *sql;
	const char *op;
	struct option_texts dbs;
	uint64_t limit;
	uint64_t min_duration_ns;
	uint64_t time_limit_ns;
	bool is_all;
	bool is_json;
	bool no_color;
};

#define FIELDS struct query_fields
static const struct option query_options[] = {
	OPTION_ROW(
		TEXT, "sql", sql,
		"One SELECT on the recording; a text that begins with SELECT, WITH, EXPLAIN or .tables needs no --sql",
		.value = "TEXT"),
	WINDOW_OPTIONS(window, "1h, with --db the whole database"),
	PIDS_OPTION(pids, "Only calls of these processes"),
	OPTION_ROW(TEXT, "op", op, "Only this operation, such as cudaMalloc or cudaStreamSync, in any case",
		   .value = "OPERATION"),
	OPTION_ROW(DURATION, "min-duration", min_duration_ns,
		   "Only calls of at least this duration, such as 10ms; 0: all calls", .value = "TIME"),
	OPTION_ROW(NUMBER, "limit", limit,
		   "The newest N calls, or the first N rows; default: 10000, for calls on a terminal 30", .value = "N"),
	OPTION_ROW(DURATION, "timeout", time_limit_ns, "Maximum time of a SELECT; default: 30s", .value = "TIME",
		   .zero_way_out = "leave it out for the default of 30s"),
	JSON_OPTION(is_json, "One JSON object a line: calls as docs/schema/trace-event.schema.json, rows by the names "
			     "of their columns"),
	ALL_OPTION(is_all),
	DATABASE_READ_OPTION(dbs),
	NO_COLOR_OPTION(no_color),
};

struct query {
	const struct query_fields *fields;
	const char *sql; /* NULL: calls */
	struct output out;
	struct rows rows;
	struct calls calls;
	bool has_footer;
};

static bool text_is_sql(const char *text)
{
	static const char *const beginnings[] = { "select", "with", "explain", "pragma", ".tables", "values" };

	text += strspn(text, " \t\r\n(");
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		size_t n = strlen(beginnings[i]);

		/* A keyword ends here: "selection" is no SELECT. */
		if (strncasecmp(text, beginnings[i], n) == 0 && (!text[n] || strchr(" \t\r\n(*'\"-+/;", text[n])))
			return true;
	}
	return false;
}

static const char *contradiction(const struct query_fields *f, const struct options_rest *rest)
{
	const char *word = rest->argc ? rest->argv[0] : NULL;
	const char *file = word && !text_is_sql(word) ? option_file(word) : NULL;
	static char no_select[OPTIONS_ERROR_BYTES];

	if (rest->argc > 1 && !file)
		return "the shell needs quotes around a SELECT: ingero query 'SELECT ...'";
	if (f->sql && word)
		return "give the SELECT once: after '--sql' or alone, not both";
	if (word && !text_is_sql(word)) {
		(void)snprintf(no_select, sizeof(no_select), "query takes one SELECT in quotes or .tables, not %s; %s",
			       option_quote(word).text,
			       file ? file : "calls are chosen by options, such as '--op cudaMalloc'");
		return no_select;
	}
	if ((f->sql || word) && (window_is_given(&f->window) || f->pids.n || f->op || f->min_duration_ns))
		return "a SELECT selects by its WHERE; leave out the time, '--pid', '--op' and '--min-duration'";
	if (!f->sql && !word && f->time_limit_ns)
		return "'--timeout' belongs to a SELECT; calls are limited by '--limit' and by time";
	return window_contradicts(&f->window);
}

static int rows_reply(const ProtobufCMessage *reply, void *data)
{
	struct query *q = data;
	const Ingero__V1__SqlReply *sql = (const Ingero__V1__SqlReply *)reply;
	int r = rows_take(&q->rows, sql, &q->out.buf);

	if (r == 0)
		r = output_flush(&q->out);
	if (r == 0 && *sql->note)
		output_error("%s", sql->note);
	return r;
}

static void footer_write(struct query *q, const Ingero__V1__EventsEnd *end)
{
	CLEANUP(output_done) struct output err = OUTPUT_INIT(STDERR_FILENO);
	struct text_style style = output_style(STDERR_FILENO, q->fields->no_color);

	calls_footer_append(&q->calls, end, &style, &err.buf);
	(void)output_flush(&err); /* stderr may be closed; there is no other place for the message */
	q->has_footer = true;
}

static int calls_reply(const ProtobufCMessage *message, void *data)
{
	const Ingero__V1__EventsReply *reply = (const Ingero__V1__EventsReply *)message;
	struct query *q = data;
	int r = calls_take(&q->calls, reply, &q->out.buf);

	if (r == 0)
		r = output_flush(&q->out);
	if (r == 0 && reply->end)
		footer_write(q, reply->end);
	return r;
}

static int sql_ask(struct query *q, struct ingero *ingero)
{
	Ingero__V1__SqlRequest request = INGERO__V1__SQL_REQUEST__INIT;
	int r;

	request.sql = (char *)(uintptr_t)q->sql; /* the message borrows it */
	request.rows_max = q->fields->limit;
	request.time_limit_ns = q->fields->time_limit_ns;
	r = ingero_read(ingero, "ingero.v1.Query.Sql", &request.base, rows_reply, q);
	if (r == 0)
		r = rows_end(&q->rows, &q->out.buf);
	if (r == 0)
		r = output_flush(&q->out);
	if (r == 0 && q->rows.is_cut)
		output_error("these are the first %s rows of more: '--limit' takes a larger number",
			     units_count(q->rows.n).text);
	return r;
}

static int calls_ask(struct query *q, struct ingero *ingero)
{
	const struct query_fields *f = q->fields;
	Ingero__V1__Span span = window_resolve(&f->window, f->dbs.n ? 0 : SINCE_DEFAULT_NS, q->calls.now_unix_ns);
	Ingero__V1__EventsRequest request = INGERO__V1__EVENTS_REQUEST__INIT;

	if (span.from_unix_ns || span.to_unix_ns)
		request.span = &span;
	request.n_pids = f->pids.n;
	request.pids = f->pids.items;
	if (f->op)
		request.op = (char *)(uintptr_t)f->op;
	request.limit = f->limit || q->calls.form != ROWS_TABLE ? f->limit : TERMINAL_CALLS;
	request.min_duration_ns = f->min_duration_ns;
	request.stacks = f->is_json;
	return ingero_read(ingero, "ingero.v1.Query.Events", &request.base, calls_reply, q);
}

static int query_run(const void *fields, const struct options_rest *rest)
{
	const struct query_fields *f = fields;
	const char *word = rest->argc ? rest->argv[0] : NULL, *sentence = contradiction(f, rest);
	struct ingero_connect_wish wish = { .command = "query",
					    .kind = INGERO_CONNECT_READ,
					    .is_all = f->is_all,
					    .db_path = f->dbs.items[0],
					    .more_db_paths = f->dbs.n ? &f->dbs.items[1] : NULL };
	enum rows_form form = f->is_json ? ROWS_JSON : output_is_terminal(STDOUT_FILENO) ? ROWS_TABLE : ROWS_LINES;
	struct text_style style = output_style(STDOUT_FILENO, f->no_color);
	CLEANUP(buf_done) struct buf names = BUF_INIT;
	struct query q = {
		.fields = f,
		.sql = f->sql ? f->sql : word,
		.out = OUTPUT_INIT(STDOUT_FILENO),
		.rows = { .form = form, .style = style },
		.calls = { .form = form,
			   .style = style,
			   .now_unix_ns = clock_now_unix_ns(),
			   .db = connect_databases(&f->dbs, &names),
			   .is_chosen = window_is_given(&f->window),
			   .words = f->dbs.n || window_is_given(&f->window) ? NULL : WINDOW_DEFAULT_WORDS("1h") },
	};
	struct ingero *ingero = NULL;
	int r;

	if (sentence)
		return command_refuse(sentence);
	r = connect_open(&wish, &ingero, NULL);
	if (r < 0)
		return COMMAND_FAILED; /* it has printed the error */

	r = q.sql ? sql_ask(&q, ingero) : calls_ask(&q, ingero);
	if (r < 0 && !q.out.has_failed)
		output_error("%s", ingero_why(ingero, r));
	ingero_close(ingero);
	rows_done(&q.rows);
	output_done(&q.out);
	return r < 0 ? COMMAND_FAILED : COMMAND_OK;
}

static const char *const query_paragraphs[] = {
	"Without SQL: recorded calls, oldest first, and forks, execs and exits as they are kept; on stderr the number "
	"of these events, recorded and counted. "
	"With SQL: one SELECT on the tables events, operations, processes, findings and others; your own rows, "
	"read-only, limited in "
	"time and memory.",
	"On a terminal, calls are a table that ends in the id for 'ingero explain ID'; rows are a table, too, "
	"and one that is wider than the terminal has a line for each value. Elsewhere "
	"they are lines separated by tabs, the column names first; "
	"tabs, line feeds and backslashes in texts are written \\t, \\n and \\\\, and NULL is \\N.",
	WINDOW_PARAGRAPH,
	NULL,
};

const struct command command_query = {
	.name = "query",
	.summary = "show recorded calls, or query with SQL",
	.usage = "[options] ['SELECT ...']",
	.paragraphs = query_paragraphs,
	.options = { .command = "query",
		     .rows = query_options,
		     .n = ARRAY_SIZE(query_options),
		     .takes = "SELECT",
		     .takes_most =
			     SIZE_MAX }, /* what a shell makes of a SELECT without quotes: refused with the way out */
	.fields_bytes = sizeof(struct query_fields),
	.run = query_run,
};
