// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct {
	const char *program;
	enum log_style style;
	enum log_level max;
	log_sink_func sink;
} log_state = { "ingero", LOG_STYLE_PLAIN, LOG_LEVEL_WARNING, NULL };

void log_init(const char *program, enum log_style style, enum log_level max)
{
	log_state.program = program;
	log_state.style = style;
	log_state.max = max;
}

void log_set_sink(log_sink_func sink)
{
	log_state.sink = sink;
}

bool log_is_on(enum log_level level)
{
	return level <= log_state.max;
}

int log_print(enum log_level level, const char *topic, int r, const char *fmt, ...)
{
	/* One buffer, one write: lines of several processes do not mix. */
	char line[1024];
	int saved = errno;
	size_t n, begin;
	va_list ap;

	if (!log_is_on(level))
		return r;

	if (log_state.style == LOG_STYLE_JOURNAL)
		n = (size_t)snprintf(line, sizeof(line), "<%d>%s: ", (int)level, topic);
	else
		n = (size_t)snprintf(line, sizeof(line), "%s: ", log_state.program);
	begin = n;

	va_start(ap, fmt);
	(void)vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	n = strlen(line);

	if (r < 0 && n < sizeof(line) - 1) {
		(void)snprintf(line + n, sizeof(line) - n - 1, ": %s", strerror(-r));
		n = strlen(line);
	}
	if (!log_state.sink || !log_state.sink(level, topic, r, line + begin)) {
		line[n++] = '\n';
		(void)!write(STDERR_FILENO, line,
			     n); /* stderr may be closed; there is no other place for the message */
	}
	errno = saved;
	return r;
}
