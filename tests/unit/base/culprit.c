// SPDX-License-Identifier: Apache-2.0
/*
 * The process to blame has one name in all texts, with or without its owner's, and within its bounds.
 */
#include "base/culprit.h"

#include "base/cleanup.h"
#include "tests/support/check.h"

#define VICTIM 4711

static const struct {
	const char *name;
	struct culprit_of culprit;
	const char *want;
} cases[] = {
	{ "another process", { 6603, 0, VICTIM, "logrotate", false, "root", NULL, 0 }, "logrotate (pid 6603, root)" },
	{ "no owner told", { 6603, 0, VICTIM, "logrotate", false, NULL, NULL, 0 }, "logrotate (pid 6603)" },
	{ "a thread of another process",
	  { 6603, 6605, VICTIM, "logrotate", false, NULL, NULL, 0 },
	  "logrotate (pid 6603)" },
	{ "a thread of its own", { VICTIM, 4715, VICTIM, "python", true, "alice", NULL, 0 }, "its own thread 4715" },
	{ "several of its own, no name told", { VICTIM, 0, VICTIM, "", true, NULL, NULL, 0 }, "its own other threads" },
	{ "several of its own",
	  { VICTIM, 0, VICTIM, "pt_autograd_0", true, "alice", NULL, 0 },
	  "its own other threads (such as pt_autograd_0)" },
	{ "several of its own, named as the process is",
	  { VICTIM, 0, VICTIM, "python", true, NULL, "python", 0 },
	  "its own other threads" },
	{ "several of its own, named otherwise than the process",
	  { VICTIM, 0, VICTIM, "pt_autograd_0", true, NULL, "python", 0 },
	  "its own other threads (such as pt_autograd_0)" },
	{ "another process of the same name",
	  { 6603, 0, VICTIM, "python", false, NULL, "python", 0 },
	  "python (pid 6603)" },
	{ "several of one name", { 6603, 0, VICTIM, "cc1", false, "root", NULL, 214 }, "cc1 (214 processes, root)" },
	{ "several of one name, no owner told", { 6603, 0, VICTIM, "cc1", false, NULL, NULL, 2 }, "cc1 (2 processes)" },
	{ "hidden, of another user", { 0, 0, VICTIM, "", false, "bob", NULL, 0 }, "another user's process (bob)" },
	{ "hidden, of another user, no owner told",
	  { 0, 0, VICTIM, "", false, NULL, NULL, 0 },
	  "another user's process" },
	{ "hidden, of the same user", { 0, 0, VICTIM, "", true, NULL, NULL, 0 }, "another process" },
	{ "hidden, and the victim has no pid either",
	  { 0, 3, 0, "", true, "alice", NULL, 0 },
	  "another process (alice)" },
	{ "long names",
	  { UINT32_MAX, 0, VICTIM, "sixteen letters! and more", false, "a-user-name-of-more-than-forty-letters-is-cut",
	    NULL, 0 },
	  "sixteen letters! and (pid 4294967295, a-user-name-of-more-than-forty-letters-i)" },
};

static const struct {
	const char *name;
	size_t n;
	bool is_same_user;
	const char *user;
	const char *want;
} hidden[] = {
	{ "several hidden", 3, false, "bob", "3 processes (bob)" },
	{ "several hidden, no owner told", 3, false, NULL, "3 processes of other users" },
	{ "several hidden, of the same user", 2, true, NULL, "2 other processes" },
	{ "one hidden", 1, false, "bob", "another user's process (bob)" },
};

#define NOBODY 99

/* The processes of a cause: the first, and others. */
static const struct culprit_one culprits[] = {
	{ .is_hidden = false, .group = 0, .share = 0.25 },  { .is_hidden = true, .group = 7, .share = 0.125 },
	{ .is_hidden = true, .group = 0, .share = 0.0625 }, { .is_hidden = true, .group = 7, .share = 0.5 },
	{ .is_hidden = false, .group = 7, .share = 0.25 },
};

static struct culprit_one culprit_at(const void *data, size_t i)
{
	return ((const struct culprit_one *)data)[i];
}

static const struct {
	const char *name;
	uint32_t group;
	struct culprit_group want;
} groups[] = {
	{ "two of a group, told with the first", 7, { 2, 0.625, 1 } },
	{ "one that is known is not counted", 0, { 1, 0.0625, 2 } },
	{ "none of a group", NOBODY, { 0, 0, 0 } },
};

static void check_groups(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		struct culprit_group got =
			culprit_group_of(culprit_at, culprits, ARRAY_SIZE(culprits), groups[i].group);

		CHECK_INT_EQ(groups[i].name, got.n, groups[i].want.n);
		CHECK_INT_EQ(groups[i].name, got.first, groups[i].want.first);
		CHECK(groups[i].name, got.share == groups[i].want.share);
	}
}

int main(void)
{
	check_groups();
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		CHECK_STR_EQ(hidden[i].name,
			     culprit_hidden_several(hidden[i].n, hidden[i].is_same_user, hidden[i].user).text,
			     hidden[i].want);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_STR_EQ(cases[i].name, culprit_name(&cases[i].culprit).text, cases[i].want);
	return check_result();
}
