// SPDX-License-Identifier: Apache-2.0
/* Table behind: processes that ran while calling threads were ready to run. */
#include <errno.h>

#include "archive/job.h"
#include "archive/tables/table_list.h"

/* Name, type, value, comparison, description. */
#define BEHIND(C)                                                                                                      \
	C(pid, INTEGER, list_u64(list, b->process->pid), PID, "process whose threads waited")                          \
	C(start_time, INTEGER, list_u64(list, b->process->start_unix_ns), NONE, "start of the process, ns since 1970") \
	C(comm, TEXT, list_text(list, b->process->comm), NONE, "name of the process")                                  \
	C(uid, INTEGER, list_u64(list, b->process->uid), UID, "owner of the process")                                  \
	C(behind_pid, INTEGER, list_known_u64(list, b->tgid), NONE,                                                    \
	  "process that ran meanwhile; NULL: hidden: it may belong to another user, or its own user may not inspect "  \
	  "it; or several processes of behind_uid, which had the least time")                                          \
	C(behind_comm, TEXT, b->tgid ? list_text(list, b->comm) : list_null(list), NONE,                               \
	  "name of that process; NULL: as in behind_pid")                                                              \
	C(behind_uid, INTEGER, list_u64(list, b->uid), NONE, "owner of that process; 4294967295: several owners")      \
	C(ns, INTEGER, list_u64(list, b->ns), NONE, "time that this process ran while threads of pid waited")          \
	C(is_between, INTEGER, list_u64(list, b->is_between), NONE,                                                    \
	  "1: the waiting threads were between calls; 0: in a call")                                                   \
	C(node, TEXT, list_text(list, b->process->node), NODE, "name of the machine")

static const struct table_column behind_columns[] = { BEHIND(LIST_COLUMN) };

static int behind_add(struct table_list *list, const struct read_behind *b)
{
	BEHIND(LIST_VALUE)
	return list_row(list);
}

static int behind_start(struct table_cursor *c)
{
	CLEANUP(read_window_done) struct read_window window = { .from_unix_ns = 0 };
	const struct table_limits *limits = &c->limits;
	struct table_list *list = list_new(c);
	int r = list ? store_reader_figures(c->job->reader, 0, 0, limits->has_pid ? &limits->pid : NULL,
					    limits->has_pid, &window)
		     : -ENOMEM;

	for (size_t i = 0; i < window.behind.n && r == 0; i++)
		if (window.behind.items[i].process)
			r = behind_add(list, &window.behind.items[i]);
	return r;
}

LIST_TABLE(behind, behind, 100, "processes that ran while calling threads were ready to run, over the whole recording");
