// SPDX-License-Identifier: Apache-2.0
/* graph_frequency: how often each process launches and instantiates CUDA graphs. */
#include <inttypes.h>

#include "mcp-server/nothing.h"

#define GRAPH_ROWS_MOST 1000
#define FREQUENCY_SINCE_NS (60 * NSEC_PER_SEC)

struct frequency_arguments {
	struct window_wish window;
	struct param_pids pids;
	uint64_t window_seconds;
};

#define ARGUMENTS struct frequency_arguments
static const struct param frequency_params[] = {
	PARAM_ROW(PID, "pid", pids, "Only this process"),
	PARAM_ROW(NUMBER, "window_seconds", window_seconds,
		  "Instead of since: so many seconds; default: 60, of a file all of it", .min = 1, .max = 604800),
	WINDOW_PARAMS(window, "60s, of a file the whole recording"),
};

static const struct tool_member frequency_members[] = {
	NOTHING_MEMBER,
	{ "meta", "object", "rows, truncated" },
	{ "columns", "array",
	  "pid, comm, op_name, calls (exact), seconds (between the first and the last reading), per_s, p99 (ns)" },
	{ "data", "array", "Each process and operation on graphs, most calls first" },
};

static const struct answer_list frequency_lists[] = { { "data", "raise max_tokens, or ask for one pid",
							.more = NULL } };
static const struct answer_shape frequency_shape = { .lists = frequency_lists, .n_lists = ARRAY_SIZE(frequency_lists) };

static int frequency_tool_run(const struct tool_call *call, struct answer *answer)
{
	const struct frequency_arguments *a = call->arguments;
	bool is_of_file = call->rpc->asker->server->db_paths;
	uint64_t default_ns = is_of_file ? 0 : FREQUENCY_SINCE_NS;
	struct window_wish window = a->window;
	Ingero__V1__Span span;
	struct buf sql = BUF_INIT;
	int r;

	if (a->window_seconds && window_is_given(&window))
		return answer_fail(answer, "take either 'window_seconds' or 'since', 'from' and 'to'");
	if (a->window_seconds)
		window.since_ns = a->window_seconds * NSEC_PER_SEC;
	r = window_refuse(&window, answer);
	if (r < 0)
		return r;
	(void)buf_append_text(
		&sql,
		"SELECT pid, comm, op_name, sum(count) AS calls, (max(bucket_end) - min(bucket)) / 1e9 AS seconds, "
		"sum(count) * 1e9 / (max(bucket_end) - min(bucket)) AS per_s, max(p99) AS p99 FROM event_aggregates "
		"WHERE op_name LIKE '%Graph%'");
	if (a->pids.n)
		(void)buf_printf(&sql, " AND pid = %u", a->pids.items[0]);
	window_sql_append(&window, default_ns, "bucket", &sql);
	(void)buf_append_text(&sql, " GROUP BY 1, 2, 3 ORDER BY calls DESC");
	r = tool_delegate_sql(call, buf_text(&sql), GRAPH_ROWS_MOST, answer);
	buf_done(&sql);
	if (r < 0)
		return r;
	span = window_span(&window, default_ns, clock_now_unix_ns());
	return nothing_write_rows(call,
				  &(struct nothing){ .tool = "graph_frequency",
						     .from_unix_ns = span.from_unix_ns,
						     .to_unix_ns = span.to_unix_ns,
						     .pids = &a->pids,
						     .part = "Graph",
						     .is_of_file = is_of_file },
				  answer);
}

const struct tool tool_graph_frequency = {
	.name = "graph_frequency",
	.title = "How often CUDA graphs are launched",
	.description = "Launches and instantiations of CUDA graphs by process, exact counts and rates. Figures are "
		       "kept by process and "
		       "operation, not by graph: graph_lifecycle has the handles of recorded calls.",
	.params = frequency_params,
	.n_params = ARRAY_SIZE(frequency_params),
	.arguments_bytes = sizeof(struct frequency_arguments),
	.members = frequency_members,
	.n_members = ARRAY_SIZE(frequency_members),
	.shape = &frequency_shape,
	.run = frequency_tool_run,
};
