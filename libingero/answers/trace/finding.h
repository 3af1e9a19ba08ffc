// SPDX-License-Identifier: Apache-2.0
/*
 * Findings while tracing: one line each as they come, the worst on the live screen,
 * all of them before the summary.
 */
#pragma once

#include <stdbool.h>

#include "base/array.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/answers/explain/finding.h"
#include "libingero/render/text.h"

/* What was told of each finding: an update that says nothing new is no line. */
struct trace_told {
	ARRAY(struct trace_told_one {
		char id[17];
		enum explain_severity severity;
		bool is_over;
		uint64_t lost_ns; /* of its last line */
	})
	findings;
};

void trace_told_done(struct trace_told *told);
/** trace_finding_is_news() - first heard of, worse than before, over, or back again; remembers it */
bool trace_finding_is_news(struct trace_told *told, const Ingero__V1__Finding *finding);

/**
 * trace_finding_append() - one line
 *
 * "▲ HIGH cudaStreamSynchronize waited for the CPU behind hog (pid 42, root): 1.3 s lost so far · ingero explain
 * 8f3a2c", broken where the terminal ends. @explain: the command that asks for more, here and below; NULL: none does
 */
void trace_finding_append(const Ingero__V1__Finding *finding, const char *explain, const struct text_style *style,
			  struct buf *out);
/** trace_finding_append_now() - the same for a screen of what is going on: without the mark where it is over */
void trace_finding_append_now(const Ingero__V1__Finding *finding, const char *explain, const struct text_style *style,
			      struct buf *out);
/** trace_findings_sorted() - all of a summary, those that go on first, then worst first. Return: to be freed, or NULL
 */
const Ingero__V1__Finding **trace_findings_sorted(const Ingero__V1__Summary *summary);
/** trace_finding_append_one() - the same cut to one line, as a screen wants it */
void trace_finding_append_one(const Ingero__V1__Finding *finding, const char *explain, const struct text_style *style,
			      struct buf *out);
/**
 * trace_findings_append() - those of a summary, worst first, as many as a screen bears; nothing when there are none
 * @told: what had its line already; of these, whatever is over or the same is not repeated. NULL: nothing was told
 */
void trace_findings_append(const Ingero__V1__Summary *summary, struct trace_told *told, const char *explain,
			   const struct text_style *style, struct buf *out);
/** trace_finding_worst() - of those that go on; NULL when none does */
const Ingero__V1__Finding *trace_finding_worst(const Ingero__V1__Summary *summary);
