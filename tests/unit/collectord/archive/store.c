// SPDX-License-Identifier: Apache-2.0
/*
 * Everything that is handed over is in the file, once, as it was given.
 */
#include "archive/write/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "detect/finding.h"
#include "figures/tick.h"
#include "procs/system_sample.h"
#include "tests/support/check.h"
#include "tests/support/store_world.h"

static void books_are_whole(const char *name, const struct store_world *world)
{
	struct store_books books;

	store_books_read(world->path, world->n_calls, &books);
	CHECK(name, books.is_open);
	CHECK(name, books.is_intact);
	CHECK_INT_EQ(name, books.n_events, world->n_calls);
	CHECK_INT_EQ(name, books.n_missing, 0);
	CHECK_INT_EQ(name, books.n_doubled, 0);
	CHECK_INT_EQ(name, books.n_wrong, 0);
	CHECK_INT_EQ(name, books.n_nameless, 0);
	CHECK_INT_EQ(name, books.n_damaged, 0);
	CHECK_INT_EQ(name, books.n_counted[0], world->n_ticked);
	if (world->has_stacks)
		CHECK_INT_EQ(name, books.n_stacks_none, 0);
	else
		CHECK_INT_EQ(name, books.n_stacks, 0);
}

static void round_trip(void)
{
	static const struct {
		const char *name;
		uint32_t calls; /* between two ticks */
		uint32_t ticks;
		bool closes;
		bool has_tails; /* at the end */
		bool has_blocks;
	} cases[] = {
		{ "nothing", 0, 1, true, false, false },
		{ "one call", 1, 1, true, false, true },
		{ "one call, still in the tail", 1, 1, false, true, false },
		{ "a minute", 1009, 60, true, false, true },
		{ "many at once: handed over without a tick", 30011, 1, true, false, true },
		{ "sealed while it goes on", 1009, 70, false, true, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct store_world world;
		struct store_state state;
		struct store_books books;
		struct store *store;

		store_world_init(&world);
		world.has_stacks = i % 2;
		store = store_world_open(&world);
		for (uint32_t t = 0; t < cases[i].ticks; t++) {
			store_world_calls(&world, store, cases[i].calls);
			world.now_ns = MAX(world.now_ns, WORLD_FIRST_NS + (t + 1) * NSEC_PER_SEC * 101 / 100);
			store_world_tick(&world, store);
			CHECK_INT_EQ(cases[i].name, store_flush(store), 0);
		}
		CHECK_INT_EQ(cases[i].name, store_flush(store), 0);
		store_state(store, &state);
		CHECK(cases[i].name, !state.is_failing);
		CHECK_INT_EQ(cases[i].name, state.events, world.n_calls);
		CHECK_INT_EQ(cases[i].name, state.not_kept, 0);
		CHECK(cases[i].name, state.bytes > 4096);
		CHECK_INT_EQ(cases[i].name, state.oldest_unix_ns, world.n_calls ? WORLD_UNIX_NS : 0);
		if (cases[i].closes)
			store_close(store);
		books_are_whole(cases[i].name, &world);
		store_books_read(world.path, world.n_calls, &books);
		CHECK_INT_EQ(cases[i].name, books.n_tails > 0, cases[i].has_tails);
		CHECK_INT_EQ(cases[i].name, books.n_blocks > 0, cases[i].has_blocks);
		if (!cases[i].closes)
			store_close(store);
		books_are_whole(cases[i].name, &world);
		store_world_done(&world);
	}
}

int main(void)
{
	round_trip();
	return check_result();
}
