// SPDX-License-Identifier: Apache-2.0
/* `trace` as plain lines: the start, and the summary at the end. */
#pragma once

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

struct trace_told;

/* Data beside the figures. All borrowed. */
struct trace_setting {
	const char *scope;		/* whose processes are watched, completes "processes": "of alice" */
	const char *kept;		/* which calls are recorded: "slow calls and 1 in 64" */
	const Ingero__V1__Start *start; /* NULL before the daemon answered */
	bool names_processes;		/* only named processes are watched, so others are left out by request */
	bool has_program;		/* the trace started the watched program itself */
	size_t n_libraries;		/* attached so far */
	const char *demo;		/* name of the demo; NULL: a real trace */
	struct trace_told *told;	/* findings shown as they came; NULL: none were */
	bool is_start_shown;		/* trace_report_start() was called */
	const char *explain;		/* the command that queries the recording; NULL: none */
};

/** trace_report_explain() - the command that queries the recording; NULL: there is no recording */
const char *trace_report_explain(const struct trace_setting *setting);
/** trace_report_problem() - append the problem of the database, loud; nothing when all is well */
void trace_report_problem(const Ingero__V1__Store *store, const struct text_style *style, struct buf *out);
/** trace_report_start() - append what is watched and by which back end, then a line for each library */
void trace_report_start(const struct trace_setting *setting, const struct text_style *style, struct buf *out);
/**
 * trace_report_summary() - append table, losses and meaning
 * @is_cut: these are the last figures that came, not the final ones
 * Return: 0 or -ENOMEM
 */
int trace_report_summary(const struct trace_setting *setting, const Ingero__V1__Summary *summary, bool is_cut,
			 const struct text_style *style, struct buf *out);
/** trace_report_footer() - append "every call counted · nothing lost · kept: slow calls and 1 in 64" */
void trace_report_footer(const struct trace_setting *setting, const Ingero__V1__Summary *summary, struct buf *out);
