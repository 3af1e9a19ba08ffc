// SPDX-License-Identifier: Apache-2.0
/* Which system calls of which processes: options that the commands about them share, and the trace that they ask for.
 */
#pragma once

#include "cli/io/session.h"
#include "cli/options.h"

struct io_choice {
	struct option_ids pids;
	struct option_ids uids;
	uint64_t duration_ns;
	uint64_t min_ns;
	const char *comm;
	const char *path;
	const char *calls;
	bool is_all;
};

/* The rows, bound to a struct io_choice that is a member of the command's FIELDS. */
#define IO_CHOICE_OPTIONS(member)                                                                                      \
	PIDS_OPTION(member.pids,                                                                                       \
		    "Only these processes and their children, under sudo of any user; ends with the last of them"),    \
		OPTION_ROW(USERS, "user", member.uids,                                                                 \
			   "Processes of these users (other users than yourself: root and members of ingero-read)",    \
			   .letter = 'u', .value = "NAME[,NAME...]"),                                                  \
		OPTION_ROW(FLAG, "all", member.is_all, "Processes of all users, not only your own"),                   \
		OPTION_ROW(TEXT, "comm", member.comm, "Only processes of this name, as 'ps -o comm' shows it",         \
			   .value = "NAME"),                                                                           \
		OPTION_ROW(TEXT, "path", member.path,                                                                  \
			   "Only calls on files whose path matches this pattern, with *, ? and [...]; * matches "      \
			   "slashes, too",                                                                             \
			   .value = "GLOB"),                                                                           \
		OPTION_ROW(TEXT, "call", member.calls, "Only these system calls, such as read,pread64,openat",         \
			   .value = "NAME[,NAME...]"),                                                                 \
		OPTION_ROW(DURATION, "min-latency", member.min_ns,                                                     \
			   "Only calls that take this long or longer, such as 10ms", .value = "TIME",                  \
			   .zero_way_out = "leave it out to count all calls"),                                         \
		OPTION_ROW(DURATION, "duration", member.duration_ns,                                                   \
			   "Stop after this time, such as 30s or 5m; default: at Ctrl-C, or at the end of all "        \
			   "processes of --pid",                                                                       \
			   .letter = 'd', .value = "TIME", .zero_way_out = "leave it out to trace until Ctrl-C")

/**
 * io_choice_run() - trace what was chosen
 * @command: its name, for refusals
 * @wish: its view and ret_figures are the command's, the rest is filled in here
 * Return: exit status
 */
int io_choice_run(const struct io_choice *choice, const struct options_rest *rest, const char *command,
		  struct io_wish *wish);
