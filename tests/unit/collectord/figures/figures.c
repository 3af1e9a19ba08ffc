// SPDX-License-Identifier: Apache-2.0
/*
 * The reading side against cells turned by hand, as the kernel half would turn them.
 */
#include "figures/figures.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "files/file_table.h"
#include "tests/support/check.h"

struct world {
	struct process_slot slots[PROCESS_SLOTS];
	struct figure_cell cells[8];
	struct figures_source source;
	struct process_table *table;
	struct figures *figures;
	uint32_t released[4];
	size_t n_released;
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
	(void)process_table_new(&w->table);
	(void)figures_new(w->table, &w->figures);
	return w;
}

static void world_freep(struct world **w)
{
	figures_free((*w)->figures);
	CHECK_INT_EQ("nobody is held", process_table_count((*w)->table), 0);
	process_table_free((*w)->table);
	free(*w);
}

static void note_release(uint32_t slot, void *data)
{
	struct world *w = data;

	w->released[w->n_released++] = slot;
	w->slots[slot] = (struct process_slot){ .state = PROCESS_SLOT_FREE };
}

static void process_begins(struct world *w, uint32_t slot, uint32_t tgid, uint64_t start_ns)
{
	w->slots[slot] = (struct process_slot){
		.tgid = tgid, .uid = 1000, .start_boot_ns = start_ns, .state = PROCESS_SLOT_LIVE, .comm = "train"
	};
}

static void call_ends(struct figure_cell *cell, uint64_t ns, uint64_t raw_ns, uint64_t waited_ns)
{
	cell->total_ns += ns;
	cell->raw_ns += raw_ns;
	cell->blame_ns[BLAME_RUNNABLE - 1] += waited_ns;
	cell->max_ns = MAX(cell->max_ns, ns);
	cell->buckets[histogram_bucket_of(ns)]++;
}

static void collect(struct world *w)
{
	CHECK_INT_EQ("collect", figures_collect(w->figures, &w->source), 0);
	figures_release_gone(w->figures, &w->source, note_release, w);
}

static void counts_add_up(void)
{
	CLEANUP(world_freep) struct world *w = world_new();
	struct figure_cell *cell = &w->cells[3];
	const struct op_figures *op;

	process_begins(w, 5, 4711, 1);
	cell->slot = 5;
	cell->op = 3;
	for (int i = 0; i < 1009; i++) {
		call_ends(cell, 1000, 1500, 200);
		if (i % 100 == 0)
			collect(w);
	}
	cell->untimed = 7;
	cell->abandoned = 2;
	cell->errors = 11;
	collect(w);

	CHECK_INT_EQ("one process", figures_count(w->figures), 1);
	CHECK("found by its slot", figures_find_slot(w->figures, 5) == figures_get(w->figures, 0));
	op = op_list_find(&figures_get(w->figures, 0)->ops, 3);
	CHECK_INT_EQ("timed and untimed", op_figures_count(op), 1016);
	CHECK_INT_EQ("total", op->total_ns, 1009000);
	CHECK_INT_EQ("on the CPU is what is left", op->blame_ns[BLAME_ON_CPU], 1009 * 1300);
	CHECK_INT_EQ("abandoned", op->abandoned, 2);
	CHECK_INT_EQ("errors", op->errors, 11);
}

static void calls_of_no_length_count(void)
{
	CLEANUP(world_freep) struct world *w = world_new();

	process_begins(w, 1, 1, 1);
	w->cells[1] = (struct figure_cell){ .slot = 1, .op = 1 };
	call_ends(&w->cells[1], 0, 400, 0);
	collect(w);
	call_ends(&w->cells[1], 0, 400, 0);
	collect(w);
	CHECK_INT_EQ("total never moved, count did",
		     op_figures_count(op_list_find(&figures_get(w->figures, 0)->ops, 1)), 2);
}

static void counters_wrap(void)
{
	CLEANUP(world_freep) struct world *w = world_new();
	uint32_t *bucket = &w->cells[1].buckets[100];
	const uint64_t steps[] = { 3000000000u, 3000000000u, 3000000000u };
	uint64_t sum = 0;

	process_begins(w, 1, 1, 1);
	w->cells[1].slot = 1;
	w->cells[1].op = 1;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		*bucket += (uint32_t)steps[i];
		w->cells[1].errors += (uint32_t)steps[i];
		w->cells[1].raw_ns++;
		sum += steps[i];
		collect(w);
	}
	CHECK_INT_EQ("9e9 calls in 32 bits", op_figures_count(op_list_find(&figures_get(w->figures, 0)->ops, 1)), sum);
	CHECK_INT_EQ("errors likewise", op_list_find(&figures_get(w->figures, 0)->ops, 1)->errors, sum);
}

static void forget(const struct process_figures *process, void *data)
{
	uint64_t *told = data;

	*told = process->process->identity.start_boot_ns;
}

static void incarnations_stay_apart(void)
{
	CLEANUP(world_freep) struct world *w = world_new();
	uint64_t told = 0;

	process_begins(w, 2, 77, 1);
	w->cells[1] = (struct figure_cell){ .slot = 2, .op = 4 };
	call_ends(&w->cells[1], 500, 900, 0);
	collect(w);

	/* Gone, with a last call that nobody read yet; then the same number, slot and cell again. */
	call_ends(&w->cells[1], 500, 900, 0);
	w->slots[2].state = PROCESS_SLOT_GONE;
	w->slots[2].gone_ns = 999;
	collect(w);
	CHECK_INT_EQ("released once", w->n_released, 1);
	CHECK_INT_EQ("which", w->released[0], 2);
	w->cells[1] = (struct figure_cell){ .slot = 2, .op = 4 };
	process_begins(w, 2, 77, 2);
	call_ends(&w->cells[1], 500, 900, 0);
	collect(w);

	CHECK_INT_EQ("two processes", figures_count(w->figures), 2);
	CHECK_INT_EQ("the first kept its last call",
		     op_figures_count(op_list_find(&figures_get(w->figures, 0)->ops, 4)), 2);
	CHECK_INT_EQ("the second began anew", op_figures_count(op_list_find(&figures_get(w->figures, 1)->ops, 4)), 1);
	CHECK_INT_EQ("gone when", figures_get(w->figures, 0)->gone_ns, 999);

	CHECK_INT_EQ("nothing is forgotten yet", figures_forgotten(w->figures).calls, 0);
	CHECK_INT_EQ("forgets the gone one", figures_forget_gone(w->figures, UINT64_MAX, 0, forget, &told), 1);
	CHECK_INT_EQ("and says which", told, 1);
	CHECK_INT_EQ("but not how much it called", figures_forgotten(w->figures).calls, 2);
	CHECK_INT_EQ("not the living", figures_get(w->figures, 0)->process->identity.start_boot_ns, 2);
}

static void garbage_is_left_alone(void)
{
	CLEANUP(world_freep) struct world *w = world_new();

	process_begins(w, 1, 1, 1);
	w->cells[1] = (struct figure_cell){ .slot = PROCESS_SLOTS, .op = 1 };
	w->cells[2] = (struct figure_cell){ .slot = 1, .op = OP_ID_MAX };
	w->cells[3] = (struct figure_cell){ .slot = 9, .op = 1 };
	call_ends(&w->cells[1], 1, 1, 0);
	collect(w);
	CHECK_INT_EQ("nothing came of it", figures_get(w->figures, 0)->ops.used.n, 0);
}

static void slow_is_rare(void)
{
	CLEANUP(world_freep) struct world *w = world_new();

	process_begins(w, 1, 1, 1);
	w->cells[1] = (struct figure_cell){ .slot = 1, .op = 1 };
	for (int i = 0; i < 99; i++)
		call_ends(&w->cells[1], 1000, 1000, 0);
	collect(w);
	CHECK_INT_EQ("too few calls to say: a long one", w->cells[1].slow_ns, RECORD_LONG_NS);
	for (int i = 0; i < 900; i++)
		call_ends(&w->cells[1], 1000, 1000, 0);
	collect(w);
	CHECK_INT_IN("always alike: none is slow", w->cells[1].slow_ns, 1984, 2100);
	for (int i = 0; i < 100; i++)
		call_ends(&w->cells[1], 100000, 100000, 0);
	collect(w);
	CHECK_INT_IN("the longest hundredth", w->cells[1].slow_ns, 98304, 106496);
}

static void behind_adds_up(void)
{
	CLEANUP(world_freep) struct world *w = world_new();
	const struct behind_key key = { .slot = 1, .tgid = 6603 };
	struct behind_value other = { .comm = "another" };
	static const uint64_t readings[] = { 100, 250, 40, 60 }; /* the third began anew */

	process_begins(w, 1, 1, 1);
	collect(w);
	for (size_t i = 0; i < ARRAY_SIZE(readings); i++) {
		struct behind_value value = { .ns = readings[i], .comm = "logrotate" };

		CHECK_INT_EQ("note", figures_behind(w->figures, &key, &value), 0);
		CHECK_INT_EQ("read", figures_behind_read(w->figures, true), 0);
	}
	CHECK_INT_EQ("one culprit", figures_get(w->figures, 0)->behind.n, 1);
	CHECK_INT_EQ("its time", figures_get(w->figures, 0)->behind.items[0].ns, 310);

	/* Nothing came: who has that number now kept nobody waiting. */
	other.ns = readings[ARRAY_SIZE(readings) - 1];
	CHECK_INT_EQ("note", figures_behind(w->figures, &key, &other), 0);
	CHECK_INT_EQ("read", figures_behind_read(w->figures, true), 0);
	CHECK_STR_EQ("its name", figures_get(w->figures, 0)->behind.items[0].comm, "logrotate");
	other.ns++;
	CHECK_INT_EQ("note", figures_behind(w->figures, &key, &other), 0);
	CHECK_INT_EQ("read", figures_behind_read(w->figures, true), 0);
	CHECK_STR_EQ("the other's", figures_get(w->figures, 0)->behind.items[0].comm, "another");
}

/* Whoever starts thousands of short processes beside it costs each answer about it no more than some do. */
static void short_neighbours_are_summed(void)
{
	CLEANUP(world_freep) struct world *w = world_new();
	const struct process_figures *p;
	uint64_t all_ns = 0, told_ns = 0;

	process_begins(w, 1, 1, 1);
	collect(w);
	for (uint32_t i = 0; i < 20000; i++) {
		const struct behind_key key = { .slot = 1, .is_between = i & 1, .tgid = 100 + i };
		const struct behind_value value = { .ns = 1000 + i, .uid = 1000, .comm = "short" };

		CHECK_INT_EQ("note", figures_behind(w->figures, &key, &value), 0);
		if (i % 4000 == 3999)
			CHECK_INT_EQ("read", figures_behind_read(w->figures, true), 0);
		all_ns += value.ns;
	}
	p = figures_get(w->figures, 0);
	CHECK("few rows for each answer to walk", p->behind.n <= BEHIND_MOST + BEHIND_SUMS_MOST);
	for (size_t i = 0; i < p->behind.n; i++)
		told_ns += p->behind.items[i].ns;
	CHECK_INT_EQ("no time is missing", told_ns, all_ns);
}

/* The kernel half says it before it counts: what is read then is guarded. */
static void becomes_guarded(void)
{
	CLEANUP(world_freep) struct world *w = world_new();

	process_begins(w, 1, 11, 1);
	process_begins(w, 2, 12, 1);
	collect(w);
	w->slots[1].flags = PROCESS_GUARDED;
	collect(w);
	CHECK_INT_EQ("guarded", figures_find_slot(w->figures, 1)->process->identity.flags, PROCESS_GUARDED);
	CHECK_INT_EQ("not the other", figures_find_slot(w->figures, 2)->process->identity.flags, 0);
	w->slots[1].state = PROCESS_SLOT_GONE;
	collect(w);
	CHECK_INT_EQ("and when it is gone", figures_get(w->figures, 0)->process->identity.flags, PROCESS_GUARDED);
}

static void tablep(struct file_table **t)
{
	file_table_free(*t);
}

/* What a waker waited for has the path that the waker's process sees, if that was told to the process that waited. */
static void files_are_as_who_waited_sees_them(void)
{
	static const struct {
		const char *name;
		uint32_t tgid;
		bool is_meanwhile;
		const char *want;
	} rows[] = {
		{ "itself", 11, false, "/data/train.bin" },
		{ "a waker in another root", 4720, true, "/train.bin" },
		{ "a waker whose path did not come", 4721, true, "train.bin" },
	};
	static const struct {
		uint32_t tgid, slot, n_bytes;
		char text[16];
	} records[] = {
		{ 11, 1, 15, "train.bin\0data" },
		{ 4720, 1, 10, "train.bin" },
		{ 4721, 2, 15, "train.bin\0data" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(tablep) struct file_table *files = file_table_new();
		CLEANUP(world_freep) struct world *w = world_new();
		const struct wait_key key = { .resource = 7,
					      .device = 8 << 20,
					      .tid = rows[i].tgid,
					      .slot = 1,
					      .class = BLAME_BLOCK_IO,
					      .kind = RESOURCE_INODE,
					      .is_meanwhile = rows[i].is_meanwhile };
		const struct wait_value value = { .ns = 1000,
						  .max_ns = 1000,
						  .count = 1,
						  .name = "train.bin",
						  .name_hash = 9,
						  .tgid = rows[i].tgid };

		figures_set_files(w->figures, files);
		process_begins(w, 1, 11, 1);
		collect(w);
		for (size_t k = 0; k < ARRAY_SIZE(records); k++) {
			struct file_record record = { .key = { .inode = 7,
							       .device = 8 << 20,
							       .name_hash = 9,
							       .tgid = records[k].tgid,
							       .slot = records[k].slot },
						      .n_bytes = records[k].n_bytes };

			memcpy(record.text, records[k].text, sizeof(records[k].text));
			CHECK_INT_EQ(rows[i].name, file_table_note(files, &record), 0);
		}
		CHECK_INT_EQ(rows[i].name, figures_wait(w->figures, &key, &value), 0);
		CHECK_INT_EQ(rows[i].name, figures_accounts_read(w->figures, true, true), 0);
		CHECK_INT_EQ(rows[i].name, figures_get(w->figures, 0)->waits.n, 1);
		CHECK_STR_EQ(rows[i].name, figures_get(w->figures, 0)->waits.items[0].name, rows[i].want);
	}
}

int main(void)
{
	counts_add_up();
	calls_of_no_length_count();
	counters_wrap();
	incarnations_stay_apart();
	garbage_is_left_alone();
	slow_is_rare();
	behind_adds_up();
	short_neighbours_are_summed();
	becomes_guarded();
	files_are_as_who_waited_sees_them();
	return check_result();
}
