// SPDX-License-Identifier: Apache-2.0
#include "rpc/quota.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"

#define FRAME_NS (NSEC_PER_SEC / QUOTA_USER_FRAMES_PER_S)

struct quota_user {
	uint32_t uid;
	unsigned int n_connections;
	unsigned int n_calls;
	unsigned int n_leases;
	size_t queued_bytes;
	size_t kept_bytes;
	uint64_t paid_until_ns; /* each frame advances it by FRAME_NS */
	uint64_t turn;		/* turn of the loop to which turn_spent_ns belongs */
	uint64_t turn_spent_ns;
};

void quota_done(struct quota *quota)
{
	for (size_t i = 0; i < quota->n_users; i++)
		free(quota->users[i]);
	free(quota->users);
	loop_times_done(&quota->own_times);
	*quota = (struct quota)QUOTA_INIT;
}

static struct loop_times *quota_times(struct quota *quota)
{
	return quota->times ? quota->times : &quota->own_times;
}

/* Forgets users that hold nothing and whose rate has recovered, so that the table does not grow without limit. */
static void quota_forget(struct quota *quota, uint64_t now_ns)
{
	loop_times_forget(quota_times(quota), now_ns);
	for (size_t i = 0; i < quota->n_users;) {
		struct quota_user *user = quota->users[i];

		if (user->n_connections == 0 && user->paid_until_ns <= now_ns) {
			free(user);
			quota->users[i] = quota->users[--quota->n_users];
		} else {
			i++;
		}
	}
}

static struct quota_user *quota_find(const struct quota *quota, uint32_t uid)
{
	for (size_t i = 0; i < quota->n_users; i++) {
		if (quota->users[i]->uid == uid)
			return quota->users[i];
	}
	return NULL;
}

static void frames_charge(struct quota_user *user, uint64_t now_ns, unsigned int n)
{
	if (user->paid_until_ns < now_ns)
		user->paid_until_ns = now_ns;
	user->paid_until_ns += n * FRAME_NS;
}

int quota_connect(struct quota *quota, uint32_t uid, uint64_t now_ns, struct quota_user **ret_user)
{
	struct quota_user *user = quota_find(quota, uid);
	int r;

	if (user && user->n_connections >= QUOTA_USER_CONNECTIONS)
		return -EDQUOT;
	if (user && user->paid_until_ns > now_ns + QUOTA_USER_FRAMES_BURST * FRAME_NS)
		return -EBUSY;
	if (uid != 0 && quota->n_connections >= quota->connections_max)
		return -EUSERS;

	if (!user) {
		CLEANUP(freep) struct quota_user *fresh = calloc(1, sizeof(*fresh));

		if (!fresh)
			return -ENOMEM;
		quota_forget(quota, now_ns);
		r = array_grow(&quota->users, quota->n_users, &quota->room, sizeof(struct quota_user *));
		if (r)
			return r;
		fresh->uid = uid;
		user = TAKE_PTR(fresh);
		quota->users[quota->n_users++] = user;
	}
	frames_charge(user, now_ns, QUOTA_CONNECT_FRAMES);
	quota->n_present += user->n_connections == 0;
	user->n_connections++;
	quota->n_connections += uid != 0;
	*ret_user = user;
	return 0;
}

void quota_disconnect(struct quota *quota, struct quota_user *user)
{
	assert(user->n_connections && (!user->uid || quota->n_connections));
	user->n_connections--;
	quota->n_connections -= user->uid != 0;
	quota->n_present -= user->n_connections == 0;
	assert(user->n_connections || (!user->n_calls && !user->n_leases && !user->queued_bytes && !user->kept_bytes));
}

unsigned int quota_connections(const struct quota_user *user)
{
	return user->n_connections;
}

unsigned int quota_connections_of(const struct quota *quota, uint32_t uid)
{
	const struct quota_user *user = quota_find(quota, uid);

	return user ? user->n_connections : 0;
}

bool quota_begin_call(struct quota_user *user)
{
	if (user->n_calls >= QUOTA_USER_CALLS)
		return false;
	user->n_calls++;
	return true;
}

void quota_end_call(struct quota_user *user)
{
	assert(user->n_calls);
	user->n_calls--;
}

bool quota_begin_lease(struct quota_user *user)
{
	if (user->n_leases >= QUOTA_USER_LEASES)
		return false;
	user->n_leases++;
	return true;
}

void quota_end_lease(struct quota_user *user)
{
	assert(user->n_leases);
	user->n_leases--;
}

bool quota_has_room(const struct quota *quota, const struct quota_user *user)
{
	if (user->queued_bytes < QUOTA_USER_RESERVED_BYTES)
		return true;
	return user->queued_bytes < QUOTA_USER_QUEUED_BYTES && quota->queued_bytes < QUOTA_TOTAL_QUEUED_BYTES;
}

void quota_queue(struct quota *quota, struct quota_user *user, size_t n_bytes)
{
	user->queued_bytes += n_bytes;
	quota->queued_bytes += n_bytes;
}

bool quota_unqueue(struct quota *quota, struct quota_user *user, size_t n_bytes)
{
	bool had_room = quota_has_room(quota, user);

	assert(user->queued_bytes >= n_bytes && quota->queued_bytes >= n_bytes);
	user->queued_bytes -= n_bytes;
	quota->queued_bytes -= n_bytes;
	return !had_room && quota_has_room(quota, user);
}

bool quota_may_keep(const struct quota *quota, const struct quota_user *user, size_t mine, enum quota_need need)
{
	size_t part = need == QUOTA_SPARE ? 2 : 1;

	if (user->uid == 0)
		return true;
	if (need == QUOTA_NEEDED && user->kept_bytes == mine)
		return true;
	if (need == QUOTA_SPARE && mine * user->n_leases >= QUOTA_USER_KEPT_BYTES / part)
		return false;
	return user->kept_bytes < QUOTA_USER_KEPT_BYTES / part && quota->kept_bytes < QUOTA_TOTAL_KEPT_BYTES / part;
}

void quota_keep(struct quota *quota, struct quota_user *user, size_t before, size_t now)
{
	assert(user->kept_bytes >= before && (user->uid == 0 || quota->kept_bytes >= before));
	user->kept_bytes += now - before;
	if (user->uid != 0)
		quota->kept_bytes += now - before;
}

enum quota_rate quota_take_frame(struct quota_user *user, uint64_t now_ns, uint64_t *ret_resume_ns)
{
	const uint64_t burst_ns = QUOTA_USER_FRAMES_BURST * FRAME_NS;
	uint64_t ahead_ns;

	frames_charge(user, now_ns, 1);
	ahead_ns = user->paid_until_ns - now_ns;
	if (ahead_ns <= burst_ns)
		return QUOTA_RATE_OK;
	if (ahead_ns <= 2 * burst_ns)
		return QUOTA_RATE_REFUSE;

	/* A refusal costs as much as an answer: a client that ignores refusals has to wait. */
	*ret_resume_ns = now_ns + burst_ns;
	return QUOTA_RATE_PAUSE;
}

void quota_take_time(struct quota *quota, struct quota_user *user, uint64_t spent_ns, uint64_t now_ns)
{
	if (user->turn != quota->turn)
		user->turn_spent_ns = 0;
	user->turn = quota->turn;
	user->turn_spent_ns += spent_ns;
	loop_time_take(quota_times(quota), user->uid, LOOP_REQUESTS, spent_ns,
		       QUOTA_USER_TIME_BURST_NS + QUOTA_USER_TIME_WAIT_NS, now_ns);
}

uint64_t quota_turn_left_ns(const struct quota *quota, const struct quota_user *user)
{
	if (user->turn != quota->turn)
		return QUOTA_USER_TURN_NS;
	return user->turn_spent_ns < QUOTA_USER_TURN_NS ? QUOTA_USER_TURN_NS - user->turn_spent_ns : 0;
}

bool quota_must_wait(const struct quota *quota, const struct quota_user *user, uint64_t now_ns, uint64_t *ret_resume_ns)
{
	const struct loop_times *times = quota->times ? quota->times : &quota->own_times;
	uint64_t ahead_ns = loop_time_ahead_ns(times, user->uid, LOOP_REQUESTS, now_ns);

	if (quota->n_present < 2 || ahead_ns <= QUOTA_USER_TIME_BURST_NS)
		return false;

	/* Resume at half of the budget: otherwise the peer would be resumed for every single frame. */
	*ret_resume_ns = now_ns + ahead_ns - QUOTA_USER_TIME_BURST_NS / 2;
	return true;
}
