// SPDX-License-Identifier: Apache-2.0
/* graph_lifecycle: the recorded calls on CUDA graphs of a process, in order of time. */
#include <inttypes.h>

#include "mcp-server/nothing.h"

#define GRAPH_CALLS_MOST 1000
#define LIFECYCLE_SINCE_NS (3600 * NSEC_PER_SEC)

struct lifecycle_arguments {
	struct window_wish window;
	struct param_pids pids;
};

#define ARGUMENTS struct lifecycle_arguments
static const struct param lifecycle_params[] = {
	PARAM_ROW(PID, "pid", pids, "The process", .is_required = true),
	WINDOW_PARAMS(window, "1h, of a file the whole recording"),
};

static const struct tool_member lifecycle_members[] = {
	NOTHING_MEMBER,
	{ "meta", "object", "rows, truncated" },
	{ "columns", "array",
	  "timestamp (ns since 1970), op_name, duration (ns), graph (handle of the executable graph), ret_code, tid" },
	{ "data", "array",
	  "Recorded calls, in order of time: each instantiation, of launches those that were slow or sampled" },
};

static const struct answer_list lifecycle_lists[] = { { "data", "raise max_tokens, or a shorter since",
							.more = NULL } };
static const struct answer_shape lifecycle_shape = { .lists = lifecycle_lists, .n_lists = ARRAY_SIZE(lifecycle_lists) };

static int lifecycle_tool_run(const struct tool_call *call, struct answer *answer)
{
	const struct lifecycle_arguments *a = call->arguments;
	bool is_of_file = call->rpc->asker->server->db_paths;
	uint64_t default_ns = is_of_file ? 0 : LIFECYCLE_SINCE_NS;
	int r = window_refuse(&a->window, answer);
	struct buf sql = BUF_INIT;
	Ingero__V1__Span span;

	if (r < 0)
		return r;
	(void)buf_printf(&sql,
			 "SELECT timestamp, op_name, duration, arg0 AS graph, ret_code, tid FROM events WHERE pid = %u "
			 "AND op_name IN (SELECT description FROM ops WHERE description LIKE '%%Graph%%')",
			 a->pids.items[0]);
	window_sql_append(&a->window, default_ns, "timestamp", &sql);
	(void)buf_append_text(&sql, " ORDER BY timestamp");
	r = tool_delegate_sql(call, buf_text(&sql), GRAPH_CALLS_MOST, answer);
	buf_done(&sql);
	span = window_span(&a->window, default_ns, clock_now_unix_ns());
	if (r == 0)
		r = nothing_write_rows(call,
				       &(struct nothing){ .tool = "graph_lifecycle",
							  .from_unix_ns = span.from_unix_ns,
							  .to_unix_ns = span.to_unix_ns,
							  .pids = &a->pids,
							  .part = "Graph",
							  .is_of_file = is_of_file },
				       answer);
	if (r == 0)
		answer_next_number(answer, "graph_frequency", "how often graphs are launched, exactly", "pid",
				   a->pids.items[0]);
	return r;
}

const struct tool tool_graph_lifecycle = {
	.name = "graph_lifecycle",
	.title = "CUDA graphs of a process",
	.description = "When a process instantiated CUDA graphs and launched them, call by call. To see whether graphs "
		       "are made again "
		       "and again; for rates take graph_frequency, whose counts are exact.",
	.params = lifecycle_params,
	.n_params = ARRAY_SIZE(lifecycle_params),
	.arguments_bytes = sizeof(struct lifecycle_arguments),
	.members = lifecycle_members,
	.n_members = ARRAY_SIZE(lifecycle_members),
	.shape = &lifecycle_shape,
	.run = lifecycle_tool_run,
};
