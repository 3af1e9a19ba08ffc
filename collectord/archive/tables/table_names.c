// SPDX-License-Identifier: Apache-2.0
/*
 * Tables of names: sources, ops, processes, process_names.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "archive/job.h"
#include "archive/tables/table_list.h"
#include "archive/foreign/ingero_names.h"

/* ---- sources ---- */

/* Name, type, value, comparison, description. */
#define SOURCES(C)                                                                                                     \
	C(id, INTEGER, list_i64(list, s->id), NONE, "as in events.source")                                             \
	C(name, TEXT, list_text(list, s->label), NONE, "CUDA, DRIVER, ...")                                            \
	C(description, TEXT, list_text(list, s->describe), NONE, "description of the source")

static const struct table_column sources_columns[] = { SOURCES(LIST_COLUMN) };

static int sources_start(struct table_cursor *c)
{
	struct table_list *list = list_new(c);
	int r = list ? 0 : -ENOMEM;

	for (size_t i = 0; i < ingero_source_count && r == 0; i++) {
		const struct ingero_source *s = &ingero_sources[i];

		SOURCES(LIST_VALUE)
		r = list_row(list);
	}
	return r;
}

LIST_TABLE(sources, sources, 10, "where calls and events come from");

/* ---- ops ---- */

/* Name, type, value, comparison, description. */
#define OPS(C)                                                                                                         \
	C(source_id, INTEGER, list_i64(list, n.source), NONE, "sources.id")                                            \
	C(op_id, INTEGER, list_i64(list, n.number), NONE, "as in events.op, together with source_id")                  \
	C(name, TEXT, list_text(list, short_name), OP_NAME, "as Ingero calls it")                                      \
	C(description, TEXT, list_text(list, name), OP_NAME, "the exported name")

static const struct table_column ops_columns[] = { OPS(LIST_COLUMN) };

static bool is_named(int64_t source, int64_t number)
{
	for (size_t i = 0; i < ingero_op_count; i++)
		if (ingero_ops[i].source == source && ingero_ops[i].id == number)
			return true;
	return false;
}

static int ops_row_add(struct table_list *list, struct op_number n, const char *short_name, const char *name)
{
	OPS(LIST_VALUE)
	return list_row(list);
}

static int op_row_add(const struct read_op *op, void *data)
{
	struct table_cursor *c = data;
	struct op_number n = table_op_number(c->job, op);

	return op->is_unlisted || is_named(n.source, n.number) ? 0 : ops_row_add(c->state, n, op->short_name, op->name);
}

static int ops_start(struct table_cursor *c)
{
	struct table_list *list = list_new(c);
	int r = list ? 0 : -ENOMEM;

	for (size_t i = 0; i < ingero_op_count && r == 0; i++) {
		const struct op_number n = { .source = ingero_ops[i].source, .number = ingero_ops[i].id };

		r = ops_row_add(list, n, ingero_ops[i].name, ingero_ops[i].name);
	}
	return r ? r : store_reader_ops(c->job->reader, op_row_add, c);
}

LIST_TABLE(ops, ops, 60, "operations");

/* ---- processes ---- */

/* Name, type, value, comparison, description. */
#define PROCESSES(C)                                                                                                   \
	C(pid, INTEGER, list_i64(list, p->pid), PID, "process")                                                        \
	C(start_time, INTEGER, list_u64(list, p->start_unix_ns), NONE, "start of the process, ns since 1970")          \
	C(exec_generation, INTEGER, list_i64(list, p->exec_gen), NONE, "number of earlier exec calls of the process")  \
	C(uid, INTEGER, list_i64(list, p->uid), UID, "owner")                                                          \
	C(name, TEXT, list_text(list, p->comm), NONE, "name of the process")                                           \
	C(seen_at, INTEGER, list_u64(list, p->first_unix_ns), NONE, "its first call, ns since 1970")                   \
	C(gone_at, INTEGER, list_known_u64(list, p->gone_unix_ns), NONE,                                               \
	  "end of the process, ns since 1970; NULL: no end seen. If it ended while no recorder ran: the last time at " \
	  "which a recorder ran before")                                                                               \
	C(script, TEXT, list_known_text(list, p->program.script), NONE,                                                \
	  "file or module that the interpreter runs; NULL here and below: unknown")                                    \
	C(executable, TEXT, list_known_text(list, p->program.executable), NONE, "file name of the program")            \
	C(rank, INTEGER, known_number(list, p->program.rank), NONE,                                                    \
	  "rank in a distributed run, as set by its launcher")                                                         \
	C(local_rank, INTEGER, known_number(list, p->program.local_rank), NONE, "rank on its machine")                 \
	C(world_size, INTEGER, known_number(list, p->program.world_size), NONE, "number of processes of that run")     \
	C(container, TEXT, list_known_text(list, p->program.container), NONE,                                          \
	  "first twelve digits of the container's id")                                                                 \
	C(cgroup_id, INTEGER, list_known_u64(list, p->program.cgroup_id), NONE,                                        \
	  "inode of the directory of its cgroup")                                                                      \
	C(node, TEXT, list_known_text(list, p->node), NONE, "name of the machine")

static const struct table_column processes_columns[] = { PROCESSES(LIST_COLUMN) };

struct process_list {
	struct table_cursor *cursor;
	struct table_list *list;
	ARRAY(const struct read_process *) found;
};

static void known_number(struct table_list *list, struct program_number number)
{
	if (number.is_known)
		list_i64(list, number.value);
	else
		list_null(list);
}

static int process_row_add(const struct read_process *p, void *data)
{
	struct process_list *l = data;
	struct table_list *list = l->list;

	if (!table_wants(&l->cursor->limits, p->pid, p->uid))
		return 0;
	PROCESSES(LIST_VALUE)
	return list_row(list);
}

static int processes_start(struct table_cursor *c)
{
	struct process_list l = { .cursor = c, .list = list_new(c) };

	return l.list ? store_reader_processes(c->job->reader, process_row_add, &l) : -ENOMEM;
}

LIST_TABLE(processes, processes, 1000,
	   "processes that made calls; a process that executed another program has a row for each");

/* ---- process_names ---- */

/* Name, type, value, comparison, description. */
#define PROCESS_NAMES(C)                                                                                               \
	C(pid, INTEGER, list_i64(list, p->pid), PID, "process")                                                        \
	C(name, TEXT, list_text(list, p->comm), NONE, "name of the last process that had this pid")                    \
	C(seen_at, INTEGER, list_u64(list, p->first_unix_ns), NONE, "its first call, ns since 1970")                   \
	C(node, TEXT, list_text(list, p->node), NODE, "name of the machine")

static const struct table_column process_names_columns[] = { PROCESS_NAMES(LIST_COLUMN) };

static int found_add(const struct read_process *p, void *data)
{
	struct process_list *l = data;

	return table_wants(&l->cursor->limits, p->pid, p->uid) ? ARRAY_PUSH(&l->found, p) : 0;
}

static int process_compare(const void *a, const void *b)
{
	const struct read_process *x = *(const struct read_process *const *)a;
	const struct read_process *y = *(const struct read_process *const *)b;

	int nodes = strcmp(x->node, y->node);

	if (nodes)
		return nodes;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->first_unix_ns > y->first_unix_ns) - (x->first_unix_ns < y->first_unix_ns);
}

static int process_names_start(struct table_cursor *c)
{
	struct table_list *list = list_new(c);
	struct process_list l = { .cursor = c, .list = list };
	int r = list ? store_reader_processes(c->job->reader, found_add, &l) : -ENOMEM;

	if (r == 0 && l.found.n)
		qsort(l.found.items, l.found.n, sizeof(*l.found.items), process_compare);
	for (size_t i = 0; i < l.found.n && r == 0; i++) {
		const struct read_process *p = l.found.items[i];

		if (i + 1 < l.found.n && l.found.items[i + 1]->pid == p->pid &&
		    strcmp(l.found.items[i + 1]->node, p->node) == 0)
			continue;
		PROCESS_NAMES(LIST_VALUE)
		r = list_row(list);
	}
	ARRAY_DONE(&l.found);
	return r;
}

LIST_TABLE(process_names, process_names, 1000,
	   "one name for each pid of a node, as in Ingero's table of this name; table processes has every process that "
	   "had the pid");
