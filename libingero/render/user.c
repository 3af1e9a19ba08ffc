// SPDX-License-Identifier: Apache-2.0
#include "libingero/render/user.h"

#include <pwd.h>
#include <stdio.h>

#include "base/cleanup.h"

#define NAMES_KEPT 64	  /* users on one screen; more are looked up each time */
#define ENTRY_BYTES 16384 /* one user's, as the C library suggests and more */

struct user_name user_name(uid_t uid)
{
	/* The live screen asks each second, and a directory service may take its time. Each thread keeps its own. */
	static _Thread_local struct {
		uid_t uid;
		struct user_name name;
	} kept[NAMES_KEPT];
	static _Thread_local size_t n_kept;
	char room[ENTRY_BYTES];
	struct passwd entry, *user = NULL;
	struct user_name name;

	for (size_t i = 0; i < n_kept; i++)
		if (kept[i].uid == uid)
			return kept[i].name;

	if (getpwuid_r(uid, &entry, room, sizeof(room), &user) == 0 && user)
		(void)snprintf(name.text, sizeof(name.text), "%s", user->pw_name);
	else
		(void)snprintf(name.text, sizeof(name.text), "uid %u", uid);
	if (n_kept < ARRAY_SIZE(kept)) {
		kept[n_kept].uid = uid;
		kept[n_kept++].name = name;
	}
	return name;
}
