// SPDX-License-Identifier: Apache-2.0
/*
 * Table behind: who ran while threads that make calls were ready to run.
 */
#include <errno.h>

#include "archive/job.h"
#include "archive/tables/table_list.h"

static const struct table_column behind_columns[] = {
	COLUMN("pid", "INTEGER", "process whose threads waited", .push = PUSH_PID),
	COLUMN("start_time", "INTEGER", "its start, ns since 1970"),
	COLUMN("comm", "TEXT", "its name"),
	COLUMN("uid", "INTEGER", "its owner", .push = PUSH_UID),
	COLUMN("behind_pid", "INTEGER", "process that ran meanwhile; NULL: another user's, which may not be named"),
	COLUMN("behind_comm", "TEXT", "its name; NULL as above"),
	COLUMN("behind_uid", "INTEGER", "its owner"),
	COLUMN("ns", "INTEGER", "how long it ran while they waited"),
	COLUMN("is_between", "INTEGER", "1: while they were between calls, 0: in one"),
};

static int behind_add(struct table_list *list, const struct read_behind *b)
{
	list_u64(list, b->process->pid);
	list_u64(list, b->process->start_unix_ns);
	list_text(list, b->process->comm);
	list_u64(list, b->process->uid);
	if (b->tgid) {
		list_u64(list, b->tgid);
		list_text(list, b->comm);
	} else {
		list_null(list);
		list_null(list);
	}
	list_u64(list, b->uid);
	list_u64(list, b->ns);
	list_u64(list, b->is_between);
	return list_row(list);
}

static int behind_start(struct table_cursor *c)
{
	CLEANUP(read_window_done) struct read_window window = { .from_unix_ns = 0 };
	const struct table_limits *limits = &c->limits;
	struct table_list *list = list_new(c);
	int r = list ? store_reader_window(c->job->reader, 0, 0, limits->has_pid ? &limits->pid : NULL, limits->has_pid,
					   &window)
		     : -ENOMEM;

	for (size_t i = 0; i < window.behind.n && r == 0; i++)
		if (window.behind.items[i].process)
			r = behind_add(list, &window.behind.items[i]);
	return r;
}

const struct table table_behind = {
	.name = "behind",
	.what = "who ran while threads that make calls were ready to run, over all the time that is kept",
	.columns = behind_columns,
	.n_columns = ARRAY_SIZE(behind_columns),
	.rows = 100,
	.start = behind_start,
	.next = list_next,
	.column = list_column,
	.stop = list_stop,
};
