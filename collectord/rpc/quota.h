// SPDX-License-Identifier: Apache-2.0
/*
 * What one user may hold: connections, calls in flight, leases, bytes queued, copies of figures, frames in a
 * second, time of the loop. Counted per uid, so that opening more connections gains nothing, and in
 * total, since one user can command many uids (user namespaces). Every charge has
 * its refund.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h" /* NSEC_PER_MSEC */
#include "procs/loop_time.h"

struct quota_user;

/* All are guesses: revisit with real dashboards. */
#define QUOTA_USER_CONNECTIONS 64
#define QUOTA_USER_CALLS 128
#define QUOTA_USER_QUEUED_BYTES (8u * 1024 * 1024)
#define QUOTA_USER_FRAMES_PER_S 2000
#define QUOTA_USER_FRAMES_BURST 4000
#define QUOTA_CONNECT_FRAMES 10 /* a connection costs what so many frames do */
#define QUOTA_USER_LEASES 16	/* each keeps copies of figures */
/*
 * Of the time of the loop one user may take a quarter (procs/loop_time.h), as soon as another is there: what a frame
 * costs differs a hundredfold. The rest is for capture and for others; two who take all they may leave half.
 */
#define QUOTA_USER_TIME_BURST_NS (250 * NSEC_PER_MSEC)
#define QUOTA_USER_TIME_WAIT_NS (2 * NSEC_PER_SEC) /* nobody waits longer, whatever one request took */
/*
 * In one turn of the loop, all his connections together: whoever asks meanwhile is looked at after that much
 * for each user who is there. Guess: five requests of the dearer kind.
 */
#define QUOTA_USER_TURN_NS (1 * NSEC_PER_MSEC)
/* Of all users but root, who must always get in; fewer where descriptors are few. */
#define QUOTA_TOTAL_CONNECTIONS 512
#define QUOTA_TOTAL_QUEUED_BYTES (32u * 1024 * 1024)
#define QUOTA_USER_RESERVED_BYTES (64u * 1024) /* has every user, whatever the others have queued */
/*
 * Copies of figures, to be subtracted from later ones: those of when a trace began, and of its last seconds. 46
 * processes with 128 waits each are 0.4 MiB a copy. Root has no limit.
 */
#define QUOTA_USER_KEPT_BYTES (24u * 1024 * 1024)
#define QUOTA_TOTAL_KEPT_BYTES (64u * 1024 * 1024)

struct quota {
	struct quota_user **users; /* owned; those without connections stay until their rate has recovered */
	size_t n_users;
	size_t room;
	unsigned int connections_max; /* of all users but root */
	unsigned int n_connections;   /* likewise */
	unsigned int n_present;	      /* users that have a connection */
	size_t queued_bytes;
	size_t kept_bytes;	  /* of all users but root */
	uint64_t turn;		  /* of the loop, counted by the server */
	struct loop_times *times; /* NULL: of requests alone, own_times */
	struct loop_times own_times;
};

#define QUOTA_INIT                                                                                                     \
	{                                                                                                              \
		.connections_max = QUOTA_TOTAL_CONNECTIONS                                                             \
	}
void quota_done(struct quota *quota);

/**
 * quota_connect() - charge one connection of a user
 * @ret_user: borrowed until the matching quota_disconnect()
 * Return: 0; -EDQUOT; -EBUSY (more connections and frames than in his rate); -EUSERS (all users together have as many
 * as there may be: once another one is closed he may have this one); -ENOMEM
 */
int quota_connect(struct quota *quota, uint32_t uid, uint64_t now_ns, struct quota_user **ret_user);
void quota_disconnect(struct quota *quota, struct quota_user *user);
/** quota_connections() - number of connections of a user */
unsigned int quota_connections(const struct quota_user *user);
/** quota_connections_of() - the same by uid; 0 for an unknown user */
unsigned int quota_connections_of(const struct quota *quota, uint32_t uid);

/** quota_begin_call() - charge one call in flight. Return: whether the user may have it */
bool quota_begin_call(struct quota_user *user);
void quota_end_call(struct quota_user *user);

/** quota_begin_lease() - charge one lease. Return: whether the user may have it */
bool quota_begin_lease(struct quota_user *user);
void quota_end_lease(struct quota_user *user);

/** quota_has_room() - whether another message of this user may be queued; the last one may overshoot */
bool quota_has_room(const struct quota *quota, const struct quota_user *user);
void quota_queue(struct quota *quota, struct quota_user *user, size_t n_bytes);
/** quota_unqueue() - Return: whether room has just come back, for this user or for all */
bool quota_unqueue(struct quota *quota, struct quota_user *user, size_t n_bytes);

enum quota_need {
	QUOTA_NEEDED, /* the answer is wrong or late without the copy */
	QUOTA_SPARE,  /* the answer is only coarser: half of the bytes, and each trace of the user has the same share */
};
/**
 * quota_may_keep() - whether another copy of figures may be kept for a call; the last one may overshoot
 * @mine: bytes that this call is charged with. A user whose other calls keep nothing may have what is needed in any
 *        case.
 */
bool quota_may_keep(const struct quota *quota, const struct quota_user *user, size_t mine, enum quota_need need);
/** quota_keep() - a call that was charged with @before bytes of copies keeps @now */
void quota_keep(struct quota *quota, struct quota_user *user, size_t before, size_t now);

enum quota_rate {
	QUOTA_RATE_OK,
	QUOTA_RATE_REFUSE, /* a request is answered with CALL_ERROR_RATE */
	QUOTA_RATE_PAUSE,  /* goes on regardless: stop reading until *ret_resume_ns */
};
/** quota_take_frame() - charge one frame against the user's rate */
enum quota_rate quota_take_frame(struct quota_user *user, uint64_t now_ns, uint64_t *ret_resume_ns);

/** quota_take_time() - charge time that the loop spent on a user */
void quota_take_time(struct quota *quota, struct quota_user *user, uint64_t spent_ns, uint64_t now_ns);
/** quota_turn_left_ns() - of the time that the user has in this turn of the loop */
uint64_t quota_turn_left_ns(const struct quota *quota, const struct quota_user *user);
/**
 * quota_must_wait() - whether the user has had more than his share of the loop, and others are there
 * @ret_resume_ns: when he has waited long enough; untouched when he need not
 */
bool quota_must_wait(const struct quota *quota, const struct quota_user *user, uint64_t now_ns,
		     uint64_t *ret_resume_ns);
