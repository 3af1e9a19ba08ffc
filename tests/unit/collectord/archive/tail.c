// SPDX-License-Identifier: Apache-2.0
/*
 * Events of a tail row come back bit for bit, in any order of time; a row that was cut gives those
 * before the cut, or damage.
 */
#include "archive/codec/codec.h"

#include <errno.h>

#include "base/cleanup.h"
#include "made_events.h"
#include "tests/support/check.h"

struct seen {
	const struct stored_event *want;
	size_t n;
	size_t n_same;
	size_t stop_at; /* 0: never */
};

static int see(const struct stored_event *event, void *data)
{
	struct seen *seen = data;

	if (seen->want)
		seen->n_same += made_is_same(&seen->want[seen->n], event);
	seen->n++;
	return seen->n == seen->stop_at ? 42 : 0;
}

static void row_of(const struct stored_event *events, size_t n, struct buf *row)
{
	for (size_t i = 0; i < n; i++)
		CHECK_INT_EQ("append", tail_append(row, i ? &events[i - 1] : NULL, &events[i]), 0);
}

static void test_round_trip(void)
{
	static const size_t sizes[] = { 1, 2, 1000 };

	for (size_t k = 0; k < n_made_kinds; k++)
		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
			CLEANUP(freep) struct stored_event *events = made_events(&made_kinds[k], sizes[s]);
			CLEANUP(buf_done) struct buf row = BUF_INIT;
			struct seen seen = { .want = events };

			/* time may go back, to the last nanosecond */
			for (size_t i = 0; i + 1 < sizes[s]; i += 3) {
				struct stored_event swap = events[i];

				events[i] = events[i + 1];
				events[i + 1] = swap;
			}
			row_of(events, sizes[s], &row);
			CHECK_INT_EQ(made_kinds[k].name, tail_decode(row.data, row.n, see, &seen), 0);
			CHECK_INT_EQ(made_kinds[k].name, seen.n, sizes[s]);
			CHECK_INT_EQ(made_kinds[k].name, seen.n_same, sizes[s]);
		}
}

static void test_mixed(void)
{
	CLEANUP(buf_done) struct buf row = BUF_INIT;
	struct stored_event events[2000] = { 0 };
	struct seen seen = { .want = events };
	uint64_t seed = 1;

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		made_kinds[made_random(&seed) % n_made_kinds].fill(&events[i], &seed);
		events[i].call.op = events[i].op <= UINT16_MAX ? (uint16_t)events[i].op : 0;
	}
	row_of(events, ARRAY_SIZE(events), &row);
	CHECK_INT_EQ("all kinds in one row", tail_decode(row.data, row.n, see, &seen), 0);
	CHECK_INT_EQ("all kinds in one row", seen.n_same, ARRAY_SIZE(events));
}

static void test_ends(void)
{
	CLEANUP(freep) struct stored_event *events = made_events(&made_kinds[4], 50);
	CLEANUP(buf_done) struct buf row = BUF_INIT, small = BUF_INIT_CAP(100);
	struct seen seen = { .want = events, .stop_at = 3 };
	size_t n_whole = 0;

	row_of(events, 50, &row);
	CHECK_INT_EQ("stopped", tail_decode(row.data, row.n, see, &seen), 42);
	CHECK_INT_EQ("stopped", seen.n, 3);
	CHECK_INT_EQ("empty", tail_decode(NULL, 0, see, &seen), 0);
	CHECK_INT_EQ("no room", tail_append(&small, NULL, &events[0]), -ENOMEM);
	CHECK_INT_EQ("no room", small.n, 0);

	for (size_t n = 1; n < row.n; n++) {
		struct seen part = { .want = events };
		int r = tail_decode(row.data, n, see, &part);

		CHECK("cut", r == 0 || r == -EBADMSG);
		CHECK_INT_EQ("what came before the cut is right", part.n_same, part.n);
		n_whole += r == 0;
	}
	CHECK_INT_EQ("cut between events", n_whole, 50);

	for (size_t i = 8; i < row.n * 8; i++) {
		struct seen part = { .want = NULL };
		int r;

		row.data[i / 8] ^= (uint8_t)(1u << i % 8);
		r = tail_decode(row.data, row.n, see, &part);
		CHECK("a bit turned", r == 0 || r == -EBADMSG);
		row.data[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	row.data[0]++;
	CHECK_INT_EQ("later format", tail_decode(row.data, row.n, see, &seen), -ENOTSUP);
	row.data[0] = 0;
	CHECK_INT_EQ("no format", tail_decode(row.data, row.n, see, &seen), -EBADMSG);
}

/* By hand: format, which members follow (two bytes), time, duration, members. */
static void test_by_hand(void)
{
	static const struct {
		const char *name;
		uint8_t data[16];
		size_t n;
		int want;
	} cases[] = {
		{ "nothing but time", { 1, 0, 0, 4, 5 }, 5, 0 },
		{ "depth", { 1, 0x80, 0, 4, 5, 0xff, 1 }, 7, 0 },
		{ "depth too large", { 1, 0x80, 0, 4, 5, 0x80, 2 }, 7, -EBADMSG },
		{ "thread", { 1, 8, 0, 4, 5, 0xff, 0xff, 0xff, 0xff, 0xf }, 10, 0 },
		{ "thread too large", { 1, 8, 0, 4, 5, 0xff, 0xff, 0xff, 0xff, 0x1f }, 10, -EBADMSG },
		{ "blame", { 1, 0, 8, 4, 5, 2, 9 }, 7, 0 },
		{ "a class of blame that is none", { 1, 0, 8, 4, 5, 0x80, 8, 9 }, 8, -EBADMSG },
		{ "a member that is none", { 2, 0x80, 0x80, 4, 4, 5, 1 }, 7, -EBADMSG },
		{ "a third argument", { 2, 0x80, 0x20, 4, 5, 1 }, 6, 0 },
		{ "all arguments", { 2, 0x80, 0xec, 3, 4, 5, 1, 1, 1, 1, 1, 1 }, 12, 0 },
		{ "more bits than members", { 2, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 4, 5 }, 9, -EBADMSG },
		{ "a duration of 65 bits",
		  { 1, 0, 0, 4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2 },
		  14,
		  -EBADMSG },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct seen seen = { .want = NULL };

		CHECK_INT_EQ(cases[i].name, tail_decode(cases[i].data, cases[i].n, see, &seen), cases[i].want);
	}
}

int main(void)
{
	test_round_trip();
	test_mixed();
	test_ends();
	test_by_hand();
	return check_result();
}
