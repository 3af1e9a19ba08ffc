// SPDX-License-Identifier: Apache-2.0
#include "rpc/quota.h"

#include <errno.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define NOW_NS 1000000000000ull

static void test_connections(void)
{
	CLEANUP(quota_done) struct quota quota = QUOTA_INIT;
	struct quota_user *alice = NULL, *bob = NULL, *more = NULL;

	for (int i = 0; i < QUOTA_USER_CONNECTIONS; i++)
		CHECK_INT_EQ("alice's", quota_connect(&quota, 1000, NOW_NS, &alice), 0);
	CHECK_INT_EQ("one more of alice's", quota_connect(&quota, 1000, NOW_NS, &more), -EDQUOT);
	CHECK("untouched", more == NULL);
	CHECK_INT_EQ("bob's", quota_connect(&quota, 1001, NOW_NS, &bob), 0);
	CHECK("bob is not alice", alice != bob);
	quota_disconnect(&quota, alice);
	CHECK_INT_EQ("alice's, one having gone", quota_connect(&quota, 1000, NOW_NS, &more), 0);
	CHECK("alice is alice", more == alice);
}

/* One user with many uids does not keep root out, and users come and go without leaving anything. */
static void test_many_uids(void)
{
	CLEANUP(quota_done) struct quota quota = QUOTA_INIT;
	struct quota_user *users[QUOTA_TOTAL_CONNECTIONS], *root = NULL, *more = NULL;

	for (uint32_t i = 0; i < QUOTA_TOTAL_CONNECTIONS; i++)
		CHECK_INT_EQ("one each", quota_connect(&quota, 100000 + i, NOW_NS, &users[i]), 0);
	CHECK_INT_EQ("one too many", quota_connect(&quota, 200000, NOW_NS, &more), -EDQUOT);
	CHECK_INT_EQ("root", quota_connect(&quota, 0, NOW_NS, &root), 0);
	for (uint32_t i = 0; i < QUOTA_TOTAL_CONNECTIONS; i++)
		quota_disconnect(&quota, users[i]);
	CHECK_INT_EQ("a place", quota_connect(&quota, 200000, NOW_NS, &more), 0);
	CHECK_INT_EQ("who is gone is forgotten", quota.n_users, 2);
}

static void test_calls(void)
{
	CLEANUP(quota_done) struct quota quota = QUOTA_INIT;
	struct quota_user *user;

	CHECK_INT_EQ("connect", quota_connect(&quota, 1000, NOW_NS, &user), 0);
	for (int i = 0; i < QUOTA_USER_CALLS; i++)
		CHECK("within", quota_begin_call(user));
	CHECK("one too many", !quota_begin_call(user));
	quota_end_call(user);
	CHECK("one having ended", quota_begin_call(user));
}

static void test_bytes(void)
{
	CLEANUP(quota_done) struct quota quota = QUOTA_INIT;
	struct quota_user *users[8];
	unsigned int n_back = 0;

	for (uint32_t i = 0; i < ARRAY_SIZE(users); i++)
		CHECK_INT_EQ("connect", quota_connect(&quota, i, NOW_NS, &users[i]), 0);
	quota_queue(&quota, users[0], QUOTA_USER_QUEUED_BYTES - 1);
	CHECK("a byte left, so one more message", quota_has_room(&quota, users[0]));
	quota_queue(&quota, users[0], 1000);
	CHECK("overshot", !quota_has_room(&quota, users[0]));
	CHECK("the others are not concerned", quota_has_room(&quota, users[1]));
	CHECK("not enough comes back", !quota_unqueue(&quota, users[0], 998));
	CHECK("enough comes back", quota_unqueue(&quota, users[0], 2));
	CHECK("said once", !quota_unqueue(&quota, users[0], 10));

	for (uint32_t i = 1; i < ARRAY_SIZE(users); i++)
		quota_queue(&quota, users[i], QUOTA_USER_QUEUED_BYTES - 1);
	CHECK("all together have too much", !quota_has_room(&quota, users[0]));
	for (uint32_t i = 1; i < ARRAY_SIZE(users); i++)
		n_back += quota_unqueue(&quota, users[i], QUOTA_USER_QUEUED_BYTES - 1);
	CHECK_INT_EQ("room comes back for all, once", n_back, 1);
	CHECK("room comes back for all", quota_has_room(&quota, users[0]));
	CHECK("all is refunded but what is still queued", quota.queued_bytes == QUOTA_USER_QUEUED_BYTES - 11);
}

static void test_rate(void)
{
	static const struct {
		const char *name;
		unsigned int n_frames;
		uint64_t wait_ns;
		enum quota_rate rate; /* of the frame after these */
	} cases[] = {
		{ "first", 0, 0, QUOTA_RATE_OK },
		{ "last of the burst", QUOTA_USER_FRAMES_BURST - 1, 0, QUOTA_RATE_OK },
		{ "after the burst", QUOTA_USER_FRAMES_BURST, 0, QUOTA_RATE_REFUSE },
		{ "after the burst and a moment", QUOTA_USER_FRAMES_BURST, NSEC_PER_SEC / QUOTA_USER_FRAMES_PER_S,
		  QUOTA_RATE_OK },
		{ "last refused", 2 * QUOTA_USER_FRAMES_BURST - 1, 0, QUOTA_RATE_REFUSE },
		{ "goes on regardless", 2 * QUOTA_USER_FRAMES_BURST, 0, QUOTA_RATE_PAUSE },
		{ "has waited", 2 * QUOTA_USER_FRAMES_BURST,
		  (QUOTA_USER_FRAMES_BURST + 1) * NSEC_PER_SEC / QUOTA_USER_FRAMES_PER_S, QUOTA_RATE_OK },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(quota_done) struct quota quota = QUOTA_INIT;
		struct quota_user *user;
		uint64_t resume_ns = 0;

		CHECK_INT_EQ(cases[i].name, quota_connect(&quota, 1000, NOW_NS, &user), 0);
		for (unsigned int k = 0; k < cases[i].n_frames; k++)
			(void)quota_take_frame(user, NOW_NS, &resume_ns);
		resume_ns = 0;
		CHECK_INT_EQ(cases[i].name, quota_take_frame(user, NOW_NS + cases[i].wait_ns, &resume_ns),
			     cases[i].rate);
		CHECK_INT_EQ(cases[i].name, resume_ns != 0, cases[i].rate == QUOTA_RATE_PAUSE);
	}
}

/* A burst does not begin anew by coming back. */
static void test_rate_survives(void)
{
	CLEANUP(quota_done) struct quota quota = QUOTA_INIT;
	struct quota_user *user, *other;
	uint64_t resume_ns;

	CHECK_INT_EQ("connect", quota_connect(&quota, 1000, NOW_NS, &user), 0);
	for (int i = 0; i < QUOTA_USER_FRAMES_BURST; i++)
		(void)quota_take_frame(user, NOW_NS, &resume_ns);
	quota_disconnect(&quota, user);
	CHECK_INT_EQ("somebody else", quota_connect(&quota, 1001, NOW_NS, &other), 0);
	CHECK_INT_EQ("back", quota_connect(&quota, 1000, NOW_NS, &user), 0);
	CHECK_INT_EQ("back", quota_take_frame(user, NOW_NS, &resume_ns), QUOTA_RATE_REFUSE);
}

int main(void)
{
	test_connections();
	test_many_uids();
	test_calls();
	test_bytes();
	test_rate();
	test_rate_survives();
	return check_result();
}
