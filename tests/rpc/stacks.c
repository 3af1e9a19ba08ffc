// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks in the answers of the real daemon, from a file: calls and the examples of a finding with the frames that they
 * were made from, and calls summed by their stacks, with an estimate of all calls.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "ingero/ingero.h"
#include "proto/frame.h"
#include "tests/support/check.h"
#include "tests/support/read_world.h"

#define EVENTS "ingero.v1.Query.Events"
#define EXPLAIN "ingero.v1.Query.Explain"
#define STACKS "ingero.v1.Query.Stacks"
#define SECOND 1000000000ull
#define UNIX 1700000000000000000ull
#define FINDING "00000000000000aa"

enum { LAUNCH = 3, WAIT = 5 }; /* of ops.def */
enum { N_CALLS = 600 };

static struct ingero *connection;

/* ---- the file ---- */

/* Stack of call number i: most from two, some from none. */
static uint32_t stack_of(uint32_t i)
{
	return i % 10 == 9 ? 0 : 1 + i % 2;
}

/* A finding with two examples: a call that is there, and one that is not. */
static void finding_put(struct sqlite3 *db)
{
	Ingero__V1__Finding f = INGERO__V1__FINDING__INIT;
	Ingero__V1__ExampleCall calls[] = { INGERO__V1__EXAMPLE_CALL__INIT, INGERO__V1__EXAMPLE_CALL__INIT };
	Ingero__V1__ExampleCall *examples[] = { &calls[0], &calls[1] };
	sqlite3_stmt *s = NULL;
	uint8_t data[512];
	size_t n;

	world_finding(db, FINDING, getuid(), 1, 1, 11, FINDING_HIGH, SECOND, SECOND, 2 * SECOND, 0, 0, "");
	f.id = (char *)(uintptr_t)FINDING;
	f.pid = 11;
	calls[0].id = (char *)(uintptr_t) "1.77359400.12";
	calls[1].id = (char *)(uintptr_t) "1.77359400.11";
	f.examples = examples;
	f.n_examples = ARRAY_SIZE(examples);
	n = ingero__v1__finding__pack(&f, data);
	CHECK_INT_EQ("a finding", sqlite3_prepare_v2(db, "UPDATE finding SET data = ?, crc = ?", -1, &s, NULL),
		     SQLITE_OK);
	(void)sqlite3_bind_blob64(s, 1, data, n, SQLITE_STATIC);
	(void)sqlite3_bind_int64(s, 2, codec_crc(data, n));
	CHECK_INT_EQ("a finding", sqlite3_step(s), SQLITE_DONE);
	(void)sqlite3_finalize(s);
}

static void file_make(const char *path)
{
	static const struct world_frame forward[] = {
		{ .ip = 0x1000, .symbol = "cudaLaunchKernel", .module = "/lib/libcudart.so.12" },
		{ .ip = 0x2000, .symbol = "launch+0x10", .module = "/lib/libtorch.so" },
		{ .symbol = "forward", .qualname = "Net.forward", .file = "train.py", .line = 142, .is_python = true },
	};
	static const struct world_frame native[] = {
		{ .ip = 0x1000, .symbol = "cudaLaunchKernel", .module = "/lib/libcudart.so.12" },
		{ .ip = 0x3000, .symbol = "step+0x20", .file = "step.c", .line = 7, .module = "/bin/step" },
	};
	struct sqlite3 *db = world_create(path);
	struct figures_blob blob = { .figures = { .items = NULL } };
	static struct stored_event e[N_CALLS];

	world_boot(db, 1, 0, UNIX);
	world_process(db, 1, 1, 11, getuid(), 0, "train", SECOND);
	world_stack(db, 1, getuid(), false, "", forward, ARRAY_SIZE(forward));
	world_stack(db, 2, getuid(), false, "it is cut", native, ARRAY_SIZE(native));
	for (uint32_t i = 0; i < N_CALLS; i++) {
		e[i] = world_event(1, LAUNCH, 11, (1 + i) * SECOND, 1000);
		e[i].call.reason = RECORD_REASON_SAMPLE;
		e[i].stack = stack_of(i);
	}
	(void)world_block(db, getuid(), 1, 1, e, N_CALLS);
	world_count(&blob, 1, LAUNCH, 10 * N_CALLS, 1000);
	world_count(&blob, 1, WAIT, 5, 1000);
	world_figures(db, 3600, getuid(), 1, 0, 3600 * SECOND, &blob);
	finding_put(db);
	figures_blob_done(&blob);
	CHECK_INT_EQ("the file", sqlite3_close(db), SQLITE_OK);
}

/* ---- answers in words ---- */

static void stack_tell(struct buf *out, const Ingero__V1__Stack *stack)
{
	if (!stack) {
		buf_append_text(out, "-");
		return;
	}
	for (size_t i = 0; i < stack->n_frames; i++)
		buf_printf(out, "%s%s", i ? "<" : "", stack->frames[i]->symbol);
	buf_printf(out, "%s", stack->is_complete ? "" : "...");
}

#define FORWARD "cudaLaunchKernel<launch+0x10<forward"
#define NATIVE "cudaLaunchKernel<step+0x20..."

/* ---- Events ---- */

struct calls {
	bool has_stacks; /* were asked for */
	uint64_t n, n_wrong, n_messages, n_frames;
};

static int calls_take(const ProtobufCMessage *message, void *data)
{
	const Ingero__V1__EventsReply *reply = (const Ingero__V1__EventsReply *)message;
	struct calls *calls = data;

	calls->n_messages++;
	calls->n_frames += reply->n_stacks;
	for (size_t i = 0; i < reply->n_events; i++, calls->n++) {
		const Ingero__V1__Event *e = reply->events[i];
		uint32_t want =
			calls->has_stacks ? stack_of((uint32_t)((e->timestamp_unix_ns - UNIX) / SECOND) - 1) : 0;
		size_t n_of = 0;

		calls->n_wrong += want ? !e->stack || e->stack->id != want || e->stack->n_frames : e->stack != NULL;
		for (size_t k = 0; want && k < reply->n_stacks; k++) {
			CLEANUP(buf_done) struct buf text = BUF_INIT;

			if (reply->stacks[k]->id != want)
				continue;
			n_of++;
			stack_tell(&text, reply->stacks[k]);
			calls->n_wrong += strcmp(buf_text(&text), want == 1 ? FORWARD : NATIVE) != 0;
		}
		calls->n_wrong += n_of != (want != 0);
	}
	return 0;
}

static void events_test(void)
{
	static const struct {
		const char *name;
		bool stacks;
		uint64_t limit, n, frames; /* frames: at most in all messages */
	} cases[] = {
		{ "without", false, 0, N_CALLS, 0 },
		{ "with", true, 0, N_CALLS, 2 * 4 },
		{ "some", true, 7, 7, 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Ingero__V1__EventsRequest request = INGERO__V1__EVENTS_REQUEST__INIT;
		struct calls calls = { .has_stacks = cases[i].stacks };

		request.stacks = cases[i].stacks;
		request.limit = cases[i].limit;
		CHECK_INT_EQ(cases[i].name, ingero_read(connection, EVENTS, &request.base, calls_take, &calls), 0);
		CHECK_INT_EQ(cases[i].name, calls.n, cases[i].n);
		CHECK_INT_EQ(cases[i].name, calls.n_wrong, 0);
		CHECK_INT_IN(cases[i].name, calls.n_frames, cases[i].frames ? 2 : 0, cases[i].frames);
	}
}

/* ---- Explain ---- */

static void explain_test(void)
{
	static const struct {
		const char *name;
		const char *id;
		const char *call, *examples;
	} cases[] = {
		{ "everything", "", "-", "" },
		{ "a call", "1.3b9aca00.11", FORWARD, "" },
		{ "a call from elsewhere", "1.77359400.11", NATIVE, "" },
		{ "a call without a stack", "1.2540be400.11", "-", "" },
		{ "a finding", FINDING, "-", NATIVE ";" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Ingero__V1__ExplainRequest request = INGERO__V1__EXPLAIN_REQUEST__INIT;
		CLEANUP(buf_done) struct buf call = BUF_INIT, examples = BUF_INIT;
		const Ingero__V1__ExplainReply *reply;
		ProtobufCMessage *message = NULL;

		request.id = (char *)(uintptr_t)cases[i].id;
		CHECK_INT_EQ(cases[i].name, ingero_call(connection, EXPLAIN, &request.base, 0, &message), 0);
		CHECK_STR_EQ(cases[i].name, ingero_last_error(connection), "");
		reply = (const Ingero__V1__ExplainReply *)message;
		if (!reply)
			continue;
		stack_tell(&call, reply->call ? reply->call->stack : NULL);
		for (size_t k = 0; k < reply->n_examples; k++) {
			stack_tell(&examples, reply->examples[k]->stack);
			buf_append_text(&examples, ";");
		}
		CHECK_STR_EQ(cases[i].name, buf_text(&call), cases[i].call);
		CHECK_STR_EQ(cases[i].name, buf_text(&examples), cases[i].examples);
		protobuf_c_message_free_unpacked(message, NULL);
	}
}

/* ---- Stacks ---- */

struct sums {
	struct buf rows;
	bool has_end, is_sampled;
	uint64_t n_rows, calls, without, incomplete, merged, counted;
};

static int sums_take(const ProtobufCMessage *message, void *data)
{
	const Ingero__V1__StacksReply *reply = (const Ingero__V1__StacksReply *)message;
	struct sums *sums = data;

	CHECK("nothing behind the end", !sums->has_end);
	for (size_t i = 0; i < reply->n_rows; i++) {
		const Ingero__V1__StackRow *row = reply->rows[i];

		buf_printf(&sums->rows, "%s/%s ", row->process_name, row->op);
		stack_tell(&sums->rows, row->stack);
		buf_printf(&sums->rows, " %d of %d;", (int)row->count, (int)row->counted);
		CHECK_INT_EQ("pid", row->pid, 11);
		CHECK_INT_EQ("owner", row->uid, getuid());
		CHECK_STR_EQ("source", row->source, "cuda");
		CHECK_INT_EQ("time", row->total_ns, row->count * 1000);
		CHECK_INT_EQ("the longest", row->max_ns, row->count ? 1000 : 0);
		CHECK_INT_IN("median", row->p50_ns, row->count ? 900 : 0, 1000);
		CHECK_INT_EQ("blame", row->blame_ns ? row->blame_ns->runnable : 0, row->count * 500);
		CHECK_INT_EQ("time of all", row->counted_ns, row->counted * 1000);
	}
	if (!reply->end)
		return 0;
	sums->has_end = true;
	sums->is_sampled = reply->end->is_sampled;
	sums->n_rows = reply->end->rows;
	sums->calls = reply->end->calls;
	sums->without = reply->end->without;
	sums->incomplete = reply->end->incomplete;
	sums->merged = reply->end->merged;
	sums->counted = reply->end->window ? reply->end->window->calls : 0;
	CHECK("losses are known", reply->end->lost != NULL);
	return 0;
}

#define ROW_FORWARD "train/cudaLaunchKernel " FORWARD " 300 of 3000;"
#define ROW_NATIVE "train/cudaLaunchKernel " NATIVE " 240 of 2400;"
#define ROW_NONE "train/cudaLaunchKernel - 60 of 600;"
#define ROW_WAIT "train/cudaStreamSynchronize - 0 of 5;"

static void sums_test(void)
{
	static const struct {
		const char *name;
		uint32_t pid; /* 0: all */
		const char *op;
		uint64_t limit;
		const char *rows;
		uint64_t n_rows, calls, without, incomplete, counted;
		bool is_sampled;
	} cases[] = {
		{ "all", 0, "", 0, ROW_FORWARD ROW_NATIVE ROW_NONE ROW_WAIT, 4, 600, 60, 240, 6005, true },
		{ "one process", 11, "", 0, ROW_FORWARD ROW_NATIVE ROW_NONE ROW_WAIT, 4, 600, 60, 240, 6005, true },
		{ "nobody", 77, "", 0, "", 0, 0, 0, 0, 0, false },
		{ "an operation", 0, "cudalaunch", 0, NULL, 0, 0, 0, 0, 0, false },
		{ "an operation, in another spelling", 0, "CUDALAUNCHKERNEL", 0, ROW_FORWARD ROW_NATIVE ROW_NONE, 3,
		  600, 60, 240, 6000, true },
		{ "the first", 0, "", 1, ROW_FORWARD, 4, 600, 60, 240, 6005, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Ingero__V1__StacksRequest request = INGERO__V1__STACKS_REQUEST__INIT;
		struct sums sums = { .rows = BUF_INIT };
		uint32_t pid = cases[i].pid;
		int r;

		request.pids = &pid;
		request.n_pids = pid != 0;
		request.op = (char *)(uintptr_t)cases[i].op;
		request.limit = cases[i].limit;
		r = ingero_read(connection, STACKS, &request.base, sums_take, &sums);
		if (!cases[i].rows) {
			CHECK_INT_EQ(cases[i].name, r, -EREMOTEIO);
			CHECK_INT_EQ(cases[i].name, ingero_last_code(connection), CALL_ERROR_INVALID);
			CHECK(cases[i].name, strstr(ingero_last_error(connection), "no operation is called"));
		} else {
			CHECK_INT_EQ(cases[i].name, r, 0);
			CHECK(cases[i].name, sums.has_end);
			CHECK_STR_EQ(cases[i].name, buf_text(&sums.rows), cases[i].rows);
			CHECK_INT_EQ(cases[i].name, sums.n_rows, cases[i].n_rows);
			CHECK_INT_EQ(cases[i].name, sums.calls, cases[i].calls);
			CHECK_INT_EQ(cases[i].name, sums.without, cases[i].without);
			CHECK_INT_EQ(cases[i].name, sums.incomplete, cases[i].incomplete);
			CHECK_INT_EQ(cases[i].name, sums.merged, 0);
			CHECK_INT_EQ(cases[i].name, sums.counted, cases[i].counted);
			CHECK_INT_EQ(cases[i].name, sums.is_sampled, cases[i].is_sampled);
		}
		buf_done(&sums.rows);
	}
}

/* ---- call sites ---- */

static int sites_take(const ProtobufCMessage *message, void *data)
{
	const Ingero__V1__SqlReply *reply = (const Ingero__V1__SqlReply *)message;

	for (size_t i = 0; i < reply->n_rows; i++)
		buf_printf(data, "%s;", reply->rows[i]->values[0]->text);
	return 0;
}

static void sites_test(void)
{
	static const struct {
		const char *name;
		const char *sql;
		const char *want;
	} cases[] = {
		{ "sites",
		  "SELECT coalesce(site_file, '-') || ':' || coalesce(site_line, '-') || ' ' || coalesce(site_func, "
		  "'-') ||"
		  " ' ' || count || ' of ' || counted FROM call_sites WHERE op_name = 'cudaLaunchKernel' ORDER BY "
		  "count DESC",
		  "train.py:142 forward 300 of 3000;step.c:7 step 240 of 2400;-:- - 60 of 600;" },
		{ "time",
		  "SELECT '' || sum(sum_dur) || ' ' || max(p99) || ' ' || sum(runnable) FROM call_sites WHERE count",
		  "600000 1000 300000;" },
		{ "what is not measured is not zero", "SELECT '' || count(device) FROM call_sites", "0;" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Ingero__V1__SqlRequest request = INGERO__V1__SQL_REQUEST__INIT;
		CLEANUP(buf_done) struct buf told = BUF_INIT;

		request.sql = (char *)(uintptr_t)cases[i].sql;
		CHECK_INT_EQ(cases[i].name,
			     ingero_read(connection, "ingero.v1.Query.Sql", &request.base, sites_take, &told), 0);
		CHECK_STR_EQ(cases[i].name, buf_text(&told), cases[i].want);
	}
}

int main(void)
{
	static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
	char dir[64], db[80], name[96], error[512];
	const char *const args[] = { "--read-db", db, NULL };
	const struct ingero_options options = {
		.private_daemon = true, .daemon_path = INGERO_COLLECTORD, .daemon_args = args, .program = "test"
	};
	int r;

	(void)snprintf(dir, sizeof(dir), "%s/ingero-stacks-XXXXXX", P_tmpdir);
	if (!mkdtemp(dir))
		return 1;
	(void)snprintf(db, sizeof(db), "%s/db", dir);
	file_make(db);
	r = ingero_open(&options, error, sizeof(error), &connection);
	CHECK_STR_EQ("the daemon", r ? error : "", "");
	if (r == 0) {
		events_test();
		explain_test();
		sums_test();
		sites_test();
		ingero_close(connection);
	}
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		(void)snprintf(name, sizeof(name), "%s%s", db, ends[i]);
		(void)unlink(name);
	}
	CHECK_INT_EQ("nothing else is left", rmdir(dir), 0);
	return check_result();
}
