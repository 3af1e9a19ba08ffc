// SPDX-License-Identifier: Apache-2.0
/* The window of a question and its processes, as every reading tool takes them. */
#pragma once

#include "libingero/answers/window.h"
#include "mcp-server/tool.h"

/* Rows bound to a struct window_wish that is a member of the tool's ARGUMENTS. */
#define WINDOW_PARAMS(member, default_words)                                                                           \
	PARAM_ROW(DURATION, "since", member.since_ns,                                                                  \
		  "Start, as a time before now: 90s, 5m, 1h30m, 2d; default: " default_words),                         \
		PARAM_ROW(TIME, "from", member.from, "Start, as a clock time, local unless Z or +02:00 follows"),      \
		PARAM_ROW(TIME, "to", member.to, "End, as a clock time; default: now")

/* Rows bound to a struct param_pids. */
#define PIDS_PARAMS(member)                                                                                            \
	PARAM_ROW(PID, "pid", member, "Only this process"), PARAM_ROW(PIDS, "pids", member, "Only these processes")

/** window_time() - a time as answers have it: "2026-01-31T13:00:00.000000000Z" */
struct clock_text window_time(uint64_t unix_ns);
/** window_write() - append `from` and `to` that cover a window, as arguments of a tool */
void window_write(struct writer *w, const Ingero__V1__Window *window);
/** window_arguments() - append arguments of a tool: this window, and a process; 0: all */
void window_arguments(struct buf *out, const Ingero__V1__Window *window, uint32_t pid);
/** window_refuse() - refuse what contradicts itself. Return: 0, or answer_fail() */
int window_refuse(const struct window_wish *wish, struct answer *answer);
/**
 * window_sql_append() - append the window as conditions of a WHERE that has one before
 * @column: of ns since 1970
 * @default_ns: as of window_span()
 */
void window_sql_append(const struct window_wish *wish, uint64_t default_ns, const char *column, struct buf *sql);
