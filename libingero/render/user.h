// SPDX-License-Identifier: Apache-2.0
/* Users by name. */
#pragma once

#include <pwd.h>
#include <stdbool.h>

struct user_name {
	char text[40];
};

#define USER_ENTRY_BYTES 16384 /* one user's, as the C library suggests and more */

struct user_entry {
	struct passwd user; /* its texts are in here */
	char texts[USER_ENTRY_BYTES];
};

/** user_find() - what getpwuid(3) answers, whose one answer belongs to the program. Return: whether there is one */
bool user_find(uid_t uid, struct user_entry *ret_entry);

/** user_name() - login name of a uid, or "uid 1234" */
struct user_name user_name(uid_t uid);
