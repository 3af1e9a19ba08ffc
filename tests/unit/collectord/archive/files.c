// SPDX-License-Identifier: Apache-2.0
/*
 * A reader of several files: each file's rows once, of its own machine; ids of two files never meet; calls in the order
 * of the wall clock; what one file cannot give is said of that file.
 */
#include "archive/read/read.h"

#include <errno.h>
#include <sqlite3.h>

#include "archive/foreign/import.h"
#include "archive/read/order.h"
#include "tests/support/check.h"
#include "tests/support/ingero_db.h"
#include "tests/support/read_world.h"

#define SECOND 1000000000ull
#define UNIX 1700000000000000000ull
#define N_CALLS 60
#define GIVEN 70000 /* an id that a recorder gave */

enum { ALICE = 1000, BOB = 2000 };
enum { LAUNCH = 3, WAIT = 5 }; /* of ops.def */

/*
 * One machine's recording: boot 1, process 1 (pid 11), a call each second from `offset_s` on, every second one of an
 * operation that has its id by chance; figures of all of them, a stack, a finding with an example, a gap.
 */
struct machine {
	const char *node;
	const char *given; /* name of the operation with id GIVEN */
	uint64_t offset_s;
	uint64_t duration_ns;
	const char *finding;
};

static struct sqlite3 *machine_make(const struct machine *m)
{
	struct sqlite3 *db = world_create(":memory:");
	struct figures_blob blob = { .figures = { .items = NULL } };
	struct stored_event e[N_CALLS];
	char sql[512];

	world_boot(db, 1, 1000 * SECOND, UNIX + m->offset_s * SECOND / 2);
	world_process(db, 1, 1, 11, ALICE, 0, "train", 1000 * SECOND);
	(void)snprintf(
		sql, sizeof(sql),
		"INSERT INTO op VALUES (%d, 'cuda', '%s', '%s');"
		"INSERT INTO session (boot, start_ns, version, kernel, back_end, cpus, memory_bytes, node, seen_ns)"
		" VALUES (1, 0, '', '', 'session', 1, 1, '%s', 0);"
		"INSERT INTO gap (id, boot, t0, t1, reason, count) VALUES (1, 1, 1000, 2000, 'ring_full', 7)",
		GIVEN, m->given, m->given, m->node);
	world_exec(db, sql);
	world_stack(db, 1, ALICE, false, "", NULL, 0);
	for (unsigned int i = 0; i < N_CALLS; i++) {
		e[i] = world_event(1, i % 2 ? GIVEN : LAUNCH, 11, (1000 + i) * SECOND, m->duration_ns);
		e[i].stack = 1;
	}
	(void)world_block(db, ALICE, 1, 1, e, N_CALLS / 2);
	(void)world_tail(db, ALICE, 1, e + N_CALLS / 2, N_CALLS / 2);
	world_count(&blob, 1, LAUNCH, N_CALLS / 2, m->duration_ns);
	world_count(&blob, 1, GIVEN, N_CALLS / 2, m->duration_ns);
	world_figures(db, 60, ALICE, 1, 1000 * SECOND, 1060 * SECOND, &blob);
	figures_blob_done(&blob);
	world_finding(db, m->finding, ALICE, 1, 1, 11, FINDING_HIGH, SECOND, 1000 * SECOND, 1010 * SECOND, 0, 0, "");
	return db;
}

static const struct machine machines[] = {
	{ "node-a", "cudaFirst", 0, 1000, "00000000000000aa" },
	{ "node-b", "cudaSecond", 1, 2000, "00000000000000aa" },
	{ "", "cudaFirst", 2, 4000, "00000000000000cc" },
};
#define N_MACHINES ARRAY_SIZE(machines)

static struct store_reader *machines_open(struct sqlite3 *const *dbs, size_t n, const struct read_scope *scope)
{
	struct read_file files[N_MACHINES];
	struct store_reader *reader = NULL;
	char why[READ_WHY_BYTES] = "";
	size_t wrong = 99;

	for (size_t i = 0; i < n; i++)
		files[i] = (struct read_file){ .db = dbs[i], .name = "third.db" };
	CHECK_INT_EQ("opened", store_reader_open_files(files, n, scope, why, &wrong, &reader), 0);
	CHECK_STR_EQ("opened", why, "");
	if (!reader)
		exit(1);
	return reader;
}

/* ---- what a walk tells ---- */

struct told {
	char text[1024];
	size_t n;
};

static void tell(struct told *told, const char *text)
{
	size_t used = strlen(told->text);

	(void)snprintf(told->text + used, sizeof(told->text) - used, "%s%s", used ? " " : "", text);
	told->n++;
}

static int process_tell(const struct read_process *p, void *data)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "%u:%u:%s:%u:%d", p->id, p->pid, p->node, p->file, p->tells_node);
	tell(data, text);
	return 0;
}

static int finding_tell(const Ingero__V1__Finding *f, void *data)
{
	tell(data, f->id);
	tell(data, f->node);
	return 0;
}

static int gap_tell(const Ingero__V1__Gap *gap, void *data)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "%s:%s:%u", gap->node, gap->reason, (unsigned int)gap->count);
	tell(data, gap->node_told_case ? text : "not told");
	return 0;
}

static int stack_tell(const struct read_stack *stack, void *data)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%u", stack->id);
	tell(data, text);
	return 0;
}

static int op_tell(const struct read_op *op, void *data)
{
	if (op->id >= GIVEN)
		tell(data, op->name);
	return 0;
}

static void rows_test(struct store_reader *reader)
{
	struct told told = { .text = "" };

	CHECK_INT_EQ("processes", store_reader_processes(reader, process_tell, &told), 0);
	CHECK_STR_EQ("processes", told.text, "1:11:node-a:1:1 2:11:node-b:2:1 3:11:third.db:3:1");
	told = (struct told){ .text = "" };
	CHECK_INT_EQ("findings", store_reader_findings(reader, 0, 0, finding_tell, &told), 0);
	CHECK_STR_EQ(
		"findings", told.text,
		"node-a:00000000000000aa node-a node-b:00000000000000aa node-b third.db:00000000000000cc third.db");
	told = (struct told){ .text = "" };
	CHECK_INT_EQ("gaps", store_reader_gaps(reader, 0, 0, gap_tell, &told), 0);
	CHECK_STR_EQ("gaps", told.text, "node-a:ring_full:7 node-b:ring_full:7 third.db:ring_full:7");
	told = (struct told){ .text = "" };
	CHECK_INT_EQ("stacks", store_reader_stacks(reader, 0, stack_tell, &told), 0);
	CHECK_INT_EQ("a stack", store_reader_stacks(reader, 2, stack_tell, &told), 0);
	CHECK_STR_EQ("stacks", told.text, "1 2 3 2");
	told = (struct told){ .text = "" };
	CHECK_INT_EQ("operations", store_reader_ops(reader, op_tell, &told), 0);
	CHECK_STR_EQ("operations", told.text, "cudaFirst cudaSecond"); /* one name is one operation */
	CHECK_INT_EQ("files", store_reader_files(reader), N_MACHINES);
	CHECK("nodes are told", store_reader_tells_nodes(reader));
}

/* ---- calls ---- */

static uint32_t op_id(struct store_reader *reader, const char *name)
{
	uint32_t id = 0;

	CHECK_INT_EQ(name, store_reader_find_op(reader, name, &id, 1), 1);
	return id;
}

static void order_test(struct store_reader *reader, bool newest_first)
{
	struct read_filter filter = { .columns = BLOCK_ALL_COLUMNS, .newest_first = newest_first };
	struct read_order *order = NULL;
	struct read_event event;
	uint64_t last = newest_first ? UINT64_MAX : 0;
	size_t n[N_MACHINES] = { 0 };
	int r = read_order_open(reader, &filter, &order);

	while (r >= 0 && ((r = read_order_next(order, &event)) == 1 || r == -EAGAIN)) {
		const struct machine *m;

		if (r < 0) {
			r = 0;
			continue;
		}
		m = &machines[event.process->file - 1];
		n[event.process->file - 1]++;
		CHECK("order", newest_first ? event.start_unix_ns <= last : event.start_unix_ns >= last);
		last = event.start_unix_ns;
		CHECK_INT_EQ("of its file", event.event->call.duration_ns, m->duration_ns);
		CHECK_INT_EQ("stack", event.event->stack, event.process->file);
		CHECK_INT_EQ("process", event.event->process, event.process->id);
		if (event.event->op != LAUNCH)
			CHECK_STR_EQ("operation", store_reader_op(reader, event.event->op)->name, m->given);
	}
	CHECK_INT_EQ("walked", r, 0);
	read_order_close(order);
	for (size_t i = 0; i < N_MACHINES; i++)
		CHECK_INT_EQ("calls of each", n[i], N_CALLS);
}

static void filters_test(struct store_reader *reader)
{
	const uint32_t first = op_id(reader, "cudaFirst"), second = op_id(reader, "cudaSecond");
	const uint32_t launch = LAUNCH, pid = 11, wait = WAIT;
	const struct {
		const char *name;
		struct read_filter filter;
		uint64_t want;
	} cases[] = {
		{ "all", { .from_unix_ns = 0 }, 3 * N_CALLS },
		{ "an operation of two files", { .ops = &first, .n_ops = 1 }, N_CALLS },
		{ "an operation of one file", { .ops = &second, .n_ops = 1 }, N_CALLS / 2 },
		{ "an operation of ops.def", { .ops = &launch, .n_ops = 1 }, 3 * N_CALLS / 2 },
		{ "an operation nobody called", { .ops = &wait, .n_ops = 1 }, 0 },
		{ "a pid of all", { .pids = &pid, .n_pids = 1 }, 3 * N_CALLS },
		{ "one file", { .only_file = 2 }, N_CALLS },
		{ "a time that is in each file another's",
		  { .from_unix_ns = UNIX + 10 * SECOND, .to_unix_ns = UNIX + 11 * SECOND },
		  3 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t n = 0;

		CHECK_INT_EQ(cases[i].name, store_reader_count(reader, &cases[i].filter, &n), 0);
		CHECK_INT_EQ(cases[i].name, n, cases[i].want);
	}
}

static void window_test(struct store_reader *reader)
{
	struct read_window window = { .from_unix_ns = 0 };
	uint64_t from = 0, to = 0;

	CHECK_INT_EQ("window", store_reader_window(reader, 0, 0, NULL, 0, &window), 0);
	CHECK_INT_EQ("figures of two operations a machine", window.figures.n, 2 * N_MACHINES);
	for (size_t i = 0; i < window.figures.n; i++) {
		const struct read_figures *f = &window.figures.items[i];
		const struct machine *m = &machines[f->process->file - 1];

		CHECK_INT_EQ("calls", op_figures_count(&f->figures), N_CALLS / 2);
		CHECK_INT_EQ("time", f->figures.total_ns, N_CALLS / 2 * m->duration_ns);
		if (f->op->id != LAUNCH)
			CHECK_STR_EQ("operation", f->op->name, m->given);
	}
	CHECK_INT_EQ("from", window.from_unix_ns, UNIX);
	CHECK_INT_EQ("to", window.to_unix_ns, UNIX + 61 * SECOND);
	read_window_done(&window);
	CHECK_INT_EQ("span", store_reader_span(reader, &from, &to), 0);
	CHECK_INT_EQ("span", from, UNIX);
	CHECK_INT_EQ("span", to, UNIX + 61 * SECOND);
	CHECK_INT_EQ("a boot of each file", store_reader_unix(reader, 3, 1, 1000 * SECOND), UNIX + SECOND);
}

/* ---- what else may be among them ---- */

static void scope_test(struct sqlite3 *const *dbs)
{
	const struct read_scope bob = { .uid = BOB };
	struct store_reader *reader = machines_open(dbs, N_MACHINES, &bob);
	struct told told = { .text = "" };
	uint64_t n = 1;

	CHECK_INT_EQ("another's", store_reader_processes(reader, process_tell, &told), 0);
	CHECK_INT_EQ("another's", store_reader_count(reader, &(struct read_filter){ .columns = 0 }, &n), 0);
	CHECK_INT_EQ("another's", told.n + n, 0);
	CHECK("another's", store_reader_process(reader, 2) == NULL);
	store_reader_close(reader);
}

/* A single file answers with its own ids and without its node, as ever. */
static void single_test(struct sqlite3 *db)
{
	const struct read_scope all = { .all = true };
	struct told told = { .text = "" };
	struct store_reader *reader = machines_open(&db, 1, &all);

	CHECK_INT_EQ("single", store_reader_processes(reader, process_tell, &told), 0);
	CHECK_INT_EQ("single", store_reader_findings(reader, 0, 0, finding_tell, &told), 0);
	CHECK_INT_EQ("single", store_reader_gaps(reader, 0, 0, gap_tell, &told), 0);
	CHECK_STR_EQ("single", told.text, "1:11:node-a:1:0 00000000000000aa node-a not told");
	store_reader_close(reader);
}

static void imported_test(struct sqlite3 *ours)
{
	const struct read_scope all = { .all = true };
	struct sqlite3 *db = ingero_db_open("sample-gpu-node-01.db", false), *imported = NULL;
	struct read_file files[2] = { { .db = ours, .name = "a" } };
	struct store_reader *reader = NULL;
	char why[READ_WHY_BYTES];
	uint64_t n = 0;
	size_t wrong;

	CHECK_INT_EQ("import", db ? foreign_import(db, &all, true, why, &imported) : -1, 0);
	files[1] = (struct read_file){ .db = imported, .name = "b" };
	CHECK_INT_EQ("with ours", store_reader_open_files(files, 2, &all, why, &wrong, &reader), 0);
	if (reader) {
		struct told told = { .text = "" };

		CHECK_INT_EQ("with ours", store_reader_count(reader, &(struct read_filter){ .columns = 0 }, &n), 0);
		CHECK_INT_EQ("with ours", n, N_CALLS + 200);
		CHECK("one of them does not tell its losses", !store_reader_tells_losses(reader));
		CHECK_INT_EQ("with ours", store_reader_processes(reader, process_tell, &told), 0);
		CHECK_STR_EQ("with ours", told.text,
			     "1:11:node-a:1:1 2:96:gpu-node-01:2:1 3:1887:gpu-node-01:2:1 4:1893:gpu-node-01:2:1");
	}
	store_reader_close(reader);
	sqlite3_close(imported);
	sqlite3_close(db);
}

static void wrong_test(struct sqlite3 *right)
{
	static const struct {
		const char *name, *sql;
		int result;
	} cases[] = {
		{ "no table of ours", "DROP TABLE block_data", -EINVAL },
		{ "a newer version's", "PRAGMA user_version = 99", -ENOTSUP },
		{ "ids without room", "UPDATE process SET id = 4294967295", -E2BIG },
		{ "stacks without room", "UPDATE stack SET id = 4294967295", -E2BIG },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct read_scope all = { .all = true };
		struct sqlite3 *db = machine_make(&machines[1]);
		const struct read_file files[] = { { .db = right, .name = "a" }, { .db = db, .name = "b" } };
		struct store_reader *reader = NULL;
		char why[READ_WHY_BYTES] = "";
		size_t wrong = 99;

		world_exec(db, cases[i].sql);
		CHECK_INT_EQ(cases[i].name, store_reader_open_files(files, 2, &all, why, &wrong, &reader),
			     cases[i].result);
		CHECK_INT_EQ(cases[i].name, wrong, 1);
		CHECK(cases[i].name, why[0] && !reader);
		sqlite3_close(db);
	}
}

int main(void)
{
	const struct read_scope all = { .all = true };
	struct sqlite3 *dbs[N_MACHINES];
	struct store_reader *reader;

	for (size_t i = 0; i < N_MACHINES; i++)
		dbs[i] = machine_make(&machines[i]);
	reader = machines_open(dbs, N_MACHINES, &all);
	rows_test(reader);
	order_test(reader, /* newest_first= */ false);
	order_test(reader, /* newest_first= */ true);
	filters_test(reader);
	window_test(reader);
	store_reader_close(reader);
	scope_test(dbs);
	single_test(dbs[0]);
	imported_test(dbs[0]);
	wrong_test(dbs[0]);
	for (size_t i = 0; i < N_MACHINES; i++)
		sqlite3_close(dbs[i]);
	return check_result();
}
