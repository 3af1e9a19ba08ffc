// SPDX-License-Identifier: Apache-2.0
/*
 * Accounts of many threads and waits of many resources: the largest stay, the others are in sums, and no time is lost.
 */
#include "archive/codec/codec.h"

#include "base/cleanup.h"
#include "tests/support/check.h"

enum { FIRST_TID = 100 };

static const struct {
	const char *name;
	uint32_t threads, waits; /* of each process; the i-th has i + 1 ns, or all the same */
	uint32_t processes;
	bool is_same;
	size_t want_parts, want_waits; /* rows of each process */
	uint32_t least_tid;	       /* of the threads that stay; 0: each stays */
} cases[] = {
	{ "none", 0, 0, 1, false, 0, 0, 0 },
	{ "as many as there may be", FIGURES_THREADS_MOST, FIGURES_WAITS_MOST, 2, false, 2 * FIGURES_THREADS_MOST,
	  FIGURES_WAITS_MOST, 0 },
	{ "one more", FIGURES_THREADS_MOST + 1, FIGURES_WAITS_MOST + 1, 2, false, 2 * FIGURES_THREADS_MOST + 2,
	  FIGURES_WAITS_MOST + 1, FIRST_TID + 1 },
	{ "many", 1000, 5000, 3, false, 2 * FIGURES_THREADS_MOST + 2, FIGURES_WAITS_MOST + 1,
	  FIRST_TID + 1000 - FIGURES_THREADS_MOST },
	{ "many, none longer than another", 1000, 5000, 3, true, 2 * FIGURES_THREADS_MOST + 2, FIGURES_WAITS_MOST + 1,
	  FIRST_TID },
};

struct sums {
	uint64_t parts_ns, waits_ns, waits, longest_ns;
};

static struct sums sums_of(const struct figures_blob *blob, uint32_t process)
{
	struct sums sums = { .parts_ns = 0 };

	for (size_t i = 0; i < blob->parts.n; i++)
		if (blob->parts.items[i].process == process)
			sums.parts_ns += blob->parts.items[i].ns;
	for (size_t i = 0; i < blob->waits.n; i++) {
		const struct stored_wait *w = &blob->waits.items[i];

		if (w->process != process)
			continue;
		sums.waits_ns += w->wait.ns;
		sums.waits += w->wait.count;
		sums.longest_ns = MAX(sums.longest_ns, w->wait.max_ns);
	}
	return sums;
}

static void blob_make(size_t c, struct figures_blob *blob)
{
	for (uint32_t process = 1; process <= cases[c].processes; process++) {
		for (uint32_t i = 0; i < cases[c].threads; i++)
			for (int where = ACCOUNT_BETWEEN; where <= ACCOUNT_IN; where++) {
				const struct stored_part part = { .process = process,
								  .tid = FIRST_TID + i,
								  .is_driving = true,
								  .where = (uint8_t)where,
								  .ns = cases[c].is_same ? 5 : i + 1 };

				CHECK_INT_EQ(cases[c].name, figures_blob_add_part(blob, &part), 0);
			}
		for (uint32_t i = 0; i < cases[c].waits; i++) {
			const struct stored_wait wait = { .process = process,
							  .wait = { .tid = FIRST_TID,
								    .kind = RESOURCE_INODE,
								    .resource = 1 + i,
								    .class = BLAME_BLOCK_IO,
								    .count = 1,
								    .ns = cases[c].is_same ? 5 : i + 1,
								    .max_ns = cases[c].is_same ? 5 : i + 1 } };

			CHECK_INT_EQ(cases[c].name, figures_blob_add_wait(blob, &wait), 0);
		}
	}
}

static void kept_check(size_t c, const struct figures_blob *blob)
{
	uint64_t least_kept_ns = cases[c].waits > FIGURES_WAITS_MOST ? cases[c].waits - FIGURES_WAITS_MOST + 1 : 1;

	for (size_t i = 0; i < blob->parts.n; i++) {
		const struct stored_part *p = &blob->parts.items[i];

		CHECK_INT_EQ(cases[c].name, p->is_driving, p->tid != 0);
		CHECK(cases[c].name, p->tid == 0 ? cases[c].least_tid != 0 : p->tid >= cases[c].least_tid);
		CHECK(cases[c].name,
		      i == 0 || p->process > p[-1].process || p->tid > p[-1].tid || p->where > p[-1].where);
	}
	for (size_t i = 0; i < blob->waits.n; i++) {
		const struct stored_wait *w = &blob->waits.items[i];

		bool is_sum = !w->wait.resource; /* the thread that waited has the shortest clock */

		CHECK_INT_EQ(cases[c].name, w->wait.tid, is_sum && cases[c].least_tid > FIRST_TID ? 0 : FIRST_TID);
		CHECK_INT_EQ(cases[c].name, w->wait.class, BLAME_BLOCK_IO);
		CHECK_INT_EQ(cases[c].name, w->wait.kind, RESOURCE_INODE);
		CHECK(cases[c].name, is_sum || cases[c].is_same || w->wait.ns >= least_kept_ns);
		CHECK(cases[c].name, i == 0 || w->process > w[-1].process || w->wait.resource > w[-1].wait.resource);
	}
}

int main(void)
{
	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		CLEANUP(figures_blob_done) struct figures_blob blob = { 0 };
		struct sums before[4] = { 0 };

		blob_make(c, &blob);
		for (uint32_t process = 1; process <= cases[c].processes; process++)
			before[process] = sums_of(&blob, process);
		for (int turn = 0; turn < 2; turn++) { /* a second time there is nothing to do */
			CHECK_INT_EQ(cases[c].name, figures_blob_fold(&blob), 0);
			CHECK_INT_EQ(cases[c].name, blob.parts.n, cases[c].want_parts * cases[c].processes);
			CHECK_INT_EQ(cases[c].name, blob.waits.n, cases[c].want_waits * cases[c].processes);
			kept_check(c, &blob);
			for (uint32_t process = 1; process <= cases[c].processes; process++) {
				const struct sums after = sums_of(&blob, process);

				CHECK_INT_EQ(cases[c].name, after.parts_ns, before[process].parts_ns);
				CHECK_INT_EQ(cases[c].name, after.waits_ns, before[process].waits_ns);
				CHECK_INT_EQ(cases[c].name, after.waits, before[process].waits);
				CHECK_INT_EQ(cases[c].name, after.longest_ns, before[process].longest_ns);
			}
		}
	}
	return check_result();
}
