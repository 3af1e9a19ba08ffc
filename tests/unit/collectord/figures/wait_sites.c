// SPDX-License-Identifier: Apache-2.0
/* Where waits were: by thread, class and resource; ticks have what is new; stacks are released. */
#include "figures/wait_sites.h"

#include <string.h>

#include "base/cleanup.h"
#include "bpf/record.h"
#include "events/sites.h"
#include "events/stack.h"
#include "figures/account.h"
#include "tests/support/check.h"

#define LOAD "load"
#define STEP "step"

static struct stack *stack_of(const char *func, uint32_t line)
{
	const struct stack_frame frame = {
		.symbol = func, .qualname = "", .file = "train.py", .module = "", .line = line, .is_python = true
	};
	struct stack *stack = stack_new(1000);

	if (stack)
		(void)stack_name(stack, &frame, 1, true, "");
	return stack;
}

static const char *func_of(const struct wait_sites *sites, const struct account_wait *wait, bool is_tick)
{
	const struct sites *found = wait_sites_find(sites, wait, is_tick);
	const struct stack_frame *place = found ? sites_most(found) : NULL;

	return place ? place->symbol : "";
}

static void check_places(struct stack *load, struct stack *step)
{
	static const struct wait_key gil = { .tid = 7, .class = BLAME_LOCK, .kind = RESOURCE_GIL, .resource = 0x1000 };
	static const struct {
		const char *name;
		struct account_wait wait;
		const char *expect, *expect_tick;
	} cases[] = {
		{ "the same", { .tid = 7, .class = BLAME_LOCK, .kind = RESOURCE_GIL, .resource = 0x1000 }, STEP, LOAD },
		{ "with any waker",
		  { .tid = 7, .class = BLAME_LOCK, .kind = RESOURCE_GIL, .resource = 0x1000, .waker_tid = 8 },
		  STEP,
		  LOAD },
		{ "another thread",
		  { .tid = 8, .class = BLAME_LOCK, .kind = RESOURCE_GIL, .resource = 0x1000 },
		  "",
		  "" },
		{ "another class",
		  { .tid = 7, .class = BLAME_OTHER, .kind = RESOURCE_GIL, .resource = 0x1000 },
		  "",
		  "" },
		{ "another kind",
		  { .tid = 7, .class = BLAME_LOCK, .kind = RESOURCE_FUTEX, .resource = 0x1000 },
		  "",
		  "" },
		{ "another resource",
		  { .tid = 7, .class = BLAME_LOCK, .kind = RESOURCE_GIL, .resource = 0x2000 },
		  "",
		  "" },
		{ "a sleep", { .tid = 7, .class = BLAME_SLEEP }, LOAD, "" },
	};
	static const struct wait_key sleep = { .tid = 7, .class = BLAME_SLEEP };
	struct wait_sites *sites = wait_sites_new();

	CHECK("memory", sites);
	if (!sites)
		return;
	wait_sites_note(sites, &gil, load, 3000);
	wait_sites_note(sites, &gil, step, 9000);
	wait_sites_note(sites, &sleep, load, 1);
	wait_sites_taken(sites);
	wait_sites_note(sites, &gil, load, 2000);
	wait_sites_taken(sites);
	wait_sites_note(sites, &gil, step, 1000);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK_STR_EQ(cases[i].name, func_of(sites, &cases[i].wait, false), cases[i].expect);
		CHECK_STR_EQ(cases[i].name, func_of(sites, &cases[i].wait, true), cases[i].expect_tick);
	}
	wait_sites_free(sites);
}

/* A wait in progress has its place at once, and its time later. */
static void check_open(struct stack *load, struct stack *step)
{
	static const struct wait_key lock = { .tid = 7, .class = BLAME_LOCK, .kind = RESOURCE_FUTEX, .resource = 0x10 };
	static const struct account_wait wait = {
		.tid = 7, .class = BLAME_LOCK, .kind = RESOURCE_FUTEX, .resource = 0x10
	};
	struct wait_sites *sites = wait_sites_new();

	CHECK("memory", sites);
	if (!sites)
		return;
	CHECK("none yet", !wait_sites_open(sites, &wait));
	wait_sites_note_open(sites, &lock, step);
	wait_sites_note_open(sites, &lock, load);
	wait_sites_note(sites, &lock, step, 100);
	CHECK("open: the last", wait_sites_open(sites, &wait) == load);
	CHECK_STR_EQ("open: no time yet", func_of(sites, &wait, false), STEP);
	wait_sites_free(sites);
}

/* The one with least time makes place. */
static void check_full(struct stack *load)
{
	const struct account_wait first = { .tid = 1, .class = BLAME_LOCK }, second = { .tid = 2, .class = BLAME_LOCK },
				  last = { .tid = WAIT_SITES_MOST + 1, .class = BLAME_LOCK };
	struct wait_sites *sites = wait_sites_new();

	CHECK("memory", sites);
	for (uint32_t tid = 1; sites && tid <= WAIT_SITES_MOST + 1; tid++)
		wait_sites_note(sites, &(struct wait_key){ .tid = tid, .class = BLAME_LOCK }, load, tid == 2 ? 5 : 10);
	if (!sites)
		return;
	CHECK_STR_EQ("full: with more time", func_of(sites, &first, false), LOAD);
	CHECK_STR_EQ("full: with least time", func_of(sites, &second, false), "");
	CHECK_STR_EQ("full: the newcomer", func_of(sites, &last, false), LOAD);
	wait_sites_free(sites);
}

int main(void)
{
	struct stack *load = stack_of(LOAD, 10), *step = stack_of(STEP, 20);

	CHECK("memory", load && step);
	if (!load || !step)
		return check_result();
	check_places(load, step);
	check_open(load, step);
	check_full(load);
	wait_sites_free(NULL);
	CHECK_INT_EQ("released", load->n_references, 1);
	CHECK_INT_EQ("released", step->n_references, 1);
	(void)stack_unref(load);
	(void)stack_unref(step);
	return check_result();
}
