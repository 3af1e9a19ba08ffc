// SPDX-License-Identifier: Apache-2.0
/*
 * What is kept and for how long: figures by time, sizes, ages, clocks, losses.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "events/op.h"
#include "figures/tick.h"
#include "procs/procfs.h"
#include "archive/write/store.h"
#include "tests/support/check.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/store_world.h"

#define MINUTE_NS (60 * NSEC_PER_SEC)

static void tick_after(struct store_world *world, struct store *store, uint64_t ns)
{
	world->now_ns = MAX(world->now_ns, world->ticked_ns + ns);
	store_world_tick(world, store);
	CHECK_INT_EQ("commit", store_flush(store), 0);
}

/* Ten-second rows for an hour, minutes behind them, hours behind those: each adds up to everything. */
static void figures_by_time(void)
{
	struct store_world world;
	struct store_books books;
	struct store *store;

	store_world_init(&world);
	store = store_world_open(&world);
	for (int i = 0; i < 9 * 60; i++) {
		store_world_calls(&world, store, 7);
		tick_after(&world, store, 20 * NSEC_PER_SEC);
	}
	store_close(store);
	store_books_read(world.path, world.n_calls, &books);
	CHECK_INT_EQ("minutes are all", books.n_counted[1], world.n_calls);
	CHECK_INT_EQ("hours are all", books.n_counted[2], world.n_calls);
	CHECK("ten seconds are of about the last hour", books.n_counted[0] < world.n_calls / 2);
	CHECK("ten seconds are of about the last hour", books.n_counted[0] > world.n_calls / 4);
	CHECK_INT_EQ("no older one",
		     store_world_sql(&world, "SELECT count(*) FROM figures WHERE level = 10 AND t1 <"
					     " (SELECT max(t1) FROM figures) - 4600 * 1000000000"),
		     0);
	CHECK_INT_EQ("finer rows lie within coarser ones",
		     store_world_sql(&world,
				     "SELECT count(*) FROM figures f WHERE level < 3600 AND NOT EXISTS (SELECT 1 FROM"
				     " figures c WHERE c.uid = f.uid AND c.level > f.level AND c.t0 <= f.t0 AND"
				     " c.t1 >= f.t1)"),
		     0);
	CHECK_INT_EQ("bounds are whole minutes of the wall clock",
		     store_world_sql(&world,
				     "SELECT count(*) FROM figures WHERE level = 60 AND abs((t1 - 1000000000000 +"
				     " 1700000000000000000) % 60000000000 - 30000000000) < 10000000000"),
		     0);
	store_world_done(&world);
}

/* Seconds stay for two minutes, so that short runs can be compared; each is in its 10 s, too. */
static void seconds(void)
{
	struct store_world world;
	struct store_books books;
	struct store *store;

	store_world_init(&world);
	store = store_world_open(&world);
	for (int i = 0; i < 200; i++) {
		store_world_calls(&world, store, 7);
		tick_after(&world, store, NSEC_PER_SEC);
	}
	store_close(store);
	store_books_read(world.path, world.n_calls, &books);
	CHECK_INT_EQ("seconds count no call twice", books.n_counted[0], world.n_calls);
	CHECK_INT_IN("seconds of about two minutes",
		     store_world_sql(&world, "SELECT count(DISTINCT t0) FROM figures WHERE level = 1"), 110, 132);
	CHECK_INT_EQ("no older one",
		     store_world_sql(&world, "SELECT count(*) FROM figures WHERE level = 1 AND t1 <"
					     " (SELECT max(t1) FROM figures) - 135 * 1000000000"),
		     0);
	store_world_done(&world);
}

/* The noisy one pays. */
static void size_limit(void)
{
	struct store_world world;
	struct store_books books;
	struct store *store;

	store_world_init(&world);
	world.options.max_bytes = 1200 * 1024;
	store = store_world_open(&world);
	for (int i = 0; i < 60; i++) {
		store_world_calls(&world, store, 3001);
		tick_after(&world, store, 3 * MINUTE_NS);
	}
	store_close(store);
	store_books_read(world.path, world.n_calls, &books);
	CHECK("something had to go", books.n_missing > 0);
	CHECK_INT_EQ("what is missing is told",
		     store_world_sql(&world, "SELECT sum(count) FROM gap WHERE reason = 'retention'"), books.n_missing);
	CHECK_INT_IN("one gap an owner", store_world_sql(&world, "SELECT count(*) FROM gap WHERE reason = 'retention'"),
		     1, 2);
	CHECK("within the limit",
	      store_world_sql(&world,
			      "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count") *
			      4096 <=
		      1200 * 1024);
	CHECK("an equal share for the quiet one",
	      store_world_sql(&world,
			      "SELECT abs(sum(CASE uid WHEN 1000 THEN n ELSE -n END)) * 10 < sum(n) * 4 FROM block") ==
		      1);
	CHECK_INT_EQ("intact", books.is_intact, true);
	CHECK_INT_EQ("the newest is there",
		     store_world_sql(&world, "SELECT max(t1) FROM block") > 0 && books.n_doubled == 0, true);
	store_world_done(&world);
}

/* Where no call is recorded, figures alone fill a file, and there is nothing to seal. */
static void size_limit_of_figures(void)
{
	struct store_world world;
	struct store *store;

	store_world_init(&world);
	world.options.max_bytes = 200 * 1024;
	store = store_world_open(&world);
	for (int i = 0; i < 2500; i++) {
		world.n_calls += 7; /* counted, none of them kept */
		tick_after(&world, store, 30 * MINUTE_NS);
	}
	store_close(store);
	CHECK_INT_EQ("no call", store_world_sql(&world, "SELECT count(*) FROM block"), 0);
	CHECK("within the limit",
	      store_world_sql(&world,
			      "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count") *
			      4096 <=
		      200 * 1024);
	CHECK("the newest is there", store_world_sql(&world, "SELECT count(*) FROM figures WHERE level = 10") > 0);
	store_world_done(&world);
}

static void age_limit(void)
{
	struct store_world world;
	struct store *store;

	store_world_init(&world);
	world.options.max_age_ns = 60 * MINUTE_NS;
	store = store_world_open(&world);
	store_world_calls(&world, store, 1009);
	tick_after(&world, store, NSEC_PER_SEC);
	for (int i = 0; i < 6; i++)
		tick_after(&world, store, 20 * MINUTE_NS);
	store_close(store);
	CHECK_INT_EQ("too old", store_world_sql(&world, "SELECT count(*) FROM block"), 0);
	CHECK_INT_EQ("too old", store_world_sql(&world, "SELECT count(*) FROM block_data"), 0);
	CHECK_INT_EQ("too old", store_world_sql(&world, "SELECT count(*) FROM figures"), 0);
	store_world_done(&world);
}

/* A step of the wall clock, a second boot. */
static void clocks(void)
{
	struct store_world world;
	struct store *store;

	store_world_init(&world);
	store = store_world_open(&world);
	CHECK_INT_EQ("first boot", store_boot(store), 1);
	store_world_calls(&world, store, 3);
	tick_after(&world, store, NSEC_PER_SEC);
	world.offset_ns += (int64_t)NSEC_PER_MSEC / 2; /* slewing */
	tick_after(&world, store, NSEC_PER_SEC);
	CHECK_INT_EQ("as it was at the start", store_world_sql(&world, "SELECT count(*) FROM clock"), 1);
	world.offset_ns -= 3600ll * (int64_t)NSEC_PER_SEC;
	store_world_calls(&world, store, 3);
	tick_after(&world, store, NSEC_PER_SEC);
	CHECK_INT_EQ("a step", store_world_sql(&world, "SELECT count(*) FROM clock"), 2);
	store_close(store);
	world.options.boot_id = "boot-b";
	world.now_ns = world.ticked_ns = NSEC_PER_SEC;
	store = store_world_open(&world);
	CHECK_INT_EQ("second boot", store_boot(store), 2);
	store_close(store);
	world.options.boot_id = "boot-a";
	store = store_world_open(&world);
	CHECK_INT_EQ("a boot that is known", store_boot(store), 1);
	store_close(store);
	CHECK_INT_EQ("processes once", store_world_sql(&world, "SELECT count(*) FROM process"), 3);
	store_world_done(&world);
}

/*
 * A library that was late is a gap of whose process had it, over the time until it was attached; a loss of one user
 * alone is that user's; the rest everybody's.
 */
static void lates(void)
{
	static const struct {
		const char *name, *sql;
		int64_t want;
	} asks[] = {
		{ "one user's", "SELECT sum(count) FROM gap WHERE reason = 'late_load' AND uid = 1000", 2 },
		{ "until they were attached", "SELECT min(t0) FROM gap WHERE reason = 'late_load' AND uid = 1000", 5 },
		{ "until they were attached", "SELECT max(t1) FROM gap WHERE reason = 'late_load' AND uid = 1000", 80 },
		{ "another's", "SELECT sum(count) FROM gap WHERE reason = 'late_load' AND uid = 1001", 1 },
		{ "nobody knows whose", "SELECT sum(count) FROM gap WHERE reason = 'late_load' AND uid IS NULL", 3 },
		{ "a machine's", "SELECT count(*) FROM gap WHERE reason = 'ring_full' AND uid IS NULL", 1 },
		{ "a user's waits", "SELECT sum(count) FROM gap WHERE reason = 'waits' AND uid = 1000", 70 },
		{ "a user's wakers", "SELECT sum(count) FROM gap WHERE reason = 'wakers' AND uid = 1001", 8 },
		{ "no other's", "SELECT sum(count) FROM gap WHERE reason IN ('waits', 'wakers')", 70 + 8 },
	};
	static struct tick_user_loss user_losses[] = {
		{ .uid = 1000, .reason = LOSS_WAITS, .n = 70 },
		{ .uid = 1001, .reason = LOSS_WAKERS, .n = 8 },
	};
	static struct tick_late rows[] = {
		{ .from_ns = 5, .to_ns = 50, .uid = 1000 },
		{ .from_ns = 60, .to_ns = 80, .uid = 1000 },
		{ .from_ns = 60, .to_ns = 90, .uid = 1001 },
	};
	struct store_world world;
	struct store *store;
	struct tick tick;

	store_world_init(&world);
	store = store_world_open(&world);
	tick = (struct tick){ .from_ns = world.now_ns, .to_ns = world.now_ns + NSEC_PER_SEC };
	tick.losses[LOSS_LATE_LOAD] = ARRAY_SIZE(rows) + 3;
	tick.losses[LOSS_RING_FULL] = 1;
	tick.lates.items = rows;
	tick.lates.n = ARRAY_SIZE(rows);
	tick.user_losses.items = user_losses;
	tick.user_losses.n = ARRAY_SIZE(user_losses);
	store_tick(store, &tick);
	store_close(store);
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++)
		CHECK_INT_EQ(asks[i].name, store_world_sql(&world, asks[i].sql), asks[i].want);
	store_world_done(&world);
}

/* One row while a loss goes on, another after a rest. */
static void losses(void)
{
	static const uint64_t counts[] = { 5, 7, 0, 0, 0, 0, 11 };
	struct store_world world;
	struct store *store;

	store_world_init(&world);
	store = store_world_open(&world);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		struct tick tick = { .from_ns = world.now_ns, .to_ns = world.now_ns + NSEC_PER_SEC };

		tick.losses[LOSS_RING_FULL] = counts[i];
		tick.refused = i == 1 ? 3 : 0;
		store_tick(store, &tick);
		CHECK_INT_EQ("commit", store_flush(store), 0);
		world.now_ns += NSEC_PER_SEC;
	}
	store_close(store);
	CHECK_INT_EQ("losses", store_world_sql(&world, "SELECT count(*) FROM gap WHERE reason = 'ring_full'"), 2);
	CHECK_INT_EQ("made no sense", store_world_sql(&world, "SELECT sum(count) FROM gap WHERE reason = 'decode'"), 3);
	CHECK_INT_EQ("losses",
		     store_world_sql(&world, "SELECT count FROM gap WHERE reason = 'ring_full' ORDER BY t0 LIMIT 1"),
		     12);
	CHECK_INT_EQ("losses",
		     store_world_sql(&world, "SELECT t1 - t0 FROM gap WHERE reason = 'ring_full' ORDER BY t0 LIMIT 1"),
		     2 * NSEC_PER_SEC);
	store_world_done(&world);
}

/* The disk stays full: what does not fit the queue is counted, and told when there is space again. */
static void full_for_long(void)
{
	struct store_world world;
	struct store_books books;
	struct store_state state;
	struct store *store;

	store_world_init(&world);
	store = store_world_open(&world);
	fault_vfs_set(FAULT_FULL_FOREVER, 1);
	store_world_calls(&world, store, 3);
	world.now_ns += NSEC_PER_SEC;
	store_world_tick(&world, store);
	CHECK_INT_EQ("no space", store_flush(store), -ENOSPC);
	store_state(store, &state);
	CHECK("no space", state.is_failing && strstr(state.problem, "no space"));
	while (store_state(store, &state), state.not_kept < 1009) {
		store_world_calls(&world, store, 1009);
		store_world_tick(&world, store);
	}
	fault_vfs_set(FAULT_NONE, 0);
	store_close(store);
	store_books_read(world.path, world.n_calls, &books);
	CHECK_INT_EQ("what is missing is what was counted", books.n_missing, state.not_kept);
	CHECK_INT_EQ("what is missing is told",
		     store_world_sql(&world, "SELECT sum(count) FROM gap WHERE reason = 'disk_full'"), state.not_kept);
	CHECK_INT_EQ("figures are whole", books.n_counted[0], world.n_ticked);
	CHECK("intact", books.is_intact && !books.n_doubled && !books.n_wrong);
	store_world_done(&world);
}

/* A disk that does not answer: who asks is not kept waiting for it, and nothing is lost. */
static void stalled(void)
{
	struct store_world world;
	struct store_books books;
	struct store *store;

	store_world_init(&world);
	store = store_world_open(&world);
	fault_vfs_set(FAULT_STALL, 1);
	for (int i = 0; i < 20; i++) {
		store_world_calls(&world, store, 3);
		world.now_ns += NSEC_PER_SEC;
		store_world_tick(&world, store);
		CHECK_INT_EQ("it is being written", store_flush(store), -ETIMEDOUT);
	}
	fault_vfs_set(FAULT_NONE, 0);
	store_close(store);
	store_books_read(world.path, world.n_calls, &books);
	CHECK_INT_EQ("all is there", books.n_missing, 0);
	CHECK("intact", books.is_intact && !books.n_doubled && !books.n_wrong);
	store_world_done(&world);
}

#define MANY_PROCESSES 70000 /* more than are known at once */
#define MANY_AT_ONCE 35000

/* One call of each of n processes, after which they are gone. */
static void calls_of(struct store_world *world, struct store *store, uint32_t first, uint32_t n)
{
	struct tick tick = { .from_ns = world->now_ns };
	CLEANUP(freep) struct process *processes = calloc(n, sizeof(*processes));

	for (uint32_t i = first; i < first + n; i++) {
		struct process *process = &processes[i - first];
		struct process_identity identity = {
			.start_boot_ns = 1 + i, .tgid = 1 + i, .uid = 1000, .comm = "many"
		};
		struct call_record call = {
			.type = RECORD_CALL, .op = 1, .start_ns = world->now_ns, .duration_ns = 1, .raw_ns = 1
		};
		struct event event = { .call = &call, .process = process, .op = op_get(1) };
		struct tick_process in_tick = { .process = process, .gone_ns = world->now_ns + 1 };

		process->identity = identity;
		store_call(store, &event);
		world->now_ns += 1000;
		CHECK_INT_EQ("memory", ARRAY_PUSH(&tick.processes, in_tick), 0);
	}
	tick.to_ns = world->now_ns;
	store_tick(store, &tick);
	tick_done(&tick);
	world->now_ns += 16 * 60 * NSEC_PER_SEC; /* and they are sealed */
}

/* Whoever was forgotten as long gone, and calls once more, has a name nonetheless. */
static void forgotten_process(void)
{
	struct store_world world;
	struct store *store;

	store_world_init(&world);
	store = store_world_open(&world);
	for (uint32_t i = 0; i < MANY_PROCESSES; i += MANY_AT_ONCE) {
		calls_of(&world, store, i, MANY_AT_ONCE);
		CHECK_INT_EQ("kept", store_flush(store), 0);
	}
	calls_of(&world, store, 0, 1);
	store_close(store);
	CHECK_INT_EQ("a row each, and one more", store_world_sql(&world, "SELECT count(*) FROM process"),
		     MANY_PROCESSES + 1);
	CHECK_INT_EQ("seen to end in the same second",
		     store_world_sql(&world, "SELECT count(*) FROM process WHERE gone_ns > first_ns"),
		     MANY_PROCESSES + 1);
	CHECK_INT_EQ("every call", store_world_sql(&world, "SELECT sum(n) FROM block"), MANY_PROCESSES + 1);
	CHECK_INT_EQ("who called last has a row",
		     store_world_sql(&world,
				     "SELECT p.pid FROM process p JOIN block b ON b.t1 = (SELECT max(t1) FROM block)"
				     " WHERE p.id = (SELECT max(id) FROM process)"),
		     1);
	store_world_done(&world);
}

static void call_of(struct store_world *world, struct store *store, const char *name)
{
	uint32_t id = op_give(name, 1000);
	struct call_record call = {
		.type = RECORD_CALL, .op = (uint16_t)id, .start_ns = world->now_ns, .duration_ns = 1, .raw_ns = 1
	};
	struct process process = { .identity = { .start_boot_ns = 1, .tgid = 1, .uid = 1000, .comm = "other" } };
	struct event event = { .call = &call, .process = &process, .op = op_get(id) };

	store_call(store, &event);
	tick_after(world, store, NSEC_PER_SEC);
}

#define ROW_OF(name) "SELECT max(id) FROM op WHERE id >= 672 AND name = '" name "'"

/* Operations without a row in ops.def: one number each in a file, whatever their ids are while a daemon runs. */
static void given_operations(void)
{
	struct store_world world;
	struct store *store;
	sqlite3 *db;

	store_world_init(&world);
	CHECK_INT_EQ("its id", op_give("ncclOne", 1000), OP_GIVEN);
	store = store_world_open(&world);
	call_of(&world, store, "ncclTwo");
	store_close(store);
	CHECK_INT_EQ("the first in the file", store_world_sql(&world, ROW_OF("ncclTwo")), OP_GIVEN);
	store = store_world_open(&world);
	call_of(&world, store, "ncclOne");
	call_of(&world, store, "ncclTwo");
	store_close(store);
	CHECK_INT_EQ("the same", store_world_sql(&world, ROW_OF("ncclTwo")), OP_GIVEN);
	CHECK_INT_EQ("another", store_world_sql(&world, ROW_OF("ncclOne")), OP_GIVEN + 1);

	/* As a version of ours leaves a file in which one of them had no row yet. */
	CHECK_INT_EQ("open", sqlite3_open(world.path, &db), SQLITE_OK);
	CHECK_INT_EQ("change",
		     sqlite3_exec(db,
				  "DELETE FROM op WHERE name = 'ncclAllReduce';"
				  "UPDATE op SET name = 'ncclAllReduce' WHERE name = 'ncclTwo'",
				  NULL, NULL, NULL),
		     SQLITE_OK);
	(void)sqlite3_close(db);
	store = store_world_open(&world);
	call_of(&world, store, "ncclTwo");
	store_close(store);
	CHECK_INT_EQ("a row of ops.def has its number",
		     store_world_sql(&world, "SELECT id FROM op WHERE name = 'ncclAllReduce'"), 148);
	CHECK_INT_EQ("what was kept before has its name", store_world_sql(&world, ROW_OF("ncclAllReduce 672")),
		     OP_GIVEN);
	CHECK_INT_EQ("a new one", store_world_sql(&world, ROW_OF("ncclTwo")), OP_GIVEN + 2);
	store_world_done(&world);
}

static void call_by(struct store_world *world, struct store *store, const struct process_identity *identity)
{
	struct call_record call = {
		.type = RECORD_CALL, .op = 1, .start_ns = world->now_ns, .duration_ns = 1, .raw_ns = 1
	};
	struct process process = { .identity = *identity };
	struct event event = { .call = &call, .process = &process, .op = op_get(1) };

	store_call(store, &event);
	tick_after(world, store, NSEC_PER_SEC);
}

/* Who ended while nobody recorded is gone when somebody does again: by boot, by pid, by start. */
static void ended_unwatched(void)
{
	static const char seen[] = "SELECT max(seen_ns) FROM session WHERE id = 1";
	struct process_identity self = { .tgid = (uint32_t)getpid(), .uid = 1000, .comm = "self" };
	struct process_identity reused = self, nobody = { .tgid = 1u << 30, .start_boot_ns = 7, .comm = "nobody" };
	struct store_world world;
	struct store *store;
	struct procfs_stat stat;
	int fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int64_t seen_ns;

	CHECK_INT_EQ("own start", procfs_stat_read(fd, &stat), 0);
	(void)close(fd);
	self.start_boot_ns = stat.start_ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK)) + 1234;
	reused.start_boot_ns = self.start_boot_ns - NSEC_PER_SEC;
	store_world_init(&world);
	store = store_world_open(&world);
	call_by(&world, store, &self);
	call_by(&world, store, &reused);
	call_by(&world, store, &nobody);
	store_close(store);
	CHECK_INT_EQ("nobody was seen to end",
		     store_world_sql(&world, "SELECT count(*) FROM process WHERE gone_ns IS NULL"), 3);
	seen_ns = store_world_sql(&world, seen);

	world.now_ns += MINUTE_NS;
	store = store_world_open(&world);
	CHECK_INT_EQ("it lives",
		     store_world_sql(&world, "SELECT gone_ns IS NULL FROM process WHERE comm = 'self' AND id = 1"), 1);
	CHECK_INT_EQ("another one has its pid", store_world_sql(&world, "SELECT gone_ns FROM process WHERE id = 2"),
		     seen_ns);
	CHECK_INT_EQ("nobody has its pid", store_world_sql(&world, "SELECT gone_ns FROM process WHERE id = 3"),
		     seen_ns);
	call_by(&world, store, &nobody);
	CHECK_INT_EQ("it calls: it was somewhere else",
		     store_world_sql(&world, "SELECT gone_ns IS NULL FROM process WHERE id = 3"), 1);
	store_gone(store, &nobody, world.now_ns);
	CHECK_INT_EQ("without a tick", store_flush(store), 0);
	CHECK_INT_EQ("it ended while nobody watched what was recorded",
		     store_world_sql(&world, "SELECT gone_ns FROM process WHERE id = 3"), (int64_t)world.now_ns);
	store_close(store);

	world.options.boot_id = "boot-b";
	store = store_world_open(&world);
	CHECK_INT_EQ("nobody outlives a boot",
		     store_world_sql(&world, "SELECT count(*) FROM process WHERE gone_ns IS NULL"), 0);
	store_close(store);
	CHECK_INT_EQ("a row each", store_world_sql(&world, "SELECT count(*) FROM process"), 3);
	store_world_done(&world);
}

/* One that is guarded from some call on has a row more: calls before stay its user's. Also after the next start. */
static void becomes_guarded(void)
{
	static const char marks[] = "SELECT sum(flags << id) FROM process",
			  live[] = "SELECT id FROM process WHERE gone_ns IS NULL";
	struct process_identity self = { .tgid = (uint32_t)getpid(), .uid = 1000, .comm = "self" };
	struct store_world world;
	struct store *store;

	store_world_init(&world);
	store = store_world_open(&world);
	call_by(&world, store, &self);
	self.flags = PROCESS_GUARDED;
	call_by(&world, store, &self);
	call_by(&world, store, &self);
	CHECK_INT_EQ("the second row is guarded", store_world_sql(&world, marks), PROCESS_GUARDED << 2);
	CHECK_INT_EQ("the first is over", store_world_sql(&world, live), 2);
	CHECK_INT_EQ(
		"when the second begins",
		store_world_sql(&world,
				"SELECT a.gone_ns = b.first_ns AND b.first_ns > a.first_ns FROM process a, process b"
				" WHERE a.id = 1 AND b.id = 2"),
		1);
	store_close(store);
	store = store_world_open(&world);
	call_by(&world, store, &self);
	CHECK_INT_EQ("the same rows", store_world_sql(&world, marks), PROCESS_GUARDED << 2);
	CHECK_INT_EQ("the same lives", store_world_sql(&world, live), 2);
	store_close(store);
	store_world_done(&world);
}

/* Whoever has a file sees all of it: in a user's own there is nothing of what is guarded. */
static void skips_guarded(void)
{
	struct process_identity self = { .tgid = (uint32_t)getpid(), .uid = 1000, .comm = "self" };
	struct store_world world;
	struct store *store;

	store_world_init(&world);
	world.options.skips_guarded = true;
	store = store_world_open(&world);
	call_by(&world, store, &self);
	self.flags = PROCESS_GUARDED;
	call_by(&world, store, &self);
	store_close(store);
	CHECK_INT_EQ("one process", store_world_sql(&world, "SELECT count(*) FROM process WHERE comm = 'self'"), 1);
	CHECK_INT_EQ("which is over",
		     store_world_sql(&world, "SELECT gone_ns > first_ns FROM process WHERE comm = 'self'"), 1);
	CHECK_INT_EQ("one call", store_world_sql(&world, "SELECT sum(n) FROM block"), 1);
	CHECK_INT_EQ("nothing was lost", store_world_sql(&world, "SELECT count(*) FROM gap"), 0);
	store_world_done(&world);
}

int main(void)
{
	fault_vfs_install();
	figures_by_time();
	seconds();
	size_limit();
	size_limit_of_figures();
	age_limit();
	clocks();
	lates();
	losses();
	full_for_long();
	stalled();
	forgotten_process();
	given_operations();
	ended_unwatched();
	becomes_guarded();
	skips_guarded();
	return check_result();
}
