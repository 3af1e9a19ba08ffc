// SPDX-License-Identifier: Apache-2.0
/*
 * One Trace call from its request to its summary.
 *
 * One loop waits for the daemon, signals, keys, and for stdout's reader to go
 * away. However it ends, the daemon is asked to finish first, so that the
 * summary is the last thing that comes.
 */
#pragma once

#include "libingero/connect/caller.h"
#include "cli/trace/show.h"
#include "ingero/ingero.h"

#define TRACE_FIGURES_PERIOD_NS 1000000000ull /* a screen that changes more often cannot be read */
#define TRACE_RECENT_NS 10000000000ull	      /* what it shows, unless it shows totals */
#define TRACE_SAMPLE_EVERY 64		      /* the daemon's, ingero.proto */

/* What is watched and how it is shown; all borrowed. */
struct trace_wish {
	const struct caller *caller;
	const Ingero__V1__TraceRequest *request; /* for a program: all but whom to watch */
	enum trace_view view;
	bool no_color;
	struct trace_setting setting; /* as far as it is known before the start */
	struct trace_pace pace;	      /* of progress lines */
	char **program;		      /* NULL: none */
};

struct trace_result {
	int status;		/* exit status */
	bool is_gone;		/* whoever read our output has left */
	bool is_interrupted;	/* somebody asked for the end, or the program that was started ended */
	uint64_t start_unix_ns; /* as the daemon says; 0: it never began */
};

/** trace_view_choose() - how stdout is served */
enum trace_view trace_view_choose(bool is_json, bool has_program);
/**
 * trace_session_run() - until the daemon, the program or the user ends it
 * @ingero: closed and set to NULL when its daemon can answer nothing more
 */
struct trace_result trace_session_run(struct ingero **ingero, const struct trace_wish *wish);
/** trace_session_leave() - end as `cat | head` ends, if whoever read our output has left */
void trace_session_leave(const struct trace_result *result);
