// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/nothing.h"

#include <errno.h>
#include <string.h>

#include "mcp-server/tree.h"
#include "mcp-server/untrusted.h"

static struct recorded_question question_of(const struct nothing *nothing)
{
	return (struct recorded_question){
		.now_unix_ns = clock_now_unix_ns(),
		.from_unix_ns = nothing->from_unix_ns,
		.to_unix_ns = nothing->to_unix_ns,
		.pids = nothing->pids ? nothing->pids->items : NULL,
		.n_pids = nothing->pids ? nothing->pids->n : 0,
		.op = nothing->op,
		.part = nothing->part,
	};
}

static void pids_write(struct writer *w, const struct param_pids *pids)
{
	if (pids && pids->n == 1)
		writer_integer(w, "pid", pids->items[0]);
	if (!pids || pids->n < 2)
		return;
	writer_open(w, "pids", '[');
	for (size_t i = 0; i < pids->n; i++)
		writer_integer(w, NULL, pids->items[i]);
	writer_close(w, ']');
}

static void op_write(struct writer *w, const char *op)
{
	CLEANUP(buf_done) struct buf clean = BUF_INIT;

	if (!op)
		return;
	untrusted_append(&clean, op, strlen(op));
	writer_text(w, "op", buf_text(&clean));
}

void nothing_next(const struct nothing *nothing, const Ingero__V1__ExplainReply *whole, struct answer *answer)
{
	struct recorded_question question = question_of(nothing);
	enum recorded_lack lack = recorded_lack(&question, whole);
	CLEANUP(buf_done) struct buf arguments = BUF_INIT;
	struct writer w = { .out = &arguments };
	const char *tool = nothing->tool, *why = NULL;

	writer_open(&w, NULL, '{');
	switch (lack) {
	case RECORDED_LACKS_UNKNOWN:
		break;
	case RECORDED_LACKS_ALL:
	case RECORDED_LACKS_CALLS:
		tool = nothing->is_of_file ? "get_check" : "watch";
		why = nothing->is_of_file ? "whether this machine can record calls" : "trace your processes now";
		break;
	case RECORDED_LACKS_TIME:
	case RECORDED_LACKS_HERE:
		window_write(&w, whole->window);
		pids_write(&w, nothing->pids);
		op_write(&w, nothing->op);
		why = "the same of all the time that is recorded";
		break;
	case RECORDED_LACKS_OPERATION:
		tool = nothing->part ? "get_trace_stats" : tool;
		window_write(&w, whole->window);
		if (recorded_has_process(&question, whole))
			pids_write(&w, nothing->pids);
		why = nothing->part ? "the operations that are recorded" : "the same of all operations";
		break;
	case RECORDED_LACKS_PROCESS:
		window_write(&w, whole->window);
		writer_integer(&w, "pid", recorded_process_first(whole));
		op_write(&w, nothing->op);
		why = "the same of a process that made calls";
		break;
	}
	writer_close(&w, '}');
	if (why)
		answer_next_arguments(answer, tool, why, buf_text(&arguments));
}

int nothing_write(struct ingero *ingero, const struct nothing *nothing, struct answer *answer)
{
	CLEANUP(ingero_explanation_done) struct ingero_explanation whole = { .reply = NULL };
	struct recorded_question question = question_of(nothing);
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (recorded_ask(ingero, &whole) < 0)
		return 0; /* not knowing it takes nothing from the answer */
	recorded_lack_append(&question, whole.reply, &text);
	answer_put_first(answer, "notice", buf_text(&text));
	nothing_next(nothing, whole.reply, answer);
	return text.failed || answer->body.failed ? -ENOMEM : 0;
}

int nothing_write_rows(const struct tool_call *call, const struct nothing *nothing, struct answer *answer)
{
	CLEANUP(tree_done) struct tree tree = TREE_INIT;
	struct ingero *ingero;
	uint32_t data;
	int r = tree_build(&tree, buf_text(&answer->body), answer->body.n);

	if (r < 0)
		return r;
	data = tree_find(&tree, 0, "data");
	if (!data || tree.nodes.items[data].n)
		return 0;
	ingero = tool_connect(call, answer);
	return ingero ? nothing_write(ingero, nothing, answer) : -EINVAL;
}
