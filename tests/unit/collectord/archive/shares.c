// SPDX-License-Identifier: Apache-2.0
/*
 * What one user may take of a file with a limit: whatever the user fills it with, the others keep all of theirs, the
 * file stays within its limit, and the user is told.
 */
#include <sqlite3.h>

#include "events/op.h"
#include "events/stack.h"
#include "figures/tick.h"
#include "archive/write/store.h"
#include "base/cleanup.h"
#include "tests/support/check.h"
#include "tests/support/store_world.h"

#define LIMIT_BYTES (800 * 1024)
#define GREEDY 2000
#define GREEDY_TEXT "2000"
#define AT_ONCE 200 /* new processes a second */

static uint32_t owner = GREEDY;

static void life_of(struct store_world *world, struct store *store, uint32_t number, uint8_t type, uint16_t op)
{
	struct process process = { .identity = {
					   .start_boot_ns = number, .tgid = number, .uid = owner, .comm = "short" } };
	struct life_record life = { .time_ns = world->now_ns, .tgid = number, .uid = owner, .type = type };
	struct event event = { .life = &life, .process = &process, .op = op_get(op) };

	store_call(store, &event);
}

/* Descendants that make no call. */
static void fill_life(struct store_world *world, struct store *store, uint32_t second)
{
	for (uint32_t i = 0; i < AT_ONCE; i++)
		life_of(world, store, 1000000 + second * AT_ONCE + i, RECORD_EXIT, OP_EVENT_process_exit);
}

static void tick_of(struct store_world *world, struct store *store, struct tick *tick)
{
	tick->from_ns = world->ticked_ns;
	tick->to_ns = world->now_ns;
	store_tick(store, tick);
	tick_done(tick);
	world->ticked_ns = world->now_ns;
}

/* Counts of one call for each of n processes; gone_ns: their end, 0: they live. */
static void callers_tick(struct store_world *world, struct store *store, uint32_t first, uint32_t n, uint64_t gone_ns)
{
	CLEANUP(freep) struct process *processes = calloc(n, sizeof(*processes));
	struct tick tick = { 0 };

	for (uint32_t i = 0; processes && i < n; i++) {
		struct tick_process in_tick = { .process = &processes[i],
						.first_call_ns = world->ticked_ns,
						.gone_ns = gone_ns };
		struct tick_op op = { .op = op_get(1), .figures.total_ns = 5 };

		processes[i].identity = (struct process_identity){
			.start_boot_ns = first + i, .tgid = first + i, .uid = owner, .comm = "caller"
		};
		(void)histogram_add(&op.figures.durations, 1, 1);
		CHECK_INT_EQ("memory", ARRAY_PUSH(&in_tick.ops, op), 0);
		CHECK_INT_EQ("memory", ARRAY_PUSH(&tick.processes, in_tick), 0);
	}
	tick_of(world, store, &tick);
}

/* Processes that call once and end. */
static void fill_callers(struct store_world *world, struct store *store, uint32_t second)
{
	callers_tick(world, store, 1000000 + second * AT_ONCE, AT_ONCE, world->now_ns);
}

/* Processes that call once and stay. */
static void fill_living(struct store_world *world, struct store *store, uint32_t second)
{
	callers_tick(world, store, 1000000 + second * AT_ONCE, AT_ONCE, 0);
}

#define WAITERS 50

/* Processes with many waits, other ones each second. */
static void fill_waits(struct store_world *world, struct store *store, uint32_t second)
{
	struct process processes[WAITERS] = { 0 };
	struct tick tick = { 0 };

	for (uint32_t p = 0; p < WAITERS; p++) {
		struct tick_process in_tick = { .process = &processes[p], .first_call_ns = world->ticked_ns };

		processes[p].identity = (struct process_identity){
			.start_boot_ns = 77 + p, .tgid = 77 + p, .uid = owner, .comm = "waits"
		};
		for (uint32_t i = 0; i < 40; i++) {
			struct account_wait wait = { .tid = 1 + second * 40 + i,
						     .count = 1,
						     .ns = 1000 + (second + p * 40 + i) * 2654435761u % 900000,
						     .resource = (second + p * 40 + i) * 40503ull * 2654435761ull };

			wait.max_ns = wait.ns;
			CHECK_INT_EQ("memory", ARRAY_PUSH(&in_tick.waits, wait), 0);
		}
		CHECK_INT_EQ("memory", ARRAY_PUSH(&tick.processes, in_tick), 0);
	}
	tick_of(world, store, &tick);
}

/* Losses with a rest between them: each is a gap of its own. */
static void fill_gaps(struct store_world *world, struct store *store, uint32_t second)
{
	for (int i = 0; i < AT_ONCE; i++) {
		struct tick tick = { 0 };
		struct tick_user_loss loss = { .uid = owner, .reason = LOSS_WAITS, .n = 1 };

		world->now_ns += 5 * NSEC_PER_SEC;
		tick_of(world, store, &(struct tick){ 0 });
		world->now_ns += NSEC_PER_SEC;
		CHECK_INT_EQ("memory", ARRAY_PUSH(&tick.user_losses, loss), 0);
		tick_of(world, store, &tick);
	}
	(void)second;
}

#define STACKS_AT_ONCE 20

/* Calls from stacks that come once, each with frames that no other has. */
static void fill_stacks(struct store_world *world, struct store *store, uint32_t second)
{
	struct process process = { .identity = { .start_boot_ns = 9, .tgid = 9, .uid = owner, .comm = "jit" } };

	for (uint32_t i = 0; i < STACKS_AT_ONCE; i++) {
		struct call_record call = { .start_ns = world->now_ns, .raw_ns = 1, .op = 3, .type = RECORD_CALL };
		struct event event = { .call = &call, .process = &process, .op = op_get(3), .stack = stack_new(owner) };
		struct stack_frame frames[20];
		char symbols[ARRAY_SIZE(frames)][64];

		for (size_t k = 0; k < ARRAY_SIZE(frames); k++) {
			(void)snprintf(symbols[k], sizeof(symbols[k]), "a_function_made_at_run_time_%u_%u_%zu", second,
				       i, k);
			frames[k] = (struct stack_frame){
				.ip = k + 1, .symbol = symbols[k], .qualname = "", .file = "", .module = ""
			};
		}
		CHECK_INT_EQ("named", stack_name(event.stack, frames, ARRAY_SIZE(frames), true, ""), 0);
		store_call(store, &event);
		(void)stack_unref(event.stack);
	}
}

static const struct greed {
	const char *name;
	void (*fill)(struct store_world *world, struct store *store, uint32_t second);
	uint32_t seconds;
	const char *told; /* gap of the greedy one */
} greeds[] = {
	{ "descendants without calls", fill_life, 100, "life_full" },
	{ "short programs", fill_callers, 100, "retention_figures" },
	{ "programs that stay", fill_living, 100, "size_limit" },
	{ "waits", fill_waits, 100, "retention_figures" },
	{ "gaps", fill_gaps, 140, "retention_gaps" },
	{ "stacks", fill_stacks, 100, "retention_stacks" },
};

static int64_t used_bytes(const struct store_world *world)
{
	return 4096 *
	       store_world_sql(world,
			       "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count");
}

#define QUIET "uid IN (1000, 1001)"

/* What the quiet ones have. */
static const char *const quiet[] = {
	"SELECT (SELECT coalesce(sum(n), 0) FROM block WHERE " QUIET
	") + (SELECT coalesce(sum(n), 0) FROM tail WHERE " QUIET ")",
	"SELECT min(t0) FROM figures WHERE level >= 10 AND " QUIET,
	"SELECT count(*) FROM process WHERE " QUIET,
	"SELECT count(*) FROM stack WHERE " QUIET,
	"SELECT sum(n) FROM frame WHERE " QUIET,
};

static void quiet_fill(struct store_world *world, struct store *store, int64_t *ret_had)
{
	world->has_stacks = true;
	for (int i = 0; i < 4; i++) {
		store_world_calls(world, store, 1001);
		world->now_ns += 10 * NSEC_PER_SEC;
		store_world_tick(world, store);
		CHECK_INT_EQ("commit", store_flush(store), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(quiet); i++)
		ret_had[i] = store_world_sql(world, quiet[i]);
}

static void quiet_check(const char *name, const struct store_world *world, const int64_t *had)
{
	for (size_t i = 0; i < ARRAY_SIZE(quiet); i++)
		CHECK_INT_EQ(name, store_world_sql(world, quiet[i]), had[i]);
	CHECK_INT_EQ(name, store_world_sql(world, "SELECT count(*) FROM gap WHERE " QUIET), 0);
}

static void greedy(const struct greed *g)
{
	static char told[128];
	int64_t had[ARRAY_SIZE(quiet)];
	struct store_world world;
	struct store *store;

	store_world_init(&world);
	world.options.max_bytes = LIMIT_BYTES;
	store = store_world_open(&world);
	quiet_fill(&world, store, had);
	for (uint32_t second = 0; second < g->seconds; second++) {
		world.now_ns += NSEC_PER_SEC;
		g->fill(&world, store, second);
		if (world.ticked_ns != world.now_ns)
			tick_of(&world, store, &(struct tick){ 0 });
		CHECK_INT_EQ("commit", store_flush(store), 0);
		if (second % 16 == 0)
			CHECK_INT_IN(g->name, used_bytes(&world), 1, LIMIT_BYTES + LIMIT_BYTES / 8);
	}
	store_close(store);
	quiet_check(g->name, &world, had);
	(void)snprintf(told, sizeof(told), "SELECT count(*) FROM gap WHERE uid = " GREEDY_TEXT " AND reason = '%s'",
		       g->told);
	CHECK_INT_IN(g->name, store_world_sql(&world, told), 1, 8);
	CHECK_INT_IN(g->name, used_bytes(&world), 1, LIMIT_BYTES + LIMIT_BYTES / 8);
	CHECK_INT_EQ(g->name, store_world_sql(&world, "SELECT count(*) FROM frame WHERE n < 1"), 0);
	store_world_done(&world);
}

/* User ids that a user has beside the own one are one user: each has less than the quiet ones. */
static void many_ids(void)
{
	int64_t had[ARRAY_SIZE(quiet)];
	struct store_world world;
	struct store *store;

	store_world_init(&world);
	world.options.max_bytes = LIMIT_BYTES;
	world.options.together = (struct subordinate){ .first = 100000, .n = 65536 };
	store = store_world_open(&world);
	quiet_fill(&world, store, had);
	for (uint32_t second = 0; second < 100; second++) {
		world.now_ns += NSEC_PER_SEC;
		owner = 100000 + second;
		fill_callers(&world, store, second);
		CHECK_INT_EQ("commit", store_flush(store), 0);
	}
	owner = GREEDY;
	quiet_check("many ids", &world, had);
	CHECK("many ids", store_world_sql(&world, "SELECT count(*) FROM gap WHERE uid >= 100000") > 0);
	CHECK_INT_IN("many ids", used_bytes(&world), 1, LIMIT_BYTES + LIMIT_BYTES / 8);
	store_close(store);
	store_world_done(&world);
}

/* Descendants without calls: as many as a user has room for, and the rest is counted. */
static void life_is_counted(void)
{
	struct store_world world;
	struct store *store;
	int64_t rows, lost;

	store_world_init(&world);
	store = store_world_open(&world);
	for (uint32_t second = 0; second < 30; second++) {
		world.now_ns += NSEC_PER_SEC;
		fill_life(&world, store, second);
		tick_of(&world, store, &(struct tick){ 0 });
	}
	life_of(&world, store, 5, RECORD_OOM, OP_EVENT_oom_kill);
	store_close(store);
	rows = store_world_sql(&world, "SELECT count(*) FROM process WHERE uid = " GREEDY_TEXT);
	lost = store_world_sql(&world, "SELECT sum(count) FROM gap WHERE reason = 'life_full' AND uid = " GREEDY_TEXT);
	CHECK_INT_IN("some have room", rows, 1000, 5000);
	CHECK_INT_EQ("each is stored or told", rows + lost, 30 * AT_ONCE + 1);
	CHECK_INT_EQ("a kill is always stored", store_world_sql(&world, "SELECT count(*) FROM process WHERE pid = 5"),
		     1);
	store_world_done(&world);
}

/* A file at its limit, committed a hundred times. */
static struct store *store_filled(struct store_world *world, uint64_t step_ns,
				  void (*fill)(struct store_world *world, struct store *store, uint32_t second))
{
	struct store *store;

	store_world_init(world);
	world->options.max_bytes = LIMIT_BYTES;
	store = store_world_open(world);
	for (uint32_t second = 0; second < 100; second++) {
		world->now_ns += step_ns;
		fill(world, store, second);
		CHECK_INT_EQ("commit", store_flush(store), 0);
	}
	return store;
}

/* Rows of processes to which nothing refers any more go with the data. */
static void processes_go(void)
{
	struct store_world world;
	struct store *store;

	store = store_filled(&world, 90 * NSEC_PER_SEC, fill_callers);
	CHECK_INT_IN("the newest stay", store_world_sql(&world, "SELECT count(*) FROM process"), AT_ONCE, 80 * AT_ONCE);
	CHECK_INT_EQ("the newest stay",
		     store_world_sql(&world, "SELECT count(*) FROM process WHERE pid >= 1000000 + 99 * 200"), AT_ONCE);
	store_close(store);
	store_world_done(&world);
}

/* A call of process 5 from a stack that is named. */
static void call_from(struct store_world *world, struct store *store, struct stack *stack)
{
	struct process process = { .identity = { .start_boot_ns = 5, .tgid = 5, .uid = owner, .comm = "caller" } };
	struct call_record call = { .start_ns = world->now_ns, .raw_ns = 1, .op = 3, .type = RECORD_CALL };
	struct event event = { .call = &call, .process = &process, .op = op_get(3), .stack = stack };

	store_call(store, &event);
}

/* Who stayed and filled the file is stored again when it has room: new programs, and those that stayed all the time. */
static void stored_again(void)
{
	const struct stack_frame frame = { .ip = 1, .symbol = "f", .qualname = "", .file = "", .module = "" };
	struct stack *stack = stack_new(owner);
	struct store_world world;
	struct store *store;

	CHECK_INT_EQ("named", stack_name(stack, &frame, 1, true, ""), 0);
	store = store_filled(&world, NSEC_PER_SEC, fill_living);
	CHECK("not all", store_world_sql(&world, "SELECT count(*) FROM process") < 100 * AT_ONCE);
	world.now_ns += NSEC_PER_SEC;
	call_from(&world, store, stack);
	callers_tick(&world, store, 5, 1, 0); /* not stored now */
	CHECK_INT_EQ("commit", store_flush(store), 0);
	CHECK_INT_EQ("nor its stack", store_world_sql(&world, "SELECT count(*) FROM stack"), 0);
	CHECK_INT_EQ("stopped", store_world_sql(&world, "SELECT count(*) FROM process WHERE pid = 5"), 0);
	world.now_ns += NSEC_PER_SEC;
	callers_tick(&world, store, 1000000, 100 * AT_ONCE, world.now_ns); /* they end */
	for (int i = 0; i < 40; i++) {
		world.now_ns += 300 * NSEC_PER_SEC;
		call_from(&world, store, stack);
		tick_of(&world, store, &(struct tick){ 0 });
		CHECK_INT_EQ("commit", store_flush(store), 0);
	}
	world.now_ns += NSEC_PER_SEC;
	callers_tick(&world, store, 5, 1, 0);
	CHECK_INT_EQ("commit", store_flush(store), 0);
	CHECK_INT_EQ("stored again", store_world_sql(&world, "SELECT count(*) FROM process WHERE pid = 5"), 1);
	CHECK_INT_EQ("with a stack that was named before", store_world_sql(&world, "SELECT count(*) FROM stack"), 1);
	(void)stack_unref(stack);
	store_close(store);
	store_world_done(&world);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(greeds); i++)
		greedy(&greeds[i]);
	many_ids();
	life_is_counted();
	processes_go();
	stored_again();
	return check_result();
}
