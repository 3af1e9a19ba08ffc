// SPDX-License-Identifier: Apache-2.0
#include "libingero/render/user.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/culprit.h"

#define NAMES_KEPT 64 /* cached users of one screen; more are looked up each time */

bool user_find(uid_t uid, struct user_entry *ret_entry)
{
	struct passwd *user = NULL;

	return getpwuid_r(uid, &ret_entry->user, ret_entry->texts, sizeof(ret_entry->texts), &user) == 0 && user;
}

const char *user_hidden_process(uid_t uid)
{
	return culprit_hidden(uid == getuid());
}

struct user_name user_name(uid_t uid)
{
	/* The live screen asks each second, and a directory service may be slow. Each thread has its own cache. */
	static _Thread_local struct {
		uid_t uid;
		struct user_name name;
	} kept[NAMES_KEPT];
	static _Thread_local size_t n_kept;
	struct user_entry entry;
	struct user_name name;

	for (size_t i = 0; i < n_kept; i++)
		if (kept[i].uid == uid)
			return kept[i].name;

	if (user_find(uid, &entry))
		(void)snprintf(name.text, sizeof(name.text), "%s", entry.user.pw_name);
	else
		(void)snprintf(name.text, sizeof(name.text), "uid %u", uid);
	if (n_kept < ARRAY_SIZE(kept)) {
		kept[n_kept].uid = uid;
		kept[n_kept++].name = name;
	}
	return name;
}
