// SPDX-License-Identifier: Apache-2.0
/* graph_frequency: how often each process launches and instantiates CUDA graphs. */
#include <errno.h>
#include <stdlib.h>

#include "libingero/render/pb_json.h"
#include "mcp-server/nothing.h"
#include "mcp-server/writer.h"

#define GRAPH_ROWS_MOST 1000
#define GRAPH_PART "Graph"
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
	  "pid, comm, op_name, calls (exact), seconds (of the window, between readings), per_s, p99 (ns)" },
	{ "data", "array", "Each process and operation on graphs, most calls first" },
};

static const struct answer_list frequency_lists[] = { { "data", "raise max_tokens, or ask for one pid",
							.more = NULL } };
static const struct answer_shape frequency_shape = { .lists = frequency_lists, .n_lists = ARRAY_SIZE(frequency_lists) };

static int calls_compare(const void *a, const void *b)
{
	const Ingero__V1__Operation *x = *(Ingero__V1__Operation *const *)a;
	const Ingero__V1__Operation *y = *(Ingero__V1__Operation *const *)b;

	return (x->count < y->count) - (x->count > y->count);
}

static void real_write(struct writer *w, double value)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	pb_json_number(&text, value);
	writer_raw(w, NULL, buf_text(&text), text.n);
	w->out->failed |= text.failed;
}

static void frequency_write(const Ingero__V1__ExplainReply *reply, struct answer *answer)
{
	static const char *const columns[] = { "pid", "comm", "op_name", "calls", "seconds", "per_s", "p99" };
	const Ingero__V1__Window *window = reply->window;
	double seconds = window ? (double)(window->to_unix_ns - window->from_unix_ns) / NSEC_PER_SEC : 0;
	struct writer w = { .out = &answer->body };

	if (reply->n_operations)
		qsort(reply->operations, reply->n_operations, sizeof(*reply->operations), calls_compare);
	writer_open(&w, NULL, '{');
	writer_open(&w, "meta", '{');
	writer_integer(&w, "rows", (int64_t)reply->n_operations);
	writer_boolean(&w, "truncated", reply->more_operations > 0);
	writer_close(&w, '}');
	writer_open(&w, "columns", '[');
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		writer_text(&w, NULL, columns[i]);
	writer_close(&w, ']');
	writer_open(&w, "data", '[');
	for (size_t i = 0; i < reply->n_operations; i++) {
		const Ingero__V1__Operation *op = reply->operations[i];

		writer_open(&w, NULL, '[');
		writer_integer(&w, NULL, op->pid);
		writer_text(&w, NULL, op->process_name);
		writer_text(&w, NULL, op->op);
		writer_integer(&w, NULL, (int64_t)op->count);
		real_write(&w, seconds);
		real_write(&w, seconds > 0 ? (double)op->count / seconds : 0);
		writer_integer(&w, NULL, (int64_t)op->p99_ns);
		writer_close(&w, ']');
	}
	writer_close(&w, ']');
	writer_close(&w, '}');
}

static int frequency_tool_run(const struct tool_call *call, struct answer *answer)
{
	const struct frequency_arguments *a = call->arguments;
	CLEANUP(ingero_explanation_done) struct ingero_explanation explanation = { .reply = NULL };
	bool is_of_file = call->rpc->asker->server->db_paths;
	struct ingero_explain_wish wish = {
		.is_whole = true,
		.pids = a->pids.items,
		.n_pids = a->pids.n,
		.per_process = true,
		.operations_max = GRAPH_ROWS_MOST,
		.without_kept = true,
		.without_accounts = true,
		.op_part = GRAPH_PART,
	};
	struct window_wish window = a->window;
	Ingero__V1__Span span;
	struct ingero *ingero;
	int r;

	if (a->window_seconds && window_is_given(&window))
		return answer_fail(answer, "take either 'window_seconds' or 'since', 'from' and 'to'");
	if (a->window_seconds)
		window.since_ns = a->window_seconds * NSEC_PER_SEC;
	r = window_refuse(&window, answer);
	if (r < 0)
		return r;
	span = window_span(&window, is_of_file ? 0 : FREQUENCY_SINCE_NS, clock_now_unix_ns());
	wish.from_unix_ns = span.from_unix_ns;
	wish.to_unix_ns = span.to_unix_ns;
	ingero = tool_connect(call, answer);
	if (!ingero)
		return -EINVAL;
	r = tool_asked(ingero, ingero_explain(ingero, &wish, &explanation), answer);
	if (r < 0)
		return r;
	frequency_write(explanation.reply, answer);
	if (explanation.reply->n_operations)
		return 0;
	return nothing_write(ingero,
			     &(struct nothing){ .tool = "graph_frequency",
						.from_unix_ns = span.from_unix_ns,
						.to_unix_ns = span.to_unix_ns,
						.pids = &a->pids,
						.part = GRAPH_PART,
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
