// SPDX-License-Identifier: Apache-2.0
/* Failures of the start: logged at once, and kept for a daemon that serves without capture. */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"

struct start_report {
	char *why; /* why_bytes; one sentence */
	size_t why_bytes;
};

/** start_failed() - log and store the failure. Return: r, -errno */
int start_failed(const struct start_report *report, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);
