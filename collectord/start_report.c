// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "daemon"
#include "start_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

int start_failed(const struct start_report *report, int r, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (report->why_bytes)
		(void)snprintf(report->why, report->why_bytes, "%s: %s", text, strerror(-r));
	return log_err(r, "%s", text);
}
