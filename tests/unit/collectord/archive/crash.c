// SPDX-License-Identifier: Apache-2.0
/*
 * Whatever was acknowledged is there after the process was killed inside a write, after the
 * power failed, after the disk was full: once, as it was given, in a file that is intact.
 * crash [POINTS]: how many places of each accident are tried; all of a run are spread over. The
 * disk is full at every write of a run, which is a short one without POINTS.
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "archive/write/store.h"
#include "tests/support/check.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/store_world.h"

#define TICKS_MAX 34
#define CALLS 41 /* in a tick */
#define POINTS 20

struct life {
	int ticks;
	uint64_t tick_ns;
};

/* Each: calls are sealed twice, rows of a minute are closed. */
static const struct life long_life = { TICKS_MAX, 60 * NSEC_PER_SEC };
static const struct life short_life = { 4, 16 * 60 * NSEC_PER_SEC };

static unsigned int points = POINTS;

/* A life of a recorder; after each commit, how many calls are acknowledged goes to `acks`, if that is a descriptor. */
static void live(struct store_world *world, const struct life *life, int acks, struct fault_trace *trace,
		 size_t *ret_marks)
{
	struct store *store = store_world_open(world);

	world->has_stacks = true;
	for (int t = 0; t < life->ticks; t++) {
		store_world_calls(world, store, CALLS);
		world->now_ns = MAX(world->now_ns, world->ticked_ns + life->tick_ns);
		store_world_tick(world, store);
		if (store_flush(store) == 0 && acks >= 0 &&
		    write(acks, &world->n_calls, sizeof(world->n_calls)) != sizeof(world->n_calls))
			_exit(1);
		if (trace)
			ret_marks[t] = fault_trace_mark(trace);
	}
	store_close(store);
}

/* @acked: calls that must be there; @most: calls that may */
static void books_hold(const char *name, const char *path, uint32_t acked, uint32_t most)
{
	struct store_books books;

	store_books_read(path, most, &books);
	CHECK(name, books.is_open);
	CHECK(name, books.is_intact);
	CHECK(name, books.first_missing >= acked);
	CHECK_INT_EQ(name, books.n_doubled, 0);
	CHECK_INT_EQ(name, books.n_wrong, 0);
	CHECK_INT_EQ(name, books.n_nameless, 0);
	CHECK_INT_EQ(name, books.n_damaged, 0);
}

/* The next run makes everything whole: no tail, minutes and hours made again, the end noted. */
static void next_run(const char *name, struct store_world *world, const struct life *life, uint32_t acked)
{
	uint32_t all = (uint32_t)life->ticks * CALLS;
	struct store_books books;

	world->n_calls = world->n_ticked = all;
	world->now_ns = world->ticked_ns = WORLD_FIRST_NS + 2 * (uint64_t)life->ticks * life->tick_ns;
	store_close(store_world_open(world));
	books_hold(name, world->path, acked, all);
	store_books_read(world->path, all, &books);
	CHECK_INT_EQ(name, books.n_tails, 0);
	CHECK_INT_EQ(name, books.n_counted[1], books.n_counted[0]);
	CHECK_INT_EQ(name, books.n_counted[2], books.n_counted[0]);
	CHECK(name, books.n_counted[0] >= acked);
	CHECK_INT_EQ(name, store_world_sql(world, "SELECT count(*) FROM session WHERE end_ns IS NULL"), 0);
}

/* In a process of its own. Return: calls that were acknowledged; *ret_writes: 0 when it was killed, else all */
static uint32_t live_apart(struct store_world *world, uint32_t kill_at, uint32_t *ret_writes)
{
	int acks[2], writes[2], status;
	uint32_t acked = 0, one;
	pid_t pid;

	*ret_writes = 0;
	if (pipe(acks) < 0 || pipe(writes) < 0)
		exit(1);
	pid = fork();
	if (pid == 0) {
		fault_vfs_set(kill_at ? FAULT_KILL : FAULT_NONE, kill_at);
		live(world, &long_life, acks[1], NULL, NULL);
		one = fault_vfs_writes();
		_exit(write(writes[1], &one, sizeof(one)) == sizeof(one) ? 0 : 1);
	}
	(void)close(acks[1]);
	(void)close(writes[1]);
	while (read(acks[0], &one, sizeof(one)) == sizeof(one))
		acked = one;
	if (read(writes[0], &one, sizeof(one)) == sizeof(one))
		*ret_writes = one;
	(void)close(acks[0]);
	(void)close(writes[0]);
	(void)waitpid(pid, &status, 0);
	return acked;
}

static void killed(void)
{
	struct store_world world;
	uint32_t all, none;

	store_world_init(&world);
	CHECK_INT_EQ("nobody kills it", live_apart(&world, 0, &all), TICKS_MAX * CALLS);
	CHECK("nobody kills it", all > 200);
	store_world_done(&world);
	for (uint32_t i = 0; i < points; i++) {
		uint32_t at = 1 + (uint32_t)((uint64_t)all * i / points), acked;
		char name[64];
		bool is_ended;

		(void)snprintf(name, sizeof(name), "killed in write %u of %u", at, all);
		store_world_init(&world);
		acked = live_apart(&world, at, &none);
		CHECK_INT_EQ(name, none, 0);
		if (acked)
			books_hold(name, world.path, acked, TICKS_MAX * CALLS);
		is_ended = store_world_sql(&world, "SELECT count(*) FROM session WHERE end_ns IS NULL") <= 0;
		next_run(name, &world, &long_life, acked);
		CHECK_INT_EQ(name, store_world_sql(&world, "SELECT count(*) FROM gap WHERE reason = 'recorder_ended'"),
			     !is_ended);
		store_world_done(&world);
	}
}

static void power_fails(void)
{
	static const char *const kinds[] = { "lost", "kept", "mixed" };
	struct fault_trace *trace = fault_trace_new();
	struct store_world world, after;
	size_t marks[TICKS_MAX], all;

	store_world_init(&world);
	fault_vfs_set(FAULT_NONE, 0);
	fault_vfs_trace(trace);
	live(&world, &long_life, -1, trace, marks);
	fault_vfs_trace(NULL);
	all = fault_trace_mark(trace);
	for (uint32_t i = 0; i < 3 * points; i++) {
		size_t position = all * (i / 3) / points;
		uint32_t acked = 0;
		char name[80];

		for (uint32_t t = 0; t < TICKS_MAX; t++)
			if (marks[t] <= position)
				acked = (t + 1) * CALLS;
		(void)snprintf(name, sizeof(name), "power fails at step %zu of %zu, unsynced %s", position, all,
			       kinds[i % 3]);
		store_world_init(&after);
		CHECK_INT_EQ(name, fault_trace_replay(trace, position, (enum replay_kind)(i % 3), i, after.directory),
			     0);
		if (acked)
			books_hold(name, after.path, acked, TICKS_MAX * CALLS);
		next_run(name, &after, &long_life, acked);
		store_world_done(&after);
	}
	fault_trace_free(trace);
	store_world_done(&world);
}

/* A beginning that finds no space says so; the next one finds nothing in its way. */
static void begin_without_space(const char *name, struct store_world *world)
{
	struct store *store = NULL;
	char why[512] = "";
	int r = store_open(&world->options, why, sizeof(why), &store);

	CHECK(name, r == 0 || (r == -ENOSPC && strstr(why, "No space left")));
	if (r == 0)
		store_close(store);
	CHECK(name, fault_vfs_is_hit());
	fault_vfs_set(FAULT_NONE, 0);
}

/* One write finds no space, each in its turn: it is tried again, and nothing is missing at the end. */
static void full_once(const struct life *life)
{
	const uint32_t n_calls = (uint32_t)life->ticks * CALLS;
	struct store_world world;
	struct store_books books;
	uint32_t opening, all;

	store_world_init(&world);
	fault_vfs_set(FAULT_NONE, 0);
	store_close(store_world_open(&world));
	opening = fault_vfs_writes(); /* and of closing it at once */
	store_world_done(&world);
	store_world_init(&world);
	fault_vfs_set(FAULT_NONE, 0);
	live(&world, life, -1, NULL, NULL);
	all = fault_vfs_writes();
	store_world_done(&world);
	CHECK("a run writes", opening > 0 && all > opening);
	for (uint32_t at = 1; at <= all; at++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "no space for write %u of %u", at, all);
		store_world_init(&world);
		fault_vfs_set(FAULT_FULL, at);
		if (at <= opening)
			begin_without_space(name, &world);
		live(&world, life, -1, NULL, NULL);
		CHECK(name, at <= opening || fault_vfs_is_hit());
		fault_vfs_set(FAULT_NONE, 0);
		books_hold(name, world.path, n_calls, n_calls);
		store_books_read(world.path, n_calls, &books);
		CHECK_INT_EQ(name, books.n_stacks_none, 0);
		next_run(name, &world, life, n_calls);
		store_world_done(&world);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		points = (unsigned int)strtoul(argv[1], NULL, 10);
	fault_vfs_install();
	killed();
	power_fails();
	full_once(argc > 1 ? &long_life : &short_life);
	return check_result();
}
