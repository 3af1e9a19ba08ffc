// SPDX-License-Identifier: Apache-2.0
/* get_causal_chains: findings of the whole recording, under the name that users of Ingero know. */
#include "mcp-server/findings.h"
#include "mcp-server/window.h"

#define TOP_DEFAULT 10

struct chains_arguments {
	struct window_wish window;
	struct param_pids pids;
	uint64_t top_n;
};

#define ARGUMENTS struct chains_arguments
static const struct param chains_params[] = {
	WINDOW_PARAMS(window, "the whole recording"),
	PIDS_PARAMS(pids),
	PARAM_ROW(NUMBER, "top_n", top_n, "Most findings to answer with; default: 10", .min = 1, .max = 100),
};

static const struct tool_member chains_members[] = {
	{ "summary", "string", "The answer in a line" },
	{ "findings", "array",
	  "Causal chains, worst first: process, operation, cause, chain of who waited for whom, remedy" },
	{ "more_findings", "integer", "Number of findings beyond top_n" },
	{ "more_operations", "integer", "Number of operations that explain leaves out" },
	{ "is_recording", "boolean", "Whether the window reaches to now and somebody records" },
	{ "window", "object", "The time that the answer covers; with details also the other members of explain" },
	{ "losses", "object", "What was lost in it, by reason; {}: nothing" },
};

static int chains_tool_run(const struct tool_call *call, struct answer *answer)
{
	const struct chains_arguments *a = call->arguments;
	Ingero__V1__Span span = window_span(&a->window, 0, clock_now_unix_ns());
	const struct ingero_explain_wish wish = {
		.without_kept = true,
		.from_unix_ns = span.from_unix_ns,
		.to_unix_ns = span.to_unix_ns,
		.is_whole = true,
		.pids = a->pids.items,
		.n_pids = a->pids.n,
	};
	int r = window_refuse(&a->window, answer);

	if (r < 0)
		return r;
	return findings_answer(call, &wish,
			       &(struct findings_question){ .tool = "get_causal_chains",
							    .pids = &a->pids,
							    .is_chosen = true,
							    .findings_max = a->top_n ? a->top_n : TOP_DEFAULT },
			       answer);
}

/* What explain has beside its findings. */
static const char *const chains_details[] = {
	"/accounts", "/more_accounts", "/operations", "/behind",	 "/sessions",  "/waits",
	"/gaps",     "/cost",	       "start_time",  "exec_generation", "present_ns", "total_raw_ns",
	"timeline",  "examples",       "tid",	      "takes",		 NULL,
};

static const struct answer_list chains_lists[] = {
	{ "findings", "raise max_tokens, or ask for one pid or a shorter since", .more = NULL },
};

static const struct answer_shape chains_shape = {
	.lists = chains_lists,
	.n_lists = ARRAY_SIZE(chains_lists),
	.spare = findings_spare,
	.details = chains_details,
	.details_how = "ask with details: true, or explain with the id of a finding",
};

const struct tool tool_get_causal_chains = {
	.name = "get_causal_chains",
	.title = "Causal chains of the whole recording",
	.description =
		"Findings alone, worst first, by default of everything that was recorded: what delayed which "
		"operation, "
		"through whom, and the remedy. For an overview of a long time; for what goes on now take explain.",
	.params = chains_params,
	.n_params = ARRAY_SIZE(chains_params),
	.arguments_bytes = sizeof(struct chains_arguments),
	.members = chains_members,
	.n_members = ARRAY_SIZE(chains_members),
	.shape = &chains_shape,
	.run = chains_tool_run,
};
