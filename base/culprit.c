// SPDX-License-Identifier: Apache-2.0
#include "base/culprit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *culprit_hidden(bool is_same_user)
{
	return is_same_user ? "another process" : "another user's process";
}

struct culprit_name culprit_hidden_several(size_t n, bool is_same_user, const char *user)
{
	struct culprit_name name;

	if (n < 2)
		name = culprit_name(&(struct culprit_of){ .is_same_user = is_same_user, .user = user });
	else if (user)
		(void)snprintf(name.text, sizeof(name.text), "%zu processes (%.40s)", n, user);
	else
		(void)snprintf(name.text, sizeof(name.text),
			       is_same_user ? "%zu other processes" : "%zu processes of other users", n);
	return name;
}

struct culprit_group culprit_group_of(culprit_one_func one, const void *data, size_t n, uint32_t group)
{
	struct culprit_group sum = { .n = 0 };

	for (size_t i = 0; i < n; i++) {
		struct culprit_one c = one(data, i);

		if (!c.is_hidden || c.group != group)
			continue;
		sum.first = sum.n++ ? sum.first : i;
		sum.share += c.share;
	}
	return sum;
}

/* The name of an own thread that is that of the process says nothing. */
static bool has_thread_name(const struct culprit_of *c)
{
	return c->comm[0] && !(c->victim_name && strcmp(c->comm, c->victim_name) == 0);
}

struct culprit_name culprit_name(const struct culprit_of *c)
{
	struct culprit_name name;

	if (c->pid == 0 && c->user)
		(void)snprintf(name.text, sizeof(name.text), "%s (%.40s)", culprit_hidden(c->is_same_user), c->user);
	else if (c->pid == 0)
		(void)snprintf(name.text, sizeof(name.text), "%s", culprit_hidden(c->is_same_user));
	else if (c->pid == c->victim_pid && c->tid)
		(void)snprintf(name.text, sizeof(name.text), "its own thread %" PRIu32, c->tid);
	else if (c->pid == c->victim_pid && has_thread_name(c))
		(void)snprintf(name.text, sizeof(name.text), "its own other threads (such as %.20s)", c->comm);
	else if (c->pid == c->victim_pid)
		(void)snprintf(name.text, sizeof(name.text), "its own other threads");
	else if (c->same_name)
		(void)snprintf(name.text, sizeof(name.text), "%.20s (%" PRIu32 " processes%s%.40s)", c->comm,
			       c->same_name, c->user ? ", " : "", c->user ? c->user : "");
	else
		(void)snprintf(name.text, sizeof(name.text), "%.20s (pid %" PRIu32 "%s%.40s)", c->comm, c->pid,
			       c->user ? ", " : "", c->user ? c->user : "");
	return name;
}
