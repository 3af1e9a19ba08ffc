// SPDX-License-Identifier: Apache-2.0
/*
 * One Trace call from its request to its summary.
 *
 * One loop waits for the daemon, signals, keys, and for stdout's reader to go away. However it ends, the daemon is
 * first asked to finish: the summary is the last message.
 */
#pragma once

#include "libingero/connect/caller.h"
#include "cli/trace/show.h"
#include "ingero/ingero.h"

#define TRACE_FIGURES_PERIOD_NS 1000000000ull /* a faster screen cannot be read */
#define TRACE_RECENT_NS 10000000000ull	      /* window of the live figures, unless totals are shown */
#define TRACE_SAMPLE_EVERY 64		      /* the daemon's, ingero.proto */

/* The processes to trace and the form of output; all borrowed. */
struct trace_wish {
	const struct caller *caller;
	const Ingero__V1__TraceRequest *request; /* everything but the processes; completed for a program */
	enum trace_view view;
	bool no_color;
	bool has_debug;		      /* stacks of recorded calls go to stderr */
	struct trace_setting setting; /* as far as it is known before the start */
	struct trace_pace pace;	      /* settings of progress lines */
	char **program;		      /* NULL: none */
};

struct trace_result {
	int status;		/* exit status */
	bool is_gone;		/* the reader of our output has gone away */
	bool is_interrupted;	/* the end was asked for, or the started program ended */
	uint64_t start_unix_ns; /* reported by the daemon; 0: it never began */
};

/** trace_view_choose() - choose the form of output for stdout */
enum trace_view trace_view_choose(bool is_json, bool has_program);
/**
 * trace_session_run() - trace until the daemon, the program or the user ends it
 * @ingero: closed and set to NULL when its daemon cannot answer any more
 */
struct trace_result trace_session_run(struct ingero **ingero, const struct trace_wish *wish);
/** trace_session_leave() - end as by SIGPIPE, if the reader of our output has gone away */
void trace_session_leave(const struct trace_result *result);
