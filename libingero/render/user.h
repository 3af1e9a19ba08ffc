// SPDX-License-Identifier: Apache-2.0
/* Users by name. */
#pragma once

#include <sys/types.h>

struct user_name {
	char text[40];
};

/** user_name() - login name of a uid, or "uid 1234" */
struct user_name user_name(uid_t uid);
