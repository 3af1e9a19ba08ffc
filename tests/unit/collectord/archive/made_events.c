// SPDX-License-Identifier: Apache-2.0
#include "made_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

uint64_t made_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15ull; /* splitmix64, public domain */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint64_t made_random_width(uint64_t *seed)
{
	uint64_t width = made_random(seed) % 65, value = made_random(seed);

	return width ? value >> (64 - width) : 0;
}

static void fill_zero(struct stored_event *e, uint64_t *seed)
{
	(void)e;
	(void)seed;
}

static void fill_largest(struct stored_event *e, uint64_t *seed)
{
	(void)seed;
	e->call.start_ns = e->call.duration_ns = e->call.raw_ns = UINT64_MAX;
	e->call.args[0] = e->call.args[1] = UINT64_MAX;
	for (int i = 0; i < BLAME_COUNT; i++)
		e->call.blame_ns[i] = UINT64_MAX;
	e->call.tid = e->op = e->process = e->stack = UINT32_MAX;
	e->call.ret = INT32_MIN;
	e->call.reason = e->call.depth = UINT8_MAX;
	e->measured = UINT16_MAX;
}

static void fill_random(struct stored_event *e, uint64_t *seed)
{
	e->call.start_ns = made_random(seed);
	e->call.duration_ns = made_random(seed);
	e->call.raw_ns = made_random(seed);
	e->call.args[0] = made_random(seed);
	e->call.args[1] = made_random(seed);
	for (int i = 0; i < BLAME_COUNT; i++)
		e->call.blame_ns[i] = made_random(seed);
	e->call.tid = (uint32_t)made_random(seed);
	e->op = (uint32_t)made_random(seed);
	e->process = (uint32_t)made_random(seed);
	e->stack = (uint32_t)made_random(seed);
	e->call.ret = (int32_t)made_random(seed);
	e->call.reason = (uint8_t)made_random(seed);
	e->call.depth = (uint8_t)made_random(seed);
	e->measured = (uint16_t)made_random(seed);
}

static void fill_width(struct stored_event *e, uint64_t *seed)
{
	e->call.start_ns = made_random_width(seed);
	e->call.duration_ns = made_random_width(seed);
	e->call.raw_ns = made_random_width(seed);
	e->call.args[0] = made_random_width(seed);
	e->call.args[1] = made_random_width(seed);
	for (int i = 0; i < BLAME_COUNT; i++)
		e->call.blame_ns[i] = made_random(seed) % 3 ? 0 : made_random_width(seed);
	e->call.tid = (uint32_t)made_random_width(seed);
	e->op = (uint32_t)made_random_width(seed);
	e->process = (uint32_t)made_random_width(seed);
	e->stack = (uint32_t)made_random_width(seed);
	e->call.ret = (int32_t)made_random_width(seed);
	e->call.reason = (uint8_t)made_random_width(seed);
	e->call.depth = (uint8_t)made_random_width(seed);
	e->measured = (uint16_t)made_random_width(seed);
}

/* As a machine makes them: few of everything, blame within what was measured. */
static void fill_ordinary(struct stored_event *e, uint64_t *seed)
{
	uint64_t left_ns;

	e->call.start_ns = 5000000000000 + made_random(seed) % 10000000000;
	e->call.duration_ns = made_random(seed) >> (36 + made_random(seed) % 16);
	e->call.raw_ns = e->call.duration_ns + 700 + 300 * (made_random(seed) % 3);
	left_ns = e->call.raw_ns;
	for (int n = (int)(made_random(seed) % 3); n; n--) {
		uint32_t class = 1 + (uint32_t)(made_random(seed) % (BLAME_COUNT - 1));
		uint64_t part_ns = made_random(seed) % (left_ns + 1);

		e->call.blame_ns[class] += part_ns;
		left_ns -= part_ns;
	}
	e->call.args[0] = 4096 << made_random(seed) % 12;
	e->call.args[1] = made_random(seed) % 4;
	e->process = 1 + (uint32_t)(made_random(seed) % 5);
	e->call.tid = 4711 + e->process * 10 + (uint32_t)(made_random(seed) % 4);
	e->op = 1 + (uint32_t)(made_random(seed) % 30);
	e->stack = (uint32_t)(made_random(seed) % 2000);
	e->call.ret = made_random(seed) % 50 ? 0 : -2;
	e->call.reason = made_random(seed) % 2 ? RECORD_REASON_SLOW : RECORD_REASON_SAMPLE;
	e->call.depth = (uint8_t)(made_random(seed) % 2);
	e->measured = 0x3ff;
}

/* Parts that add up to more than the whole, a remainder that is stored, measured less than reported. */
static void fill_odd(struct stored_event *e, uint64_t *seed)
{
	e->call.start_ns = made_random(seed) % 1000;
	e->call.duration_ns = made_random(seed) % 1000;
	e->call.raw_ns = made_random(seed) % 1000;
	for (int i = 0; i < BLAME_COUNT; i++)
		e->call.blame_ns[i] = made_random(seed) % 4 ? 0 : made_random(seed) % 2000;
	e->op = 250 + (uint32_t)(made_random(seed) % 10);
	e->call.ret = made_random(seed) % 2 ? INT32_MAX : INT32_MIN;
}

/* Numbers that come again and again, too many for a dictionary. */
static void fill_again(struct stored_event *e, uint64_t *seed)
{
	uint64_t pick = made_random(seed) % 300;

	e->call.args[0] = 0x7f0000000000 + pick * 8192;
	e->call.args[1] = pick;
	e->stack = (uint32_t)pick * 77777;
	e->process = 1;
}

const struct made_kind made_kinds[] = {
	{ "zero", fill_zero },		{ "largest", fill_largest },   { "random", fill_random },
	{ "random width", fill_width }, { "ordinary", fill_ordinary }, { "odd", fill_odd },
	{ "again", fill_again },
};
const size_t n_made_kinds = ARRAY_SIZE(made_kinds);

static int compare_start(const void *a, const void *b)
{
	const struct stored_event *x = a, *y = b;

	return (x->call.start_ns > y->call.start_ns) - (x->call.start_ns < y->call.start_ns);
}

struct stored_event *made_events(const struct made_kind *kind, size_t n)
{
	struct stored_event *events = calloc(n, sizeof(*events));
	uint64_t seed = n;

	if (!events)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		kind->fill(&events[i], &seed);
		events[i].call.op = events[i].op <= UINT16_MAX ? (uint16_t)events[i].op : 0;
	}
	qsort(events, n, sizeof(*events), compare_start);
	return events;
}

bool made_is_same(const struct stored_event *a, const struct stored_event *b)
{
	const struct call_record *x = &a->call, *y = &b->call;

	return x->start_ns == y->start_ns && x->duration_ns == y->duration_ns && x->raw_ns == y->raw_ns &&
	       memcmp(x->args, y->args, sizeof(x->args)) == 0 &&
	       memcmp(x->blame_ns, y->blame_ns, sizeof(x->blame_ns)) == 0 && x->tid == y->tid && x->ret == y->ret &&
	       x->op == y->op && x->reason == y->reason && x->depth == y->depth && a->process == b->process &&
	       a->op == b->op && a->stack == b->stack && a->measured == b->measured;
}
