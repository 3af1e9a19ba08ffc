// SPDX-License-Identifier: Apache-2.0
/*
 * A page of the file is overwritten: the next run has an intact file, answers nothing that was
 * damaged, doubles nothing, keeps everything that lay elsewhere, and says what is missing.
 * damage [ROUNDS]: how many pages are tried.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "archive/write/store.h"
#include "events/op.h"
#include "events/stack.h"
#include "tests/support/check.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/store_world.h"

#define PAGE 4096
#define TICKS 20
#define CALLS 997
#define TICK_NS (60 * NSEC_PER_SEC)
#define BLOCK_SHARE 4096 /* calls that one page of packed ones may cost: a block */
#define ROUNDS 25

static unsigned int rounds = ROUNDS;

/* A life that ends without saying so; what it had in the log is in the file, as after a checkpoint. */
static void live_and_die(struct store_world *world)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct store *store = store_world_open(world);

		world->has_stacks = true;
		for (int t = 0; t < TICKS; t++) {
			store_world_calls(world, store, CALLS);
			world->now_ns = MAX(world->now_ns, world->ticked_ns + TICK_NS);
			store_world_tick(world, store);
			if (store_flush(store) < 0)
				_exit(1);
		}
		_exit(store_world_sql(world, "PRAGMA wal_checkpoint(TRUNCATE)") == 0 ? 0 : 1);
	}
	(void)waitpid(pid, NULL, 0);
	world->n_calls = world->n_ticked = TICKS * CALLS;
	world->now_ns = world->ticked_ns = WORLD_FIRST_NS + 2 * TICKS * TICK_NS;
}

static int overwrite(const char *path, uint32_t page, uint32_t seed)
{
	CLEANUP(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
	uint8_t bytes[PAGE];

	for (size_t i = 0; i < sizeof(bytes); i++) {
		seed = seed * 1664525u + 1013904223u;
		bytes[i] = (uint8_t)(seed >> 24);
	}
	if (fd < 0 || pwrite(fd, bytes, sizeof(bytes), (off_t)page * PAGE) != (ssize_t)sizeof(bytes))
		return -EIO;
	return 0;
}

static void one_page(uint32_t round)
{
	struct store_world world;
	struct store_books before, after;
	struct store *store = NULL;
	char name[64], sql[128], why[512] = "";
	int64_t pages, used_page;
	bool is_branch; /* of a tree, or of the list of them: what is below it is not found again */

	store_world_init(&world);
	live_and_die(&world);
	store_books_read(world.path, world.n_calls, &before);
	CHECK_INT_EQ("before", before.n_missing, 0);
	CHECK("before", before.n_blocks > 0 && before.n_tails > 0);
	pages = store_world_sql(&world, "PRAGMA page_count");
	used_page = (int64_t)(round * 2654435761u % (uint32_t)pages);
	if (round < 2)
		used_page = round; /* the header, and the next one, which says which pages are whose */
	(void)snprintf(name, sizeof(name), "page %d of %d", (int)used_page + 1, (int)pages);
	(void)snprintf(sql, sizeof(sql),
		       "SELECT count(*) FROM dbstat WHERE pageno = %d AND (pagetype = 'internal'"
		       " OR name = 'sqlite_schema')",
		       (int)used_page + 1);
	is_branch = store_world_sql(&world, sql) > 0;
	CHECK_INT_EQ(name, overwrite(world.path, (uint32_t)used_page, round), 0);

	CHECK_INT_EQ(name, store_open(&world.options, why, sizeof(why), &store), 0);
	if (store) {
		world.now_ns += TICK_NS;
		store_world_tick(&world, store);
		CHECK_INT_EQ(name, store_flush(store), 0);
		world.now_ns += TICK_NS;
		store_world_tick(&world, store);
		store_close(store);
	} else {
		fprintf(stderr, "%s\n", why);
	}
	store_books_read(world.path, world.n_calls, &after);
	CHECK(name, after.is_open);
	CHECK(name, after.is_intact);
	CHECK_INT_EQ(name, after.n_doubled, 0);
	CHECK_INT_EQ(name, after.n_wrong, 0);
	CHECK_INT_EQ(name, after.n_damaged, 0);
	CHECK_INT_EQ(name, after.n_tails, 0);
	if (used_page > 0 && !is_branch)
		CHECK_INT_IN(name, after.n_missing, 0, BLOCK_SHARE);
	/* One for the run that ended; what is missing, or was set aside, has its own. */
	CHECK_INT_EQ(
		name, store_world_sql(&world, "SELECT count(*) > 0 FROM gap WHERE reason IN ('damaged', 'set_aside')"),
		after.n_missing > 0 || why[0] != '\0' || store_world_sql(&world, "SELECT count(*) FROM damaged") > 0);
	store_world_done(&world);
}

/* Frames that no call of a world has, so that they take the first ids of an empty table. */
static void odd_stack_put(struct store_world *world, struct store *store)
{
	struct process process = { .n_references = 1, .identity = { .tgid = 100, .uid = 1000, .start_boot_ns = 1000 } };
	struct call_record call = { .start_ns = world->now_ns, .raw_ns = 1, .op = 3, .type = RECORD_CALL };
	struct event event = { .call = &call, .process = &process, .op = op_get(3), .stack = stack_new(1000) };
	struct stack_frame frames[20];
	char symbols[ARRAY_SIZE(frames)][16];

	call.args[0] = UINT32_MAX; /* no call of the world */
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		(void)snprintf(symbols[i], sizeof(symbols[i]), "odd%zu", i);
		frames[i] = (struct stack_frame){
			.ip = i + 1, .symbol = symbols[i], .qualname = "", .file = "", .module = ""
		};
	}
	CHECK_INT_EQ("named", stack_name(event.stack, frames, ARRAY_SIZE(frames), true, ""), 0);
	store_call(store, &event);
	(void)stack_unref(event.stack);
}

/* Of a table of stacks every page is lost: calls have no stack then, never another's. */
static void lost_stacks(void)
{
	static const char *const lost[] = { "frame", "stack", "sqlite_autoindex_frame_1", "stack_time" };

	for (size_t i = 0; i < ARRAY_SIZE(lost); i++) {
		struct store_world world;
		struct store_books before, after;
		struct store *store = NULL;
		char sql[128], why[512] = "";
		int64_t page = 1;

		store_world_init(&world);
		live_and_die(&world);
		store_books_read(world.path, world.n_calls, &before);
		CHECK(lost[i], before.n_stacks > world.n_calls / 2);
		CHECK_INT_EQ(lost[i], before.n_wrong, 0);
		(void)snprintf(sql, sizeof(sql), "SELECT max(pageno) FROM dbstat WHERE name = '%s'", lost[i]);
		page = store_world_sql(&world, sql);
		CHECK(lost[i], page > 1);
		CHECK_INT_EQ(lost[i], overwrite(world.path, (uint32_t)page - 1, 7), 0);
		CHECK_INT_EQ(lost[i], store_open(&world.options, why, sizeof(why), &store), 0);
		if (store) {
			odd_stack_put(&world, store);
			world.now_ns += TICK_NS;
			store_world_tick(&world, store);
			store_close(store);
		}
		store_books_read(world.path, world.n_calls, &after);
		CHECK(lost[i], after.is_intact);
		CHECK_INT_EQ(lost[i], after.n_wrong, 1); /* the odd one, which is no call of the world */
		CHECK_INT_EQ(lost[i], after.n_missing, 0);
		CHECK_INT_EQ(lost[i], after.n_stacks, i < 2 ? 0 : before.n_stacks);
		CHECK_INT_EQ(lost[i], store_world_sql(&world, "SELECT count(*) FROM frame WHERE n < 1"), 0);
		CHECK_INT_EQ(lost[i],
			     store_world_sql(&world, "SELECT count(*) FROM frame WHERE symbol = 'odd0' AND n = 1"), 1);
		store_world_done(&world);
	}
}

/* Contents that are not what was written, where SQLite sees nothing wrong: never answered, told by a gap. */
static void one_row(void)
{
	static const struct {
		const char *name;
		const char *damage;
		const char *lost; /* how many calls that was */
	} cases[] = {
		{ "tail", "UPDATE tail SET crc = crc + 1 WHERE id = (SELECT max(id) FROM tail)",
		  "SELECT n FROM tail ORDER BY id DESC" },
		{ "block", "UPDATE block SET crc = crc + 1 WHERE id = 2", "SELECT n FROM block WHERE id = 2" },
		{ "contents of a block", "DELETE FROM block_data WHERE id = 2", "SELECT n FROM block WHERE id = 2" },
		{ "figures", "UPDATE figures SET data = zeroblob(length(data)) WHERE id = 3", "SELECT 0" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct store_world world;
		struct store_books books;
		struct store *store;
		int64_t lost;

		store_world_init(&world);
		live_and_die(&world);
		lost = store_world_sql(&world, cases[i].lost);
		CHECK_INT_EQ(cases[i].name, store_world_sql(&world, cases[i].damage), 0);
		store = store_world_open(&world);
		world.now_ns += TICK_NS;
		store_world_tick(&world, store);
		CHECK_INT_EQ(cases[i].name, store_flush(store), 0);
		store_close(store);
		store_books_read(world.path, world.n_calls, &books);
		CHECK(cases[i].name, books.is_intact && !books.n_doubled && !books.n_wrong && !books.n_damaged);
		CHECK_INT_EQ(cases[i].name, books.n_missing, lost);
		CHECK_INT_EQ(cases[i].name, store_world_sql(&world, "SELECT count(*) FROM damaged"), 1);
		CHECK_INT_EQ(cases[i].name,
			     store_world_sql(&world, "SELECT count(*) FROM gap WHERE reason = 'damaged'"), 1);
		if (lost)
			CHECK_INT_EQ(cases[i].name,
				     store_world_sql(&world, "SELECT count FROM gap WHERE reason = 'damaged'"), lost);
		store_world_done(&world);
	}
}

/* Damage that only sealing meets: it is repaired there, and does not come again with every commit. */
static void damage_of_tail(void)
{
	struct store_world world;
	struct store_books books;
	struct store *store;
	int64_t page;

	store_world_init(&world);
	store = store_world_open(&world);
	for (int i = 0; i < 3; i++) {
		store_world_calls(&world, store, 1000);
		store_world_tick(&world, store);
		CHECK_INT_EQ("kept", store_flush(store), 0);
	}
	/* The writer's own copies of pages are given up as somebody else has written. */
	CHECK_INT_EQ("written", store_world_sql(&world, "UPDATE session SET node = 'other'"), 0);
	CHECK_INT_EQ("in the file", store_world_sql(&world, "PRAGMA wal_checkpoint(TRUNCATE)"), 0);
	page = store_world_sql(&world, "SELECT min(pageno) FROM dbstat WHERE name = 'tail' AND pagetype = 'overflow'");
	CHECK("has long rows", page > 0);
	CHECK_INT_EQ("damaged", overwrite(world.path, (uint32_t)page - 1, 1), 0);
	page = store_world_sql(&world, "SELECT pageno FROM dbstat WHERE name = 'process' AND pagetype = 'leaf'");
	CHECK("has a page of names", page > 0);
	CHECK_INT_EQ("damaged", overwrite(world.path, (uint32_t)page - 1, 2), 0);
	world.now_ns += 16 * 60 * NSEC_PER_SEC;
	store_world_tick(&world, store);
	CHECK_INT_EQ("kept", store_flush(store), 0);
	store_world_tick(&world, store);
	CHECK_INT_EQ("kept", store_flush(store), 0);
	store_close(store);
	store_books_read(world.path, world.n_calls, &books);
	CHECK("intact", books.is_open && books.is_intact && !books.n_doubled && !books.n_wrong && !books.n_damaged);
	CHECK_INT_EQ("once", store_world_sql(&world, "SELECT count(*) FROM gap WHERE reason = 'set_aside'"), 1);
	CHECK_INT_EQ("nothing waits", books.n_tails, 0);
	CHECK("what lay elsewhere is there", books.n_missing < 1000);
	CHECK_INT_EQ("with its names", books.n_nameless, 0);
	store_world_done(&world);
}

/* A large file is not read from end to end before recording begins: its bulk is looked at later, piece by piece. */
static void large_file(void)
{
	static const struct {
		const char *name;
		const char *page; /* that is damaged */
		bool is_bulk;
	} cases[] = {
		{ "names", "SELECT pageno FROM dbstat WHERE name = 'process' AND pagetype = 'leaf'", false },
		{ "contents of a block",
		  "SELECT min(pageno) FROM dbstat WHERE name = 'block_data' AND pagetype = 'overflow'", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct store_world world;
		struct store_books books;
		struct store *store = NULL;
		char why[512] = "";
		uint64_t n_reads;
		int64_t page;

		store_world_init(&world);
		live_and_die(&world);
		CHECK_INT_EQ(cases[i].name,
			     store_world_sql(&world, "WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k"
						     " LIMIT 72) INSERT INTO damaged SELECT i, 'block', 0, 1, 0, 0, 0,"
						     " 0, zeroblob(1 << 20) FROM k"),
			     0);
		CHECK_INT_EQ(cases[i].name, store_world_sql(&world, "PRAGMA wal_checkpoint(TRUNCATE)"), 0);
		page = store_world_sql(&world, cases[i].page);
		CHECK(cases[i].name, page > 0);
		CHECK_INT_EQ(cases[i].name, overwrite(world.path, (uint32_t)page - 1, 3), 0);
		n_reads = fault_vfs_reads();
		CHECK_INT_EQ(cases[i].name, store_open(&world.options, why, sizeof(why), &store), 0);
		CHECK_INT_EQ(cases[i].name, strstr(why, "is damaged") != NULL, !cases[i].is_bulk);
		if (cases[i].is_bulk)
			CHECK_INT_IN("reads of 18 000 pages", fault_vfs_reads() - n_reads, 10, 3000);
		world.now_ns += TICK_NS;
		store_world_tick(&world, store);
		store_close(store); /* waits as long as that takes, where a flush gives up */
		store_books_read(world.path, world.n_calls, &books);
		CHECK(cases[i].name, books.is_intact && !books.n_doubled && !books.n_wrong && !books.n_damaged);
		CHECK_INT_IN(cases[i].name, books.n_missing, cases[i].is_bulk, BLOCK_SHARE);
		CHECK(cases[i].name, store_world_sql(&world, "SELECT count(*) FROM gap WHERE reason = 'damaged'") > 0);
		store_world_done(&world);
	}
}

/* A file that somebody named is left alone. */
static void named_file(void)
{
	struct store_world world;
	struct store *store = NULL;
	char why[512] = "";

	store_world_init(&world);
	live_and_die(&world);
	CHECK_INT_EQ("named", overwrite(world.path, 0, 1), 0);
	world.options.is_own_place = false;
	CHECK_INT_EQ("named", store_open(&world.options, why, sizeof(why), &store), -EEXIST);
	CHECK("named", strstr(why, "left as it is"));
	CHECK_INT_EQ("named", access(world.path, F_OK), 0);
	store_world_done(&world);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = (unsigned int)strtoul(argv[1], NULL, 10);
	fault_vfs_install();
	for (uint32_t round = 0; round < rounds; round++)
		one_page(round);
	lost_stacks();
	one_row();
	damage_of_tail();
	large_file();
	named_file();
	return check_result();
}
