// SPDX-License-Identifier: Apache-2.0
/* Findings while tracing: one line each as they come, the worst on the live screen, all of them before the summary. */
#pragma once

#include <stdbool.h>

#include "base/array.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/answers/explain/finding.h"
#include "libingero/render/text.h"

/* The last line of each finding: an update that changes nothing gets no line. */
struct trace_told {
	ARRAY(struct trace_told_one {
		char id[17];
		enum explain_severity severity;
		bool is_over;
		uint64_t lost_ns; /* its last line */
	})
	findings;
};

void trace_told_done(struct trace_told *told);
/** trace_finding_is_news() - whether it is new, worse than before, over, or back again; remembers it */
bool trace_finding_is_news(struct trace_told *told, const Ingero__V1__Finding *finding);

/**
 * trace_finding_append() - append one line
 *
 * "▲ HIGH cudaStreamSynchronize waited for the CPU behind hog (pid 42, root): 1.3 s lost so far · ingero explain
 * 8f3a2c", "▲ HIGH python3 train.py (pid 41) waited for data from loader (pid 42, root): ...", broken at the terminal's
 * width. @explain: the command for details, here and below; NULL: none
 */
void trace_finding_append(const Ingero__V1__Finding *finding, const char *explain, const struct text_style *style,
			  struct buf *out);
/** trace_finding_event_append() - append what happened to whom and through whom, without what was lost */
void trace_finding_event_append(const Ingero__V1__Finding *finding, struct buf *text);
/** trace_finding_append_now() - append it for the live screen: a finding that is over has no mark */
void trace_finding_append_now(const Ingero__V1__Finding *finding, const char *explain, const struct text_style *style,
			      struct buf *out);
/** trace_findings_sorted() - sort those of a summary as explain does, worst first. Return: to be freed, or NULL */
const Ingero__V1__Finding **trace_findings_sorted(const Ingero__V1__Summary *summary);
/** trace_findings_sorted_now() - likewise for the live screen: continuing ones first */
const Ingero__V1__Finding **trace_findings_sorted_now(const Ingero__V1__Summary *summary);
/** trace_finding_append_one() - append it cut to one line, for the live screen */
void trace_finding_append_one(const Ingero__V1__Finding *finding, const char *explain, const struct text_style *style,
			      struct buf *out);
/**
 * trace_findings_append() - append those of a summary, worst first, as many as fit a screen; nothing without findings
 * @told: findings that had a line already; of these only changed ones that continue are repeated. NULL: none had
 */
void trace_findings_append(const Ingero__V1__Summary *summary, struct trace_told *told, const char *explain,
			   const struct text_style *style, struct buf *out);
/** trace_finding_worst() - the worst that continues; NULL without such a finding */
const Ingero__V1__Finding *trace_finding_worst(const Ingero__V1__Summary *summary);
