// SPDX-License-Identifier: Apache-2.0
/*
 * Sums of short-lived processes by the thousand: an hour of them takes several rows, one behind the other, so that
 * what is held in memory has a limit; each figure is in exactly one row of its level.
 */
#include "archive/write/buckets.h"

#include "base/cleanup.h"
#include "tests/support/check.h"

enum {
	HOUR = 100,	  /* since 1970; any will do */
	PROCESSES = 2000, /* new ones in each 10 s */
	TENS = 60,	  /* of these, ten minutes */
	TOTAL = PROCESSES * TENS,
};

static void tens_add(struct buckets *buckets, uint32_t uid, int64_t number, uint32_t first)
{
	struct owner_figures owner = { .uid = uid };
	struct batch_figures figures = { .bucket = number,
					 .t0_ns = (uint64_t)number * 10,
					 .t1_ns = (uint64_t)(number + 1) * 10 };

	for (uint32_t i = 0; i < PROCESSES; i++) {
		struct stored_figures one = { .process = first + i, .op = 1, .figures = { .total_ns = 7 } };

		if (histogram_add(&one.figures.durations, 3, 1) < 0 || figures_blob_add(&owner.blob, &one) < 0)
			abort();
		op_figures_done(&one.figures);
	}
	if (ARRAY_PUSH(&figures.owners, owner) < 0)
		abort();
	CHECK_INT_EQ("add", buckets_add(buckets, &figures), 0);
	figures_blob_done(&figures.owners.items[0].blob);
	ARRAY_DONE(&figures.owners);
}

/* What is open at once, of all levels. */
static size_t open_figures(const struct buckets *buckets)
{
	size_t n = 0;

	for (int level = 0; level < BUCKET_LEVELS; level++)
		for (size_t i = 0; i < buckets->open[level].n; i++)
			n += buckets->open[level].items[i].blob.figures.n;
	return n;
}

static const struct {
	const char *name;
	int level;
	bool is_split;
} levels[] = {
	{ "10 s", 1, false },
	{ "a minute", 2, false },
	{ "an hour", 3, true },
};

static void rows_check(const struct buckets *buckets)
{
	for (size_t k = 0; k < ARRAY_SIZE(levels); k++) {
		uint64_t end_ns = (uint64_t)HOUR * 3600;
		size_t n = 0, n_rows = 0;

		for (size_t i = 0; i < buckets->rows.n; i++) {
			const struct bucket_row *row = &buckets->rows.items[i];

			if (row->level_s != bucket_level_s[levels[k].level])
				continue;
			CHECK_INT_EQ(levels[k].name, row->t0_ns, end_ns);
			CHECK(levels[k].name, row->n <= BUCKET_ROWS_MAX);
			end_ns = row->t1_ns;
			n += row->n;
			n_rows++;
		}
		CHECK_INT_EQ(levels[k].name, n, TOTAL);
		CHECK_INT_EQ(levels[k].name, end_ns, (uint64_t)HOUR * 3600 + TENS * 10);
		CHECK_INT_EQ(levels[k].name, n_rows > TENS * 10 / bucket_level_s[levels[k].level] + 1,
			     levels[k].is_split);
	}
}

/* A process that waits for another file each time: of an hour there is one row, and its waits have a limit. */
static void waits_check(void)
{
	enum { FRESH = 200, HOUR_TENS = 360 };
	CLEANUP(buckets_done) struct buckets buckets = { 0 };
	size_t n_hours = 0;

	for (uint32_t i = 0; i < HOUR_TENS; i++) {
		struct owner_figures owner = { .uid = 1000 };
		struct batch_figures figures = { .bucket = HOUR * 360 + i, .t0_ns = i, .t1_ns = i + 1 };

		for (uint32_t k = 0; k < FRESH; k++) {
			const struct stored_wait wait = {
				.process = 1,
				.wait = { .tid = 7, .kind = RESOURCE_INODE, .resource = i * FRESH + k, .ns = 1000 + k }
			};

			if (figures_blob_add_wait(&owner.blob, &wait) < 0)
				abort();
		}
		if (ARRAY_PUSH(&figures.owners, owner) < 0)
			abort();
		CHECK_INT_EQ("waits, add", buckets_add(&buckets, &figures), 0);
		figures_blob_done(&figures.owners.items[0].blob);
		ARRAY_DONE(&figures.owners);
	}
	CHECK_INT_EQ("waits, close", buckets_close(&buckets), 0);
	for (size_t i = 0; i < buckets.rows.n; i++) {
		const struct bucket_row *row = &buckets.rows.items[i];
		CLEANUP(figures_blob_done) struct figures_blob blob = { 0 };
		uint64_t ns = 0;

		if (row->level_s < bucket_level_s[1])
			continue;
		CHECK_INT_EQ("waits, decode", figures_blob_decode(row->data.data, row->data.n, row->crc, &blob), 0);
		for (size_t k = 0; k < blob.waits.n; k++)
			ns += blob.waits.items[k].wait.ns;
		CHECK_INT_EQ("waits, their time", ns,
			     (row->t1_ns - row->t0_ns) * (1000 * FRESH + FRESH * (FRESH - 1) / 2));
		CHECK("waits, their number", blob.waits.n <= FIGURES_WAITS_MOST + 1);
		n_hours += row->level_s == bucket_level_s[3];
	}
	CHECK_INT_EQ("waits, rows of an hour", n_hours, 1);
}

int main(void)
{
	CLEANUP(buckets_done) struct buckets buckets = { 0 };
	size_t most = 0;

	for (uint32_t i = 0; i < TENS; i++) {
		tens_add(&buckets, 1000, HOUR * 360 + i, i * PROCESSES);
		most = MAX(most, open_figures(&buckets));
	}
	CHECK("there is a limit", most <= 2 * BUCKET_ROWS_MAX + PROCESSES);
	CHECK_INT_EQ("close", buckets_close(&buckets), 0);
	rows_check(&buckets);
	waits_check();
	return check_result();
}
