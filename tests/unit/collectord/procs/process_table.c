// SPDX-License-Identifier: Apache-2.0
/* Entries are of incarnations: a number that comes back, an exec and a process that becomes guarded are others. */
#include "procs/process_table.h"

#include "base/cleanup.h"
#include "tests/support/check.h"

#define MANY 5000 /* more than buckets at first */

static void others(void)
{
	static const struct {
		const char *name;
		struct process_identity identity;
	} cases[] = {
		{ "one", { .start_boot_ns = 7, .tgid = 4711, .exec_gen = 1, .comm = "train" } },
		{ "its number comes back", { .start_boot_ns = 8, .tgid = 4711, .exec_gen = 1, .comm = "other" } },
		{ "another program", { .start_boot_ns = 7, .tgid = 4711, .exec_gen = 2, .comm = "next" } },
		{ "guarded",
		  { .start_boot_ns = 7, .tgid = 4711, .exec_gen = 2, .flags = PROCESS_GUARDED, .comm = "next" } },
		{ "another number", { .start_boot_ns = 7, .tgid = 4712, .exec_gen = 1, .comm = "train" } },
	};
	struct process *entries[ARRAY_SIZE(cases)], *p;
	struct process_table *table;
	size_t n = 0;

	CHECK_INT_EQ("table", process_table_new(&table), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		entries[i] = process_table_take(table, &cases[i].identity);
		CHECK(cases[i].name, entries[i] != NULL);
		CHECK_INT_EQ(cases[i].name, process_table_count(table), i + 1);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		p = process_table_take(table, &cases[i].identity);
		CHECK(cases[i].name, p == entries[i]);
		CHECK_STR_EQ(cases[i].name, process_name(p), cases[i].identity.comm);
		CHECK_INT_EQ(cases[i].name, process_is_guarded(p), cases[i].identity.flags != 0);
		(void)process_unref(p);
	}
	for (p = process_table_newest(table, 4711); p; p = process_older(p))
		CHECK("the youngest first", p == entries[3 - n++]);
	CHECK_INT_EQ("all of that number", n, 4);
	(void)process_unref(entries[3]);
	CHECK("the one before", process_table_newest(table, 4711) == entries[2]);
	CHECK("nobody has that number", !process_table_newest(table, 1));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (i != 3)
			(void)process_unref(entries[i]);
	CHECK_INT_EQ("nobody is held", process_table_count(table), 0);
	process_table_free(table);
}

/* The wall clock is asked once for an incarnation: what becomes guarded began when it began. */
static void start_kept(void)
{
	static const struct {
		const char *name;
		struct process_identity identity;
		uint64_t start_unix_ns;
	} cases[] = {
		{ "first", { .start_boot_ns = 7, .start_unix_ns = 100, .tgid = 4711 }, 100 },
		{ "becomes guarded",
		  { .start_boot_ns = 7, .start_unix_ns = 103, .tgid = 4711, .flags = PROCESS_GUARDED },
		  100 },
		{ "another program", { .start_boot_ns = 7, .start_unix_ns = 104, .tgid = 4711, .exec_gen = 1 }, 104 },
		{ "its number comes back", { .start_boot_ns = 8, .start_unix_ns = 105, .tgid = 4711 }, 105 },
		{ "a start that is not known", { .start_unix_ns = 106, .tgid = 4711 }, 106 },
		{ "nor of the guarded", { .start_unix_ns = 107, .tgid = 4711, .flags = PROCESS_GUARDED }, 107 },
	};
	struct process *entries[ARRAY_SIZE(cases)];
	struct process_table *table;

	CHECK_INT_EQ("table", process_table_new(&table), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		entries[i] = process_table_take(table, &cases[i].identity);
		CHECK_INT_EQ(cases[i].name, entries[i]->identity.start_unix_ns, cases[i].start_unix_ns);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		(void)process_unref(entries[i]);
	process_table_free(table);
}

/* As at its first call, which is of the program itself: what becomes guarded later, or another program, is not renamed.
 */
static void named(void)
{
	const struct process_identity first = { .start_boot_ns = 7, .tgid = 4711, .comm = "python3" },
				      guarded = { .start_boot_ns = 7,
						  .tgid = 4711,
						  .flags = PROCESS_GUARDED,
						  .comm = "other" },
				      next = { .start_boot_ns = 7, .tgid = 4711, .exec_gen = 1, .comm = "sh" };
	struct process_table *table;
	struct process *p[3];

	CHECK_INT_EQ("table", process_table_new(&table), 0);
	p[0] = process_table_take(table, &first);
	p[0]->row = 3;
	process_called(p[0], "train\0\0\0\0\0\0\0\0\0\0");
	CHECK_STR_EQ("as at its first call", process_name(p[0]), "train");
	CHECK_INT_EQ("no row has that name", p[0]->row, 0);
	p[0]->row = 3;
	process_called(p[0], first.comm);
	CHECK_STR_EQ("and no later one", process_name(p[0]), "train");
	CHECK_INT_EQ("which its row has", p[0]->row, 3);
	p[1] = process_table_take(table, &guarded);
	CHECK_STR_EQ("guarded", process_name(p[1]), "train");
	p[2] = process_table_take(table, &next);
	CHECK_STR_EQ("another program", process_name(p[2]), "sh");
	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		(void)process_unref(p[i]);
	process_table_free(table);
}

static void many(void)
{
	struct process_table *table;
	static struct process *entries[MANY];

	CHECK_INT_EQ("table", process_table_new(&table), 0);
	for (uint32_t i = 0; i < MANY; i++)
		entries[i] = process_table_take(
			table, &(struct process_identity){ .start_boot_ns = i, .tgid = 100 + i % (MANY / 5) });
	for (uint32_t i = 0; i < MANY / 5; i++) {
		struct process *p = process_table_newest(table, 100 + i);

		for (uint32_t k = 4; p; p = process_older(p), k--)
			if (p != entries[i + k * (MANY / 5)])
				CHECK("each chain from the youngest on", false);
	}
	for (uint32_t i = 0; i < MANY; i++)
		(void)process_unref(entries[i]);
	CHECK_INT_EQ("nobody is held", process_table_count(table), 0);
	process_table_free(table);
}

int main(void)
{
	others();
	start_kept();
	named();
	many();
	return check_result();
}
