// SPDX-License-Identifier: Apache-2.0
/*
 * make_db FILE CALLS [UID [accounts]]: makes a database with CALLS recorded calls of the last three hours, of five
 * owners (UID and the next four; default: the caller's) with ten processes each, and the figures of ten times as many
 * calls; with "accounts" also the accounts of ten threads of each process and their waits. It has twenty operations,
 * even when ops.def grows: the cost of a question depends on rows of (process, operation), and measurements of
 * different years must use the same file.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/read_world.h"

#define SECOND 1000000000ull
#define SPAN (3 * 3600 * SECOND)
#define BLOCK 4096
#define OWNERS 5
#define PROCESSES 10  /* of each owner */
#define OPERATIONS 20 /* ids 1 to this number, which never change */

static uint64_t state = 88172645463325252ull;

/* xorshift: the same file each time. */
static uint64_t next_random(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static uint32_t op_random(void)
{
	return 1 + (uint32_t)next_random(OPERATIONS);
}

static uint64_t duration_random(void)
{
	uint64_t octave = next_random(18); /* 1 us to 0.26 s */

	return (1000ull << octave) + next_random(1000ull << octave);
}

static void process_blocks(struct sqlite3 *db, uint32_t process, uint32_t uid, uint64_t calls)
{
	static struct stored_event e[BLOCK];
	uint64_t step = SPAN / calls, t = SECOND;

	while (calls) {
		size_t n = calls < BLOCK ? (size_t)calls : BLOCK;

		for (size_t i = 0; i < n; i++, t += step) {
			e[i] = world_event(process, op_random(), process * 100 + (uint32_t)next_random(5),
					   t + next_random(step), duration_random());
			e[i].call.args[0] = next_random(1u << 24);
		}
		(void)world_block(db, uid, 1, process, e, n);
		calls -= n;
	}
}

#define THREADS 10 /* of a process: the limit of singly listed threads, and a sum */
#define THREADS_DRIVING 2
#define OPERATIONS_DRIVING 8 /* operations that a driving thread calls */
#define WAITS_EVER 24	     /* waits for resources that recur: pipes, locks */
#define WAITS_FRESH_MOST 104 /* waits for files and children that occur once */

static void made(int r)
{
	if (r == 0)
		return;
	fprintf(stderr, "make_db: no memory\n");
	exit(1);
}

static void thread_account(struct figures_blob *blob, uint32_t process, uint32_t tid, bool is_driving, uint64_t ns)
{
	uint32_t n_ops = is_driving ? OPERATIONS_DRIVING : 1;
	uint32_t n_between = is_driving ? 6 : 2;
	struct stored_part part = { .process = process, .tid = tid, .is_driving = is_driving };

	for (uint32_t class = 0; class < n_between; class ++) {
		part.ns = ns / 2 / n_between + next_random(1000000);
		part.where = ACCOUNT_BETWEEN;
		part.class = (uint8_t)(is_driving ? class : class * BLAME_SLEEP);
		made(figures_blob_add_part(blob, &part));
	}
	for (uint32_t op = 1; op <= n_ops; op++)
		for (uint32_t class = 0; class < 2; class ++) {
			part.ns = ns / 4 / n_ops + next_random(1000000);
			part.where = ACCOUNT_IN;
			part.op = op;
			part.class = (uint8_t)(class * BLAME_DEVICE);
			made(figures_blob_add_part(blob, &part));
		}
}

static void wait_of(struct figures_blob *blob, uint32_t process, uint32_t tid, uint64_t which, bool is_fresh)
{
	struct stored_wait w = { .process = process,
				 .wait = { .ns = 5000000 + next_random(100000000),
					   .max_ns = 5000000,
					   .count = 1 + next_random(100),
					   .tid = tid,
					   .class = is_fresh ? BLAME_BLOCK_IO : BLAME_LOCK,
					   .kind = is_fresh ? RESOURCE_INODE : RESOURCE_FUTEX,
					   .resource = which,
					   .waker_tgid = 1000 + process,
					   .waker_tid = 4000 + (uint32_t)which,
					   .waker_uid = getuid(),
					   .waker_comm = "pt_data_worker" } };

	if (is_fresh)
		(void)snprintf(w.wait.name, sizeof(w.wait.name), "shard-%08llu.tar", (unsigned long long)which);
	made(figures_blob_add_wait(blob, &w));
}

static void process_accounts(struct figures_blob *blob, uint32_t process, int level)
{
	uint64_t n_fresh = level / 10 * 4 < WAITS_FRESH_MOST ? (uint64_t)level / 10 * 4 : WAITS_FRESH_MOST;

	for (uint32_t thread = 0; thread < THREADS; thread++)
		thread_account(blob, process, thread ? process * 100 + thread : 0, thread && thread <= THREADS_DRIVING,
			       (uint64_t)level * SECOND);
	for (uint32_t i = 0; i < WAITS_EVER; i++)
		wait_of(blob, process, process * 100 + 1 + i % THREADS_DRIVING, i, /* is_fresh= */ false);
	for (uint64_t i = 0; i < n_fresh; i++)
		wait_of(blob, process, process * 100 + 1, 1000 + next_random(1u << 20), /* is_fresh= */ true);
}

static void owner_figures(struct sqlite3 *db, uint32_t owner, uint32_t uid, uint64_t calls, bool has_accounts)
{
	for (int level = 10; level <= 3600; level *= level == 10 ? 6 : 60) {
		uint64_t n_rows = SPAN / SECOND / (uint64_t)level;
		uint64_t first = level == 10 ? n_rows - 360 : 0; /* 10 s are kept for an hour */

		for (uint64_t row = first; row < n_rows; row++) {
			struct figures_blob blob = { .figures = { .items = NULL } };
			uint64_t t0 = SECOND + row * (uint64_t)level * SECOND;

			for (uint32_t p = 1; p <= PROCESSES; p++)
				for (uint32_t id = 1; id <= OPERATIONS; id++)
					for (int k = 0; k < 8; k++)
						world_count(&blob, owner * PROCESSES + p, id,
							    1 + calls / PROCESSES / OPERATIONS / 8 / n_rows,
							    duration_random());
			for (uint32_t p = 1; p <= PROCESSES && has_accounts; p++)
				process_accounts(&blob, owner * PROCESSES + p, level);
			world_figures(db, level, uid, 1, t0, t0 + (uint64_t)level * SECOND, &blob);
			figures_blob_done(&blob);
		}
	}
}

int main(int argc, char **argv)
{
	uint64_t calls = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	uint32_t uid = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : getuid();
	bool has_accounts = argc > 4 && strcmp(argv[4], "accounts") == 0;
	struct timespec now;
	struct sqlite3 *db;

	if (calls < OWNERS * PROCESSES) {
		fprintf(stderr, "usage: make_db FILE CALLS [UID [accounts]]\n");
		return 2;
	}
	(void)clock_gettime(CLOCK_REALTIME, &now);
	db = world_create(argv[1]);
	world_exec(db, "BEGIN");
	world_boot(db, 1, SPAN + SECOND, (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec);
	for (uint32_t owner = 0; owner < OWNERS; owner++) {
		for (uint32_t p = 1; p <= PROCESSES; p++) {
			uint32_t process = owner * PROCESSES + p;

			world_process(db, process, 1, 1000 + process, uid + owner, 0, "python", SECOND);
			process_blocks(db, process, uid + owner, calls / OWNERS / PROCESSES);
		}
		owner_figures(db, owner, uid + owner, calls * 10 / OWNERS, has_accounts);
	}
	world_finding(db, "00000000000000aa", uid, 1, 1, 1001, FINDING_HIGH, SECOND, SPAN - 600 * SECOND, SPAN, 4242,
		      uid + 1, "logrotate");
	world_exec(db, "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
	return sqlite3_close(db) != SQLITE_OK;
}
