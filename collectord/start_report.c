// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "daemon"
#include "start_report.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

int start_failed(const struct start_report *report, int r, const char *fmt, ...)
{
	char text[256];

	FORMAT_INTO(text, sizeof(text), fmt);
	if (report->why_bytes)
		(void)snprintf(report->why, report->why_bytes, "%s: %s", text, strerror(-r));
	return log_err(r, "%s", text);
}
