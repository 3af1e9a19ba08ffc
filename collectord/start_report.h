// SPDX-License-Identifier: Apache-2.0
/*
 * What could not be started: said at once, and to whoever may serve in our place.
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"

struct start_report {
	char *why; /* why_bytes; one sentence */
	size_t why_bytes;
};

/** start_failed() - Return: r, -errno */
int start_failed(const struct start_report *report, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);
