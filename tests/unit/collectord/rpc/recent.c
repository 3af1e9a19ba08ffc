// SPDX-License-Identifier: Apache-2.0
/*
 * Memory of the copies of figures that the traces of one user keep: 46 processes that each wait for more pipes than a
 * list of waits has room for, and as many traces of their last seconds as a user may run.
 */
#include "rpc/recent.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "capture.h"
#include "rpc/call.h"
#include "rpc/context.h"
#include "rpc/quota.h"
#include "tests/support/check.h"
#include "tests/support/fake_source.h"
#include "tests/support/heap.h"

#define PROCESSES 46
#define PIPES 200
#define OPS 4
#define USER 1000
#define SPAN_NS (5 * NSEC_PER_SEC)
#define STEP_NS (SPAN_NS / 5)
#define STEPS 60
#define COPY_BYTES_MOST (1024u * 1024) /* 0.4 MiB */

struct world {
	struct fake_source fake;
	struct process_table *table;
	struct capture capture;
	struct rpc_context context;
	struct quota quota;
	struct quota_user *user;
};

static uint32_t world_cells_used(void *data)
{
	return ((const struct world *)data)->fake.cells_used;
}

static void process_fill(struct world *w, uint32_t slot)
{
	struct account_record account = { .slot = (uint16_t)slot, .tgid = 2000 + slot, .tid = 2000 + slot };

	account.now_ns = w->fake.now_ns;
	account.account.since_ns = w->fake.now_ns / 2;
	account.account.calls = OPS;
	account.account.away_ns[BLAME_LOCK] = w->fake.now_ns / 4;
	CHECK_INT_EQ("an account", figures_account(w->capture.figures, &account), 0);
	for (uint32_t i = 0; i < PIPES; i++) {
		const struct wait_value value = { .ns = (i + 1) * NSEC_PER_MSEC, .max_ns = NSEC_PER_MSEC, .count = 1 };
		const struct wait_key key = { .resource = i + 1,
					      .tid = account.tid,
					      .slot = (uint16_t)slot,
					      .class = BLAME_LOCK,
					      .kind = RESOURCE_PIPE };

		CHECK_INT_EQ("a wait", figures_wait(w->capture.figures, &key, &value), 0);
	}
}

static struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));
	const struct figures_source cells = {
		.slots = w->fake.slots, .cells = w->fake.cells, .cells_used = world_cells_used, .data = w
	};

	fake_source_init(&w->fake);
	w->fake.now_ns = 1000 * NSEC_PER_SEC;
	w->fake.cells_used = 1 + PROCESSES * OPS;
	w->capture.source = &w->fake.source;
	w->context.capture = &w->capture;
	w->quota = (struct quota)QUOTA_INIT;
	CHECK_INT_EQ("a user", quota_connect(&w->quota, USER, w->fake.now_ns, &w->user), 0);
	CHECK_INT_EQ("a table", process_table_new(&w->table), 0);
	CHECK_INT_EQ("figures", figures_new(w->table, &w->capture.figures), 0);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		w->fake.slots[1 + i] = (struct process_slot){ .start_boot_ns = 1,
							      .first_call_ns = 1,
							      .tgid = 2001 + i,
							      .uid = USER,
							      .state = PROCESS_SLOT_LIVE,
							      .comm = "train" };
		for (uint32_t op = 0; op < OPS; op++) {
			struct figure_cell *cell = &w->fake.cells[1 + i * OPS + op];

			*cell = (struct figure_cell){ .slot = (uint16_t)(1 + i), .op = (uint16_t)(1 + op) };
			cell->buckets[10] = cell->buckets[200] = 1;
		}
	}
	CHECK_INT_EQ("collect", figures_collect(w->capture.figures, &cells), 0);
	for (uint32_t i = 0; i < PROCESSES; i++)
		process_fill(w, 1 + i);
	CHECK_INT_EQ("read", figures_accounts_read(w->capture.figures, true, true), 0);
	return w;
}

static void world_freep(struct world **w)
{
	figures_free((*w)->capture.figures);
	process_table_free((*w)->table);
	quota_disconnect(&(*w)->quota, (*w)->user);
	quota_done(&(*w)->quota);
	free(*w);
}

/* One trace of the user, as rpc/trace.c keeps and charges it. */
struct trace_copies {
	struct since start;
	struct recent recent;
	size_t kept;
};

static void trace_charge(struct world *w, struct trace_copies *t)
{
	size_t now = t->start.bytes + recent_bytes(&t->recent);

	quota_keep(&w->quota, w->user, t->kept, now);
	t->kept = now;
}

static void trace_begins(struct world *w, struct trace_copies *t, const struct call_identity *identity)
{
	CHECK("a lease", quota_begin_lease(w->user));
	CHECK("room for its start", quota_may_keep(&w->quota, w->user, 0, QUOTA_NEEDED));
	CHECK_INT_EQ("its start", since_take(&w->context, identity, &t->start), 0);
	t->recent.span_ns = SPAN_NS;
	trace_charge(w, t);
}

static void trace_steps(struct world *w, struct trace_copies *t, const struct call_identity *identity)
{
	bool has_room = quota_may_keep(&w->quota, w->user, t->kept, QUOTA_SPARE);

	CHECK_INT_EQ("a step", recent_step(&t->recent, &w->context, identity, has_room), 0);
	trace_charge(w, t);
}

static void trace_ends(struct world *w, struct trace_copies *t)
{
	since_done(&t->start);
	recent_done(&t->recent);
	trace_charge(w, t);
	quota_end_lease(w->user);
}

static void copies_have_a_limit(void)
{
	static const struct {
		const char *name;
		size_t n_traces;
		bool has_each_step; /* there is room for all of them */
	} rows[] = {
		{ "one trace", 1, true },
		{ "two traces", 2, true },
		{ "all that a user may run", QUOTA_USER_LEASES, false },
	};
	const struct call_identity identity = { .uid = USER };
	CLEANUP(world_freep) struct world *w = world_new();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct trace_copies traces[QUOTA_USER_LEASES] = { 0 };
		uint64_t began_ns = w->fake.now_ns;
		size_t before = heap_bytes(), kept = 0, most = 0;

		for (size_t t = 0; t < rows[i].n_traces; t++)
			trace_begins(w, &traces[t], &identity);
		for (int step = 0; step < STEPS; step++) {
			w->fake.now_ns += STEP_NS;
			for (size_t t = 0; t < rows[i].n_traces; t++)
				trace_steps(w, &traces[t], &identity);
			most = MAX(most, w->quota.kept_bytes);
		}
		for (size_t t = 0; t < rows[i].n_traces; t++) {
			const struct since *since = recent_since(&traces[t].recent, &traces[t].start, w->fake.now_ns);
			uint64_t window_ns = w->fake.now_ns - since->since_ns;

			CHECK("never shorter than asked for", window_ns >= SPAN_NS);
			CHECK("nor longer than the trace", window_ns <= w->fake.now_ns - began_ns);
			if (rows[i].has_each_step)
				CHECK_INT_EQ(rows[i].name, window_ns, SPAN_NS);
			kept += traces[t].kept;
		}
		CHECK("a copy is not empty", traces[0].start.bytes > PROCESSES * PIPES * sizeof(uint64_t) / 2);
		CHECK("nor larger than thought", traces[0].start.bytes < COPY_BYTES_MOST);
		CHECK("within the limit", most < QUOTA_USER_KEPT_BYTES / 2 + traces[0].start.bytes);
		CHECK_INT_EQ("all is charged", w->quota.kept_bytes, kept);
		(void)printf("%s: %zu bytes a copy, %zu charged, %zu on the heap\n", rows[i].name,
			     traces[0].start.bytes, kept, heap_bytes() - before);
		CHECK("what is charged is what is held", heap_bytes() - before <= kept + kept / 4);
		for (size_t t = 0; t < rows[i].n_traces; t++)
			trace_ends(w, &traces[t]);
		CHECK_INT_EQ("all is refunded", w->quota.kept_bytes, 0);
	}
}

int main(void)
{
	copies_have_a_limit();
	return check_result();
}
