// SPDX-License-Identifier: Apache-2.0
/* Users by name. */
#pragma once

#include <pwd.h>
#include <stdbool.h>

struct user_name {
	char text[40];
};

#define USER_ENTRY_BYTES 16384 /* for one user, as the C library suggests and more */

struct user_entry {
	struct passwd user; /* holds its texts */
	char texts[USER_ENTRY_BYTES];
};

/** user_find() - getpwuid(3) without its static buffer. Return: whether the user exists */
bool user_find(uid_t uid, struct user_entry *ret_entry);

/** user_hidden_process() - what a process of this user is called whose name the caller may not know */
const char *user_hidden_process(uid_t uid);

/** user_name() - login name of a uid, or "uid 1234" */
struct user_name user_name(uid_t uid);
