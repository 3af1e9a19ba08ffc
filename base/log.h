// SPDX-License-Identifier: Apache-2.0
/*
 * Everything that goes to stderr.
 *
 * A function that decides what happens next logs once and returns in the same line: `return log_err(r, "cannot attach
 * '%s'", name);`. With LOG_STYLE_JOURNAL each line has the `<N>` priority prefix of the journal. Each file defines
 * LOG_TOPIC before it includes this header.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

enum log_level {
	LOG_LEVEL_ERR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_NOTICE = 5,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7
};
enum log_style { LOG_STYLE_PLAIN, LOG_STYLE_JOURNAL };

/**
 * log_init() - set what is printed and how; before it, warnings and worse are printed plain
 * @program: name printed before plain lines, borrowed for ever
 * @style:   plain "program: text" or journal "<4>topic: text"
 * @max:     least important level that is printed
 */
void log_init(const char *program, enum log_style style, enum log_level max);

/**
 * typedef log_sink_func - takes a line instead of stderr
 * @r:    the error of the line, negative errno, or 0
 * @text: the line without its end; ends in the reason when r is negative
 * Return: whether the line was taken; otherwise it is printed on stderr
 */
typedef bool (*log_sink_func)(enum log_level level, const char *topic, int r, const char *text);
/** log_set_sink() - NULL: none */
void log_set_sink(log_sink_func sink);

/** log_is_on() - whether a level is printed, to skip costly arguments */
bool log_is_on(enum log_level level);

/**
 * log_print() - print one line, appending ": reason" when r is a negative errno
 * Return: r, so that a caller can log and return in one line.
 */
int log_print(enum log_level level, const char *topic, int r, const char *fmt, ...) PRINTF_LIKE(4, 5);

#define log_err(r, ...) log_print(LOG_LEVEL_ERR, LOG_TOPIC, r, __VA_ARGS__)
#define log_warning(r, ...) log_print(LOG_LEVEL_WARNING, LOG_TOPIC, r, __VA_ARGS__)
#define log_notice(...) log_print(LOG_LEVEL_NOTICE, LOG_TOPIC, 0, __VA_ARGS__)
#define log_info(...) log_print(LOG_LEVEL_INFO, LOG_TOPIC, 0, __VA_ARGS__)
#define log_debug(...) (log_is_on(LOG_LEVEL_DEBUG) ? log_print(LOG_LEVEL_DEBUG, LOG_TOPIC, 0, __VA_ARGS__) : 0)
