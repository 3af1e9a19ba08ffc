// SPDX-License-Identifier: Apache-2.0
/* `trace` as plain lines: what is said at the start, and the summary at the end. */
#pragma once

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

struct trace_told;

/* What is known beside the figures. All borrowed. */
struct trace_setting {
	const char *scope;		/* whose processes are watched, to follow "processes": "of alice" */
	const char *kept;		/* which single calls are kept: "slow calls and 1 in 64" */
	const Ingero__V1__Start *start; /* NULL before the daemon answered */
	bool names_processes;		/* only those that were named are watched, which leaves out others */
	size_t n_libraries;		/* attached so far */
	const char *demo;		/* name of the demo that is played; NULL: this is real */
	struct trace_told *told;	/* what was shown as it came; NULL: nothing was */
	bool is_start_shown;		/* trace_report_start() was */
	const char *explain;		/* the command that asks what was kept; NULL: there is none */
};

/** trace_report_is_kept() - what is seen goes into a database */
bool trace_report_is_kept(const Ingero__V1__Store *store);
/** trace_report_explain() - the command to ask again with; NULL: nothing is kept that could be asked */
const char *trace_report_explain(const struct trace_setting *setting);
/** trace_report_problem() - what is wrong with the database, loud; nothing when all is well */
void trace_report_problem(const Ingero__V1__Store *store, const struct text_style *style, struct buf *out);
/** trace_report_start() - what is watched and by which back end, then a line for each library */
void trace_report_start(const struct trace_setting *setting, const struct text_style *style, struct buf *out);
/**
 * trace_report_summary() - table, losses and meaning
 * @is_cut: these are the last figures that came, not the final ones
 * Return: 0 or -ENOMEM
 */
int trace_report_summary(const struct trace_setting *setting, const Ingero__V1__Summary *summary, bool is_cut,
			 const struct text_style *style, struct buf *out);
/** trace_report_footer() - "every call counted · nothing lost · kept: slow calls and 1 in 64" */
void trace_report_footer(const struct trace_setting *setting, const Ingero__V1__Summary *summary, struct buf *out);
