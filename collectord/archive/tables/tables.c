// SPDX-License-Identifier: Apache-2.0
/* SQLite virtual table module for all tables. */
#include "archive/tables/tables.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/op_name.h"
#include "archive/job.h"
#include "archive/tables/op_limit.h"
#include "archive/foreign/ingero_names.h"

#define OP_NAME_COLLATION "operation"
/*
 * First number for operations that Ingero does not have: above Ingero's own numbers. As in Ingero's files, a number
 * fits in a byte, as long as there are enough of them.
 */
#define OWN_OP_FIRST 65

const struct table *const tables[] = {
	&table_events,
	&table_operations,
	&table_event_aggregates,
	&table_sources,
	&table_ops,
	&table_processes,
	&table_process_names,
	&table_stack_traces,
	&table_causal_chains,
	&table_findings,
	&table_system_snapshots,
	&table_sessions,
	&table_gaps,
	&table_host_operations,
	&table_behind,
	&table_accounts,
	&table_waits,
	&table_call_sites,
	NULL,
};

struct table_instance {
	sqlite3_vtab base;
	const struct table *table;
	struct reader_job *job;
};

/* Argument of xConnect. */
struct table_binding {
	const struct table *table;
	struct reader_job *job;
};

/* ---- for tables ---- */

static struct op_number op_number_new(struct reader_job *job, const struct read_op *op)
{
	struct op_number n = { .id = op->id };

	for (size_t i = 0; i < ingero_source_count; i++)
		if (strcmp(ingero_sources[i].name, op->source) == 0)
			n.source = ingero_sources[i].id;
	for (size_t i = 0; i < ingero_op_count; i++) {
		const struct ingero_op *o = &ingero_ops[i];

		/* Calls of CUDA graphs: our source is the runtime, in Ingero they have a source of their own. */
		if ((o->source != n.source && (o->source != INGERO_GRAPH || n.source != INGERO_CUDA)) ||
		    strcmp(o->name, op->short_name) != 0)
			continue;
		n.source = o->source;
		n.number = o->id;
		return n;
	}
	n.number = OWN_OP_FIRST + (int64_t)job->n_own_ops++;
	return n;
}

struct op_number table_op_number(struct reader_job *job, const struct read_op *op)
{
	struct op_number n;

	if (!op)
		return (struct op_number){ .id = 0 };
	for (size_t i = 0; i < job->op_numbers.n; i++)
		if (job->op_numbers.items[i].id == op->id)
			return job->op_numbers.items[i];
	n = op_number_new(job, op);
	(void)ARRAY_PUSH(&job->op_numbers, n); /* on failure the number is lost, and the statement fails soon */
	return n;
}

bool table_column_is_shown(struct store_reader *reader, const struct table_column *column)
{
	return column->push != PUSH_NODE || store_reader_tells_nodes(reader);
}

void table_result_u64(sqlite3_context *result, uint64_t value)
{
	sqlite3_result_int64(result, (sqlite3_int64)MIN(value, (uint64_t)INT64_MAX));
}

void table_result_ratio(sqlite3_context *result, double ratio)
{
	if (ratio >= 0)
		sqlite3_result_double(result, ratio);
}

void table_result_text(sqlite3_context *result, const char *text)
{
	sqlite3_result_text(result, text, -1, SQLITE_TRANSIENT);
}

void table_result_op(sqlite3_context *result, struct reader_job *job, const struct read_op *op,
		     enum table_op_column column)
{
	struct op_number n;

	if (column == OP_COLUMN_source_name || column == OP_COLUMN_op_name) {
		if (op)
			table_result_text(result, column == OP_COLUMN_op_name ? op->name : op->source);
		return;
	}
	n = table_op_number(job, op);
	sqlite3_result_int64(result, column == OP_COLUMN_source ? n.source : n.number);
}

void table_result_blame(sqlite3_context *result, const __u64 blame_ns[BLAME_COUNT], uint16_t measured,
			uint64_t whole_ns, int class)
{
	uint64_t waited_ns = 0;

	if (!(measured & 1u << class))
		return; /* SQL NULL */
	if (class != BLAME_ON_CPU) {
		table_result_u64(result, blame_ns[class]);
		return;
	}
	for (int i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++)
		waited_ns += blame_ns[i];
	table_result_u64(result, whole_ns > waited_ns ? whole_ns - waited_ns : 0);
}

/* ---- planning ---- */

/*
 * A plan has two letters for each argument: kind of column, operator, which is i for a list of names. Return: the
 * operator; 0: not usable
 */
static char plan_letter(enum table_push push, unsigned char op)
{
	bool is_range = push == PUSH_TIME || push == PUSH_DURATION;

	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return '=';
	case SQLITE_INDEX_CONSTRAINT_GT:
	case SQLITE_INDEX_CONSTRAINT_GE:
		return is_range ? '>' : '\0';
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE:
		return is_range ? '<' : '\0';
	default:
		return '\0';
	}
}

/* Whether the collation of a comparison allows to look up the text as an operation's name. */
static bool is_by_name(sqlite3_index_info *info, int constraint)
{
	const char *collation = sqlite3_vtab_collation(info, constraint);

	return sqlite3_stricmp(collation, OP_NAME_COLLATION) == 0 || sqlite3_stricmp(collation, "BINARY") == 0 ||
	       sqlite3_stricmp(collation, "NOCASE") == 0;
}

/* In colUsed the last bit stands for all columns from index 63 on. */
static bool is_used(const sqlite3_index_info *info, size_t column)
{
	return (info->colUsed & 1ull << MIN(column, (size_t)63)) != 0;
}

static int table_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	const struct table *table = ((struct table_instance *)vtab)->table;
	char plan[2 * PUSH_COUNT * 3 + 1];
	size_t n_plan = 0;
	double rows = table->rows;
	uint32_t need = 0;

	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];
		enum table_push push;
		char letter;

		if (!c->usable || c->iColumn < 0)
			continue;
		push = table->columns[c->iColumn].push;
		letter = push == PUSH_NONE || push == PUSH_NODE ? '\0' : plan_letter(push, c->op);
		if (!letter || n_plan + 3 > sizeof(plan) || (push == PUSH_OP_NAME && !is_by_name(info, i)))
			continue;
		/* Of several names, all are looked for at once, instead of in a pass each. */
		if (push == PUSH_OP_NAME && sqlite3_vtab_in(info, i, -1)) {
			(void)sqlite3_vtab_in(info, i, 1);
			letter = 'i';
		}
		plan[n_plan++] = (char)('a' + push);
		plan[n_plan++] = letter;
		/* .omit stays 0: SQLite checks the condition again, since the reader's bounds may be wider. */
		info->aConstraintUsage[i].argvIndex = (int)(n_plan / 2);
		rows /= letter == '=' ? 30 : 3;
	}
	plan[n_plan] = '\0';
	info->idxStr = sqlite3_mprintf("%s", plan);
	if (!info->idxStr)
		return SQLITE_NOMEM;
	info->needToFreeIdxStr = 1;

	for (size_t i = 0; i < table->n_columns; i++)
		if (is_used(info, i))
			need |= table->columns[i].need;
	info->idxNum = (int)(need << 2);
	if (table->is_ordered && info->nOrderBy == 1 && info->aOrderBy[0].iColumn >= 0 &&
	    table->columns[info->aOrderBy[0].iColumn].push == PUSH_TIME) {
		info->orderByConsumed = 1;
		info->idxNum |= info->aOrderBy[0].desc ? ORDER_DESCENDING : ORDER_ASCENDING;
	}
	info->estimatedRows = (sqlite3_int64)MAX(rows, 1.0);
	info->estimatedCost = MAX(rows, 1.0);
	return SQLITE_OK;
}

/* ---- restrictions ---- */

static bool comparison_number(sqlite3_value *value, char letter, int64_t *ret)
{
	double d;

	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		*ret = sqlite3_value_int64(value);
		return true;
	case SQLITE_FLOAT: /* rounded so that the range becomes wider: SQLite checks each row again */
		d = sqlite3_value_double(value);
		d = letter == '>' ? floor(d) : ceil(d);
		if (!(d > -9e18 && d < 9e18) || (letter == '=' && d != sqlite3_value_double(value)))
			return false;
		*ret = (int64_t)d;
		return true;
	default:
		return false;
	}
}

static void limit_time(struct table_limits *limits, char letter, int64_t n)
{
	uint64_t value = (uint64_t)MAX(n, 0);

	if (letter != '<')
		limits->from_unix_ns = MAX(limits->from_unix_ns, value);
	if (letter != '>') {
		uint64_t end = value + 1; /* exclusive; for < as for <=, SQLite checks each row again */

		limits->to_unix_ns = limits->to_unix_ns ? MIN(limits->to_unix_ns, end) : end;
		limits->is_empty |= n < 0;
	}
}

static void limit_duration(struct table_limits *limits, char letter, int64_t n)
{
	uint64_t value = (uint64_t)MAX(n, 0);

	if (letter != '<')
		limits->min_duration_ns = MAX(limits->min_duration_ns, value);
	if (letter != '>' && value)
		limits->max_duration_ns = limits->max_duration_ns ? MIN(limits->max_duration_ns, value) : value;
}

static void limit_u32(struct table_limits *limits, bool *has, uint32_t *to, int64_t n)
{
	if (n < 0 || n > UINT32_MAX || (*has && *to != (uint32_t)n))
		limits->is_empty = true;
	*has = true;
	*to = (uint32_t)n;
}

static int cursor_limits_set(struct table_cursor *c, const char *plan, sqlite3_value **values)
{
	struct table_limits *limits = &c->limits;
	struct op_wish wish = { .name = NULL };

	for (int i = 0; plan[2 * i]; i++) {
		enum table_push push = (enum table_push)(plan[2 * i] - 'a');
		char letter = plan[2 * i + 1];
		int64_t n;

		if (push == PUSH_OP_NAME && letter == 'i') {
			wish.names = values[i];
			continue;
		}
		if (push == PUSH_OP_NAME) {
			if (sqlite3_value_type(values[i]) == SQLITE_TEXT)
				wish.name = (const char *)sqlite3_value_text(values[i]);
			continue;
		}
		if (!comparison_number(values[i], letter, &n))
			continue;
		if (push == PUSH_TIME)
			limit_time(limits, letter, n);
		else if (push == PUSH_DURATION)
			limit_duration(limits, letter, n);
		else if (push == PUSH_PID)
			limit_u32(limits, &limits->has_pid, &limits->pid, n);
		else if (push == PUSH_UID)
			limit_u32(limits, &limits->has_uid, &limits->uid, n);
		else if (push == PUSH_STACK)
			limit_u32(limits, &limits->has_stack, &limits->stack, n);
		else if (push == PUSH_SOURCE)
			wish.has_source = true, wish.source = n;
		else if (push == PUSH_OP)
			wish.has_number = true, wish.number = n;
	}
	return op_limit_set(c, &wish);
}

/* ---- reading rows ---- */

static int table_failed(struct table_cursor *c, int r)
{
	sqlite3_vtab *vtab = c->base.pVtab;

	if (r == -ETIME)
		return SQLITE_INTERRUPT;
	if (r == -ENOMEM)
		return SQLITE_NOMEM;
	sqlite3_free(vtab->zErrMsg);
	if (r == -EBADMSG) {
		vtab->zErrMsg = sqlite3_mprintf("the database is damaged");
		return SQLITE_CORRUPT_VTAB;
	}
	vtab->zErrMsg = sqlite3_mprintf("the database cannot be read: %s", strerror(-r));
	return SQLITE_ERROR;
}

static void cursor_stop(struct table_cursor *c)
{
	if (c->state)
		c->table->stop(c);
	free(c->state);
	c->state = NULL;
	ARRAY_DONE(&c->limits.ops);
	c->limits = (struct table_limits){ .pid = 0 };
}

static int table_next(sqlite3_vtab_cursor *cursor)
{
	struct table_cursor *c = (struct table_cursor *)cursor;
	int r = c->table->next(c);

	if (r < 0)
		return table_failed(c, r);
	c->is_at_end = r == 0;
	c->row++;
	return SQLITE_OK;
}

static int table_filter(sqlite3_vtab_cursor *cursor, int number, const char *plan, int argc, sqlite3_value **argv)
{
	struct table_cursor *c = (struct table_cursor *)cursor;
	int r;

	(void)argc;
	cursor_stop(c);
	c->need = (uint32_t)number >> 2;
	c->order = (enum table_order)(number & 3);
	c->row = 0;
	c->is_at_end = false;
	r = cursor_limits_set(c, plan, argv);
	if (r < 0)
		return table_failed(c, r);
	if (c->limits.is_empty) {
		c->is_at_end = true;
		return SQLITE_OK;
	}
	r = c->table->start(c);
	return r < 0 ? table_failed(c, r) : table_next(cursor);
}

static int table_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret_cursor)
{
	const struct table_instance *instance = (const struct table_instance *)vtab;
	struct table_cursor *c = calloc(1, sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	c->table = instance->table;
	c->job = instance->job;
	*ret_cursor = &c->base;
	return SQLITE_OK;
}

static int table_close(sqlite3_vtab_cursor *cursor)
{
	cursor_stop((struct table_cursor *)cursor);
	free(cursor);
	return SQLITE_OK;
}

static int table_eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct table_cursor *)cursor)->is_at_end;
}

static int table_column(sqlite3_vtab_cursor *cursor, sqlite3_context *result, int column)
{
	struct table_cursor *c = (struct table_cursor *)cursor;

	c->table->column(c, column, result);
	return SQLITE_OK;
}

/* Rows are numbered in each statement: row numbers of the file would reveal how much other users record. */
static int table_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret)
{
	*ret = ((struct table_cursor *)cursor)->row;
	return SQLITE_OK;
}

/* ---- registration ---- */

static int table_connect(sqlite3 *db, void *data, int argc, const char *const *argv, sqlite3_vtab **ret_vtab,
			 char **ret_error)
{
	const struct table_binding *binding = data;
	CLEANUP(buf_done) struct buf sql = BUF_INIT;
	struct table_instance *instance;
	int r;

	(void)argc;
	(void)argv;
	(void)ret_error;
	buf_append_text(&sql, "CREATE TABLE x(");
	for (size_t i = 0; i < binding->table->n_columns; i++) {
		const struct table_column *column = &binding->table->columns[i];

		buf_printf(&sql, "%s\"%s\" %s%s", i ? ", " : "", column->name, column->type,
			   column->push == PUSH_OP_NAME				 ? " COLLATE " OP_NAME_COLLATION
			   : table_column_is_shown(binding->job->reader, column) ? ""
										 : " HIDDEN");
	}
	buf_append_text(&sql, ")");
	if (sql.failed)
		return SQLITE_NOMEM;
	r = sqlite3_declare_vtab(db, buf_text(&sql));
	if (r != SQLITE_OK)
		return r;
	instance = calloc(1, sizeof(*instance));
	if (!instance)
		return SQLITE_NOMEM;
	instance->table = binding->table;
	instance->job = binding->job;
	*ret_vtab = &instance->base;
	return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *vtab)
{
	free(vtab);
	return SQLITE_OK;
}

/* Without xCreate a table is eponymous: it exists only under its module's name. Without xUpdate it is read-only. */
static const sqlite3_module module = {
	.xConnect = table_connect,
	.xBestIndex = table_best_index,
	.xDisconnect = table_disconnect,
	.xOpen = table_open,
	.xClose = table_close,
	.xFilter = table_filter,
	.xNext = table_next,
	.xEof = table_eof,
	.xColumn = table_column,
	.xRowid = table_rowid,
};

const char *const *tables_names(void)
{
	static const char *names[ARRAY_SIZE(tables)];

	for (size_t i = 0; tables[i]; i++)
		names[i] = tables[i]->name;
	return names;
}

static int table_touch(sqlite3 *db, const char *name)
{
	CLEANUP(buf_done) struct buf sql = BUF_INIT;
	sqlite3_stmt *statement = NULL;
	int r;

	buf_printf(&sql, "SELECT 1 FROM %s LIMIT 0", name);
	r = sqlite3_prepare_v2(db, buf_text(&sql), -1, &statement, NULL);
	(void)sqlite3_finalize(statement);
	return r == SQLITE_OK ? 0 : -ENOMEM;
}

/* Collation: all spellings of a name are equal, in comparisons, GROUP BY and ORDER BY. */
static int op_name_collate(void *data, int n_a, const void *a, int n_b, const void *b)
{
	(void)data;
	return op_name_compare(a, (size_t)n_a, b, (size_t)n_b);
}

static int op_number_take(const struct read_op *op, void *data)
{
	(void)table_op_number(data, op);
	return 0;
}

int tables_install(struct sqlite3 *db, struct reader_job *job)
{
	/* Table-valued functions that read JSON from a text; statements read their columns like those of a table. */
	static const char *kept_modules[] = { "json_each", "json_tree", NULL };
	int r = store_reader_ops(job->reader, op_number_take, job);

	/* Removes SQLite's other modules, such as full-text search and statistics. */
	if (sqlite3_drop_modules(db, kept_modules) != SQLITE_OK ||
	    sqlite3_create_collation_v2(db, OP_NAME_COLLATION, SQLITE_UTF8, NULL, op_name_collate, NULL) != SQLITE_OK)
		return -ENOMEM;
	for (size_t i = 0; tables[i] && r == 0; i++) {
		struct table_binding *binding = malloc(sizeof(*binding));

		if (!binding)
			return -ENOMEM;
		*binding = (struct table_binding){ tables[i], job };
		/* SQLite owns the binding from here on, also on failure. */
		if (sqlite3_create_module_v2(db, tables[i]->name, &module, binding, free) != SQLITE_OK)
			return -ENOMEM;
		r = table_touch(db, tables[i]->name);
	}
	for (size_t i = 0; kept_modules[i] && r == 0; i++)
		r = table_touch(db, kept_modules[i]);
	return r;
}
