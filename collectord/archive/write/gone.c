// SPDX-License-Identifier: Apache-2.0
/*
 * Processes that ended while no recorder ran: the next recorder writes their end into their rows. The time of the end
 * is unknown; the last commit of an earlier recorder is used.
 *
 * A process of another pid namespace looks as if it had ended. Its next call corrects its row (intake.c).
 */
#include <errno.h>
#include <signal.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "procs/procfs.h"
#include "archive/write/writer.h"

static bool is_alive(int proc_fd, uint32_t pid, uint64_t start_boot_ns)
{
	CLEANUP(closep) int fd = procfs_open_process(proc_fd, pid);
	struct procfs_stat stat;

	if (fd < 0 || procfs_stat_read(fd, &stat) < 0) /* may be hidden: then only its existence is known */
		return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
	return !start_boot_ns || stat.start_ticks == start_boot_ns / procfs_tick_ns();
}

int recover_gone(struct writer *writer)
{
	static const char get[] = "SELECT id, boot, pid, start_boot_ns FROM process WHERE gone_ns IS NULL";
	static const char set[] = "UPDATE process SET gone_ns = max(first_ns, coalesce((SELECT max(seen_ns) FROM"
				  " session s WHERE s.boot = process.boot), 0)) WHERE id = ?1";
	CLEANUP(sql_finalizep) sqlite3_stmt *all = NULL, *one = NULL;
	CLEANUP(closep) int proc_fd = procfs_open();
	sqlite3 *db = writer->db.handle;
	ARRAY(int64_t) gone = { 0 };
	int r = sql_prepare(db, get, &all);

	r = r ? r : sql_prepare(db, set, &one);
	while (r == 0 && (r = sql_step(all)) > 0) {
		r = 0;
		if (sqlite3_column_int64(all, 1) != writer->boot ||
		    !is_alive(proc_fd, (uint32_t)sqlite3_column_int64(all, 2), (uint64_t)sqlite3_column_int64(all, 3)))
			r = ARRAY_PUSH(&gone, sqlite3_column_int64(all, 0));
	}
	for (size_t i = 0; r == 0 && i < gone.n; i++) {
		(void)sqlite3_bind_int64(one, 1, gone.items[i]);
		r = sql_run(one);
	}
	ARRAY_DONE(&gone);
	return r;
}
