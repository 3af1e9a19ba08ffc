// SPDX-License-Identifier: Apache-2.0
/*
 * A call is read with the stack that made it, whenever the stack was named; never with another's frames, not after a
 * crash, a restart or damage, and never by another user. What no call has any more goes.
 */
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive/read/read.h"
#include "base/cleanup.h"
#include "detect/finding.h"
#include "events/op.h"
#include "events/stack.h"
#include "tests/support/check.h"
#include "tests/support/store_world.h"

#define MINUTE_NS (60 * NSEC_PER_SEC)

enum { ALICE = 1000, BOB = 1001 };

/* ---- writing ---- */

struct tale {
	struct store_world world;
	struct store *store;
	struct stack *stacks[3]; /* Alice's two, and Bob's */
};

static void stacks_begin(struct tale *t)
{
	for (int i = 0; i < 3; i++) {
		(void)stack_unref(t->stacks[i]);
		t->stacks[i] = stack_new(i < 2 ? ALICE : BOB);
	}
}

static void call_of(struct tale *t, uint32_t uid, uint32_t flags, struct stack *stack)
{
	struct process process = { .n_references = 1,
				   .identity = { .start_boot_ns = 7, .tgid = uid, .uid = uid, .flags = flags } };
	struct call_record call = { .start_ns = t->world.now_ns,
				    .duration_ns = 1000,
				    .raw_ns = 1000,
				    .tgid = uid,
				    .tid = uid,
				    .uid = uid,
				    .op = 3,
				    .reason = RECORD_REASON_SLOW,
				    .type = RECORD_CALL };
	const struct event event = { .call = &call, .process = &process, .op = op_get(3), .stack = stack };

	store_call(t->store, &event);
	t->world.now_ns += NSEC_PER_MSEC;
}

/* Frames: one of its own, one that all have, and one of Python. */
static void name(struct tale *t, int i)
{
	const char leaf[] = { (char)('a' + i), '\0' };
	const struct stack_frame frames[] = {
		{ .ip = 0x7f0000001000,
		  .symbol = "cudaLaunchKernel",
		  .qualname = "",
		  .file = "",
		  .module = "/lib/libcudart.so.12" },
		{ .ip = 0x7f0000002000 + (uint64_t)i,
		  .symbol = leaf,
		  .qualname = "",
		  .file = "a.c",
		  .line = 7,
		  .module = "/lib/liba.so" },
		{ .symbol = "main",
		  .qualname = "C.main",
		  .file = "a.py",
		  .line = 1 + (uint32_t)i,
		  .module = "",
		  .is_python = true },
	};

	if (t->stacks[i]->is_ready)
		return;
	CHECK_INT_EQ("named", stack_name(t->stacks[i], frames, ARRAY_SIZE(frames), i == 0, i ? "it is cut" : ""), 0);
	store_stack(t->store, t->stacks[i]);
}

static void tick_and_commit(struct tale *t, uint64_t ns)
{
	t->world.now_ns += ns;
	store_world_tick(&t->world, t->store);
	CHECK_INT_EQ("commit", store_flush(t->store), 0);
}

/*
 * a b o: a call with Alice's stacks, Bob's. g: of Alice's guarded process with her first stack. A B O: the stack is
 * named. '.': commit. '|': the same after a quarter of an hour: calls are sealed. '-': eleven minutes later.
 */
static void play(struct tale *t, const char *steps, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (steps[i]) {
		case 'a':
		case 'b':
			call_of(t, ALICE, 0, t->stacks[steps[i] - 'a']);
			break;
		case 'o':
			call_of(t, BOB, 0, t->stacks[2]);
			break;
		case 'g':
			call_of(t, ALICE, PROCESS_GUARDED, t->stacks[0]);
			break;
		case 'A':
		case 'B':
			name(t, steps[i] - 'A');
			break;
		case 'O':
			name(t, 2);
			break;
		case '.':
			tick_and_commit(t, NSEC_PER_SEC);
			break;
		case '|':
			tick_and_commit(t, 16 * MINUTE_NS);
			break;
		case '-':
			t->world.now_ns += 11 * MINUTE_NS;
			break;
		}
	}
}

/* Recorders one after another, with '!' between them: each but the last is killed. */
static void tale_tell(struct tale *t, const char *steps)
{
	size_t n = strcspn(steps, "!");
	pid_t pid;

	store_world_init(&t->world);
	for (; steps[n]; steps += n + 1, n = strcspn(steps, "!")) {
		pid = fork();
		if (pid == 0) {
			t->store = store_world_open(&t->world);
			stacks_begin(t);
			play(t, steps, n);
			_exit(check_state.n_failed != 0);
		}
		(void)waitpid(pid, NULL, 0);
		t->world.now_ns += 60 * MINUTE_NS;
		t->world.ticked_ns = t->world.now_ns;
	}
	t->store = store_world_open(&t->world);
	stacks_begin(t);
	play(t, steps, n);
}

static void tale_done(struct tale *t)
{
	store_close(t->store);
	for (int i = 0; i < 3; i++)
		t->stacks[i] = stack_unref(t->stacks[i]);
	store_world_done(&t->world);
}

/* ---- reading ---- */

static void closep_db(sqlite3 **db)
{
	(void)sqlite3_close(*db);
}

static void reader_closep(struct store_reader **reader)
{
	store_reader_close(*reader);
}

struct told {
	struct store_reader *reader;
	char text[64]; /* a letter for each call, in order: that of its stack, '?': damaged, '-': none */
	size_t n;
	uint32_t last;	/* id of the last stack */
	uint32_t n_ids; /* how often the id was another than before */
	uint32_t n_wrong;
	uint64_t newest_ns;
	uint32_t newest; /* id of the newest call's stack; 0: none */
};

static bool frame_is(const struct read_frame *f, uint64_t ip, const char *symbol, const char *qualname,
		     const char *file, uint32_t line, const char *module)
{
	return f->ip == ip && strcmp(f->symbol, symbol) == 0 && strcmp(f->qualname, qualname) == 0 &&
	       strcmp(f->file, file) == 0 && f->line == line && strcmp(f->module, module) == 0;
}

static bool stack_is_right(const struct read_stack *stack)
{
	const struct read_frame *f = stack->frames;
	const char *leaf = stack->n_frames == 3 ? f[1].symbol : "?";
	uint32_t i = (uint32_t)(leaf[0] - 'a');
	const struct read_frame *site = read_stack_site(stack);

	return i < 3 && frame_is(&f[0], 0x7f0000001000, "cudaLaunchKernel", "", "", 0, "/lib/libcudart.so.12") &&
	       frame_is(&f[1], 0x7f0000002000 + i, leaf, "", "a.c", 7, "/lib/liba.so") &&
	       frame_is(&f[2], 0, "main", "C.main", "a.py", 1 + i, "") && f[2].is_python && !f[1].is_python &&
	       site == &f[2] && stack->is_complete == (i == 0) && strcmp(stack->why, i ? "it is cut" : "") == 0;
}

static int call_tell(const struct read_event *event, void *data)
{
	struct told *told = data;
	const struct read_stack *stack = NULL;
	char letter = '-';

	if (event->start_unix_ns >= told->newest_ns) {
		told->newest_ns = event->start_unix_ns;
		told->newest = event->event->stack;
	}
	if (event->event->stack) {
		CHECK_INT_EQ("read", store_reader_stack(told->reader, event->event->stack, &stack), 0);
		letter = stack && stack->n_frames == 3 ? stack->frames[1].symbol[0] : '?';
		told->n_wrong += letter != '?' && !stack_is_right(stack);
		told->n_wrong += letter == '?' && (!stack || stack->is_complete || stack->n_frames || !stack->why[0]);
		told->n_ids += event->event->stack != told->last;
		told->last = event->event->stack;
	}
	if (told->n < sizeof(told->text) - 1)
		told->text[told->n++] = letter;
	return 0;
}

static int stack_count(const struct read_stack *stack, void *data)
{
	(void)stack;
	++*(uint32_t *)data;
	return 0;
}

/* @uid: 0: who may read everything. @ret_stacks: stacks that the reader lists */
static struct told tell(const struct store_world *world, uint32_t uid, uint32_t *ret_stacks)
{
	CLEANUP(closep_db) sqlite3 *db = NULL;
	CLEANUP(reader_closep) struct store_reader *reader = NULL;
	const struct read_scope scope = { .all = !uid, .uid = uid };
	const struct read_filter filter = { .columns = BLOCK_ALL_COLUMNS };
	char why[READ_WHY_BYTES] = "";
	struct told told = { .n = 0 };

	*ret_stacks = 0;
	CHECK_INT_EQ("open", sqlite3_open_v2(world->path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	CHECK_INT_EQ("open", store_reader_open(db, &scope, why, &reader), 0);
	CHECK_STR_EQ("open", why, "");
	if (!reader)
		return told;
	told.reader = reader;
	CHECK_INT_EQ("read", store_reader_events(reader, &filter, call_tell, &told), 0);
	CHECK_INT_EQ("read", store_reader_stacks(reader, 0, stack_count, ret_stacks), 0);
	told.reader = NULL;
	return told;
}

/* ---- tales ---- */

static const struct {
	const char *name;
	const char *steps;
	const char *all, *alice, *bob; /* what they read */
	int rows;		       /* of table stack */
	uint32_t stacks;	       /* that who may read everything sees */
} tales[] = {
	{ "named before its call", "Aa.", "a", "a", "", 1, 1 },
	{ "named after its call", "aA.", "a", "a", "", 1, 1 },
	{ "named after the commit", "a.A.", "a", "a", "", 1, 1 },
	{ "named after the call was sealed", "a.|A.", "a", "a", "", 1, 1 },
	{ "named once, called often", "aaA.aaa.", "aaaaa", "aaaaa", "", 1, 1 },
	{ "named without a call", "AB.", "", "", "", 0, 0 },
	{ "never named", "a.", "-", "-", "", 0, 0 },
	{ "never named, and another follows", "a.bB.", "-b", "-b", "", 1, 1 },
	{ "killed before it was named: its number is nobody else's", "a.!Bb.", "-b", "-b", "", 1, 1 },
	{ "killed before the row was committed", "a.A!Bb.", "-b", "-b", "", 1, 1 },
	{ "killed twice", "a.!b.!Aa.", "--a", "--a", "", 1, 1 },
	{ "killed after it", "aA.!bB.", "ab", "ab", "", 2, 2 },
	{ "the same again, by the next recorder", "Aa.!Aa.", "aa", "aa", "", 2, 1 },
	{ "the same again, after a while", "Aa.-a.", "aa", "aa", "", 2, 1 },
	{ "the same all the time", "Aa.a.|", "aa", "aa", "", 1, 1 },
	{ "another user's", "AOao.", "ac", "a", "c", 2, 2 },
	{ "another user's, killed", "ao.!OAoa.", "--ca", "-a", "-c", 2, 2 },
	{ "of a guarded process: not for its user", "Aag.", "aa", "a", "", 2, 1 },
	{ "of a guarded process alone", "gA.", "a", "", "", 1, 1 },
};

/* Different stacks among those of a text. */
static uint32_t letters_of(const char *text)
{
	return !!strchr(text, 'a') + !!strchr(text, 'b') + !!strchr(text, 'c');
}

static void tales_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(tales); i++) {
		const char *wants[] = { tales[i].all, tales[i].alice, tales[i].bob };
		const uint32_t uids[] = { 0, ALICE, BOB };
		struct tale t = { .store = NULL };
		uint32_t n_stacks;

		tale_tell(&t, tales[i].steps);
		for (size_t k = 0; k < ARRAY_SIZE(uids); k++) {
			struct told told = tell(&t.world, uids[k], &n_stacks);

			CHECK_STR_EQ(tales[i].name, told.text, wants[k]);
			CHECK_INT_EQ(tales[i].name, told.n_wrong, 0);
			CHECK_INT_EQ(tales[i].name, n_stacks, letters_of(wants[k]));
			if (k)
				continue;
			CHECK_INT_EQ(tales[i].name, n_stacks, tales[i].stacks);
			if (n_stacks == 1) /* rows with the same frames are one */
				CHECK_INT_EQ(tales[i].name, told.n_ids, 1);
		}
		CHECK_INT_EQ(tales[i].name, store_world_sql(&t.world, "SELECT count(*) FROM stack"), tales[i].rows);
		CHECK_INT_EQ(tales[i].name, store_world_sql(&t.world, "SELECT coalesce(sum(n), 0) FROM frame"),
			     3 * tales[i].rows);
		tale_done(&t);
	}
}

/* ---- damage ---- */

static void damage_test(void)
{
	static const struct {
		const char *name;
		const char *sql;
		const char *alice, *bob;
	} cases[] = {
		{ "as it was", "SELECT 1", "ab", "c" },
		{ "a byte of the frames",
		  "UPDATE stack SET frames = CAST(x'00' || substr(frames, 2) AS BLOB) WHERE id = 1", "?b", "c" },
		{ "frames cut short", "UPDATE stack SET frames = substr(frames, 1, 4) WHERE id = 1", "?b", "c" },
		{ "no frames", "UPDATE stack SET frames = x'' WHERE id = 1", "?b", "c" },
		{ "a frame's row is missing", "DELETE FROM frame WHERE symbol = 'a'", "?b", "c" },
		{ "a frame's row is another user's", "UPDATE frame SET uid = 1001 WHERE symbol = 'a'", "?b", "c" },
		{ "the row is another user's", "UPDATE stack SET uid = 1001 WHERE id = 1", "-b", "c" },
		{ "the row is gone", "DELETE FROM stack WHERE id = 1", "-b", "c" },
		{ "all frames are gone", "DELETE FROM frame", "??", "?" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tale t = { .store = NULL };
		struct told told;
		uint32_t n_stacks;

		tale_tell(&t, "ABOabo.");
		store_close(t.store);
		t.store = NULL;
		CHECK(cases[i].name, store_world_sql(&t.world, cases[i].sql) >= 0);
		told = tell(&t.world, ALICE, &n_stacks);
		CHECK_STR_EQ(cases[i].name, told.text, cases[i].alice);
		CHECK_INT_EQ(cases[i].name, told.n_wrong, 0);
		told = tell(&t.world, BOB, &n_stacks);
		CHECK_STR_EQ(cases[i].name, told.text, cases[i].bob);
		CHECK_INT_EQ(cases[i].name, told.n_wrong, 0);
		tale_done(&t);
	}
}

/* ---- what goes ---- */

/* Stacks go with the calls that have them, and frames with the last of their stacks. */
static void age_test(void)
{
	struct tale t = { .store = NULL };
	struct told told;
	uint32_t n_stacks;

	tale_tell(&t, "");
	store_close(t.store);
	t.world.options.max_age_ns = 60 * MINUTE_NS;
	t.store = store_world_open(&t.world);
	play(&t, "ABOabo.", 7);
	for (int i = 0; i < 20; i++) { /* an hour and forty minutes, Alice's second one all the time */
		t.world.now_ns += 5 * MINUTE_NS;
		play(&t, "b.", 2);
		if (i == 8)
			CHECK_INT_EQ("as long as calls have them",
				     store_world_sql(&t.world, "SELECT count(*) FROM stack"), 3);
	}
	CHECK_INT_EQ("the others are gone", store_world_sql(&t.world, "SELECT count(*) FROM stack WHERE uid = 1001"),
		     0);
	CHECK_INT_EQ("the others are gone", store_world_sql(&t.world, "SELECT count(*) FROM stack"), 1);
	CHECK_INT_EQ("with their frames", store_world_sql(&t.world, "SELECT count(*) FROM frame"), 3);
	CHECK_INT_EQ("what both had stays", store_world_sql(&t.world, "SELECT min(n) FROM frame"), 1);
	CHECK("the row has the time of a call",
	      store_world_sql(&t.world, "SELECT last_ns FROM stack") + 6 * 60000000000 > (int64_t)t.world.now_ns);
	told = tell(&t.world, 0, &n_stacks);
	CHECK("calls that are left have theirs", told.n && strspn(told.text, "b") == told.n);
	CHECK_INT_EQ("calls that are left have theirs", told.n_wrong, 0);
	CHECK_INT_EQ("that is no loss",
		     store_world_sql(&t.world, "SELECT count(*) FROM gap WHERE reason LIKE '%stack%'"), 0);
	tale_done(&t);
}

/* A call that waits in the queue may have a stack whose other calls are gone: its row stays for some time. */
static void kept_test(void)
{
	struct tale t = { .store = NULL };

	tale_tell(&t, "");
	store_close(t.store);
	t.world.options.max_age_ns = MINUTE_NS;
	t.store = store_world_open(&t.world);
	play(&t, "Aa.|", 4);
	CHECK_INT_EQ("its call is gone", store_world_sql(&t.world, "SELECT count(*) FROM block"), 0);
	CHECK_INT_EQ("it is kept", store_world_sql(&t.world, "SELECT count(*) FROM stack"), 1);
	play(&t, "|", 1);
	CHECK_INT_EQ("it is gone, too", store_world_sql(&t.world, "SELECT count(*) FROM stack"), 0);
	tale_done(&t);
}

/* An end of the recorder and a day: what nobody calls any more goes at the next one, too. */
static void next_run_test(void)
{
	struct tale t = { .store = NULL };

	tale_tell(&t, "Aa.");
	store_close(t.store);
	CHECK_INT_EQ("it is there", store_world_sql(&t.world, "SELECT count(*) FROM stack"), 1);
	t.world.options.max_age_ns = 60 * MINUTE_NS;
	t.world.options.boot_id = "boot-b";
	t.world.now_ns += 24 * 60 * MINUTE_NS;
	t.world.ticked_ns = t.world.now_ns;
	t.store = store_world_open(&t.world);
	tick_and_commit(&t, 16 * MINUTE_NS);
	CHECK_INT_EQ("it is gone", store_world_sql(&t.world, "SELECT count(*) FROM stack"), 0);
	CHECK_INT_EQ("it is gone", store_world_sql(&t.world, "SELECT count(*) FROM frame"), 0);
	CHECK("its number is not used again", store_world_sql(&t.world, "SELECT max(last_stack) FROM session") >= 1);
	tale_done(&t);
}

/* A full file: rows are deleted that calls still name, and a stack that goes on being used gets another row. */
static void full_test(void)
{
	struct tale t = { .store = NULL };
	struct told told;
	uint32_t n_stacks;

	tale_tell(&t, "");
	store_close(t.store);
	t.world.options.max_bytes = 400 * 1024;
	t.store = store_world_open(&t.world);
	for (uint32_t i = 0; i < 3000; i++) {
		struct stack *stack = stack_new(ALICE);
		char symbol[200];
		const struct stack_frame frame = {
			.ip = 1, .symbol = symbol, .qualname = "", .file = "", .module = ""
		};

		memset(symbol, 'x', sizeof(symbol));
		(void)snprintf(symbol + 180, 20, "%u", i);
		CHECK_INT_EQ("named", stack_name(stack, &frame, 1, true, ""), 0);
		call_of(&t, ALICE, 0, stack);
		(void)stack_unref(stack);
		if (i % 50 == 0)
			play(&t, "aA.", 3);
	}
	play(&t, "aa.", 3);
	CHECK("some had to go", store_world_sql(&t.world, "SELECT count(*) FROM stack") < 3000);
	CHECK_INT_EQ("that is told",
		     store_world_sql(&t.world, "SELECT count(*) > 0 AND min(uid) = 1000 FROM gap WHERE reason ="
					       " 'retention_stacks'"),
		     1);
	told = tell(&t.world, ALICE, &n_stacks);
	CHECK("its first row was among them, and the newest calls have another", told.newest > 100);
	CHECK_INT_EQ("frames are counted", store_world_sql(&t.world, "SELECT count(*) FROM frame WHERE n < 1"), 0);
	tale_done(&t);
}

/* ---- findings ---- */

static int finding_tell(const Ingero__V1__Finding *finding, void *data)
{
	char *text = data;

	(void)snprintf(text + strlen(text), 128 - strlen(text), "%s:%u %s;", finding->from ? finding->from->file : "-",
		       finding->from ? finding->from->line : 0, finding->from ? finding->from->func : "-");
	return 0;
}

/* A finding is read with the line that it was stored with; of one that has none, none is told. */
static void findings_test(void)
{
	static const struct {
		const char *name;
		struct finding_site from;
		const char *want;
	} cases[] = {
		{ "a line", { "train.py", "forward", 142 }, "train.py:142 forward;" },
		{ "a function alone", { "", "main", 0 }, ":0 main;" },
		{ "a line of nothing", { "", "", 7 }, "-:0 -;" },
		{ "not known", { "", "", 0 }, "-:0 -;" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(closep_db) sqlite3 *db = NULL;
		CLEANUP(reader_closep) struct store_reader *reader = NULL;
		const struct read_scope scope = { .uid = ALICE };
		struct finding finding = { .id = 7,
					   .kind = "cpu_contention",
					   .severity = FINDING_HIGH,
					   .process = { .start_boot_ns = 7, .tgid = 5, .uid = ALICE },
					   .start_ns = WORLD_FIRST_NS,
					   .cause = { .kind = "cpu_contention" },
					   .from = cases[i].from };
		struct tale t = { .store = NULL };
		char why[READ_WHY_BYTES], told[128] = "";

		tale_tell(&t, "");
		store_finding(t.store, &finding);
		tick_and_commit(&t, NSEC_PER_SEC);
		CHECK_INT_EQ(cases[i].name, sqlite3_open_v2(t.world.path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
		CHECK_INT_EQ(cases[i].name, store_reader_open(db, &scope, why, &reader), 0);
		CHECK_INT_EQ(cases[i].name, store_reader_findings(reader, 0, 0, finding_tell, told), 0);
		CHECK_STR_EQ(cases[i].name, told, cases[i].want);
		tale_done(&t);
	}
}

/* ---- sizes ---- */

#define BYTES_MOST 16 /* of a recorded call, with its stack */
#define STACKS 30
#define FRAMES 35

static void bytes_test(void)
{
	static const uint16_t ops[] = { 3, 3, 3, 5, 4, 1, 2, 6 };
	struct tale t = { .store = NULL };
	struct stack *stacks[STACKS];
	struct stack_frame frames[FRAMES];
	char symbols[FRAMES][48];
	struct process process = { .n_references = 1, .identity = { .start_boot_ns = 7, .tgid = 5, .uid = ALICE } };
	const uint32_t n = 200000;
	uint32_t seed = 1;

	tale_tell(&t, "");
	for (uint32_t k = 0; k < STACKS; k++) {
		for (uint32_t i = 0; i < FRAMES; i++) {
			(void)snprintf(symbols[i], sizeof(symbols[i]), "at::native::function_%u_of_%u+0x%x", i,
				       i < 5 ? k : k / 6, i * 16);
			frames[i] = (struct stack_frame){ .ip = 0x7f1234500000 + i * 0x3456 + k / (1 + i / 5),
							  .symbol = symbols[i],
							  .qualname = "",
							  .file = "",
							  .module = "/usr/lib/python3/torch/lib/libtorch_cpu.so" };
		}
		stacks[k] = stack_new(ALICE);
		CHECK_INT_EQ("named", stack_name(stacks[k], frames, FRAMES, true, ""), 0);
	}
	for (uint32_t i = 0; i < n; i++) {
		struct call_record call = { .start_ns = t.world.now_ns, .tid = 5, .uid = ALICE, .type = RECORD_CALL };
		struct event event = { .call = &call, .process = &process };
		uint32_t k;

		seed = seed * 1664525u + 1013904223u;
		k = (seed >> 16) % STACKS;
		call.op = ops[k % ARRAY_SIZE(ops)];
		call.duration_ns = 2000 + (seed >> 8) % 4096;
		call.raw_ns = call.duration_ns + 700;
		call.reason = i % 3 ? RECORD_REASON_SAMPLE : RECORD_REASON_SLOW;
		call.args[0] = k * 512;
		event.op = op_get(call.op);
		event.stack = stacks[k];
		event.measured = MEASURED(BLAME_ON_CPU) | MEASURED(BLAME_RUNNABLE);
		store_call(t.store, &event);
		t.world.now_ns += 20000 + seed % 9000;
		if (i % 5000 == 0)
			tick_and_commit(&t, 0);
	}
	store_close(t.store);
	t.store = NULL;
	CHECK_INT_EQ("all of them", store_world_sql(&t.world, "SELECT sum(n) FROM block"), n);
	CHECK_INT_EQ("each stack once", store_world_sql(&t.world, "SELECT count(*) FROM stack"), STACKS);
	CHECK_INT_IN("bytes of a call",
		     store_world_sql(&t.world, "SELECT (page_count - freelist_count) * 4096 FROM pragma_page_count,"
					       " pragma_freelist_count") /
			     n,
		     5, BYTES_MOST);
	for (uint32_t k = 0; k < STACKS; k++)
		(void)stack_unref(stacks[k]);
	tale_done(&t);
}

int main(void)
{
	tales_test();
	damage_test();
	age_test();
	kept_test();
	next_run_test();
	full_test();
	findings_test();
	bytes_test();
	return check_result();
}
