// SPDX-License-Identifier: Apache-2.0
/*
 * Incarnations of processes in a foreign file.
 *
 * The file identifies a process by its pid alone, and merged files mix the pids of several nodes. Rows of exec, fork
 * and exit separate incarnations. Two things to know: every thread has an exit row, and the process ends with the one
 * of its first thread; and the child in a fork row may be a thread.
 */
#include "archive/foreign/foreign.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "base/utf8.h"

uint32_t foreign_node(struct foreign_file *f, const char *name)
{
	const char *copy;

	for (size_t i = f->nodes.n; i-- > 0;)
		if (!strcmp(f->nodes.items[i], name))
			return (uint32_t)i;
	if (f->nodes.n >= FOREIGN_NODES_MAX)
		return UINT32_MAX;
	copy = arena_copy_text(&f->texts, name);
	if (!copy || ARRAY_PUSH(&f->nodes, copy) < 0)
		return UINT32_MAX;
	return (uint32_t)f->nodes.n - 1;
}

static int order(const struct foreign_process *p, uint32_t node, uint32_t pid, uint64_t unix_ns)
{
	if (p->node != node)
		return p->node < node ? -1 : 1;
	if (p->process.pid != pid)
		return p->process.pid < pid ? -1 : 1;
	return p->since_unix_ns <= unix_ns ? -1 : 1;
}

/* Return: index of the first process after this position */
static size_t foreign_place_of(const struct foreign_file *f, uint32_t node, uint32_t pid, uint64_t unix_ns)
{
	return SORTED_PLACE(f->processes.n, i, order(&f->processes.items[i], node, pid, unix_ns) < 0);
}

struct foreign_process *foreign_process_find(struct foreign_file *f, uint32_t node, uint32_t pid, uint64_t unix_ns)
{
	size_t i = foreign_place_of(f, node, pid, unix_ns);
	struct foreign_process *p = i > 0 ? &f->processes.items[i - 1] : NULL;

	return p && p->node == node && p->process.pid == pid ? p : NULL;
}

/* Adds a process; pointers to other processes become invalid. Return: NULL if there are too many, or with @ret_r set */
static struct foreign_process *foreign_process_add(struct foreign_file *f, uint32_t node, uint32_t pid,
						   uint64_t since_unix_ns, int *ret_r)
{
	size_t i = foreign_place_of(f, node, pid, since_unix_ns);
	struct foreign_process added = { .node = node, .since_unix_ns = since_unix_ns };

	if (f->processes.n >= FOREIGN_PROCESSES_MAX)
		return NULL;
	added.process.pid = pid;
	added.process.uid = FOREIGN_UID;
	if (ARRAY_PUSH(&f->processes, added) < 0) {
		*ret_r = -ENOMEM;
		return NULL;
	}
	memmove(&f->processes.items[i + 1], &f->processes.items[i],
		(f->processes.n - 1 - i) * sizeof(f->processes.items[0]));
	f->processes.items[i] = added;
	return &f->processes.items[i];
}

static void end(struct foreign_process *p, uint64_t unix_ns)
{
	if (p && !p->process.gone_unix_ns)
		p->process.gone_unix_ns = unix_ns;
}

static int life_row(struct foreign_file *f, uint32_t node, const struct foreign_row *row, uint64_t child)
{
	struct foreign_process *p = foreign_process_find(f, node, row->pid, row->start_unix_ns);
	uint32_t exec_gen = p ? p->process.exec_gen : 0;
	int r = 0;

	switch (row->number) {
	case INGERO_EXIT:
		if (row->tid != row->pid)
			break;
		if (!p)
			p = foreign_process_add(f, node, row->pid, 0, &r);
		end(p, row->start_unix_ns);
		break;
	case INGERO_EXEC:
		end(p, row->start_unix_ns);
		p = foreign_process_add(f, node, row->pid, row->start_unix_ns, &r);
		if (p)
			p->process.exec_gen = exec_gen + 1;
		break;
	case INGERO_FORK:
		if (!child || child > INT32_MAX || child == row->pid)
			break;
		end(foreign_process_find(f, node, (uint32_t)child, row->start_unix_ns), row->start_unix_ns);
		foreign_process_add(f, node, (uint32_t)child, row->start_unix_ns, &r);
		break;
	default:
		break;
	}
	return r;
}

static int life_load(struct foreign_file *f)
{
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	int r = foreign_select(f, FOREIGN_EVENTS, FOREIGN_ROW_COLUMNS " arg1 node=''",
			       "WHERE source = 3 AND op IN (5, 6, 7) ORDER BY timestamp", &statement);

	while (r == 0 && (r = foreign_step(statement)) > 0) {
		char text[FOREIGN_NAME_BYTES];
		struct foreign_row row;
		uint64_t child = 0;
		uint32_t node;

		r = 0;
		if (!foreign_row(statement, &row))
			continue;
		foreign_u64(statement, 6, INT32_MAX, &child);
		node = foreign_node(f, foreign_text(statement, 7, text, sizeof(text)));
		if (node != UINT32_MAX)
			r = life_row(f, node, &row, child);
	}
	return r;
}

static bool is_call(int64_t source)
{
	return source == INGERO_CUDA || source == INGERO_DRIVER || source == INGERO_GRAPH || source == INGERO_NCCL;
}

/* Return: incarnation of a row; added if the file does not show its start */
static struct foreign_process *row_process(struct foreign_file *f, uint32_t node, const struct foreign_row *row,
					   int *ret_r)
{
	struct foreign_process *p = foreign_process_find(f, node, row->pid, row->start_unix_ns);

	if (!p)
		return foreign_process_add(f, node, row->pid, 0, ret_r);
	/* A task switch may follow the end of a process; a call shows that another process has the pid. */
	if (p->is_guess || !p->process.gone_unix_ns || row->start_unix_ns <= p->process.gone_unix_ns ||
	    !is_call(row->source))
		return p;
	if (p + 1 < f->processes.items + f->processes.n && p[1].is_guess && p[1].node == node &&
	    p[1].process.pid == row->pid) {
		p[1].since_unix_ns = row->start_unix_ns;
		return &p[1];
	}
	p = foreign_process_add(f, node, row->pid, row->start_unix_ns, ret_r);
	if (p)
		p->is_guess = true;
	return p;
}

/* Reads the number of a row from its id: NUMBER, or NODE:NUMBER; from 1 on. Return: 0 for any other id */
static uint64_t row_number(struct sqlite3_stmt *statement, int column)
{
	const char *text, *colon;
	uint64_t number = 0;

	if (foreign_u64(statement, column, INT64_MAX, &number))
		return number;
	text = (const char *)sqlite3_column_text(statement, column);
	colon = text ? strrchr(text, ':') : NULL;
	for (const char *c = colon ? colon + 1 : ""; *c >= '0' && *c <= '9' && number < UINT64_MAX / 100; c++)
		number = number * 10 + (uint64_t)(*c - '0');
	return number;
}

/* Row numbers of one node, to find missing ones. */
struct numbering {
	uint64_t n;
	uint64_t highest;
};

struct numberings {
	ARRAY(struct numbering) nodes; /* by index of node */
};

static void numberings_done(struct numberings *numberings)
{
	ARRAY_DONE(&numberings->nodes);
}

static void name_read(sqlite3_stmt *statement, int column, struct foreign_process *p)
{
	foreign_text(statement, column, p->comm, sizeof(p->comm));
	(void)utf8_scrub(p->comm);
}

static int row_count(struct foreign_file *f, struct numberings *numberings, struct sqlite3_stmt *statement)
{
	char text[FOREIGN_NAME_BYTES];
	struct foreign_process *p;
	struct foreign_row row;
	uint32_t node;
	int r = 0;

	if (!foreign_row(statement, &row)) {
		f->n_refused++;
		return 0;
	}
	node = foreign_node(f, foreign_text(statement, 6, text, sizeof(text)));
	p = node != UINT32_MAX ? row_process(f, node, &row, &r) : NULL;
	if (!p || !foreign_op_find(f, row.source, row.number)) {
		f->n_refused++;
		return r;
	}
	f->n_rows++;
	p->n_rows++;
	if (!p->process.first_unix_ns || row.start_unix_ns < p->process.first_unix_ns)
		p->process.first_unix_ns = row.start_unix_ns;
	if (!*p->comm)
		name_read(statement, 7, p);
	if (!f->first_unix_ns || row.start_unix_ns < f->first_unix_ns)
		f->first_unix_ns = row.start_unix_ns;
	f->last_unix_ns = MAX(f->last_unix_ns, row.start_unix_ns);

	while (r == 0 && numberings->nodes.n <= node)
		r = ARRAY_PUSH(&numberings->nodes, (struct numbering){ 0 });
	if (r == 0) {
		numberings->nodes.items[node].n++;
		numberings->nodes.items[node].highest =
			MAX(numberings->nodes.items[node].highest, row_number(statement, 8));
	}
	return r;
}

static int rows_count(struct foreign_file *f)
{
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	CLEANUP(numberings_done) struct numberings numberings = { 0 };
	int r = foreign_select(f, FOREIGN_EVENTS, FOREIGN_ROW_COLUMNS " node='' comm='' id", NULL, &statement);

	while (r == 0 && (r = foreign_step(statement)) > 0)
		r = row_count(f, &numberings, statement);
	for (size_t i = 0; i < numberings.nodes.n; i++)
		if (numberings.nodes.items[i].highest > numberings.nodes.items[i].n)
			f->n_missing += numberings.nodes.items[i].highest - numberings.nodes.items[i].n;
	return r;
}

uint32_t foreign_aggregate_node(struct foreign_file *f, struct sqlite3_stmt *statement, int column)
{
	char text[FOREIGN_NAME_BYTES];

	if (sqlite3_column_type(statement, column) != SQLITE_TEXT)
		return UINT32_MAX;
	return foreign_node(f, foreign_text(statement, column, text, sizeof(text)));
}

struct foreign_process *foreign_aggregate_process(struct foreign_file *f, uint32_t node, uint32_t pid, uint64_t unix_ns)
{
	struct foreign_process *p = NULL;

	if (node != UINT32_MAX)
		return foreign_process_find(f, node, pid, unix_ns);
	for (uint32_t i = 0; i < f->nodes.n && !p; i++)
		p = foreign_process_find(f, i, pid, unix_ns);
	return p;
}

/* Marks processes that occur only in aggregates: their calls were counted, but none was recorded. */
static int aggregates_count(struct foreign_file *f)
{
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	int r;

	if (!foreign_has_column(f, FOREIGN_AGGREGATES, "bucket"))
		return 0;
	r = foreign_select(f, FOREIGN_AGGREGATES, "pid=NULL bucket=NULL node=NULL", "ORDER BY bucket", &statement);
	while (r == 0 && (r = foreign_step(statement)) > 0) {
		struct foreign_process *p;
		uint64_t pid, unix_ns;
		uint32_t node;

		r = 0;
		if (!foreign_u64(statement, 0, INT32_MAX, &pid) ||
		    !foreign_u64(statement, 1, FOREIGN_TIME_MAX, &unix_ns))
			continue;
		if (!f->nodes.n && foreign_node(f, "") == UINT32_MAX)
			return -ENOMEM;
		node = foreign_aggregate_node(f, statement, 2);
		p = foreign_aggregate_process(f, node, (uint32_t)pid, UINT64_MAX);
		if (!p)
			p = foreign_process_add(f, node == UINT32_MAX ? 0 : node, (uint32_t)pid, 0, &r);
		if (p && !p->n_rows) {
			p->n_rows = 1; /* not 0: the process has figures */
			p->process.first_unix_ns = unix_ns;
		}
	}
	return r;
}

/* Loads table process_names. It has only pids: a name is valid for the last process with the pid, on one node. */
static int names_load(struct foreign_file *f)
{
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	int r;

	if (!f->has[FOREIGN_PROCESS_NAMES])
		return 0;
	r = foreign_select(f, FOREIGN_PROCESS_NAMES, "pid=NULL name=''", NULL, &statement);
	while (r == 0 && (r = foreign_step(statement)) > 0) {
		struct foreign_process *named = NULL;
		uint32_t n_nodes = 0;
		uint64_t pid;

		r = 0;
		if (!foreign_u64(statement, 0, INT32_MAX, &pid))
			continue;
		for (uint32_t node = 0; node < f->nodes.n; node++) {
			struct foreign_process *p = foreign_process_find(f, node, (uint32_t)pid, UINT64_MAX);

			n_nodes += p != NULL;
			named = p ? p : named;
		}
		if (n_nodes == 1 && !*named->comm)
			name_read(statement, 1, named);
	}
	return r;
}

int foreign_processes_load(struct foreign_file *f)
{
	size_t n = 0;
	int r = life_load(f);

	if (r == 0)
		r = rows_count(f);
	if (r == 0)
		r = aggregates_count(f);
	/* Drops threads from fork rows, and processes without a row. */
	for (size_t i = 0; i < f->processes.n; i++)
		if (f->processes.items[i].n_rows)
			f->processes.items[n++] = f->processes.items[i];
	f->processes.n = n;
	if (r == 0)
		r = names_load(f);
	for (size_t i = 0; i < n; i++) {
		struct foreign_process *p = &f->processes.items[i];

		p->process.id = (uint32_t)i + 1;
		p->process.boot = p->node + 1;
		p->process.start_unix_ns = p->is_guess ? 0 : p->since_unix_ns;
		p->process.comm = p->comm;
	}
	return r;
}

int foreign_processes_put(struct foreign_file *f)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < f->processes.n; i++) {
		const struct foreign_process *p = &f->processes.items[i];
		struct batch_process row = { .id = p->process.id,
					     .identity = { .start_unix_ns = p->process.start_unix_ns,
							   .tgid = p->process.pid,
							   .uid = FOREIGN_UID,
							   .exec_gen = p->process.exec_gen },
					     .first_ns = p->process.first_unix_ns,
					     .gone_ns = p->process.gone_unix_ns };

		memcpy(row.identity.comm, p->comm, sizeof(row.identity.comm));
		f->out.boot = p->process.boot;
		r = writer_put_process(&f->out, &row);
	}
	f->out.boot = 0;
	return r;
}
