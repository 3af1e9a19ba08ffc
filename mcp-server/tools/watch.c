// SPDX-License-Identifier: Apache-2.0
/* watch: traces the caller's processes for some seconds, and says what their calls cost. */
#include <errno.h>

#include "libingero/answers/trace/summary.h"
#include "libingero/connect/caller.h"
#include "libingero/render/pb_json.h"
#include "mcp-server/tool.h"

#define SECONDS_DEFAULT 10
#define SECONDS_MOST 300
#define WATCH_PERIOD_NS NSEC_PER_SEC

struct watch_arguments {
	struct param_pids pids;
	uint64_t seconds;
};

#define ARGUMENTS struct watch_arguments
static const struct param watch_params[] = {
	PARAM_ROW(NUMBER, "seconds", seconds, "How long; default: 10", .min = 1, .max = SECONDS_MOST),
	PARAM_ROW(PID, "pid", pids, "Only this process and its children; default: all of yours"),
	PARAM_ROW(PIDS, "pids", pids, "Only these processes and their children"),
};

static const struct tool_member watch_members[] = {
	{ "operations", "array", "Operations of each process: count, errors, total_ns, p50_ns, p99_ns, blame_ns" },
	{ "findings", "array", "Problems that were seen meanwhile" },
	{ "accounts", "array", "Where the wall clock of each thread went" },
	{ "in_flight", "array", "Calls that have not returned" },
	{ "behind", "array", "Processes that ran while calls waited for a CPU" },
	{ "window_ns", "integer", "How long was watched" },
	{ "lost", "object", "What was lost, by reason; {}: nothing" },
};

static const struct answer_list watch_lists[] = {
	{ "behind", "raise max_tokens, or watch one pid", NULL },
	{ "in_flight", "raise max_tokens, or watch one pid", NULL },
	{ "accounts", "blame", NULL },
	{ "operations", "get_trace_stats", NULL },
	{ "findings", "explain", NULL },
};

static const char *const watch_details[] = {
	"/libraries", "/store",	      "/life",	  "/not_shown", "/cost",   "/delay",	"start_time", "exec_generation",
	"program",    "total_raw_ns", "examples", "source",	"untimed", "abandoned", NULL,
};

static const struct answer_shape watch_shape = {
	.lists = watch_lists,
	.n_lists = ARRAY_SIZE(watch_lists),
	.details = watch_details,
	.details_how = "ask with details: true, or explain with the id of a finding",
};

struct watch {
	struct rpc_call *rpc;
	struct trace_summary summary;
	uint64_t seconds;
	uint64_t n_figures; /* that came, one a second */
};

static int watch_reply_take(const ProtobufCMessage *message, void *data)
{
	const Ingero__V1__TraceReply *reply = (const Ingero__V1__TraceReply *)message;
	struct watch *watch = data;
	char text[64];

	switch (reply->body_case) {
	case INGERO__V1__TRACE_REPLY__BODY_FIGURES:
		if (reply->figures->more || watch->n_figures >= watch->seconds)
			return 0;
		watch->n_figures++;
		(void)snprintf(text, sizeof(text), "%zu operations of your processes", reply->figures->n_operations);
		rpc_progress(watch->rpc, (double)watch->n_figures, (double)watch->seconds, text);
		return 0;
	case INGERO__V1__TRACE_REPLY__BODY_SUMMARY:
		return trace_summary_add(&watch->summary, reply->summary);
	default:
		return 0;
	}
}

static int watch_ask(struct watch *watch, const struct watch_arguments *a, struct ingero *ingero, struct answer *answer)
{
	static char record[] = "slow";
	Ingero__V1__TraceRequest request = INGERO__V1__TRACE_REQUEST__INIT;
	struct caller caller = caller_get();
	uint32_t own = caller.uid;
	int r;

	request.pids = (uint32_t *)(uintptr_t)a->pids.items; /* the message borrows them */
	request.n_pids = a->pids.n;
	request.uids = &own;
	request.n_uids = a->pids.n == 0;
	request.record = record;
	request.duration_ns = watch->seconds * NSEC_PER_SEC;
	request.figures_period_ns = WATCH_PERIOD_NS;
	r = tool_asked(ingero,
		       asker_read(ingero, "ingero.v1.Trace.Trace", &request.base, watch_reply_take, watch,
				  &watch->rpc->is_cancelled),
		       answer);
	if (r < 0)
		return r;
	if (!watch->summary.is_whole)
		return answer_fail(answer, "the daemon ended the trace without a summary");
	pb_json_append(&answer->body, &watch->summary.view.base);
	answer_next(answer, "explain", "findings of this time, with causes", "since", "5m");
	return answer->body.failed ? -ENOMEM : 0;
}

static int watch_tool_run(const struct tool_call *call, struct answer *answer)
{
	const struct watch_arguments *a = call->arguments;
	struct watch watch = { .rpc = call->rpc,
			       .summary = TRACE_SUMMARY_INIT,
			       .seconds = a->seconds ? a->seconds : SECONDS_DEFAULT };
	const struct ingero_connect_wish wish = { .kind = INGERO_CONNECT_CAPTURE,
						  .command = "trace",
						  .program = "ingero-mcp " INGERO_VERSION };
	char error[ASKER_ERROR_BYTES] = "";
	struct ingero *ingero;
	int r;

	if (call->rpc->asker->server->db_paths)
		return answer_fail(answer, "this server answers from a file; start it without '--db' to watch");
	if (ingero_connect(&wish, error, sizeof(error), &ingero, NULL) < 0)
		return answer_fail(answer, "%s", *error ? error : "no daemon is running");
	r = watch_ask(&watch, a, ingero, answer);
	trace_summary_done(&watch.summary);
	ingero_close(ingero);
	return r;
}

const struct tool tool_watch = {
	.name = "watch",
	.title = "Watch your processes now",
	.description =
		"Traces your own running GPU processes for some seconds and answers with exact figures, accounts and "
		"findings of that time; reports its progress each second, and can be cancelled. When nothing was "
		"recorded, or to see the effect of a change. Needs the service, or root.",
	.params = watch_params,
	.n_params = ARRAY_SIZE(watch_params),
	.arguments_bytes = sizeof(struct watch_arguments),
	.members = watch_members,
	.n_members = ARRAY_SIZE(watch_members),
	.shape = &watch_shape,
	.starts_work = true,
	.run = watch_tool_run,
};
