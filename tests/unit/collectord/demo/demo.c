// SPDX-License-Identifier: Apache-2.0
/*
 * A demo on the loop waits until somebody wants it, tells its beginning first and its end last, counts seconds of its
 * own, never tells of the future, and may be closed by whoever it tells.
 */
#include <uv.h>

#include "base/cleanup.h"
#include "base/demo.h"
#include "clock.h"
#include "demo/demo.h"
#include "tests/support/check.h"

enum close_at { CLOSE_AT_EXIT, CLOSE_AT_SECOND, CLOSE_AT_DRAINED };

struct audience {
	const char *name;
	struct source *source; /* NULL once closed */
	enum close_at close_at;
	bool has_begun;
	bool has_ended;
	uint64_t last_second_ns;
	uint32_t n_seconds;
	uint32_t n_calls;
	uint32_t n_calls_at_end;
	uint32_t n_ends;
};

static void leave(struct audience *a)
{
	if (a->source)
		a->source->ops->close(a->source);
	a->source = NULL;
}

static void on_call(const struct call_record *call, void *data)
{
	struct audience *a = data;

	CHECK(a->name, a->source && a->has_begun && !a->has_ended);
	CHECK(a->name, call->start_ns + call->duration_ns <= clock_now_ns());
	a->n_calls++;
}

static void on_drained(void *data)
{
	struct audience *a = data;

	CHECK(a->name, a->source);
	if (a->close_at == CLOSE_AT_DRAINED)
		leave(a);
}

static void on_second(void *data)
{
	struct audience *a = data;
	uint64_t now_ns = a->source->ops->now_ns(a->source);

	CHECK(a->name, now_ns <= clock_now_ns());
	CHECK_INT_EQ(a->name, a->source->ops->slots(a->source)[1].state, PROCESS_SLOT_LIVE);
	if (a->n_seconds++)
		CHECK_INT_EQ(a->name, now_ns - a->last_second_ns, NSEC_PER_SEC);
	a->last_second_ns = now_ns;
	if (a->close_at == CLOSE_AT_SECOND)
		leave(a);
}

static void on_life(const struct life_record *life, void *data)
{
	struct audience *a = data;

	CHECK_INT_EQ(a->name, life->uid, getuid());
	if (life->type == RECORD_EXEC) {
		CHECK(a->name, !a->has_begun);
		a->has_begun = true;
		return;
	}
	CHECK_INT_EQ(a->name, life->type, RECORD_EXIT);
	CHECK_INT_EQ(a->name, a->source->ops->slots(a->source)[1].state,
		     a->has_ended ? PROCESS_SLOT_FREE : PROCESS_SLOT_GONE);
	a->has_ended = true;
	if (++a->n_ends == 1) {
		CHECK_INT_EQ(a->name, a->source->ops->slot_release(a->source, 1), 0);
		/* Whoever comes after the end hears of it, too. */
		a->source->ops->record(a->source, true, false, 0);
		return;
	}
	leave(a);
}

static const struct {
	const char *name;
	const char *demo;
	enum close_at close_at;
	bool ends;
	uint32_t least_seconds;
} cases[] = {
	{ "to its end", "incident", CLOSE_AT_EXIT, true, 12 },
	{ "another", "cold-start", CLOSE_AT_EXIT, true, 10 },
	{ "closed in a second", "incident", CLOSE_AT_SECOND, false, 1 },
	{ "closed after calls", "cpu-contention", CLOSE_AT_DRAINED, false, 0 },
};

static void check_play(size_t i)
{
	static const struct source_sinks sinks = {
		.ring = { .on_call = on_call, .on_life = on_life, .on_drained = on_drained },
		.on_second = on_second,
	};
	struct audience a = { .name = cases[i].name, .close_at = cases[i].close_at };
	uint64_t losses[LOSS_COUNT], before_ns;
	uv_loop_t loop;

	CHECK_INT_EQ(a.name, uv_loop_init(&loop), 0);
	CHECK_INT_EQ(a.name, demo_open(&loop, cases[i].demo, DEMO_SPEED_MAX, 1, &sinks, &a, &a.source), 0);
	if (!a.source)
		return;
	CHECK_STR_EQ(a.name, a.source->ops->name(a.source), "demo");
	for (int class = 0; class < BLAME_COUNT; class ++)
		CHECK(a.name, a.source->ops->measures(a.source, (enum blame_class) class));
	memset(losses, 0xff, sizeof(losses));
	a.source->ops->losses(a.source, losses);
	for (int k = 0; k < LOSS_COUNT; k++)
		CHECK_INT_EQ(a.name, losses[k], 0);
	CHECK_INT_EQ(a.name, a.source->ops->refused(a.source), 0);

	/* Nobody asked: nothing goes on. */
	before_ns = a.source->ops->now_ns(a.source);
	CHECK(a.name, before_ns <= clock_now_ns());
	CHECK_INT_EQ(a.name, uv_run(&loop, UV_RUN_DEFAULT), 0);
	CHECK(a.name, !a.has_begun && a.source->ops->now_ns(a.source) >= before_ns);

	a.source->ops->record(a.source, true, true, 0);
	CHECK(a.name, a.source->ops->now_ns(a.source) >= before_ns);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	CHECK(a.name, !a.source && a.has_begun);
	CHECK_INT_EQ(a.name, a.has_ended, cases[i].ends);
	CHECK_INT_EQ(a.name, a.n_ends, cases[i].ends ? 2 : 0);
	CHECK_INT_IN(a.name, a.n_seconds, cases[i].least_seconds, cases[i].least_seconds + 2);
	CHECK(a.name, a.n_calls > 0);
	CHECK_INT_EQ(a.name, uv_loop_close(&loop), 0);
}

int main(void)
{
	struct source *source = NULL;
	uv_loop_t loop;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_play(i);

	CHECK_INT_EQ("unknown", uv_loop_init(&loop), 0);
	CHECK_INT_EQ("unknown", demo_open(&loop, "gpu-steal", 1, 1, &(struct source_sinks){ 0 }, NULL, &source),
		     -ENOENT);
	CHECK("unknown", !source && !demo_exists("gpu-steal") && demo_exists("incident"));
	CHECK_INT_EQ("unknown", uv_loop_close(&loop), 0);
	return check_result();
}
