// SPDX-License-Identifier: Apache-2.0
/* Tables accounts and waits: how each thread spent its wall-clock time, and its longer waits with their resources. */
#include <errno.h>

#include "archive/job.h"
#include "archive/tables/table_list.h"
#include "base/cleanup.h"
#include "figures/account.h"

/* Columns of the process, in both tables: name, type, value, comparison, description. */
#define PROCESS_COLUMNS(C)                                                                                             \
	C(pid, INTEGER, list_u64(list, p->pid), PID, "process")                                                        \
	C(start_time, INTEGER, list_u64(list, p->start_unix_ns), NONE, "start of the process, ns since 1970")          \
	C(exec_generation, INTEGER, list_u64(list, p->exec_gen), NONE, "number of earlier exec calls of the process")  \
	C(comm, TEXT, list_text(list, p->comm), NONE, "name of the process")                                           \
	C(uid, INTEGER, list_u64(list, p->uid), UID, "owner of the process")

#define ACCOUNTS(C)                                                                                                    \
	C(tid, INTEGER, list_known_u64(list, row->account->tid), NONE,                                                 \
	  "thread; NULL: sum of the other threads of the process")                                                     \
	C(is_driving, INTEGER, list_u64(list, row->account->is_driving), NONE,                                         \
	  "1: the thread made a fifth of its process's calls or more for half of its time; 0: it did not")             \
	C(where, TEXT, list_text(list, account_where_name(row->part->where)), NONE,                                    \
	  "in: in a call; between: between calls; not_known. Write it in quotes: \"where\"")                           \
	C(class, TEXT, list_text(list, account_class_name(row->part->class)), NONE,                                    \
	  "on_cpu, runnable, ...: named like the columns of time in operations")                                       \
	C(source_name, TEXT, list_op_source(list, row->op), NONE, "cuda, driver, ...; NULL: as in op_name")            \
	C(op_name, TEXT, list_op_name(list, row->op), OP_NAME,                                                         \
	  "operation of the call; NULL: between calls, or several operations")                                         \
	C(ns, INTEGER, list_u64(list, row->part->ns), NONE,                                                            \
	  "time of the thread in this part; the parts of a thread sum to wall_ns")                                     \
	C(wall_ns, INTEGER, list_u64(list, row->account->wall_ns), NONE,                                               \
	  "wall clock of the thread since its first call")                                                             \
	C(node, TEXT, list_text(list, p->node), NODE, "name of the machine")

#define WAITS(C)                                                                                                       \
	C(tid, INTEGER, list_known_u64(list, w->tid), NONE, "thread; NULL: one of the other threads of the process")   \
	C(where, TEXT, list_text(list, account_where_name(w->op ? ACCOUNT_IN : ACCOUNT_BETWEEN)), NONE,                \
	  "in: in a call; between: between calls. Write it in quotes: \"where\"")                                      \
	C(class, TEXT, list_text(list, account_class_name(w->class)), NONE, "as in accounts.class")                    \
	C(source_name, TEXT, list_op_source(list, row->op), NONE, "cuda, driver, ...; NULL: between calls")            \
	C(op_name, TEXT, list_op_name(list, row->op), OP_NAME, "operation of the call; NULL: between calls")           \
	C(resource_kind, TEXT, list_known_text(list, account_resource_name(w->kind)), NONE,                            \
	  "what was waited for: futex, gil (the lock of the Python interpreter), inode (a file), pipe, peer (a "       \
	  "socket), device, cgroup, child, written (a file that the thread writes), file_lock, full_pipe, full_peer "  \
	  "(the thread writes there, and waits for room); stopped: no wait of the thread, resource_name is signal, "   \
	  "debugger, freezer or ingero (while it attached a library); gc: no wait, but the time in which the thread "  \
	  "computed in garbage collections of Python; NULL: not known")                                                \
	C(resource_name, TEXT, list_known_text(list, name), NONE,                                                      \
	  "name of the resource; for a file its path as the process sees it, or only the last part of the path; "      \
	  "NULL: no name")                                                                                             \
	C(device, TEXT, list_known_text(list, w->device_name), NONE,                                                   \
	  "block device of the file, or the device that was waited for (sda); NULL: none, or not known")               \
	C(by_pid, INTEGER, list_known_u64(list, w->waker_tgid == READ_PID_HIDDEN ? 0 : w->waker_tgid), NONE,           \
	  "process that ended the waits; NULL: not known, or hidden, as behind_pid in table behind")                   \
	C(by_tid, INTEGER, list_known_u64(list, w->waker_tid), NONE,                                                   \
	  "thread that ended the waits; NULL: as in by_pid")                                                           \
	C(by_comm, TEXT, list_known_text(list, w->waker_comm), NONE, "name of that thread; NULL: as in by_pid")        \
	C(by_uid, INTEGER, list_waker_uid(list, w), NONE, "owner of that process; NULL: not known")                    \
	C(count, INTEGER, list_u64(list, w->count), NONE, "waits")                                                     \
	C(ns, INTEGER, list_u64(list, w->ns), NONE, "total time of the waits, which is also part of accounts")         \
	C(max_ns, INTEGER, list_u64(list, w->max_ns), NONE, "longest wait")                                            \
	C(is_meanwhile, INTEGER, list_u64(list, w->is_meanwhile), NONE,                                                \
	  "0: waits of a thread that makes calls; 1: time of thread tid while such a thread waited for it, with "      \
	  "on_cpu and runnable: these rows of tid sum to the waits that it ended, except for the first of them")       \
	C(node, TEXT, list_text(list, p->node), NODE, "name of the machine")

static const struct table_column accounts_columns[] = { PROCESS_COLUMNS(LIST_COLUMN) ACCOUNTS(LIST_COLUMN) };
static const struct table_column waits_columns[] = { PROCESS_COLUMNS(LIST_COLUMN) WAITS(LIST_COLUMN) };

struct accounts_row {
	const struct read_process *process;
	const struct account *account;
	const struct account_part *part;
	const struct read_op *op; /* NULL: between calls, or several operations */
};

static void list_op_source(struct table_list *list, const struct read_op *op)
{
	list_known_text(list, op ? op->source : "");
}

static void list_op_name(struct table_list *list, const struct read_op *op)
{
	list_known_text(list, op ? op->name : "");
}

static void list_waker_uid(struct table_list *list, const struct account_wait *w)
{
	if (w->waker_tgid)
		list_u64(list, w->waker_uid);
	else
		list_null(list);
}

static int accounts_row_add(struct table_list *list, const struct accounts_row *row)
{
	const struct read_process *p = row->process;

	PROCESS_COLUMNS(LIST_VALUE)
	ACCOUNTS(LIST_VALUE)
	return list_row(list);
}

static int waits_row_add(struct table_list *list, const struct read_wait *row)
{
	const struct read_process *p = row->process;
	const struct account_wait *w = row->wait;
	char name[ACCOUNT_WAIT_NAME_BYTES];

	account_wait_name(w, name);
	PROCESS_COLUMNS(LIST_VALUE)
	WAITS(LIST_VALUE)
	return list_row(list);
}

static int account_window(const struct table_cursor *c, struct read_window *ret_window)
{
	const struct table_limits *limits = &c->limits;

	return store_reader_window(c->job->reader, c->job->from_unix_ns, c->job->to_unix_ns,
				   limits->has_pid ? &limits->pid : NULL, limits->has_pid, ret_window);
}

static int accounts_start(struct table_cursor *c)
{
	CLEANUP(read_window_done) struct read_window window = { .from_unix_ns = 0 };
	struct table_list *list = list_new(c);
	int r = list ? account_window(c, &window) : -ENOMEM;

	for (size_t i = 0, n = 0; i < window.parts.n && r == 0; i += n) {
		struct account account;

		r = read_thread_account(&window.parts.items[i], window.parts.n - i, &account, &n);
		for (size_t k = 0; k < account.parts.n && r == 0; k++) {
			const struct account_part *part = &account.parts.items[k];
			const struct accounts_row row = { .process = window.parts.items[i].process,
							  .account = &account,
							  .part = part,
							  .op = store_reader_op(c->job->reader, part->op) };

			r = row.process ? accounts_row_add(list, &row) : 0;
		}
		account_done(&account);
	}
	return r;
}

static int waits_start(struct table_cursor *c)
{
	CLEANUP(read_window_done) struct read_window window = { .from_unix_ns = 0 };
	struct table_list *list = list_new(c);
	int r = list ? account_window(c, &window) : -ENOMEM;

	for (size_t i = 0; i < window.waits.n && r == 0; i++)
		if (window.waits.items[i].process)
			r = waits_row_add(list, &window.waits.items[i]);
	return r;
}

LIST_TABLE(accounts, accounts, 1000,
	   "how each calling thread spent its wall-clock time, over the whole recording; each row is one "
	   "part of that time");
LIST_TABLE(
	waits, waits, 1000,
	"waits of calling threads of 1 ms or more, and garbage collections of any length, by the resource and by the "
	"thread that ended the wait, over all the time that is kept; of each process the 128 largest rows, the others "
	"as sums that do not name the resource and that thread");
