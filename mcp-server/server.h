// SPDX-License-Identifier: Apache-2.0
/* What one server is: whom it asks, and who it says it is. Set at the start, and the same for all transports. */
#pragma once

#include <stdbool.h>

#define SERVER_NAME "ingero"

struct server {
	const char *const *db_paths; /* recordings to read, NULL-terminated; NULL: the service's, or the user's own */
};
