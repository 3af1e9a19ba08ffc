// SPDX-License-Identifier: Apache-2.0
/*
 * What one user may hold: connections, calls in flight, bytes queued, frames in a
 * second. Counted per uid, so that opening more connections gains nothing, and in
 * total, since one user can command many uids (user namespaces). Every charge has
 * its refund.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct quota_user;

/* All are guesses: revisit with real dashboards. */
#define QUOTA_USER_CONNECTIONS 64
#define QUOTA_USER_CALLS 128
#define QUOTA_USER_QUEUED_BYTES (8u * 1024 * 1024)
#define QUOTA_USER_FRAMES_PER_S 2000
#define QUOTA_USER_FRAMES_BURST 4000
#define QUOTA_TOTAL_CONNECTIONS 512 /* of all users but root, who must always get in */
#define QUOTA_TOTAL_QUEUED_BYTES (32u * 1024 * 1024)

struct quota {
	struct quota_user **users; /* owned; those without connections stay until their rate has recovered */
	size_t n_users;
	size_t room;
	unsigned int n_connections;
	size_t queued_bytes;
};

#define QUOTA_INIT                                                                                                     \
	{                                                                                                              \
		.users = NULL                                                                                          \
	}
void quota_done(struct quota *quota);

/**
 * quota_connect() - charge one connection of a user
 * @ret_user: borrowed until the matching quota_disconnect()
 * Return: 0, -EDQUOT, or -ENOMEM
 */
int quota_connect(struct quota *quota, uint32_t uid, uint64_t now_ns, struct quota_user **ret_user);
void quota_disconnect(struct quota *quota, struct quota_user *user);

/** quota_begin_call() - charge one call in flight. Return: whether the user may have it */
bool quota_begin_call(struct quota_user *user);
void quota_end_call(struct quota_user *user);

/** quota_has_room() - whether another message of this user may be queued; the last one may overshoot */
bool quota_has_room(const struct quota *quota, const struct quota_user *user);
void quota_queue(struct quota *quota, struct quota_user *user, size_t n_bytes);
/** quota_unqueue() - Return: whether room has just come back, for this user or for all */
bool quota_unqueue(struct quota *quota, struct quota_user *user, size_t n_bytes);

enum quota_rate {
	QUOTA_RATE_OK,
	QUOTA_RATE_REFUSE, /* a request is answered with CALL_ERROR_RATE */
	QUOTA_RATE_PAUSE,  /* goes on regardless: stop reading until *ret_resume_ns */
};
/** quota_take_frame() - charge one frame against the user's rate */
enum quota_rate quota_take_frame(struct quota_user *user, uint64_t now_ns, uint64_t *ret_resume_ns);
