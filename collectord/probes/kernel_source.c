// SPDX-License-Identifier: Apache-2.0
#include "probes/kernel_source.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "clock.h"
#include "probes/probe_set.h"
#include "probes/probe_stacks.h"

/* How often figures are read, milliseconds: fast enough for a live table. */
#define SECOND_MS 1000

struct kernel {
	struct source source;
	struct probe_set *probes;
	struct ring *ring;
	uv_timer_t timer;
	void (*on_second)(void *data);
	void *data;
};

static struct kernel *kernel_of(const struct source *source)
{
	return (struct kernel *)(uintptr_t)source; /* `source` is the first member */
}

static const char *kernel_name(const struct source *source)
{
	return probe_back_end_to_string(probe_set_back_end(kernel_of(source)->probes));
}

static const struct process_slot *kernel_slots(const struct source *source)
{
	return probe_set_slots(kernel_of(source)->probes);
}

static struct figure_cell *kernel_cells(const struct source *source)
{
	return probe_set_cells(kernel_of(source)->probes);
}

static uint32_t kernel_cells_used(struct source *source)
{
	return probe_set_cells_used(kernel_of(source)->probes);
}

static const struct left_out *kernel_left_out(const struct source *source)
{
	return probe_set_left_out_read(kernel_of(source)->probes);
}

static int kernel_slot_release(struct source *source, uint32_t slot)
{
	return probe_set_slot_release(kernel_of(source)->probes, slot);
}

static int kernel_behind(struct source *source, source_behind_func func, void *data)
{
	return probe_set_behind(kernel_of(source)->probes, func, data);
}

static int kernel_accounts(struct source *source, source_account_func func, void *data)
{
	return probe_set_accounts(kernel_of(source)->probes, func, data);
}

static int kernel_waits(struct source *source, source_wait_func func, void *data)
{
	return probe_set_waits(kernel_of(source)->probes, func, data);
}

static int kernel_interpreter(const struct source *source, uint32_t tgid, struct interpreter *ret)
{
	return probe_set_interpreter(kernel_of(source)->probes, tgid, ret);
}

static int kernel_in_flight(struct source *source, struct in_flight_record *ret, size_t room)
{
	return probe_set_in_flight(kernel_of(source)->probes, ret, room);
}

static void kernel_losses(const struct source *source, uint64_t ret_losses[LOSS_COUNT])
{
	probe_set_losses(kernel_of(source)->probes, ret_losses);
}

static void kernel_user_losses(const struct source *source, uint32_t uid, uint64_t losses[LOSS_COUNT])
{
	probe_set_user_losses(kernel_of(source)->probes, uid, losses);
}

static void kernel_user_losses_take(struct source *source, source_user_loss_func func, void *data)
{
	probe_set_user_losses_take(kernel_of(source)->probes, func, data);
}

static uint64_t kernel_refused(const struct source *source)
{
	return ring_refused(kernel_of(source)->ring);
}

static bool kernel_measures(const struct source *source, enum blame_class class)
{
	return probe_set_measures(kernel_of(source)->probes, class);
}

static uint64_t kernel_now_ns(const struct source *source)
{
	(void)source;
	return clock_now_ns();
}

static void kernel_drain(struct source *source)
{
	ring_drain(kernel_of(source)->ring);
}

static void kernel_drain_stacks(struct source *source)
{
	ring_drain_stacks(kernel_of(source)->ring);
}

static void kernel_timer_closed(uv_handle_t *timer)
{
	free(timer->data);
}

static void kernel_close(struct source *source)
{
	struct kernel *k = kernel_of(source);

	ring_close(k->ring);
	k->ring = NULL;
	uv_close((uv_handle_t *)&k->timer, kernel_timer_closed);
}

static const struct source_ops kernel_ops = {
	.name = kernel_name,
	.slots = kernel_slots,
	.cells = kernel_cells,
	.cells_used = kernel_cells_used,
	.left_out = kernel_left_out,
	.slot_release = kernel_slot_release,
	.behind = kernel_behind,
	.accounts = kernel_accounts,
	.waits = kernel_waits,
	.interpreter = kernel_interpreter,
	.in_flight = kernel_in_flight,
	.losses = kernel_losses,
	.user_losses = kernel_user_losses,
	.user_losses_take = kernel_user_losses_take,
	.refused = kernel_refused,
	.measures = kernel_measures,
	.now_ns = kernel_now_ns,
	.drain = kernel_drain,
	.drain_stacks = kernel_drain_stacks,
	.close = kernel_close,
};

static void kernel_timer_fired(uv_timer_t *timer)
{
	struct kernel *k = timer->data;

	k->on_second(k->data);
}

int kernel_open(uv_loop_t *loop, struct probe_set *probes, uint64_t ring_bytes, const struct source_sinks *sinks,
		void *data, struct source **ret_source)
{
	const struct ring_fds fds = { .calls = probe_set_calls_fd(probes),
				      .stacks = probe_set_stacks_fd(probes),
				      .life = probe_set_life_fd(probes) };
	struct kernel *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	k->source.ops = &kernel_ops;
	k->probes = probes;
	k->on_second = sinks->on_second;
	k->data = data;
	r = ring_open(loop, &fds, ring_bytes, &sinks->ring, data, &k->ring);
	if (r < 0) {
		free(k);
		return r;
	}
	(void)uv_timer_init(loop, &k->timer);
	k->timer.data = k;
	if (k->on_second)
		(void)uv_timer_start(&k->timer, kernel_timer_fired, SECOND_MS, SECOND_MS);
	*ret_source = &k->source;
	return 0;
}
