// SPDX-License-Identifier: Apache-2.0
/*
 * Ticks of figures that are read from cells turned by hand: every call is in exactly
 * one of them.
 */
#include "figures/tick.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "events/op.h"
#include "tests/support/check.h"

struct world {
	struct process_slot slots[PROCESS_SLOTS];
	struct figure_cell cells[4];
	struct figures_source source;
	struct process_table *table;
	struct figures *figures;
	struct ticker *ticker;
	uint64_t losses[LOSS_COUNT];
	uint64_t now_ns;
};

static uint32_t all_cells(void *data)
{
	struct world *w = data;

	return ARRAY_SIZE(w->cells);
}

static struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));

	w->source = (struct figures_source){ .slots = w->slots, .cells = w->cells, .cells_used = all_cells, .data = w };
	w->now_ns = 1000;
	(void)process_table_new(&w->table);
	(void)figures_new(w->table, &w->figures);
	(void)ticker_new(&w->ticker);
	w->slots[1] = (struct process_slot){
		.tgid = 4711, .uid = 1000, .start_boot_ns = 7, .state = PROCESS_SLOT_LIVE, .comm = "train"
	};
	w->cells[1].slot = 1;
	w->cells[1].op = 3;
	return w;
}

static void world_freep(struct world **w)
{
	figures_free((*w)->figures);
	ticker_free((*w)->ticker);
	process_table_free((*w)->table);
	free(*w);
}

static void call_ends(struct figure_cell *cell, uint64_t ns)
{
	cell->total_ns += ns;
	cell->raw_ns += ns + 100;
	cell->max_ns = MAX(cell->max_ns, ns);
	cell->buckets[histogram_bucket_of(ns)]++;
}

static void note_release(uint32_t slot, void *data)
{
	struct world *w = data;

	w->slots[slot] = (struct process_slot){ .state = PROCESS_SLOT_FREE };
	w->cells[1] = (struct figure_cell){ .slot = 0 };
}

static struct tick take(struct world *w)
{
	struct tick tick = { .to_ns = 0 };

	CHECK_INT_EQ("collect", figures_collect(w->figures, &w->source), 0);
	figures_release_gone(w->figures, &w->source, note_release, w);
	w->now_ns += 1000;
	CHECK_INT_EQ("take", ticker_take(w->ticker, w->figures, w->now_ns, w->losses, &tick), 0);
	return tick;
}

static uint64_t calls_in(const struct tick *tick)
{
	uint64_t n = 0;

	for (size_t i = 0; i < tick->processes.n; i++)
		for (size_t j = 0; j < tick->processes.items[i].ops.n; j++)
			n += op_figures_count(&tick->processes.items[i].ops.items[j].figures);
	return n;
}

static void each_call_is_in_one_tick(void)
{
	static const struct {
		const char *name;
		uint64_t calls_ns[3]; /* 0: none */
		uint64_t want_n, want_total_ns, want_max_ns;
	} rows[] = {
		{ "the first", { 1000, 3000, 500000 }, 3, 504000, 500000 },
		{ "nothing happened", { 0 }, 0, 0, 0 },
		{ "its own longest, not that of before", { 2000 }, 1, 2000, 2000 },
		{ "longer than ever", { 900000, 100 }, 2, 900100, 900000 },
	};
	CLEANUP(world_freep) struct world *w = world_new();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tick tick;

		for (size_t j = 0; j < 3 && rows[i].calls_ns[j]; j++)
			call_ends(&w->cells[1], rows[i].calls_ns[j]);
		tick = take(w);
		CHECK_INT_EQ(rows[i].name, calls_in(&tick), rows[i].want_n);
		CHECK_INT_EQ(rows[i].name, tick.processes.n, rows[i].want_n ? 1 : 0);
		CHECK_INT_EQ(rows[i].name, tick.to_ns, w->now_ns);
		CHECK_INT_EQ(rows[i].name, tick.from_ns, i ? w->now_ns - 1000 : w->now_ns);
		if (tick.processes.n) {
			const struct tick_op *op = &tick.processes.items[0].ops.items[0];

			CHECK(rows[i].name, op->op == op_get(3));
			CHECK_INT_EQ(rows[i].name, op->figures.total_ns, rows[i].want_total_ns);
			CHECK_INT_EQ(rows[i].name, op->figures.max_ns, rows[i].want_max_ns);
		}
		tick_done(&tick);
	}
}

/* A client's question reads the figures between two ticks. */
static void readings_in_between_lose_nothing(void)
{
	CLEANUP(world_freep) struct world *w = world_new();
	struct tick tick;

	call_ends(&w->cells[1], 70000);
	CHECK_INT_EQ("a reading", figures_collect(w->figures, &w->source), 0);
	call_ends(&w->cells[1], 20);
	tick = take(w);
	CHECK_INT_EQ("both calls", calls_in(&tick), 2);
	CHECK_INT_EQ("the longest of both", tick.processes.items[0].ops.items[0].figures.max_ns, 70000);
	CHECK_INT_EQ("since it was first seen", op_list_find(&figures_get(w->figures, 0)->ops, 3)->max_ns, 70000);
	tick_done(&tick);
}

static void a_process_goes_once(void)
{
	CLEANUP(world_freep) struct world *w = world_new();
	struct tick tick;

	call_ends(&w->cells[1], 1000);
	tick = take(w);
	CHECK_INT_EQ("it lives", tick.processes.items[0].gone_ns, 0);
	tick_done(&tick);

	call_ends(&w->cells[1], 1000);
	w->slots[1].state = PROCESS_SLOT_GONE;
	w->slots[1].gone_ns = 1500;
	tick = take(w);
	CHECK_INT_EQ("its last call", calls_in(&tick), 1);
	CHECK_INT_EQ("gone", tick.processes.items[0].gone_ns, 1500);
	tick_done(&tick);

	tick = take(w);
	CHECK_INT_EQ("and is not told again", tick.processes.n, 0);
	tick_done(&tick);

	/* another one in its slot, and the first forgotten */
	(void)figures_forget_gone(w->figures, UINT64_MAX, 0, NULL, NULL);
	w->slots[1] = (struct process_slot){ .tgid = 4712, .start_boot_ns = 9, .state = PROCESS_SLOT_LIVE };
	w->cells[1] = (struct figure_cell){ .slot = 1, .op = 3 };
	call_ends(&w->cells[1], 30);
	tick = take(w);
	CHECK_INT_EQ("its successor alone", tick.processes.n, 1);
	CHECK_INT_EQ("by its number", tick.processes.items[0].process->identity.tgid, 4712);
	CHECK_INT_EQ("with its call", calls_in(&tick), 1);
	tick_done(&tick);
}

/* Its first call may never return: it is in no figure, and still somebody has to know the process. */
static void a_process_is_told_at_first_sight(void)
{
	CLEANUP(world_freep) struct world *w = world_new();
	struct tick tick = take(w);

	CHECK_INT_EQ("no call has ended", calls_in(&tick), 0);
	CHECK_INT_EQ("it is there", tick.processes.n, 1);
	tick_done(&tick);
	tick = take(w);
	CHECK_INT_EQ("told once", tick.processes.n, 0);
	tick_done(&tick);
}

static void neighbours_and_losses_are_differences(void)
{
	CLEANUP(world_freep) struct world *w = world_new();
	const struct behind_key key = { .slot = 1, .tgid = 6603 },
				between = { .slot = 1, .is_between = 1, .tgid = 6603 };
	struct behind_value value = { .ns = 250, .uid = 5, .comm = "logrotate" };
	struct tick tick;

	w->losses[LOSS_DEPTH] = 3;
	tick = take(w);
	CHECK_INT_EQ("lost so far", tick.losses[LOSS_DEPTH], 3);
	tick_done(&tick);

	CHECK_INT_EQ("note", figures_behind(w->figures, &key, &value), 0);
	CHECK_INT_EQ("read", figures_behind_read(w->figures, true), 0);
	w->losses[LOSS_DEPTH] = 5;
	tick = take(w);
	CHECK_INT_EQ("lost in this tick", tick.losses[LOSS_DEPTH], 2);
	CHECK_INT_EQ("a neighbour without a call that ended", tick.processes.n, 1);
	CHECK_INT_EQ("its time", tick.processes.items[0].behind.items[0].ns, 250);
	CHECK_STR_EQ("its name", tick.processes.items[0].behind.items[0].comm, "logrotate");
	tick_done(&tick);

	value.ns = 300;
	CHECK_INT_EQ("note", figures_behind(w->figures, &key, &value), 0);
	CHECK_INT_EQ("note", figures_behind(w->figures, &between, &value), 0);
	CHECK_INT_EQ("read", figures_behind_read(w->figures, true), 0);
	tick = take(w);
	CHECK_INT_EQ("in and between calls apart", tick.processes.items[0].behind.n, 2);
	CHECK("in", !tick.processes.items[0].behind.items[0].is_between);
	CHECK("between", tick.processes.items[0].behind.items[1].is_between);
	CHECK_INT_EQ("between calls", tick.processes.items[0].behind.items[1].ns, 300);
	CHECK_INT_EQ("what it took since", tick.processes.items[0].behind.items[0].ns, 50);
	tick_done(&tick);
}

/* Calls of a program that is shorter than a tick happened in some time, not in none; a pause belongs to no tick. */
static void a_tick_has_a_length(void)
{
	CLEANUP(world_freep) struct world *w = world_new();
	struct tick tick;

	ticker_begin(w->ticker, w->now_ns, w->losses);
	call_ends(&w->cells[1], 500);
	tick = take(w);
	CHECK_INT_EQ("the first one's calls", calls_in(&tick), 1);
	CHECK_INT_EQ("the first one's beginning", tick.from_ns, 1000);
	CHECK_INT_EQ("and end", tick.to_ns, 2000);
	tick_done(&tick);

	w->now_ns = 900000;
	w->losses[LOSS_DEPTH] = 3;
	ticker_begin(w->ticker, w->now_ns, w->losses);
	call_ends(&w->cells[1], 500);
	w->losses[LOSS_DEPTH] = 4;
	tick = take(w);
	CHECK_INT_EQ("after a pause", tick.from_ns, 900000);
	CHECK_INT_EQ("whose losses are not told", tick.losses[LOSS_DEPTH], 1);
	tick_done(&tick);
}

int main(void)
{
	a_tick_has_a_length();
	each_call_is_in_one_tick();
	readings_in_between_lose_nothing();
	a_process_goes_once();
	a_process_is_told_at_first_sight();
	neighbours_and_losses_are_differences();
	return check_result();
}
