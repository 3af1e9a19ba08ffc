// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_source.h"

#include <string.h>

static const char *fake_name(const struct source *source)
{
	(void)source;
	return "fake";
}

static const struct process_slot *fake_slots(const struct source *source)
{
	return fake_source_of(source)->slots;
}

static struct figure_cell *fake_cells(const struct source *source)
{
	return fake_source_of(source)->cells;
}

static uint32_t fake_cells_used(struct source *source)
{
	return fake_source_of(source)->cells_used;
}

static int fake_slot_release(struct source *source, uint32_t slot)
{
	fake_source_of(source)->slots[slot] = (struct process_slot){ .state = PROCESS_SLOT_FREE };
	return 0;
}

static int fake_behind(struct source *source, source_behind_func func, void *data)
{
	(void)source;
	(void)func;
	(void)data;
	return 0;
}

static int fake_in_flight(struct source *source, struct in_flight_record *ret, size_t room)
{
	(void)source;
	(void)ret;
	(void)room;
	return 0;
}

static void fake_losses(const struct source *source, uint64_t ret_losses[LOSS_COUNT])
{
	(void)source;
	memset(ret_losses, 0, LOSS_COUNT * sizeof(ret_losses[0]));
}

static uint64_t fake_refused(const struct source *source)
{
	(void)source;
	return 0;
}

static bool fake_measures(const struct source *source, enum blame_class class)
{
	(void)source;
	(void)class;
	return true;
}

static uint64_t fake_now_ns(const struct source *source)
{
	return fake_source_of(source)->now_ns;
}

static void fake_drain(struct source *source)
{
	(void)source;
}

void fake_source_init(struct fake_source *fake)
{
	fake->ops = (struct source_ops){
		.name = fake_name,
		.slots = fake_slots,
		.cells = fake_cells,
		.cells_used = fake_cells_used,
		.slot_release = fake_slot_release,
		.behind = fake_behind,
		.in_flight = fake_in_flight,
		.losses = fake_losses,
		.refused = fake_refused,
		.measures = fake_measures,
		.now_ns = fake_now_ns,
		.drain = fake_drain,
	};
	fake->source.ops = &fake->ops;
	fake->cells_used = 1;
}
