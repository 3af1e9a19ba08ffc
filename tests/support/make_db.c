// SPDX-License-Identifier: Apache-2.0
/*
 * make_db FILE CALLS [UID]: a database of so many kept calls of the last three hours, of five owners
 * (UID and the four after it; default: the caller's) with ten processes each, and the figures of
 * ten times as many. Of twenty operations, however many more ops.def gets: what a question costs
 * goes by rows of (process, operation), and figures measured years apart are of the same file.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/read_world.h"

#define SECOND 1000000000ull
#define SPAN (3 * 3600 * SECOND)
#define BLOCK 4096
#define OWNERS 5
#define PROCESSES 10  /* of each */
#define OPERATIONS 20 /* ids 1 to this: given once, never reused */

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

static void owner_figures(struct sqlite3 *db, uint32_t owner, uint32_t uid, uint64_t calls)
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
			world_figures(db, level, uid, 1, t0, t0 + (uint64_t)level * SECOND, &blob);
			figures_blob_done(&blob);
		}
	}
}

int main(int argc, char **argv)
{
	uint64_t calls = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	uint32_t uid = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : getuid();
	struct timespec now;
	struct sqlite3 *db;

	if (calls < OWNERS * PROCESSES) {
		fprintf(stderr, "usage: make_db FILE CALLS [UID]\n");
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
		owner_figures(db, owner, uid + owner, calls * 10 / OWNERS);
	}
	world_finding(db, "00000000000000aa", uid, 1, 1, 1001, FINDING_HIGH, SECOND, SPAN - 600 * SECOND, SPAN, 4242,
		      uid + 1, "logrotate");
	world_exec(db, "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
	return sqlite3_close(db) != SQLITE_OK;
}
