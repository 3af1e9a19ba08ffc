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

static const struct table_column sources_columns[] = {
	COLUMN("id", "INTEGER", "as in events.source"),
	COLUMN("name", "TEXT", "CUDA, DRIVER, ..."),
	COLUMN("description", "TEXT", "a few words"),
};

static int sources_start(struct table_cursor *c)
{
	struct table_list *list = list_new(c);
	int r = list ? 0 : -ENOMEM;

	for (size_t i = 0; i < ingero_source_count && r == 0; i++) {
		list_i64(list, ingero_sources[i].id);
		list_text(list, ingero_sources[i].label);
		list_text(list, ingero_sources[i].describe);
		r = list_row(list);
	}
	return r;
}

LIST_TABLE(sources, sources, 10, "where calls and events come from");

/* ---- ops ---- */

static const struct table_column ops_columns[] = {
	COLUMN("source_id", "INTEGER", "sources.id"),
	COLUMN("op_id", "INTEGER", "as in events.op, together with source_id"),
	COLUMN("name", "TEXT", "as Ingero calls it", .push = PUSH_OP_NAME),
	COLUMN("description", "TEXT", "the exported name", .push = PUSH_OP_NAME),
};

static bool is_named(int64_t source, int64_t number)
{
	for (size_t i = 0; i < ingero_op_count; i++)
		if (ingero_ops[i].source == source && ingero_ops[i].id == number)
			return true;
	return false;
}

static int op_row_add(const struct read_op *op, void *data)
{
	struct table_cursor *c = data;
	struct table_list *list = c->state;
	struct op_number n = table_op_number(c->job, op);

	if (op->is_unlisted || is_named(n.source, n.number))
		return 0;
	list_i64(list, n.source);
	list_i64(list, n.number);
	list_text(list, op->short_name);
	list_text(list, op->name);
	return list_row(list);
}

static int ops_start(struct table_cursor *c)
{
	struct table_list *list = list_new(c);
	int r = list ? 0 : -ENOMEM;

	for (size_t i = 0; i < ingero_op_count && r == 0; i++) {
		list_i64(list, ingero_ops[i].source);
		list_i64(list, ingero_ops[i].id);
		list_text(list, ingero_ops[i].name);
		list_text(list, ingero_ops[i].name);
		r = list_row(list);
	}
	return r ? r : store_reader_ops(c->job->reader, op_row_add, c);
}

LIST_TABLE(ops, ops, 60, "operations");

/* ---- processes ---- */

/* Name, type, value, what a comparison narrows down, words. */
#define PROCESSES(C)                                                                                                   \
	C(pid, INTEGER, list_i64(list, p->pid), PID, "process")                                                        \
	C(start_time, INTEGER, list_u64(list, p->start_unix_ns), NONE, "ns since 1970")                                \
	C(exec_generation, INTEGER, list_i64(list, p->exec_gen), NONE, "programs that it had become before")           \
	C(uid, INTEGER, list_i64(list, p->uid), UID, "owner")                                                          \
	C(name, TEXT, list_text(list, p->comm), NONE, "of the process")                                                \
	C(seen_at, INTEGER, list_u64(list, p->first_unix_ns), NONE, "its first call, ns since 1970")                   \
	C(gone_at, INTEGER, known_u64(list, p->gone_unix_ns), NONE,                                                    \
	  "ns since 1970; NULL: not seen to end; of one that ended while nobody recorded: when somebody last did")     \
	C(script, TEXT, known_text(list, p->program.script), NONE,                                                     \
	  "file, or module, that an interpreter runs; NULL: not known, as below")                                      \
	C(executable, TEXT, known_text(list, p->program.executable), NONE, "file name of the program")                 \
	C(rank, INTEGER, known_number(list, p->program.rank), NONE, "in a distributed run, as its launcher says")      \
	C(local_rank, INTEGER, known_number(list, p->program.local_rank), NONE, "the same on its machine")             \
	C(world_size, INTEGER, known_number(list, p->program.world_size), NONE, "processes of that run")               \
	C(container, TEXT, known_text(list, p->program.container), NONE, "id, its first twelve digits")                \
	C(cgroup_id, INTEGER, known_u64(list, p->program.cgroup_id), NONE, "inode of the directory of its cgroup")     \
	C(node, TEXT, known_text(list, l->node), NONE, "name of the machine")

static const struct table_column processes_columns[] = { PROCESSES(LIST_COLUMN) };

struct process_list {
	struct table_cursor *cursor;
	struct table_list *list;
	char node[TABLE_NODE_BYTES];
	ARRAY(const struct read_process *) found;
};

static bool process_is_wanted(const struct table_limits *limits, const struct read_process *p)
{
	return (!limits->has_pid || p->pid == limits->pid) && (!limits->has_uid || p->uid == limits->uid);
}

static void known_text(struct table_list *list, const char *text)
{
	if (*text)
		list_text(list, text);
	else
		list_null(list);
}

static void known_number(struct table_list *list, struct program_number number)
{
	if (number.is_known)
		list_i64(list, number.value);
	else
		list_null(list);
}

static void known_u64(struct table_list *list, uint64_t value)
{
	if (value)
		list_u64(list, value);
	else
		list_null(list);
}

static int process_row_add(const struct read_process *p, void *data)
{
	struct process_list *l = data;
	struct table_list *list = l->list;

	if (!process_is_wanted(&l->cursor->limits, p))
		return 0;
	PROCESSES(LIST_VALUE)
	return list_row(list);
}

static int processes_start(struct table_cursor *c)
{
	struct process_list l = { .cursor = c, .list = list_new(c) };
	int r = l.list ? table_node(c, l.node) : -ENOMEM;

	return r ? r : store_reader_processes(c->job->reader, process_row_add, &l);
}

LIST_TABLE(processes, processes, 1000, "processes that made calls; one that became another program has a row for each");

/* ---- process_names ---- */

static const struct table_column process_names_columns[] = {
	COLUMN("pid", "INTEGER", "process", .push = PUSH_PID),
	COLUMN("name", "TEXT", "of the last process that had this pid"),
	COLUMN("seen_at", "INTEGER", "its first call, ns since 1970"),
};

static int found_add(const struct read_process *p, void *data)
{
	struct process_list *l = data;

	return process_is_wanted(&l->cursor->limits, p) ? ARRAY_PUSH(&l->found, p) : 0;
}

static int process_compare(const void *a, const void *b)
{
	const struct read_process *x = *(const struct read_process *const *)a;
	const struct read_process *y = *(const struct read_process *const *)b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->first_unix_ns > y->first_unix_ns) - (x->first_unix_ns < y->first_unix_ns);
}

static int process_names_start(struct table_cursor *c)
{
	struct process_list l = { .cursor = c, .list = list_new(c) };
	int r = l.list ? store_reader_processes(c->job->reader, found_add, &l) : -ENOMEM;

	if (r == 0 && l.found.n)
		qsort(l.found.items, l.found.n, sizeof(*l.found.items), process_compare);
	for (size_t i = 0; i < l.found.n && r == 0; i++) {
		const struct read_process *p = l.found.items[i];

		if (i + 1 < l.found.n && l.found.items[i + 1]->pid == p->pid)
			continue;
		list_i64(l.list, p->pid);
		list_text(l.list, p->comm);
		list_u64(l.list, p->first_unix_ns);
		r = list_row(l.list);
	}
	ARRAY_DONE(&l.found);
	return r;
}

LIST_TABLE(process_names, process_names, 1000,
	   "names by pid alone, as Ingero has them; processes tells apart those that had the same");
