// SPDX-License-Identifier: Apache-2.0
/* watch: traces the caller's processes for some seconds, and says what their calls cost. */
#include <errno.h>
#include <inttypes.h>

#include "libingero/answers/host.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/answers/trace/summary.h"
#include "libingero/connect/caller.h"
#include "libingero/render/pb_json.h"
#include "libingero/render/units.h"
#include "mcp-server/window.h"

#define SECONDS_DEFAULT 10
#define SECONDS_MOST 300
#define WATCH_PERIOD_NS NSEC_PER_SEC
#define NAMES_MOST 5u /* processes in a sentence */

struct watch_arguments {
	struct param_pids pids;
	uint64_t seconds;
};

#define ARGUMENTS struct watch_arguments
static const struct param watch_params[] = {
	PARAM_ROW(NUMBER, "seconds", seconds, "How long; default: 10", .min = 1, .max = SECONDS_MOST),
	PARAM_ROW(PID, "pid", pids, "Only this process and its descendants; default: all of yours"),
	PARAM_ROW(PIDS, "pids", pids, "Only these processes and their descendants"),
};

static const struct tool_member watch_members[] = {
	{ "notice", "string", "Why no call was seen; absent: some were" },
	{ "from", "string", "When the watch began" },
	{ "timestamp", "string", "When it ended" },
	{ "operations", "array",
	  "Operations of each process: count, errors, total_ns, p50_ns, p99_ns, "
	  "blame_ns (by class, with the tracer's share)" },
	{ "findings", "array", "Problems that were seen meanwhile" },
	{ "accounts", "array", "Where the wall clock of each thread went" },
	{ "in_flight", "array", "Calls that have not returned" },
	{ "behind", "array", "Processes that ran while calls waited for a CPU" },
	{ "window_ns", "integer", "How long was watched" },
	{ "lost", "object", "What was lost, by reason; {}: nothing" },
};

static const struct answer_list watch_lists[] = {
	{ "behind", "raise max_tokens, or watch one pid", .more = NULL },
	{ "in_flight", "raise max_tokens, or watch one pid", .more = NULL },
	{ "accounts", "blame", .inner = "parts" },
	{ "operations", "get_trace_stats", .more = NULL },
	{ "findings", "explain", .more = NULL },
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
	uint64_t n_calls;   /* of the figures that are coming, which may be in pieces */
	struct buf idle;    /* processes that map CUDA libraries, in words; empty: none */
	size_t n_idle;
};

static uint64_t calls_of(const Ingero__V1__Summary *summary)
{
	uint64_t n = 0;

	for (size_t i = 0; i < summary->n_operations; i++)
		if (!host_is_source(summary->operations[i]->source))
			n += summary->operations[i]->count;
	return n;
}

/* Who could make calls, as the watch begins. */
static void watch_start_take(struct watch *watch, const Ingero__V1__Start *start)
{
	for (size_t i = 0; i < start->n_cuda_processes; i++) {
		const Ingero__V1__CudaProcess *process = start->cuda_processes[i];

		if (!process->is_traced || watch->n_idle++ >= NAMES_MOST)
			continue;
		(void)buf_printf(&watch->idle, "%s%s (pid %u)", watch->idle.n ? ", " : "",
				 trace_process_name(process->process_name, process->program).text, process->pid);
	}
	if (watch->n_idle > NAMES_MOST)
		(void)buf_printf(&watch->idle, " and %zu more", watch->n_idle - NAMES_MOST);
}

static int watch_reply_take(const ProtobufCMessage *message, void *data)
{
	const Ingero__V1__TraceReply *reply = (const Ingero__V1__TraceReply *)message;
	struct watch *watch = data;
	char text[128];

	switch (reply->body_case) {
	case INGERO__V1__TRACE_REPLY__BODY_START:
		watch_start_take(watch, reply->start);
		return 0;
	case INGERO__V1__TRACE_REPLY__BODY_FIGURES:
		watch->n_calls += calls_of(reply->figures);
		if (reply->figures->more || watch->n_figures >= watch->seconds)
			return 0;
		watch->n_figures++;
		(void)snprintf(text, sizeof(text), "%s of your processes so far",
			       units_things(watch->n_calls, "call", "calls").text);
		watch->n_calls = 0;
		rpc_progress(watch->rpc, (double)watch->n_figures, (double)watch->seconds, text);
		return 0;
	case INGERO__V1__TRACE_REPLY__BODY_SUMMARY:
		return trace_summary_add(&watch->summary, reply->summary);
	default:
		return 0;
	}
}

/* Of a watch that saw no call: that some may be waiting in one, or that nobody is there to make any. */
static void silence_append(const struct watch *watch, struct answer *answer)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (watch->idle.n)
		(void)buf_printf(&text,
				 "%.*s %s CUDA libraries but made no call in %" PRIu64
				 " s; a call that began before the watch is not seen until it returns",
				 (int)watch->idle.n, (const char *)watch->idle.data, watch->n_idle > 1 ? "map" : "maps",
				 watch->seconds);
	else
		(void)buf_append_text(&text, "no process that was watched maps a CUDA library: none runs, or it has "
					     "not loaded one yet");
	answer_put_first(answer, "notice", buf_text(&text));
	answer_next(answer, "get_check", "which processes map CUDA libraries, and whether they can be traced", NULL,
		    NULL);
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
	answer_put_first(answer, "from",
			 window_time(watch->summary.view.timestamp_unix_ns - watch->summary.view.window_ns).text);
	if (calls_of(&watch->summary.view) || watch->summary.view.n_in_flight)
		answer_next(answer, "explain", "findings of this time, with causes", "since", "5m");
	else
		silence_append(watch, answer);
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
	buf_done(&watch.idle);
	ingero_close(ingero);
	return r;
}

const struct tool tool_watch = {
	.name = "watch",
	.title = "Watch your processes now",
	.description =
		"Traces your own running GPU processes for some seconds and answers with exact figures, accounts and "
		"findings of that time; reports its progress each second, and can be cancelled. What it sees is "
		"recorded, too (in ~/.ingero/ingero.db, or by the service). When nothing was "
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
