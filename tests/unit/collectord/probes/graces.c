// SPDX-License-Identifier: Apache-2.0
/*
 * Grace periods beside the loop: as few as serve all requests, each begun after what it serves was requested; and no
 * turn of the loop serves more than one.
 */
#include "probes/graces.h"

#include "base/cleanup.h"
#include "tests/support/check.h"

#define REQUESTS_MAX 16

static struct world {
	struct graces graces;
	struct asker {
		uint64_t n_periods; /* at its request */
		unsigned int n_called, n_again;
		struct asker *forgets; /* NULL: none */
		bool closes;
	} askers[REQUESTS_MAX];
	const char *name;
} world;

static void asker_called(void *data);

static void request(struct asker *asker)
{
	asker->n_periods = world.graces.n_periods;
	CHECK_INT_EQ(world.name, graces_request(&world.graces, asker_called, asker), 0);
}

static void asker_called(void *data)
{
	struct asker *asker = data;

	CHECK("a period that began later", world.graces.n_periods > asker->n_periods);
	asker->n_called++;
	if (asker->forgets)
		graces_forget(&world.graces, asker->forgets);
	if (asker->n_again) {
		asker->n_again--;
		request(asker);
	}
	if (asker->closes)
		graces_close(&world.graces);
}

static unsigned int n_called(void)
{
	unsigned int n = 0;

	for (size_t i = 0; i < REQUESTS_MAX; i++)
		n += world.askers[i].n_called;
	return n;
}

enum then { NOTHING, FORGET_LAST, FORGET_FIRST, FIRST_FORGETS_LAST, SECOND_FORGETS_LAST, FIRST_CLOSES, CLOSE };

static const struct {
	const char *name;
	unsigned int n, n_again; /* requests; how often the first one asks again when it is called */
	enum then then;
	unsigned int n_calls;
	uint64_t n_periods;
} rows[] = {
	{ "one", 1, 0, NOTHING, 1, 1 },
	{ "one, again and again", 1, 3, NOTHING, 4, 4 },
	{ "all leases of a user in one turn: the first begins a period, the others share the next", 16, 0, NOTHING, 16,
	  2 },
	{ "the first asks again", 3, 1, NOTHING, 4, 2 },
	{ "the last is forgotten", 3, 0, FORGET_LAST, 2, 2 },
	{ "the first is forgotten, whose period has begun", 3, 0, FORGET_FIRST, 2, 2 },
	{ "the first forgets one of the next period", 3, 0, FIRST_FORGETS_LAST, 2, 2 },
	{ "one forgets another of its period", 3, 0, SECOND_FORGETS_LAST, 2, 2 },
	{ "the first closes", 3, 0, FIRST_CLOSES, 1, 1 },
	{ "closed meanwhile", 3, 0, CLOSE, 0, 1 },
};

static void check_row(size_t i, uv_loop_t *loop)
{
	struct asker *last = &world.askers[rows[i].n - 1];

	world = (struct world){ .name = rows[i].name };
	CHECK_INT_EQ(world.name, graces_open(&world.graces, loop), 0);
	world.askers[0].n_again = rows[i].n_again;
	world.askers[0].closes = rows[i].then == FIRST_CLOSES;
	if (rows[i].then == FIRST_FORGETS_LAST || rows[i].then == SECOND_FORGETS_LAST)
		world.askers[rows[i].then == SECOND_FORGETS_LAST].forgets = last;
	for (unsigned int k = 0; k < rows[i].n; k++)
		request(&world.askers[k]);
	if (rows[i].then == FORGET_LAST || rows[i].then == FORGET_FIRST)
		graces_forget(&world.graces, rows[i].then == FORGET_LAST ? last : &world.askers[0]);
	CHECK_INT_EQ("nobody waited for it", n_called(), 0);
	if (rows[i].then == CLOSE)
		graces_close(&world.graces);
	while (world.graces.is_open && uv_loop_alive(loop)) {
		unsigned int n_before = n_called();

		(void)uv_run(loop, UV_RUN_ONCE);
		CHECK("one in a turn", n_called() <= n_before + 1);
	}
	CHECK_INT_EQ(world.name, n_called(), rows[i].n_calls);
	CHECK_INT_EQ(world.name, world.graces.n_periods, rows[i].n_periods);
	graces_close(&world.graces);
	(void)uv_run(loop, UV_RUN_DEFAULT);
}

int main(void)
{
	uv_loop_t loop;

	CHECK_INT_EQ("loop", uv_loop_init(&loop), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(i, &loop);
	CHECK_INT_EQ("loop", uv_loop_close(&loop), 0);
	return check_result();
}
