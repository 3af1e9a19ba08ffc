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
	CHECK_INT_EQ("one too many", quota_connect(&quota, 200000, NOW_NS, &more), -EUSERS);
	CHECK_INT_EQ("root", quota_connect(&quota, 0, NOW_NS, &root), 0);
	CHECK_INT_EQ("root's are not of those", quota.n_connections, QUOTA_TOTAL_CONNECTIONS);
	CHECK_INT_EQ("one of them", quota_connections_of(&quota, 100000), 1);
	CHECK_INT_EQ("nobody's", quota_connections_of(&quota, 200000), 0);
	for (uint32_t i = 0; i < QUOTA_TOTAL_CONNECTIONS; i++)
		quota_disconnect(&quota, users[i]);
	CHECK_INT_EQ("a place", quota_connect(&quota, 200000, NOW_NS + NSEC_PER_SEC, &more), 0);
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
	/* To each his part at once, and with the fourth to all. */
	CHECK_INT_EQ("room comes back", n_back, 4);
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

		CHECK_INT_EQ(cases[i].name, quota_connect(&quota, 1000, NOW_NS - NSEC_PER_SEC, &user), 0);
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

	CHECK_INT_EQ("connect", quota_connect(&quota, 1000, NOW_NS - NSEC_PER_SEC, &user), 0);
	for (int i = 0; i < QUOTA_USER_FRAMES_BURST; i++)
		(void)quota_take_frame(user, NOW_NS, &resume_ns);
	quota_disconnect(&quota, user);
	CHECK_INT_EQ("somebody else", quota_connect(&quota, 1001, NOW_NS, &other), 0);
	CHECK_INT_EQ("back", quota_connect(&quota, 1000, NOW_NS, &user), 0);
	CHECK_INT_EQ("back", quota_take_frame(user, NOW_NS, &resume_ns), QUOTA_RATE_REFUSE);
}

static void test_leases(void)
{
	CLEANUP(quota_done) struct quota quota = QUOTA_INIT;
	struct quota_user *alice, *bob;

	CHECK_INT_EQ("connect", quota_connect(&quota, 1000, NOW_NS, &alice), 0);
	CHECK_INT_EQ("connect", quota_connect(&quota, 1001, NOW_NS, &bob), 0);
	for (int i = 0; i < QUOTA_USER_LEASES; i++)
		CHECK("within", quota_begin_lease(alice));
	CHECK("one too many", !quota_begin_lease(alice));
	CHECK("bob's first", quota_begin_lease(bob));
	quota_end_lease(alice);
	CHECK("one having ended", quota_begin_lease(alice));
}

/* Who has queued little may always queue, and so be answered, though others have filled all there is. */
static void test_reserved_bytes(void)
{
	CLEANUP(quota_done) struct quota quota = QUOTA_INIT;
	struct quota_user *users[5];

	for (uint32_t i = 0; i < ARRAY_SIZE(users); i++)
		CHECK_INT_EQ("connect", quota_connect(&quota, 1000 + i, NOW_NS, &users[i]), 0);
	for (uint32_t i = 0; i < 4; i++)
		quota_queue(&quota, users[i], QUOTA_TOTAL_QUEUED_BYTES / 4);
	CHECK("who has filled it", !quota_has_room(&quota, users[0]));
	CHECK("who has nothing there", quota_has_room(&quota, users[4]));
	quota_queue(&quota, users[4], QUOTA_USER_RESERVED_BYTES);
	CHECK("who has had his part", !quota_has_room(&quota, users[4]));
}

static void test_time(void)
{
	static const struct {
		const char *name;
		uint64_t spent_ns, wait_ns;
		bool others, waits;
	} cases[] = {
		{ "nothing spent", 0, 0, true, false },
		{ "all of the burst", QUOTA_USER_TIME_BURST_NS / LOOP_TIME_PART, 0, true, false },
		{ "more", QUOTA_USER_TIME_BURST_NS / LOOP_TIME_PART + 1, 0, true, true },
		{ "more, and nobody else is there", QUOTA_USER_TIME_BURST_NS, 0, false, false },
		{ "more, and waited", QUOTA_USER_TIME_BURST_NS, QUOTA_USER_TIME_BURST_NS * (LOOP_TIME_PART - 1), true,
		  false },
		{ "more, and not waited enough", QUOTA_USER_TIME_BURST_NS,
		  QUOTA_USER_TIME_BURST_NS * (LOOP_TIME_PART - 1) - 1, true, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(quota_done) struct quota quota = QUOTA_INIT;
		struct quota_user *alice, *again, *bob = NULL;
		uint64_t resume_ns = 0;

		CHECK_INT_EQ(cases[i].name, quota_connect(&quota, 1000, NOW_NS, &alice), 0);
		CHECK_INT_EQ(cases[i].name, quota_connect(&quota, 1000, NOW_NS, &again), 0);
		if (cases[i].others)
			CHECK_INT_EQ(cases[i].name, quota_connect(&quota, 1001, NOW_NS, &bob), 0);
		quota_take_time(&quota, alice, cases[i].spent_ns, NOW_NS);
		CHECK_INT_EQ(cases[i].name, quota_must_wait(&quota, alice, NOW_NS + cases[i].wait_ns, &resume_ns),
			     cases[i].waits);
		CHECK_INT_EQ(cases[i].name, resume_ns > NOW_NS + cases[i].wait_ns, cases[i].waits);
		if (!bob)
			continue;
		CHECK("bob need not", !quota_must_wait(&quota, bob, NOW_NS, &resume_ns));
		/* Until then, and once the other has gone. */
		if (cases[i].waits)
			CHECK(cases[i].name, !quota_must_wait(&quota, alice, resume_ns, &resume_ns));
		quota_disconnect(&quota, bob);
		CHECK(cases[i].name, !quota_must_wait(&quota, alice, NOW_NS, &resume_ns));
	}
}

/* In one turn of the loop; the next one is another. */
static void test_turn(void)
{
	CLEANUP(quota_done) struct quota quota = QUOTA_INIT;
	struct quota_user *alice, *bob;

	CHECK_INT_EQ("alice", quota_connect(&quota, 1000, NOW_NS, &alice), 0);
	CHECK_INT_EQ("bob", quota_connect(&quota, 1001, NOW_NS, &bob), 0);
	CHECK_INT_EQ("all of it", quota_turn_left_ns(&quota, alice), QUOTA_USER_TURN_NS);
	quota_take_time(&quota, alice, QUOTA_USER_TURN_NS - 1, NOW_NS);
	CHECK_INT_EQ("the rest", quota_turn_left_ns(&quota, alice), 1);
	quota_take_time(&quota, alice, 10, NOW_NS);
	CHECK_INT_EQ("nothing", quota_turn_left_ns(&quota, alice), 0);
	CHECK_INT_EQ("another has his own", quota_turn_left_ns(&quota, bob), QUOTA_USER_TURN_NS);
	quota.turn++;
	CHECK_INT_EQ("the next turn", quota_turn_left_ns(&quota, alice), QUOTA_USER_TURN_NS);
}

/* Connecting without end is a rate like any other; whoever comes back in time is let in. */
static void test_connect_rate(void)
{
	CLEANUP(quota_done) struct quota quota = QUOTA_INIT;
	struct quota_user *user;
	unsigned int n = 0;

	while (quota_connect(&quota, 1000, NOW_NS, &user) == 0) {
		quota_disconnect(&quota, user);
		n++;
	}
	CHECK_INT_EQ("at once", n, QUOTA_USER_FRAMES_BURST / QUOTA_CONNECT_FRAMES + 1);
	CHECK_INT_EQ("one more", quota_connect(&quota, 1000, NOW_NS, &user), -EBUSY);
	CHECK_INT_EQ("another user", quota_connect(&quota, 1001, NOW_NS, &user), 0);
	CHECK_INT_EQ("in time",
		     quota_connect(&quota, 1000, NOW_NS + QUOTA_CONNECT_FRAMES * NSEC_PER_SEC / QUOTA_USER_FRAMES_PER_S,
				   &user),
		     0);
}

/* Copies of figures: what is needed has a limit, what can be done without half of that, and a share for each trace. */
static void test_kept_bytes(void)
{
	enum { ALL = QUOTA_USER_KEPT_BYTES, HALF = ALL / 2, TOTAL = QUOTA_TOTAL_KEPT_BYTES };
	static const struct {
		const char *name;
		uint32_t uid;
		size_t mine, others_of_user, of_others;
		unsigned int n_leases;
		bool needed, spare;
	} rows[] = {
		{ "nothing yet", 1000, 0, 0, 0, 1, true, true },
		{ "a byte below half", 1000, HALF - 1, 0, 0, 1, true, true },
		{ "half", 1000, HALF, 0, 0, 1, true, false },
		{ "a trace alone has what it needs", 1000, ALL, 0, 0, 1, true, false },
		{ "half of the half, of two traces", 1000, HALF / 2, 0, 0, 2, true, false },
		{ "less than its share of two", 1000, HALF / 2 - 1, HALF / 2, 0, 2, true, true },
		{ "half, most in other traces", 1000, 1, HALF - 1, 0, 2, true, false },
		{ "all, in other traces", 1000, 0, ALL, 0, 2, false, false },
		{ "all, in two traces", 1000, HALF, HALF, 0, 2, false, false },
		{ "half is with others", 1000, 0, 1, TOTAL / 2, 2, true, false },
		{ "all is with others", 1000, 0, 1, TOTAL, 2, false, false },
		{ "all is with others, and the first copy", 1000, 0, 0, TOTAL, 1, true, false },
		{ "root", 0, ALL, ALL, TOTAL, 2, true, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(quota_done) struct quota quota = QUOTA_INIT;
		struct quota_user *user, *other;

		CHECK_INT_EQ("connect", quota_connect(&quota, rows[i].uid, NOW_NS, &user), 0);
		CHECK_INT_EQ("connect", quota_connect(&quota, 2000, NOW_NS, &other), 0);
		for (unsigned int k = 0; k < rows[i].n_leases; k++)
			CHECK("a lease", quota_begin_lease(user));
		quota_keep(&quota, user, 0, rows[i].mine);
		quota_keep(&quota, user, 0, rows[i].others_of_user);
		quota_keep(&quota, other, 0, rows[i].of_others);
		CHECK_INT_EQ(rows[i].name, quota_may_keep(&quota, user, rows[i].mine, QUOTA_NEEDED), rows[i].needed);
		CHECK_INT_EQ(rows[i].name, quota_may_keep(&quota, user, rows[i].mine, QUOTA_SPARE), rows[i].spare);
		quota_keep(&quota, other, rows[i].of_others, 0);
		quota_keep(&quota, user, rows[i].mine, 0);
		quota_keep(&quota, user, rows[i].others_of_user, 0);
		CHECK_INT_EQ("all is refunded", quota.kept_bytes, 0);
	}
}

int main(void)
{
	test_kept_bytes();
	test_connect_rate();
	test_leases();
	test_reserved_bytes();
	test_time();
	test_turn();
	test_connections();
	test_many_uids();
	test_calls();
	test_bytes();
	test_rate();
	test_rate_survives();
	return check_result();
}
