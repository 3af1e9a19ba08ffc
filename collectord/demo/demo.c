// SPDX-License-Identifier: Apache-2.0
/* A scenario as a source: played on the loop, by a clock of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "clock.h"
#include "demo/demo.h"
#include "demo/play.h"
#include "events/source.h"

/* Period of a turn, milliseconds: the period of reading a busy ring. */
#define TURN_MS 20
/* A step that begins in the last moment of a scenario ends at most this much later. */
#define OVERTIME_NS (200 * NSEC_PER_MSEC)

struct demo {
	struct source source;
	struct demo_play play;
	struct source_sinks sinks;
	void *data;
	uv_timer_t timer;
	double speed;
	uint64_t real_start_ns; /* 0 before the start */
	uint64_t start_ns;	/* the same on the demo's clock */
	uint64_t second_ns;	/* the next record to deliver, on the demo's clock */
	bool is_over;
	bool is_closed;
};

static struct demo *demo_of(const struct source *source)
{
	return (struct demo *)(uintptr_t)source; /* its first member */
}

/* ---- time ---- */

/* A demo played faster begins in the past, so that its times are never in the future. */
static void time_set(struct demo *d)
{
	uint64_t length_ns = demo_play_length_ns(d->play.scenario) + OVERTIME_NS;
	double early_ns = d->speed > 1 ? (double)length_ns * (1 - 1 / d->speed) : 0;

	d->start_ns = clock_now_ns();
	d->start_ns -= MIN((uint64_t)early_ns, d->start_ns);
	d->second_ns = d->start_ns + NSEC_PER_SEC;
}

static uint64_t boot_ns(uint64_t monotonic_ns)
{
	struct timespec boot;

	(void)clock_gettime(CLOCK_BOOTTIME, &boot);
	return (uint64_t)boot.tv_sec * NSEC_PER_SEC + (uint64_t)boot.tv_nsec + monotonic_ns - clock_now_ns();
}

static void life_tell(const struct demo *d, uint8_t type)
{
	const struct process_slot *slot = &d->play.slots[DEMO_SLOT];
	struct life_record life = {
		.time_ns = d->play.now_ns,
		.start_boot_ns = slot->start_boot_ns,
		.tgid = slot->tgid,
		.tid = slot->tgid,
		.uid = slot->uid,
		.slot = DEMO_SLOT,
		.type = type,
	};

	memcpy(life.comm, slot->comm, sizeof(life.comm));
	d->sinks.ring.on_life(&life, d->data);
}

static void second_tell(const struct demo *d)
{
	if (!d->is_closed && d->sinks.on_second)
		d->sinks.on_second(d->data);
}

/* The second that it ends in is short: whoever hears of the end reads the last figures. */
static void demo_finish(struct demo *d)
{
	d->is_over = true;
	(void)uv_timer_stop(&d->timer);
	d->sinks.ring.on_drained(d->data);
	if (!d->is_closed)
		life_tell(d, RECORD_EXIT);
}

/* Whoever is told may close us: is_closed is looked at again after each call. */
static void demo_timer_fired(uv_timer_t *timer)
{
	struct demo *d = timer->data;
	uint64_t real_ns = clock_now_ns() - d->real_start_ns;
	uint64_t until_ns = d->start_ns + (uint64_t)((double)real_ns * d->speed);

	if (d->is_over) {
		demo_finish(d); /* for one who came after the end */
		return;
	}
	while (!d->is_closed && d->play.now_ns < until_ns) {
		if (!demo_play_until(&d->play, MIN(until_ns, d->second_ns))) {
			demo_finish(d);
			return;
		}
		d->sinks.ring.on_drained(d->data);
		if (d->play.now_ns < d->second_ns)
			continue;
		d->second_ns += NSEC_PER_SEC;
		second_tell(d);
	}
}

static void demo_begin(struct demo *d)
{
	d->real_start_ns = clock_now_ns();
	time_set(d);
	demo_play_begin(&d->play, d->start_ns, boot_ns(d->start_ns), getuid());
	life_tell(d, RECORD_EXEC);
}

/* ---- the source ---- */

static const char *demo_name(const struct source *source)
{
	(void)source;
	return "demo";
}

static const struct process_slot *demo_slots(const struct source *source)
{
	return demo_of(source)->play.slots;
}

static struct figure_cell *demo_cells(const struct source *source)
{
	return demo_of(source)->play.cells;
}

static uint32_t demo_cells_used(struct source *source)
{
	return demo_of(source)->play.cells_used;
}

static int demo_slot_release(struct source *source, uint32_t slot)
{
	return demo_play_release(&demo_of(source)->play, slot);
}

static void behind_tell(const struct demo_play *p, const uint64_t behind_ns[DEMO_HOGS], bool is_between,
			source_behind_func func, void *data)
{
	for (size_t i = 0; i < DEMO_HOGS; i++) {
		const struct demo_hog *hog = &p->scenario->hogs[i];
		struct behind_key key = { .slot = DEMO_SLOT, .is_between = is_between, .tgid = hog->tgid };
		struct behind_value value = { .ns = behind_ns[i], .uid = hog->is_root ? 0 : p->slots[DEMO_SLOT].uid };

		if (!behind_ns[i])
			continue;
		memcpy(value.comm, hog->comm, sizeof(value.comm));
		func(&key, &value, data);
	}
}

static int demo_behind(struct source *source, source_behind_func func, void *data)
{
	const struct demo_play *p = &demo_of(source)->play;

	behind_tell(p, p->behind_ns, /* is_between= */ false, func, data);
	behind_tell(p, p->behind_between_ns, /* is_between= */ true, func, data);
	return 0;
}

static int demo_accounts(struct source *source, source_account_func func, void *data)
{
	const struct demo_play *p = &demo_of(source)->play;

	for (size_t i = 0; i < DEMO_THREADS; i++) {
		struct account_record record;

		if (demo_play_account(p, i, &record))
			func(&record, data);
	}
	return 0;
}

static int demo_waits(struct source *source, source_wait_func func, void *data)
{
	const struct demo_play *p = &demo_of(source)->play;

	for (size_t i = 0; i < p->n_waits; i++)
		func(&p->waits[i].key, &p->waits[i].value, data);
	return 0;
}

static int demo_in_flight(struct source *source, struct in_flight_record *ret, size_t room)
{
	return (int)demo_play_in_flight(&demo_of(source)->play, ret, room);
}

static void demo_losses(const struct source *source, uint64_t ret_losses[LOSS_COUNT])
{
	(void)source;
	memset(ret_losses, 0, LOSS_COUNT * sizeof(ret_losses[0])); /* a demo has no ring that could be full */
}

static uint64_t demo_refused(const struct source *source)
{
	(void)source;
	return 0;
}

static bool demo_measures(const struct source *source, enum blame_class class)
{
	(void)source;
	return class < BLAME_COUNT;
}

static uint64_t demo_now_ns(const struct source *source)
{
	struct demo *d = demo_of(source);

	if (!d->real_start_ns) {
		time_set(d); /* it is about to begin */
		d->play.now_ns = d->start_ns;
	}
	return d->play.now_ns;
}

static void demo_record(struct source *source, bool is_on, bool all, uint32_t sample_every)
{
	struct demo *d = demo_of(source);
	struct demo_play *p = &d->play;

	p->records_any |= is_on;
	p->records_all |= is_on && all;
	if (is_on && sample_every && (!p->sample_every || sample_every < p->sample_every))
		p->sample_every = sample_every;
	if (!d->real_start_ns)
		demo_begin(d);
	/* Told in a later turn, so that whoever asks has begun to listen. */
	(void)uv_timer_start(&d->timer, demo_timer_fired, TURN_MS, TURN_MS);
}

static void demo_drain(struct source *source)
{
	(void)source; /* records are delivered at once, and a request does not advance the clock */
}

static void demo_timer_closed(uv_handle_t *timer)
{
	struct demo *d = timer->data;

	demo_play_done(&d->play);
	free(d);
}

static void demo_close(struct source *source)
{
	struct demo *d = demo_of(source);

	d->is_closed = true;
	uv_close((uv_handle_t *)&d->timer, demo_timer_closed);
}

static const struct source_ops demo_ops = {
	.is_invented = true,
	.name = demo_name,
	.slots = demo_slots,
	.cells = demo_cells,
	.cells_used = demo_cells_used,
	.slot_release = demo_slot_release,
	.behind = demo_behind,
	.accounts = demo_accounts,
	.waits = demo_waits,
	.in_flight = demo_in_flight,
	.losses = demo_losses,
	.refused = demo_refused,
	.measures = demo_measures,
	.now_ns = demo_now_ns,
	.record = demo_record,
	.drain = demo_drain,
	.close = demo_close,
};

bool demo_exists(const char *name)
{
	return demo_scenario_find(name);
}

int demo_open(uv_loop_t *loop, const char *name, double speed, uint64_t seed, const struct source_sinks *sinks,
	      void *data, struct source **ret_source)
{
	const struct demo_scenario *scenario = demo_scenario_find(name);
	struct demo *d;
	int r;

	if (!scenario)
		return -ENOENT;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	r = demo_play_init(&d->play, scenario, seed);
	if (r < 0) {
		free(d);
		return r;
	}
	d->source.ops = &demo_ops;
	d->sinks = *sinks;
	d->data = data;
	d->speed = speed;
	d->play.on_call = sinks->ring.on_call;
	d->play.data = data;
	time_set(d);
	d->play.now_ns = d->start_ns;
	(void)uv_timer_init(loop, &d->timer);
	d->timer.data = d;
	*ret_source = &d->source;
	return 0;
}
