// SPDX-License-Identifier: Apache-2.0
/*
 * What a process does at the last moment, at each moment of a collect: what it counted and
 * recorded is read before its slot is given to another.
 */
#include "pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "clock.h"
#include "events/event.h"
#include "events/host.h"
#include "figures/figures.h"
#include "figures/tick.h"
#include "procs/process_table.h"
#include "tests/support/check.h"
#include "tests/support/fake_source.h"

#define SLOT 5
#define TGID 4711
#define OP_EARLY 3
#define OP_LATE 4

enum moment { AFTER_DRAIN, AFTER_CELLS_USED, AFTER_BEHIND };

struct world {
	struct fake_source fake;
	enum moment end_at;
	bool has_ended, is_record_waiting, is_hidden_late;
	unsigned int n_released;
	unsigned int n_accounts; /* readings since it ended */
	uint64_t n_user_losses;	 /* since they were taken */
	struct pipeline *pipeline;
	const char *name;
};

static struct world *world_of(const struct source *source)
{
	return (struct world *)(uintptr_t)source; /* its first member */
}

static void call_ends(struct world *w, uint32_t op)
{
	struct figure_cell *cell = &w->fake.cells[w->fake.cells_used++];

	cell->slot = SLOT;
	cell->op = op;
	cell->total_ns = cell->raw_ns = 1000;
	cell->buckets[histogram_bucket_of(1000)] = 1;
}

static void moment_is(struct world *w, enum moment moment)
{
	if (w->has_ended || moment != w->end_at)
		return;
	w->has_ended = true;
	call_ends(w, OP_LATE);
	w->is_record_waiting = true;
	w->fake.slots[SLOT].gone_ns = clock_now_ns();
	w->fake.slots[SLOT].state = PROCESS_SLOT_GONE;
}

static uint32_t fake_cells_used(struct source *source)
{
	uint32_t n = world_of(source)->fake.cells_used;

	moment_is(world_of(source), AFTER_CELLS_USED);
	return n;
}

static int fake_slot_release(struct source *source, uint32_t slot)
{
	struct world *w = world_of(source);

	CHECK(w->name, !w->is_record_waiting);
	w->fake.slots[slot] = (struct process_slot){ .state = PROCESS_SLOT_FREE };
	w->n_released++;
	return 0;
}

static int fake_behind(struct source *source, source_behind_func func, void *data)
{
	(void)func;
	(void)data;
	moment_is(world_of(source), AFTER_BEHIND);
	return 0;
}

/* Of a thread that ended: told once, while its process has its slot. */
static int fake_accounts(struct source *source, source_account_func func, void *data)
{
	struct world *w = world_of(source);
	const struct account_record record = {
		.now_ns = 3 * NSEC_PER_SEC,
		.runtime_ns = NSEC_PER_SEC,
		.tgid = TGID,
		.tid = TGID,
		.slot = SLOT,
		.account = { .since_ns = NSEC_PER_SEC, .calls = 2, .away_ns[BLAME_LOCK] = NSEC_PER_SEC }
	};

	if (w->has_ended && !w->n_accounts++) {
		CHECK(w->name, w->fake.slots[SLOT].state != PROCESS_SLOT_FREE);
		func(&record, data);
	}
	return 0;
}

static int fake_waits(struct source *source, source_wait_func func, void *data)
{
	static const struct wait_key key = { .tid = TGID, .slot = SLOT, .class = BLAME_LOCK, .kind = RESOURCE_GIL };
	static const struct wait_value value = { .ns = NSEC_PER_SEC, .max_ns = NSEC_PER_SEC, .count = 1 };
	struct world *w = world_of(source);

	if (w->is_hidden_late)
		w->fake.slots[SLOT].flags = PROCESS_GUARDED;
	if (w->has_ended)
		func(&key, &value, data);
	return 0;
}

static uint64_t fake_now_ns(const struct source *source)
{
	(void)source;
	return clock_now_ns();
}

static void fake_drain(struct source *source)
{
	struct world *w = world_of(source);
	struct call_record record = {
		.type = RECORD_CALL, .tgid = TGID, .slot = SLOT, .op = OP_LATE, .duration_ns = 1000
	};

	if (w->is_record_waiting)
		pipeline_call(w->pipeline, &record);
	w->is_record_waiting = false;
	moment_is(w, AFTER_DRAIN);
}

static void fake_user_losses_take(struct source *source, source_user_loss_func func, void *data)
{
	struct world *w = world_of(source);

	if (w->n_user_losses)
		func(1000, LOSS_WAITS, w->n_user_losses, data);
	w->n_user_losses = 0;
}

static struct world *world_new(const char *name)
{
	struct world *w = calloc(1, sizeof(*w));
	struct source_ops *ops = &w->fake.ops;

	fake_source_init(&w->fake);
	ops->cells_used = fake_cells_used;
	ops->slot_release = fake_slot_release;
	ops->behind = fake_behind;
	ops->accounts = fake_accounts;
	ops->waits = fake_waits;
	ops->user_losses_take = fake_user_losses_take;
	ops->now_ns = fake_now_ns;
	ops->drain = fake_drain;
	w->name = name;
	return w;
}

static void ends_while_read(const char *name, enum moment end_at)
{
	CLEANUP(freep) struct world *w = world_new(name);
	struct pipeline_options options = { .source = &w->fake.source };
	const struct op_figures *early, *late;
	const struct process_figures *p;

	w->end_at = end_at;
	w->fake.slots[SLOT] = (struct process_slot){ .tgid = TGID, .state = PROCESS_SLOT_LIVE, .comm = "train" };
	call_ends(w, OP_EARLY);
	CHECK_INT_EQ(name, process_table_new(&options.processes), 0);
	CHECK_INT_EQ(name, pipeline_new(&options, &w->pipeline), 0);

	pipeline_collect(w->pipeline);
	pipeline_collect(w->pipeline);
	CHECK_INT_EQ(name, w->n_released, 1);
	CHECK_INT_EQ(name, figures_count(pipeline_figures(w->pipeline)), 1);
	p = figures_get(pipeline_figures(w->pipeline), 0);
	early = op_list_find(&p->ops, OP_EARLY);
	late = op_list_find(&p->ops, OP_LATE);
	CHECK(name, early && op_figures_count(early) == 1);
	CHECK(name, late && op_figures_count(late) == 1);
	CHECK(name, p->gone_ns != 0);
	CHECK_INT_EQ(name, p->accounts.n, 1);
	CHECK_INT_EQ(name, p->accounts.n ? p->accounts.items[0].wall_ns : 0, 2 * NSEC_PER_SEC);
	CHECK_INT_EQ(name, p->waits.n, 1);
	CHECK_INT_EQ(name, p->waits.n ? p->waits.items[0].ns : 0, NSEC_PER_SEC);
	pipeline_free(w->pipeline);
	CHECK_INT_EQ(name, process_table_count(options.processes), 0);
	process_table_free(options.processes);
}

/* The kernel half marks a process before it counts a wait, which may be while waits are read. */
static void hides_while_read(void)
{
	CLEANUP(freep) struct world *w = world_new("hides");
	struct pipeline_options options = { .source = &w->fake.source };
	const struct process_figures *p;

	w->has_ended = true; /* a thread of it: accounts and waits are told */
	w->is_hidden_late = true;
	w->fake.slots[SLOT] = (struct process_slot){ .tgid = TGID, .state = PROCESS_SLOT_LIVE, .comm = "train" };
	CHECK_INT_EQ("hides", process_table_new(&options.processes), 0);
	CHECK_INT_EQ("hides", pipeline_new(&options, &w->pipeline), 0);
	pipeline_collect(w->pipeline);
	p = figures_get(pipeline_figures(w->pipeline), 0);
	CHECK_INT_EQ("its wait is read", p->waits.n, 1);
	CHECK("and is not its user's", process_is_guarded(p->process));
	pipeline_free(w->pipeline);
	CHECK_INT_EQ("hides", process_table_count(options.processes), 0);
	process_table_free(options.processes);
}

static void user_loss_note(const struct tick *tick, bool is_last, void *data)
{
	uint64_t *n = data;

	(void)is_last;
	for (size_t i = 0; i < tick->user_losses.n; i++)
		*n += tick->user_losses.items[i].uid == 1000 ? tick->user_losses.items[i].n : 0;
	CHECK_INT_EQ("not everybody's", tick->losses[LOSS_WAITS], 0);
}

/* Losses of one user alone come with the tick in which they occurred; those of a pause with none. */
static void user_losses_in_ticks(void)
{
	static const struct sink_ops sink = { .tick = user_loss_note };
	CLEANUP(freep) struct world *w = world_new("losses of a user");
	uint64_t n = 0;
	struct pipeline_options options = { .source = &w->fake.source, .sinks = { { &sink, &n } } };

	CHECK_INT_EQ("user losses", process_table_new(&options.processes), 0);
	CHECK_INT_EQ("user losses", pipeline_new(&options, &w->pipeline), 0);
	w->n_user_losses = 3;
	pipeline_tick(w->pipeline, /* is_watched= */ false);
	CHECK_INT_EQ("of a pause", n, 0);
	w->n_user_losses = 5;
	pipeline_tick(w->pipeline, /* is_watched= */ true);
	CHECK_INT_EQ("of the tick", n, 5);
	pipeline_tick(w->pipeline, /* is_watched= */ true);
	CHECK_INT_EQ("once", n, 5);
	pipeline_free(w->pipeline);
	process_table_free(options.processes);
}

/* ---- the list of sinks ---- */

struct told {
	char order[16]; /* a letter of each sink for each event */
	struct process *process[8];
	size_t n;
};

static void first_event(const struct event *event, void *data)
{
	struct told *told = data;

	told->order[strlen(told->order)] = 'a';
	told->process[told->n++] = event->process;
}

static void second_event(const struct event *event, void *data)
{
	struct told *told = data;

	told->order[strlen(told->order)] = event->life ? 'H' : 'b';
}

/* In order, with the entry of the process: another from the moment on that it is guarded, or its number is another's.
 */
static void sinks_in_order(void)
{
	static const struct sink_ops first = { .event = first_event }, second = { .event = second_event };
	CLEANUP(freep) struct world *w = world_new("sinks");
	struct told told = { .n = 0 };
	struct pipeline_options options = { .source = &w->fake.source,
					    .sinks = { { &first, &told }, { &second, &told } } };
	struct call_record call = { .type = RECORD_CALL, .tgid = TGID, .slot = SLOT, .op = OP_LATE };
	const struct process_identity identity = { .tgid = TGID, .start_boot_ns = 7, .comm = "sh" };
	struct host_event host = { .process = NULL };
	struct life_record life = { .type = RECORD_FORK };

	w->fake.slots[SLOT] =
		(struct process_slot){ .tgid = TGID, .start_boot_ns = 7, .state = PROCESS_SLOT_LIVE, .comm = "train" };
	CHECK_INT_EQ("sinks", process_table_new(&options.processes), 0);
	CHECK_INT_EQ("sinks", pipeline_new(&options, &w->pipeline), 0);
	host.process = process_table_take(options.processes, &identity);
	pipeline_call(w->pipeline, &call);
	CHECK_STR_EQ("called as at its first call", process_name(host.process), "train");
	pipeline_host(w->pipeline, &host, &life);
	CHECK("an event of the host is of the same entry", told.process[1] == told.process[0]);
	w->fake.slots[SLOT].flags = PROCESS_GUARDED;
	pipeline_call(w->pipeline, &call);
	CHECK("guarded from now on", process_is_guarded(told.process[2]));
	w->fake.slots[SLOT].flags = 0;
	w->fake.slots[SLOT].start_boot_ns = 8;
	pipeline_call(w->pipeline, &call);
	CHECK_INT_EQ("another with its number", told.process[3]->identity.start_boot_ns, 8);
	CHECK("which is not guarded", !process_is_guarded(told.process[3]));
	CHECK_STR_EQ("each before the next", told.order, "abaHabab");
	CHECK_INT_EQ("nobody remembers those before", process_table_count(options.processes), 1);

	w->has_ended = true;
	w->fake.slots[SLOT].state = PROCESS_SLOT_GONE;
	pipeline_collect(w->pipeline);
	CHECK_INT_EQ("gone", w->fake.slots[SLOT].tgid, 0);
	pipeline_call(w->pipeline, &call);
	CHECK_INT_EQ("what comes late is its own all the same", told.process[4]->identity.start_boot_ns, 8);
	pipeline_free(w->pipeline);
	CHECK_INT_EQ("nobody is held", process_table_count(options.processes), 0);
	process_table_free(options.processes);
}

int main(void)
{
	sinks_in_order();
	hides_while_read();
	user_losses_in_ticks();
	ends_while_read("ends once records were fetched", AFTER_DRAIN);
	ends_while_read("ends once cells were counted", AFTER_CELLS_USED);
	ends_while_read("ends once cells were read", AFTER_BEHIND);
	return check_result();
}
