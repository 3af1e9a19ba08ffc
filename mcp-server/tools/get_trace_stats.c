// SPDX-License-Identifier: Apache-2.0
/* get_trace_stats: exact figures of every operation in a window. */
#include <errno.h>

#include "ingero/answers.h"
#include "libingero/render/pb_json.h"
#include "mcp-server/findings.h"

#define ROW_TOKENS_LEAST 16 /* of an operation: calls of microseconds in a telegraphic table have no fewer */

struct stats_arguments {
	struct window_wish window;
	struct param_pids pids;
};

#define ARGUMENTS struct stats_arguments
static const struct param stats_params[] = {
	WINDOW_PARAMS(window, "5m; where recording has stopped, the last 5m that were recorded"),
	PIDS_PARAMS(pids),
};

static const struct tool_member stats_members[] = {
	NOTHING_MEMBER,
	{ "operations", "array",
	  "Operations of each process, those that took most time first; behind the calls what the kernel counted: "
	  "wait_main and wait_threads (threads outside of calls, off the CPU), process_exec and others: count, errors, "
	  "total_ns, p50_ns, p95_ns, "
	  "p99_ns, "
	  "max_ns, bytes, and blame_ns: by class, summing to total_raw_ns, which is total_ns with the tracer's share "
	  "(details): shares are of that sum" },
	{ "more_operations", "integer", "Number of operations that this answer did not read" },
	{ "behind", "array", "Processes that ran while calls waited for a CPU" },
	{ "system_peak", "object", "The worst of CPU, memory, load and pressure" },
	{ "window", "object", "The time that the figures cover: calls, processes" },
	{ "lost", "object", "What was lost in it, by reason; {}: nothing" },
};

static const struct answer_list stats_lists[] = {
	{ "behind", "raise max_tokens, or ask for one pid", .more = NULL },
	{ "operations", "raise max_tokens, or ask for one pid", .more = "more_operations" },
};

static const char *const stats_details[] = { "start_time", "exec_generation", "program", "total_raw_ns",
					     "source",	   "abandoned",	      "untimed", NULL };

static void message_write(struct writer *w, const char *key, const ProtobufCMessage *message)
{
	CLEANUP(buf_done) struct buf json = BUF_INIT;

	if (!message)
		return;
	pb_json_append(&json, message);
	writer_raw(w, key, buf_text(&json), json.n);
}

static int stats_write(const Ingero__V1__ExplainReply *reply, struct answer *answer)
{
	CLEANUP(buf_done) struct buf arguments = BUF_INIT;
	struct writer w = { .out = &answer->body };

	writer_open(&w, NULL, '{');
	message_write(&w, "window", reply->window ? &reply->window->base : NULL);
	message_write(&w, "lost", reply->lost ? &reply->lost->base : NULL);
	writer_open(&w, "operations", '[');
	for (size_t i = 0; i < reply->n_operations; i++)
		message_write(&w, NULL, &reply->operations[i]->base);
	writer_close(&w, ']');
	writer_integer(&w, "more_operations", reply->more_operations);
	writer_open(&w, "behind", '[');
	for (size_t i = 0; i < reply->n_behind; i++)
		message_write(&w, NULL, &reply->behind[i]->base);
	writer_close(&w, ']');
	message_write(&w, "system_peak", reply->system_peak ? &reply->system_peak->base : NULL);
	writer_close(&w, '}');
	window_arguments(&arguments, reply->window, 0);
	if (reply->window && reply->window->calls)
		answer_next_arguments(answer, "blame", "where the time of each thread went, in calls and between them",
				      buf_text(&arguments));
	if (reply->n_findings)
		answer_next_arguments(answer, "explain", "the findings of this time, with causes",
				      buf_text(&arguments));
	return answer->body.failed ? -ENOMEM : 0;
}

static const struct answer_shape stats_shape = {
	.lists = stats_lists,
	.n_lists = ARRAY_SIZE(stats_lists),
	.spare = findings_spare,
	.details = stats_details,
	.details_how = "ask with details: true",
};

/* No fewer than fit the budget. */
static uint32_t operations_that_fit(uint64_t tokens_max)
{
	return (uint32_t)(tokens_max / ROW_TOKENS_LEAST) + 1;
}

static int stats_tool_run(const struct tool_call *call, struct answer *answer)
{
	const struct stats_arguments *a = call->arguments;
	CLEANUP(ingero_explanation_done) struct ingero_explanation explanation = { .reply = NULL };
	Ingero__V1__Span span = window_span(&a->window, 0, clock_now_unix_ns());
	const struct ingero_explain_wish wish = {
		.without_kept = true,
		.without_accounts = true,
		.from_unix_ns = span.from_unix_ns,
		.to_unix_ns = span.to_unix_ns,
		.is_whole = window_is_given(&a->window),
		.pids = a->pids.items,
		.n_pids = a->pids.n,
		.per_process = true,
		.operations_max = answer->cursor_at + operations_that_fit(answer->tokens_max),
	};
	struct ingero *ingero;
	int r = window_refuse(&a->window, answer);

	if (r < 0)
		return r;
	ingero = tool_connect(call, answer);
	if (!ingero)
		return -EINVAL;
	r = tool_asked(ingero, ingero_explain(ingero, &wish, &explanation), answer);
	if (r == 0)
		r = stats_write(explanation.reply, answer);
	if (r == 0 && (!explanation.reply->window || !explanation.reply->window->calls))
		r = nothing_write(ingero,
				  &(struct nothing){ .tool = "get_trace_stats",
						     .from_unix_ns = explanation.from_unix_ns,
						     .to_unix_ns = explanation.to_unix_ns,
						     .pids = &a->pids,
						     .is_of_file = call->rpc->asker->server->db_paths },
				  answer);
	return r;
}

const struct tool tool_get_trace_stats = {
	.name = "get_trace_stats",
	.title = "Exact figures of every operation",
	.description =
		"Counts, totals, percentiles and time by class of every GPU operation of each process in a window: "
		"every call is counted. To compare operations and processes; for causes and remedies take explain.",
	.params = stats_params,
	.n_params = ARRAY_SIZE(stats_params),
	.arguments_bytes = sizeof(struct stats_arguments),
	.members = stats_members,
	.n_members = ARRAY_SIZE(stats_members),
	.shape = &stats_shape,
	.run = stats_tool_run,
};
