// SPDX-License-Identifier: Apache-2.0
/*
 * Loads that ran unseen, as the loader tells of them and as the mapping shows them, in any order and also where the
 * kernel does not say what file it was: each counts once.
 */
#include "probes/target_late.h"

#include "base/cleanup.h"
#include "clock.h"
#include "probes/probe_set.h"
#include "probes/target_file.h"
#include "tests/support/check.h"

#define GONE 0x7ffffffe /* no process: beyond every limit */

static uint64_t n_lost;

void probe_set_loss_add(struct probe_set *set, enum loss_reason reason, uint64_t n)
{
	(void)set;
	n_lost += reason == LOSS_LATE_LOAD ? n : 0;
}

enum step { END, TOLD_MISSED, TOLD_BLIND_MISSED, TOLD_BLIND_FOUND, TOLD_BLIND_HELD, TOLD_FOUND, MAPPED };

static const struct {
	const char *name;
	struct {
		enum step step;
		uint64_t inode, base;
	} steps[5];
	uint64_t want;
} cases[] = {
	{ "told of", { { TOLD_MISSED, 1, 0x10000 } }, 1 },
	{ "mapped, and no loader told of it", { { MAPPED, 1, 0x11000 } }, 1 },
	{ "told of, then mapped", { { TOLD_MISSED, 1, 0x10000 }, { MAPPED, 1, 0x11000 } }, 1 },
	{ "mapped, then told of", { { MAPPED, 1, 0x11000 }, { TOLD_FOUND, 1, 0x10000 } }, 1 },
	{ "told of blindly", { { TOLD_BLIND_MISSED, 1, 0x10000 } }, 1 },
	{ "told of blindly, then mapped", { { TOLD_BLIND_MISSED, 1, 0x10000 }, { MAPPED, 1, 0x11000 } }, 1 },
	{ "mapped, then told of blindly", { { MAPPED, 1, 0x11000 }, { TOLD_BLIND_MISSED, 1, 0x10000 } }, 1 },
	{ "told of blindly, and found after it was counted",
	  { { TOLD_BLIND_MISSED, 1, 0x10000 }, { TOLD_BLIND_FOUND, 1, 0x10000 } },
	  1 },
	{ "mapped, then told of blindly while it is held",
	  { { MAPPED, 1, 0x11000 }, { TOLD_BLIND_HELD, 1, 0x10000 } },
	  0 },
	{ "told of blindly while it is held, then mapped",
	  { { TOLD_BLIND_HELD, 1, 0x10000 }, { MAPPED, 1, 0x11000 } },
	  0 },
	{ "two of which one is told of blindly",
	  { { MAPPED, 1, 0x11000 },
	    { MAPPED, 2, 0x21000 },
	    { TOLD_BLIND_MISSED, 2, 0x20000 },
	    { TOLD_FOUND, 1, 0x10000 } },
	  2 },
	{ "two that are told of blindly",
	  { { TOLD_BLIND_MISSED, 1, 0x10000 },
	    { MAPPED, 2, 0x21000 },
	    { TOLD_BLIND_MISSED, 2, 0x20000 },
	    { MAPPED, 1, 0x11000 } },
	  2 },
	{ "one told of blindly below one that is told of",
	  { { TOLD_BLIND_MISSED, 2, 0x10000 }, { TOLD_FOUND, 1, 0x20000 } },
	  2 },
	{ "one told of blindly below one that is mapped, then told of",
	  { { TOLD_BLIND_MISSED, 2, 0x10000 }, { MAPPED, 1, 0x21000 }, { TOLD_FOUND, 1, 0x20000 } },
	  2 },
	{ "one mapped, one told of blindly below it, then the first is told of",
	  { { MAPPED, 1, 0x21000 }, { TOLD_BLIND_MISSED, 2, 0x10000 }, { TOLD_FOUND, 1, 0x20000 } },
	  2 },
	{ "one mapped, two told of blindly, the lower first",
	  { { MAPPED, 1, 0x21000 }, { TOLD_BLIND_MISSED, 2, 0x10000 }, { TOLD_BLIND_MISSED, 1, 0x20000 } },
	  2 },
	{ "one mapped above two that are told of blindly",
	  { { TOLD_BLIND_MISSED, 2, 0x10000 },
	    { MAPPED, 1, 0x21000 },
	    { TOLD_BLIND_FOUND, 1, 0x20000 },
	    { MAPPED, 2, 0x11000 } },
	  2 },
	{ "one mapped and told of blindly, another told of blindly below it",
	  { { MAPPED, 1, 0x21000 }, { TOLD_BLIND_FOUND, 1, 0x20000 }, { TOLD_BLIND_MISSED, 2, 0x10000 } },
	  2 },
	{ "another's mapping below", { { MAPPED, 1, 0x11000 }, { TOLD_BLIND_MISSED, 2, 0x20000 } }, 2 },
	{ "another's mapping far above", { { MAPPED, 1, 1ull << 40 }, { TOLD_BLIND_MISSED, 2, 0x20000 } }, 2 },
};

static void step_take(struct target_lates *lates, enum step step, uint64_t inode, uint64_t base)
{
	bool is_blind = step == TOLD_BLIND_MISSED || step == TOLD_BLIND_FOUND || step == TOLD_BLIND_HELD;
	struct target_load load = { .tgid = GONE, .base = base, .time_ns = clock_now_ns(), .is_told = step != MAPPED };
	struct target_file file = { .id = { .inode = inode } };

	load.file.inode = is_blind ? 0 : inode;
	file.library.probes = (struct probe_library *)&file; /* there are some */
	file.library.attached_ns = load.time_ns + 1;
	if (load.is_told)
		target_lates_told(lates, &load);
	if (step == TOLD_MISSED || step == TOLD_BLIND_MISSED)
		target_lates_missed(lates, &load);
	else if (step == TOLD_BLIND_HELD)
		target_lates_found(lates, &load, &file);
	else
		target_lates_judge(lates, &load, &file, /* has_loader= */ true);
}

/* When the calls were missed: from the load on, until the attach; of what was never looked at, until that was known. */
static void times_test(void)
{
	struct target_lates lates = { .proc_fd = -1 };
	uint64_t now_ns = clock_now_ns();

	step_take(&lates, MAPPED, 1, 0x11000);
	target_lates_settle(&lates);
	CHECK_INT_EQ("nobody has looked since whether it is gone", lates.n_events, 0);
	target_lates_look(&lates);
	target_lates_settle(&lates);
	CHECK_INT_IN("mapped", lates.events[0].from_ns, now_ns, clock_now_ns());
	CHECK_INT_EQ("attached", lates.events[0].to_ns, lates.events[0].from_ns + 1);
	step_take(&lates, TOLD_MISSED, 2, 0x20000);
	CHECK_INT_IN("missed", lates.events[1].to_ns, lates.events[1].from_ns, clock_now_ns());
	target_lates_done(&lates);
}

#define MANY (TARGET_LATES_EVENTS + 10ull)

static bool is_of(const struct target_late *late, void *data)
{
	return !late->owner.is_known || late->owner.of.uid == *(const uint32_t *)data;
}

/* Whose they were: each hears of his own, of those whose owner is not known, and of what is too long ago. */
static void owners_test(void)
{
	static const struct {
		const char *name;
		uint64_t from;
		uint32_t uid;
		uint64_t want;
	} asks[] = {
		{ "of one", 0, 1000, 3 },	 { "of the other", 0, 1001, 2 },	{ "of somebody else", 0, 7, 1 },
		{ "of one, later", 2, 1000, 2 }, { "of the other, later", 3, 1001, 1 }, { "none since", 4, 1000, 0 },
	};
	static const struct target_owner owners[] = {
		{ .of.uid = 1000, .is_known = true },
		{ .of.uid = 1001, .is_known = true },
		{ .of.uid = 1000, .is_known = true },
		{ .is_known = false },
	};
	static struct target_lates lates = { .proc_fd = -1 };

	n_lost = 0;
	for (uint32_t i = 0; i < ARRAY_SIZE(owners); i++)
		target_lates_count(&lates, GONE - i, &owners[i]);
	CHECK_INT_EQ("all of them are lost", n_lost, ARRAY_SIZE(owners));
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
		uint32_t uid = asks[i].uid;

		CHECK_INT_EQ(asks[i].name, target_lates_seen(&lates, asks[i].from, is_of, &uid), asks[i].want);
	}
	for (uint64_t i = ARRAY_SIZE(owners); i < MANY; i++)
		target_lates_count(&lates, GONE, &owners[1]);
	CHECK_INT_EQ("forgotten ones are everybody's", target_lates_seen(&lates, 0, is_of, &(uint32_t){ 7 }),
		     MANY - TARGET_LATES_EVENTS);
	CHECK_INT_EQ("later ones are not", target_lates_seen(&lates, MANY - 1, is_of, &(uint32_t){ 7 }), 0);
}

int main(void)
{
	owners_test();
	times_test();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct target_lates lates = { .n_told = 0 };

		n_lost = 0;
		for (size_t k = 0; k < ARRAY_SIZE(cases[i].steps) && cases[i].steps[k].step != END; k++)
			step_take(&lates, cases[i].steps[k].step, cases[i].steps[k].inode, cases[i].steps[k].base);
		target_lates_look(&lates);
		target_lates_settle(&lates);
		CHECK_INT_EQ(cases[i].name, n_lost, cases[i].want);
		CHECK_INT_EQ(cases[i].name, lates.suspects.n, 0);
		target_lates_done(&lates);
	}
	return check_result();
}
