// SPDX-License-Identifier: Apache-2.0
/*
 * Deletion of stacks that no call has any more. Calls are packed, so they are not searched: a row has the time of the
 * last call with it, and goes when no call that is left began before that time.
 */
#include <errno.h>

#include "archive/write/known_stacks.h"
#include "archive/write/writer.h"

/* Start of the oldest call of an owner and boot; INT64_MAX: none is left. */
static int oldest_call(struct writer *writer, uint32_t uid, int64_t boot, uint64_t *ret_ns)
{
	static const char text[] = "SELECT min(t) FROM (SELECT min(t0) AS t FROM block WHERE uid = ?1 AND boot = ?2"
				   " UNION ALL SELECT min(t0) FROM tail WHERE uid = ?1 AND boot = ?2)";
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(writer->db.handle, text, &s);

	if (r < 0)
		return r;
	SQL_INTS(s, 1, uid, boot);
	r = sql_step(s);
	*ret_ns = r > 0 && sqlite3_column_type(s, 0) != SQLITE_NULL ? (uint64_t)sqlite3_column_int64(s, 0) : INT64_MAX;
	return MIN(r, 0);
}

/* A quick look whether there may be any: the oldest block of calls ended after the last call with each stack. */
static int are_stacks_newer(struct writer *writer, uint32_t uid, int64_t boot)
{
	static const char text[] = "SELECT (SELECT min(last_ns) FROM stack WHERE uid = ?1 AND boot = ?2) >="
				   " (SELECT min(t1) FROM block WHERE uid = ?1 AND boot = ?2)";
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(writer->db.handle, text, &s);

	if (r < 0)
		return r;
	SQL_INTS(s, 1, uid, boot);
	r = sql_step(s);
	return r > 0 ? sqlite3_column_int(s, 0) : r;
}

/* The time before which the last call with a stack has to be. */
static int stacks_limit(struct writer *writer, uint32_t uid, int64_t boot, uint64_t *ret_ns)
{
	uint64_t ns = 0;
	int r = oldest_call(writer, uid, boot, &ns);

	/* The row may have an earlier time than the last call. */
	ns -= MIN(ns, STACK_TELL_NS);
	/* A call that waits in the queue may have it. */
	if (boot == writer->boot)
		ns = MIN(ns, writer->now_ns - MIN(writer->now_ns, STACK_KEEP_NS));
	*ret_ns = ns;
	return r;
}

int retention_stacks(struct writer *writer, uint32_t uid, int64_t boot)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	ARRAY(int64_t) ids = { 0 };
	uint64_t limit_ns = 0;
	int r = are_stacks_newer(writer, uid, boot), n;

	if (r > 0)
		return 0;
	r = r ? r : stacks_limit(writer, uid, boot, &limit_ns);
	r = r ? r
	      : sql_prepare(writer->db.handle,
			    "SELECT id FROM stack WHERE uid = ?1 AND boot = ?2 AND last_ns < ?3 ORDER BY last_ns"
			    " LIMIT ?4",
			    &s);
	SQL_INTS(s, 1, uid, boot, (int64_t)limit_ns, RETENTION_STACKS_MAX);
	while (r == 0 && (r = sql_step(s)) > 0)
		r = ARRAY_PUSH(&ids, sqlite3_column_int64(s, 0));
	(void)sqlite3_finalize(TAKE_PTR(s)); /* read to its end, or failed: r has the error */
	for (size_t i = 0; r == 0 && i < ids.n; i++)
		r = writer_delete_stack(writer, ids.items[i]);
	n = (int)ids.n;
	ARRAY_DONE(&ids);
	return r ? r : n;
}

struct stacks_owner {
	uint32_t uid;
	int64_t boot;
};

int retention_all_stacks(struct writer *writer)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	ARRAY(struct stacks_owner) owners = { 0 };
	int r = sql_prepare(writer->db.handle, "SELECT DISTINCT uid, boot FROM stack", &s);

	while (r == 0 && (r = sql_step(s)) > 0)
		r = ARRAY_PUSH(&owners, ((struct stacks_owner){ .uid = (uint32_t)sqlite3_column_int64(s, 0),
								.boot = sqlite3_column_int64(s, 1) }));
	(void)sqlite3_finalize(TAKE_PTR(s)); /* read to its end, or failed: r has the error */
	for (size_t i = 0; r >= 0 && i < owners.n; i++)
		r = retention_stacks(writer, owners.items[i].uid, owners.items[i].boot);
	ARRAY_DONE(&owners);
	return MIN(r, 0);
}
