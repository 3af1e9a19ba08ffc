// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/explain/rest.h"

#include <errno.h>
#include <string.h>

#include "libingero/answers/account/text.h"
#include "libingero/answers/host.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/render/blame.h"
#include "libingero/render/units.h"

#define FAILURES_MOST 3u /* sentences; the table of operations has all */
#define COVERED_LEAST 2u /* findings cover a part where they have one in so many of its nanoseconds */

/* Whether a finding is about a CPU that was not there, as is the part: one about waits says nothing of it. */
static bool is_about(const Ingero__V1__Finding *finding, const struct account_part *part)
{
	enum blame_view_class class = blame_view_parse(finding->cause ? finding->cause->takes : NULL);

	return (class == BLAME_VIEW_RUNNABLE || class == BLAME_VIEW_QUOTA) == part->is_without_cpu;
}

/* What findings of the process say of a part. Several may count the same time: that is no reason for a sentence. */
static uint64_t found_ns(const Ingero__V1__ExplainReply *reply, const Ingero__V1__Account *account,
			 const struct account_part *part)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < reply->n_findings; i++) {
		const Ingero__V1__Finding *finding = reply->findings[i];

		if (finding->pid == account->pid && is_about(finding, part) &&
		    account_is_on(account, finding->node_told_case ? finding->node : NULL))
			sum_ns += finding->lost_ns;
	}
	return sum_ns;
}

int explain_rest_part(const Ingero__V1__ExplainReply *reply, struct buf *text)
{
	Ingero__V1__Account *rest = NULL;
	unsigned int most = 0;

	for (size_t i = 0; i < reply->n_accounts; i++) {
		struct account_part part;
		int r = account_largest(reply->accounts[i], &part);

		if (r < 0)
			return r;
		if (part.percent <= most || found_ns(reply, reply->accounts[i], &part) >= part.ns / COVERED_LEAST)
			continue;
		most = part.percent;
		rest = reply->accounts[i];
	}
	return rest ? account_append_largest(rest, text) : 0;
}

/* A query returns an error as long as the GPU is not ready: that is its answer. */
static bool has_failures(const Ingero__V1__Operation *op)
{
	return op->errors && !host_is_source(op->source) && !strstr(op->op, "Query");
}

bool explain_rest_has_failures(const Ingero__V1__ExplainReply *reply)
{
	for (size_t i = 0; i < reply->n_operations; i++)
		if (has_failures(reply->operations[i]))
			return true;
	return false;
}

void explain_rest_failures(const Ingero__V1__ExplainReply *reply, struct buf *text)
{
	size_t n = 0;

	for (size_t i = 0; i < reply->n_operations; i++) {
		const Ingero__V1__Operation *op = reply->operations[i];

		if (!has_failures(op) || n++ >= FAILURES_MOST)
			continue;
		(void)buf_printf(text, "%s%s of %s of %s in %s (pid %u%s%s) failed", n > 1 ? " " : "",
				 units_count(op->errors).text, units_things(op->count, "call", "calls").text, op->op,
				 trace_process_name(op->process_name, op->program).text, op->pid,
				 op->node_told_case ? " on " : "", op->node_told_case ? op->node : "");
		trace_error_append(op, text);
		(void)buf_append_text(text, ".");
	}
	if (n > FAILURES_MOST)
		(void)buf_printf(text, " So did calls of %s.",
				 units_things(n - FAILURES_MOST, "more operation", "more operations").text);
}
