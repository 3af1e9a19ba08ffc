// SPDX-License-Identifier: Apache-2.0
/*
 * What it costs to remember processes: the bytes on the heap for each of the 10 000 that ended and
 * of which answers still tell, made through the pipeline as the daemon does.
 */
#include "pipeline.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "detect/engine.h"
#include "figures/figures.h"
#include "procs/process_table.h"
#include "tests/support/check.h"
#include "tests/support/fake_source.h"
#include "tests/support/heap.h"

#define PROCESSES 10000
#define AT_ONCE 500 /* each with OPS cells */
#define OPS 5
#define CALLS 500 /* of each operation */
#define SHORTEST_NS 2000
#define THREADS 2
#define OCTAVES 6 /* that durations of an operation are spread over, short ones being many */

/* 2352 with the C library's own heap. Before histograms were as narrow as their counts: 5642. */
#define BYTES_MOST 2440

struct world {
	struct fake_source fake;
	struct pipeline *pipeline;
};

/* Two threads of each that lives, of which one makes nearly all calls and waits in each operation and between calls. */
static int fake_accounts(struct source *source, source_account_func func, void *data)
{
	const struct fake_source *fake = fake_source_of(source);

	for (uint32_t slot = 1; slot <= AT_ONCE; slot++) {
		const struct process_slot *p = &fake->slots[slot];
		struct account_record r = { .slot = (uint16_t)slot, .tgid = p->tgid, .comm = "train" };

		if (p->state == PROCESS_SLOT_FREE)
			continue;
		r.account.since_ns = p->first_call_ns;
		r.now_ns = fake->now_ns;
		for (uint32_t op = 1; op <= OPS; op++)
			r.account.ops[op] = (struct account_op){
				.ns = (fake->now_ns - p->first_call_ns) / 10,
				.blame_ns = { [BLAME_RUNNABLE] = 1000 + op, [BLAME_DEVICE] = 2000 + op },
				.op = op,
			};
		r.account.away_ns[BLAME_RUNNABLE] = 3000;
		r.account.away_ns[BLAME_SLEEP] = 4000;
		for (uint32_t i = 0; i < THREADS; i++) {
			r.tid = p->tgid + i;
			r.account.calls = i ? 1 : CALLS * OPS;
			func(&r, data);
		}
	}
	return 0;
}

static int fake_waits(struct source *source, source_wait_func func, void *data)
{
	const struct fake_source *fake = fake_source_of(source);

	for (uint32_t slot = 1; slot <= AT_ONCE; slot++) {
		const struct process_slot *p = &fake->slots[slot];
		const struct wait_value value = { .ns = 5 * NSEC_PER_MSEC, .max_ns = 2 * NSEC_PER_MSEC, .count = 4 };

		for (uint32_t i = 0; i < 8 && p->state != PROCESS_SLOT_FREE; i++) {
			const struct wait_key key = { .resource = i + 1,
						      .tid = p->tgid,
						      .slot = (uint16_t)slot,
						      .class = BLAME_LOCK,
						      .kind = RESOURCE_FUTEX };

			func(&key, &value, data);
		}
	}
	return 0;
}

static void nothing_found(const struct finding *finding, enum engine_change change, void *data)
{
	(void)finding;
	(void)change;
	(void)data;
}

static void second_passes(struct world *w)
{
	w->fake.now_ns += NSEC_PER_SEC;
	pipeline_tick(w->pipeline, /* is_watched= */ true);
}

static void cell_fill(struct figure_cell *cell, uint32_t slot, uint32_t op, uint32_t *random)
{
	*cell = (struct figure_cell){ .slot = (uint16_t)slot, .op = (uint16_t)op };
	for (uint32_t i = 0; i < CALLS; i++) {
		uint64_t ns;

		*random = *random * 1103515245u + 12345u;
		ns = SHORTEST_NS + ((uint64_t)SHORTEST_NS * op >> 1);
		ns += ns * (*random >> 16 & 1023) / 1024;
		ns <<= __builtin_ctz(*random >> 12 | 1u << (OCTAVES - 1));
		cell->buckets[histogram_bucket_of(ns)]++;
		cell->raw_ns += ns;
		cell->total_ns += ns;
	}
	cell->max_ns = (uint64_t)SHORTEST_NS << OCTAVES;
}

/* They come, call and are gone, some at a time. @begin, @end: of their numbers */
static void processes_pass(struct world *w, uint32_t begin, uint32_t end)
{
	uint32_t random = 1;

	for (uint32_t first = begin; first < end; first += AT_ONCE) {
		for (uint32_t i = 0; i < AT_ONCE; i++) {
			w->fake.slots[1 + i] = (struct process_slot){ .start_boot_ns = first + i + 1,
								      .first_call_ns = w->fake.now_ns,
								      .tgid = 1000 + first + i,
								      .uid = 1000,
								      .state = PROCESS_SLOT_LIVE,
								      .comm = "train" };
			for (uint32_t k = 0; k < OPS; k++)
				cell_fill(&w->fake.cells[1 + i * OPS + k], 1 + i, 1 + k, &random);
		}
		second_passes(w);
		for (uint32_t i = 0; i < AT_ONCE; i++) {
			w->fake.slots[1 + i].gone_ns = w->fake.now_ns;
			w->fake.slots[1 + i].state = PROCESS_SLOT_GONE;
		}
		second_passes(w);
		second_passes(w);
	}
}

int main(void)
{
	CLEANUP(freep) struct world *w = calloc(1, sizeof(*w));
	struct pipeline_options options = { .source = &w->fake.source };
	struct engine *engine;
	uint64_t calls = 0;
	size_t before, each, n_accounts = 0;

	fake_source_init(&w->fake);
	w->fake.ops.accounts = fake_accounts;
	w->fake.ops.waits = fake_waits;
	w->fake.ops.is_invented = true;
	w->fake.cells_used = 1 + AT_ONCE * OPS;
	w->fake.now_ns = NSEC_PER_SEC;
	CHECK_INT_EQ("a table", process_table_new(&options.processes), 0);
	CHECK_INT_EQ("detectors", engine_new(options.processes, nothing_found, NULL, &engine), 0);
	options.sinks[0] = engine_sink(engine);
	CHECK_INT_EQ("a pipeline", pipeline_new(&options, &w->pipeline), 0);
	/* The first make what is as large as the number of those that live: a tick's lists. */
	processes_pass(w, 0, AT_ONCE);
	before = heap_bytes();
	processes_pass(w, AT_ONCE, PROCESSES);
	each = (heap_bytes() - before) / (PROCESSES - AT_ONCE);

	CHECK_INT_EQ("all are remembered", figures_count(pipeline_figures(w->pipeline)), PROCESSES);
	for (size_t i = 0; i < PROCESSES; i++) {
		const struct process_figures *p = figures_get(pipeline_figures(w->pipeline), i);

		for (uint32_t op = 1; op <= OPS; op++) {
			const struct op_figures *figures = op_list_find(&p->ops, op);

			calls += figures ? op_figures_count(figures) : 0;
		}
		n_accounts += p->accounts.n;
		CHECK("with its time", !p->accounts.n || p->accounts.items[0].wall_ns >= NSEC_PER_SEC);
	}
	CHECK_INT_EQ("those that went last with the account of their driving thread", n_accounts, 128);
	CHECK_INT_EQ("with every call", calls, (uint64_t)PROCESSES * OPS * CALLS);
	(void)printf("%zu bytes for each remembered process of %d operations\n", each, OPS);
	CHECK("no more than that", each <= BYTES_MOST);
	pipeline_free(w->pipeline);
	engine_free(engine);
	CHECK_INT_EQ("nobody is held", process_table_count(options.processes), 0);
	process_table_free(options.processes);
	return check_result();
}
