// SPDX-License-Identifier: Apache-2.0
/* Replies of a Trace call so far, and their display: a live screen, plain lines, JSON. */
#pragma once

#include <stdbool.h>

#include "cli/machine.h"
#include "cli/output.h"
#include "cli/trace/live.h"
#include "libingero/answers/trace/finding.h"
#include "cli/trace/progress.h"
#include "libingero/answers/trace/report.h"
#include "libingero/answers/trace/summary.h"

/* PROGRAM: lines, but the program has the terminal until it ends */
enum trace_view { TRACE_VIEW_JSON, TRACE_VIEW_LINES, TRACE_VIEW_SCREEN, TRACE_VIEW_PROGRAM };

struct trace_show {
	enum trace_view view;
	bool no_color;
	bool has_debug; /* stacks of recorded calls go to stderr */
	struct output out;
	struct text_style style;
	struct trace_setting setting;

	/* Replies. */
	Ingero__V1__Start *start; /* owned copy */
	struct trace_summary arriving;
	struct trace_summary figures;
	struct trace_summary recent_arriving, recent; /* figures of the last seconds */
	struct trace_summary later;		      /* figures that came while the screen was paused */
	struct trace_summary previous; /* on a screen the previous ones, else those that ended the last interval */
	struct trace_summary summary;
	size_t n_libraries;
	struct trace_told told;
	struct trace_progress progress;
	bool has_ended_interval; /* the figures ended an interval */
	struct trace_live live;

	/* The machine's load, for the head of the screen. */
	char host[64];
	int proc_fd;
	struct machine_sample machine_before;
	struct machine_load machine;
};

/** trace_show_init() - prepare. @setting: what is known before the start; its texts are borrowed */
void trace_show_init(struct trace_show *s, enum trace_view view, bool no_color, const struct trace_setting *setting,
		     const struct trace_pace *pace);
void trace_show_done(struct trace_show *s);

/**
 * trace_show_reply() - take a reply, and append its output to s->out
 * Return: 0 or -ENOMEM
 */
int trace_show_reply(struct trace_show *s, const Ingero__V1__TraceReply *reply);
/** trace_show_terminal() - take the terminal for the screen; otherwise plain lines are shown */
void trace_show_terminal(struct trace_show *s);
/** trace_show_key() - process one typed byte. Return: whether it asks for the end */
bool trace_show_key(struct trace_show *s, char key);
/** trace_show_resize() - the terminal's size has changed */
void trace_show_resize(struct trace_show *s);
/**
 * trace_show_end() - append the summary, or the last figures where there is none
 * Return: 0 or -ENOMEM
 */
int trace_show_end(struct trace_show *s);
