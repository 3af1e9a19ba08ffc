// SPDX-License-Identifier: Apache-2.0
#include "tests/support/store_world.h"

#include <ftw.h>
#include <sqlite3.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "events/op.h"
#include "figures/tick.h"
#include "archive/codec/codec.h"
#include "archive/codec/stack_frames.h"
#include "events/stack.h"
#include "tests/support/check.h"

static uint64_t world_now_ns(void *data)
{
	return ((struct store_world *)data)->now_ns;
}

static uint64_t world_to_unix_ns(uint64_t monotonic_ns, void *data)
{
	return monotonic_ns + (uint64_t)((struct store_world *)data)->offset_ns;
}

void store_world_init(struct store_world *world)
{
	*world = (struct store_world){ .now_ns = WORLD_FIRST_NS,
				       .ticked_ns = WORLD_FIRST_NS,
				       .offset_ns = (int64_t)(WORLD_UNIX_NS - WORLD_FIRST_NS) };
	(void)snprintf(world->directory, sizeof(world->directory), "%s/ingero-store-XXXXXX",
		       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(world->directory)) {
		perror("mkdtemp");
		exit(1);
	}
	(void)snprintf(world->path, sizeof(world->path), "%s/ingero.db", world->directory);
	world->clock = (struct store_clock){ .now_ns = world_now_ns, .to_unix_ns = world_to_unix_ns, .data = world };
	world->options = (struct store_options){ .path = world->path,
						 .is_own_place = true,
						 .version = "test",
						 .kernel = "test",
						 .back_end = "demo",
						 .boot_id = "boot-a",
						 .clock = &world->clock };
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	(void)remove(path);
	return 0;
}

void store_world_done(struct store_world *world)
{
	for (int i = 0; i < 2 * WORLD_STACKS; i++)
		world->stacks[i / WORLD_STACKS][i % WORLD_STACKS] =
			stack_unref(world->stacks[i / WORLD_STACKS][i % WORLD_STACKS]);
	(void)nftw(world->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

struct store *store_world_open(struct store_world *world)
{
	struct store *store = NULL;
	char why[512] = "";
	int r = store_open(&world->options, why, sizeof(why), &store);

	if (r < 0) {
		fprintf(stderr, "store_open: %d: %s\n", r, why);
		exit(1);
	}
	return store;
}

/* Process of call number i: the first makes most calls, the last two almost none. */
static uint32_t process_of(uint32_t i)
{
	return i % 3 == 2 ? 1 : i % 97 == 0 ? 2 + i % 4 : 0;
}

static void identity_fill(uint32_t process, struct process_identity *ret)
{
	*ret = (struct process_identity){ .start_boot_ns = 1000 + process,
					  .start_unix_ns = 5000 + process,
					  .tgid = 100 + process,
					  .uid = 1000 + process % 2,
					  .exec_gen = process };
	(void)snprintf(ret->comm, sizeof(ret->comm), "train%u", process);
}

static void call_fill(uint32_t i, struct call_record *ret)
{
	uint64_t raw_ns = 2000 + (i * 2654435761u) % 900000;
	struct process_identity identity;

	identity_fill(process_of(i), &identity);
	*ret = (struct call_record){ .start_ns = WORLD_FIRST_NS + i * WORLD_GAP_NS,
				     .duration_ns = raw_ns - 100,
				     .raw_ns = raw_ns,
				     .args = { i, i % 7 },
				     .tgid = identity.tgid,
				     .tid = identity.tgid + i % 3,
				     .uid = identity.uid,
				     .exec_gen = identity.exec_gen,
				     .op = (uint8_t)(1 + i % 5),
				     .reason = i % 2 ? RECORD_REASON_SLOW : RECORD_REASON_SAMPLE,
				     .type = RECORD_CALL };
	ret->blame_ns[BLAME_RUNNABLE] = raw_ns / 3;
	ret->blame_ns[BLAME_DEVICE] = i % 4 ? raw_ns / 5 : 0;
}

/* ---- stacks ---- */

/* Stack of call number i, among those of its owner; WORLD_STACKS: none. */
static uint32_t stack_of(uint32_t i)
{
	return i % 11 < 9 ? i / 3 % WORLD_STACKS : WORLD_STACKS;
}

/* Frames of a stack: one of its own, and others that it shares. */
static size_t frames_fill(uint32_t owner, uint32_t k, struct stack_frame frames[WORLD_STACKS + 3], char leaf[16])
{
	static const char *const shared[] = { "f1+0x1", "f2+0x2", "f3+0x3", "f4+0x4", "f5+0x5", "f6+0x6", "f7+0x7" };
	size_t n = 3 + k;

	(void)snprintf(leaf, 16, "leaf%u", k);
	for (size_t i = 0; i < n; i++)
		frames[i] = (struct stack_frame){ .ip = 0x7f0000000000 + i * 0x12345 + k + owner,
						  .symbol = i ? shared[i - 1] : leaf,
						  .qualname = "",
						  .file = i % 2 ? "a.c" : "",
						  .module = "/lib/liba.so",
						  .line = (uint32_t)i };
	return n;
}

static struct stack *world_stack_of(struct store_world *world, uint32_t i, uint32_t uid)
{
	uint32_t k = world->has_stacks ? stack_of(i) : WORLD_STACKS;

	if (k == WORLD_STACKS)
		return NULL;
	if (!world->stacks[uid - 1000][k])
		world->stacks[uid - 1000][k] = stack_new(uid);
	return world->stacks[uid - 1000][k];
}

static void stacks_name(struct store_world *world, struct store *store)
{
	for (uint32_t i = 0; i < 2 * WORLD_STACKS; i++) {
		struct stack *stack = world->stacks[i / WORLD_STACKS][i % WORLD_STACKS];
		struct stack_frame frames[WORLD_STACKS + 3];
		char leaf[16];
		size_t n;

		if (!stack || stack->is_ready)
			continue;
		n = frames_fill(i / WORLD_STACKS, i % WORLD_STACKS, frames, leaf);
		CHECK_INT_EQ("named", stack_name(stack, frames, n, true, ""), 0);
		store_stack(store, stack);
	}
}

void store_world_calls(struct store_world *world, struct store *store, uint32_t n)
{
	for (uint32_t end = world->n_calls + n; world->n_calls < end; world->n_calls++) {
		struct process process = { .n_references = 1 };
		struct call_record call;
		struct event event = { .call = &call,
				       .process = &process,
				       .measured = MEASURED(BLAME_ON_CPU) | MEASURED(BLAME_RUNNABLE) |
						   MEASURED(BLAME_DEVICE) };

		identity_fill(process_of(world->n_calls), &process.identity);
		call_fill(world->n_calls, &call);
		event.op = op_get(call.op);
		event.stack = world_stack_of(world, world->n_calls, call.uid);
		world->now_ns = call.start_ns + WORLD_GAP_NS;
		store_call(store, &event);
	}
}

static void tick_fill(const struct store_world *world, struct process *processes, struct tick *tick)
{
	for (uint32_t p = 0; p < WORLD_PROCESSES; p++) {
		struct tick_process process = { .process = &processes[p], .first_call_ns = WORLD_FIRST_NS };
		struct tick_op op = { .op = op_get(1) };

		identity_fill(p, &processes[p].identity);
		for (uint32_t i = world->n_ticked; i < world->n_calls; i++) {
			struct call_record call;

			call_fill(i, &call);
			if (process_of(i) != p)
				continue;
			op.figures.total_ns += call.duration_ns;
			op.figures.raw_ns += call.raw_ns;
			op.figures.max_ns = MAX(op.figures.max_ns, call.duration_ns);
			(void)histogram_add(&op.figures.durations, histogram_bucket_of(call.duration_ns), 1);
		}
		if (!op_figures_count(&op.figures))
			continue;
		(void)ARRAY_PUSH(&process.ops, op);
		(void)ARRAY_PUSH(&tick->processes, process);
	}
}

void store_world_tick(struct store_world *world, struct store *store)
{
	struct tick tick = { .from_ns = world->ticked_ns, .to_ns = world->now_ns };
	struct process processes[WORLD_PROCESSES] = { 0 };

	stacks_name(world, store);
	tick_fill(world, processes, &tick);
	store_tick(store, &tick);
	tick_done(&tick);
	world->ticked_ns = world->now_ns;
	world->n_ticked = world->n_calls;
}

static void finalizep(sqlite3_stmt **s)
{
	(void)sqlite3_finalize(*s);
}

static void closep_db(sqlite3 **db)
{
	if (*db)
		(void)sqlite3_db_config(*db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	(void)sqlite3_close(*db);
}

int64_t store_world_sql(const struct store_world *world, const char *sql)
{
	CLEANUP(closep_db) sqlite3 *db = NULL;
	CLEANUP(finalizep) sqlite3_stmt *s = NULL;
	int code;

	if (sqlite3_open_v2(world->path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		return -1;
	code = sqlite3_step(s);
	return code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : code == SQLITE_DONE ? 0 : -1;
}

/* ---- books ---- */

struct reading {
	sqlite3 *db;
	uint8_t *seen; /* how often each call was found */
	uint32_t n;
	uint32_t uid;	       /* owner of the row that is read */
	uint32_t right[64][3]; /* stacks that were found to be right, with their owner and the owner's number of each */
	struct store_books *books;
};

/* Index of our process with this row of table process. */
static uint32_t process_by_row(struct reading *reading, uint32_t row)
{
	CLEANUP(finalizep) sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(reading->db, "SELECT exec_gen FROM process WHERE id = ?1", -1, &s, NULL) != SQLITE_OK)
		return UINT32_MAX;
	(void)sqlite3_bind_int64(s, 1, row);
	return sqlite3_step(s) == SQLITE_ROW ? (uint32_t)sqlite3_column_int64(s, 0) : UINT32_MAX;
}

static bool frame_is(sqlite3 *db, const struct stored_frame *stored, uint32_t uid, const struct stack_frame *want)
{
	CLEANUP(finalizep) sqlite3_stmt *s = NULL;

	return sqlite3_prepare_v2(db, "SELECT symbol, file, module, line, uid FROM frame WHERE id = ?1", -1, &s,
				  NULL) == SQLITE_OK &&
	       sqlite3_bind_int64(s, 1, stored->id) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW &&
	       strcmp((const char *)sqlite3_column_text(s, 0), want->symbol) == 0 &&
	       strcmp((const char *)sqlite3_column_text(s, 1), want->file) == 0 &&
	       strcmp((const char *)sqlite3_column_text(s, 2), want->module) == 0 &&
	       sqlite3_column_int64(s, 3) == want->line && sqlite3_column_int64(s, 4) == uid && stored->ip == want->ip;
}

/* Whether a row of table stack has these frames. */
static bool stack_is(struct reading *reading, sqlite3_stmt *row, uint32_t k)
{
	struct stored_frame stored[STORED_FRAMES_MAX];
	struct stack_frame want[WORLD_STACKS + 3];
	char leaf[16];
	uint32_t uid = (uint32_t)sqlite3_column_int64(row, 0);
	size_t n = k < WORLD_STACKS ? frames_fill(uid - 1000, k, want, leaf) : 0;

	if (uid != reading->uid || !n ||
	    stack_frames_decode(sqlite3_column_blob(row, 1), (size_t)sqlite3_column_bytes(row, 1),
				(uint32_t)sqlite3_column_int64(row, 2), stored) != (ssize_t)n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!frame_is(reading->db, &stored[i], uid, &want[i]))
			return false;
	return true;
}

static void stack_book(struct reading *reading, uint32_t i, uint32_t stack)
{
	CLEANUP(finalizep) sqlite3_stmt *s = NULL;
	uint32_t *right = reading->right[stack % 64], k = stack_of(i);
	bool has_row = stack && right[0] == stack;

	if (has_row && right[1] == k && right[2] == reading->uid) {
		reading->books->n_stacks++;
		return;
	}
	if (stack && sqlite3_prepare_v2(reading->db, "SELECT uid, frames, crc FROM stack WHERE id = ?1", -1, &s,
					NULL) == SQLITE_OK) {
		(void)sqlite3_bind_int64(s, 1, stack);
		has_row = sqlite3_step(s) == SQLITE_ROW;
	}
	reading->books->n_stacks += has_row;
	reading->books->n_stacks_none += !has_row && k < WORLD_STACKS;
	if (has_row && stack_is(reading, s, k)) {
		right[0] = stack;
		right[1] = k;
		right[2] = reading->uid;
	} else {
		reading->books->n_wrong += has_row;
	}
}

static int event_book(const struct stored_event *e, void *data)
{
	static uint32_t last_row, last_process;
	struct reading *reading = data;
	uint64_t i = e->call.args[0];
	struct call_record want;

	reading->books->n_events++;
	if (i >= reading->n) {
		reading->books->n_wrong++;
		return 0;
	}
	if (e->process != last_row) {
		last_row = e->process;
		last_process = process_by_row(reading, e->process);
	}
	reading->seen[i] += reading->seen[i] < 255;
	call_fill((uint32_t)i, &want);
	if (e->call.start_ns != want.start_ns || e->call.duration_ns != want.duration_ns ||
	    e->call.raw_ns != want.raw_ns || e->call.tid != want.tid || e->op != want.op || e->call.op != want.op ||
	    e->call.reason != want.reason || e->call.args[1] != want.args[1] ||
	    memcmp(e->call.blame_ns, want.blame_ns, sizeof(want.blame_ns)) != 0 || reading->uid != want.uid ||
	    (last_process != UINT32_MAX && last_process != process_of((uint32_t)i)))
		reading->books->n_wrong++;
	reading->books->n_nameless += last_process == UINT32_MAX;
	stack_book(reading, (uint32_t)i, e->stack);
	return 0;
}

static void blocks_book(struct reading *reading)
{
	CLEANUP(finalizep) sqlite3_stmt *s = NULL;
	struct stored_event *events = calloc(BLOCK_EVENTS_MAX, sizeof(*events));
	struct block_decoder *decoder = NULL;
	int code;

	(void)sqlite3_prepare_v2(reading->db, "SELECT uid, crc, data FROM block JOIN block_data USING (id)", -1, &s,
				 NULL);
	if (!s || !events || block_decoder_new(&decoder) < 0)
		reading->books->is_intact = false;
	while (s && (code = sqlite3_step(s)) != SQLITE_DONE) {
		size_t n = 0;

		if (code != SQLITE_ROW) {
			reading->books->is_intact = false;
			break;
		}
		reading->uid = (uint32_t)sqlite3_column_int64(s, 0);
		reading->books->n_blocks++;
		if (block_decode(decoder, sqlite3_column_blob(s, 2), (size_t)sqlite3_column_bytes(s, 2),
				 (uint32_t)sqlite3_column_int64(s, 1), BLOCK_ALL_COLUMNS, events, &n) < 0)
			reading->books->n_damaged++;
		else
			for (size_t i = 0; i < n; i++)
				(void)event_book(&events[i], reading);
	}
	block_decoder_free(decoder);
	free(events);
}

static void tails_book(struct reading *reading)
{
	CLEANUP(finalizep) sqlite3_stmt *s = NULL;
	int code;

	(void)sqlite3_prepare_v2(reading->db, "SELECT uid, crc, data FROM tail", -1, &s, NULL);
	while (s && (code = sqlite3_step(s)) != SQLITE_DONE) {
		const void *data = code == SQLITE_ROW ? sqlite3_column_blob(s, 2) : NULL;
		size_t n = data ? (size_t)sqlite3_column_bytes(s, 2) : 0;

		if (code != SQLITE_ROW) {
			reading->books->is_intact = false;
			break;
		}
		reading->uid = (uint32_t)sqlite3_column_int64(s, 0);
		reading->books->n_tails++;
		if (codec_crc(data, n) != (uint32_t)sqlite3_column_int64(s, 1) ||
		    tail_decode(data, n, event_book, reading) < 0)
			reading->books->n_damaged++;
	}
}

static void figures_book(struct reading *reading)
{
	static const int64_t levels[] = { 10, 60, 3600 };
	CLEANUP(finalizep) sqlite3_stmt *s = NULL;

	/* Parts (level 1) of 10 s that are not over count as level 10; others are in the row of their 10 s, too. */
	(void)sqlite3_prepare_v2(
		reading->db,
		"SELECT max(level, 10), crc, data FROM figures f WHERE level > 1 OR NOT EXISTS (SELECT 1 FROM"
		" figures c WHERE c.level = 10 AND c.uid = f.uid AND c.boot = f.boot AND c.t0 <= f.t0 AND"
		" c.t1 >= f.t1)",
		-1, &s, NULL);
	while (s && sqlite3_step(s) == SQLITE_ROW) {
		struct figures_blob blob = { 0 };

		if (figures_blob_decode(sqlite3_column_blob(s, 2), (size_t)sqlite3_column_bytes(s, 2),
					(uint32_t)sqlite3_column_int64(s, 1), &blob) < 0) {
			reading->books->n_damaged++;
			continue;
		}
		for (size_t level = 0; level < ARRAY_SIZE(levels); level++)
			for (size_t i = 0; levels[level] == sqlite3_column_int64(s, 0) && i < blob.figures.n; i++)
				reading->books->n_counted[level] += op_figures_count(&blob.figures.items[i].figures);
		figures_blob_done(&blob);
	}
}

static bool is_intact(sqlite3 *db)
{
	CLEANUP(finalizep) sqlite3_stmt *s = NULL;

	return sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL) == SQLITE_OK &&
	       sqlite3_step(s) == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(s, 0), "ok") == 0;
}

void store_books_read(const char *path, uint32_t n, struct store_books *ret_books)
{
	CLEANUP(closep_db) sqlite3 *db = NULL;
	CLEANUP(freep) uint8_t *seen = calloc(n + 1, 1);
	struct reading reading = { .seen = seen, .n = n, .books = ret_books };
	CLEANUP(finalizep) sqlite3_stmt *s = NULL;

	*ret_books = (struct store_books){ .first_missing = UINT32_MAX };
	if (!seen || sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "SELECT count(*) FROM gap", -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		return;
	reading.db = db;
	ret_books->is_open = true;
	ret_books->n_gaps = (uint32_t)sqlite3_column_int64(s, 0);
	ret_books->is_intact = is_intact(db);
	blocks_book(&reading);
	tails_book(&reading);
	figures_book(&reading);
	for (uint32_t i = 0; i < n; i++) {
		ret_books->n_doubled += seen[i] > 1;
		ret_books->n_missing += seen[i] == 0;
		if (!seen[i] && ret_books->first_missing == UINT32_MAX)
			ret_books->first_missing = i;
	}
}
