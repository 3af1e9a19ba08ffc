// SPDX-License-Identifier: Apache-2.0
/* explain: what went wrong in a window, and why; or one finding. */
#include "mcp-server/findings.h"
#include "mcp-server/window.h"

struct explain_arguments {
	struct window_wish window;
	struct param_pids pids;
	uint64_t last_calls;
	const char *id;
};

#define ARGUMENTS struct explain_arguments
static const struct param explain_params[] = {
	WINDOW_PARAMS(window, "5m; where recording has stopped, the last 5m that were recorded"),
	PIDS_PARAMS(pids),
	PARAM_ROW(NUMBER, "last", last_calls, "Instead of a time: since the N-th last recorded call", .min = 1),
	PARAM_ROW(TEXT, "id", id, "Instead of a time: one finding, by its id or the beginning of it, in full"),
};

static const struct tool_member explain_members[] = {
	{ "summary", "string", "The answer in a line" },
	{ "findings", "array",
	  "Problems, worst first: kind, severity, process, operation, from (the line of the program), cause, evidence, "
	  "advice, lost_ns" },
	{ "more_findings", "integer", "Number of findings left out by the daemon" },
	{ "accounts", "array", "Of each process the thread that lost most: where its wall clock went" },
	{ "more_accounts", "integer", "Number of threads with an account that only blame shows" },
	{ "operations", "array", "The operations that took most time: exact counts, totals, percentiles" },
	{ "more_operations", "integer", "Number of operations beyond those" },
	{ "waits", "array", "Processes whose main thread was off the CPU, in no call, for most of the time" },
	{ "behind", "array", "Processes that ran while calls waited for a CPU" },
	{ "system_peak", "object", "The worst of CPU, memory, load and pressure" },
	{ "gaps", "array", "Times of which something is missing" },
	{ "examples", "array", "With id: those of its calls that were recorded, with their stacks (details)" },
	{ "is_recording", "boolean", "Whether the window reaches to now and somebody records" },
	{ "window", "object",
	  "The time that the answer covers; widened: figures are stored in longer spans, and reach beyond it" },
	{ "sessions", "array", "Recordings in it (details)" },
	{ "cost", "object", "What tracing took (details)" },
	{ "losses", "object", "What was lost in it, by reason; {}: nothing" },
};

static int explain_tool_run(const struct tool_call *call, struct answer *answer)
{
	const struct explain_arguments *a = call->arguments;
	Ingero__V1__Span span = window_span(&a->window, 0, clock_now_unix_ns());
	const struct ingero_explain_wish wish = {
		.without_kept = true,
		.from_unix_ns = span.from_unix_ns,
		.to_unix_ns = span.to_unix_ns,
		.is_whole = window_is_given(&a->window),
		.last_calls = a->last_calls,
		.id = a->id,
		.pids = a->pids.items,
		.n_pids = a->pids.n,
	};
	int r = window_refuse(&a->window, answer);

	if (r < 0)
		return r;
	if (a->id && (window_is_given(&a->window) || a->last_calls || a->pids.n))
		return answer_fail(answer, "'id' names one finding; leave out the time, 'last', 'pid' and 'pids'");
	if (a->last_calls && window_is_given(&a->window))
		return answer_fail(answer, "take either 'last' or a time, not both");
	answer->has_details |= a->id != NULL;
	return findings_answer(call, &wish,
			       &(struct findings_question){ .tool = "explain",
							    .pids = &a->pids,
							    .is_chosen = a->id || a->last_calls || wish.is_whole },
			       answer);
}

const struct tool tool_explain = {
	.name = "explain",
	.title = "What slowed GPU programs down, and why",
	.description =
		"Begin here. Findings of a window, worst first: which process lost how much time in which operation, "
		"the "
		"measured cause (down to the process that took the CPU, the file, the lock), evidence, and the remedy. "
		"With 'id', everything about one finding. Not for single calls (explain_call) or for figures of all "
		"operations (get_trace_stats).",
	.params = explain_params,
	.n_params = ARRAY_SIZE(explain_params),
	.arguments_bytes = sizeof(struct explain_arguments),
	.members = explain_members,
	.n_members = ARRAY_SIZE(explain_members),
	.shape = &findings_shape,
	.run = explain_tool_run,
};
