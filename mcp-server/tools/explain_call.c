// SPDX-License-Identifier: Apache-2.0
/* explain_call: one recorded call, in nanoseconds. */
#include <errno.h>

#include "libingero/render/pb_json.h"
#include "ingero/answers.h"
#include "mcp-server/frames.h"
#include "mcp-server/tool.h"

struct explain_call_arguments {
	const char *id;
};

#define ARGUMENTS struct explain_call_arguments
static const struct param explain_call_params[] = {
	PARAM_ROW(TEXT, "id", id, "Id of a call, from 'examples' of a finding or the column id of events",
		  .is_required = true),
};

static const struct tool_member explain_call_members[] = {
	{ "call", "object",
	  "Operation, duration, arguments, process, and blame_ns: by class, summing to "
	  "duration_raw_ns, which is duration_ns with the tracer's share" },
	{ "from", "object", "The line of the program that made it; absent, as the members below: no stack was taken" },
	{ "module", "string", "Library or program of that line; absent: of Python, or not known" },
	{ "stack_id", "integer", "The same for calls with equal stacks of one process" },
	{ "stack_complete", "boolean", "The stack reaches to the start of the thread" },
	{ "stack_why", "string", "Why it does not; absent: it does" },
	{ "frames", "array", "The stack, innermost first" },
};

static const struct answer_list explain_call_lists[] = { { "frames", "raise max_tokens", .more = NULL } };
static const struct answer_shape explain_call_shape = { .lists = explain_call_lists,
							.n_lists = ARRAY_SIZE(explain_call_lists) };

/* The call without its stack, which stands beside it: there it can be cut. */
static int call_write(const Ingero__V1__Event *call, struct answer *answer)
{
	CLEANUP(buf_done) struct buf json = BUF_INIT;
	struct writer w = { .out = &answer->body };
	struct stack_place place;

	if (pb_json_line(&json, NULL, &call->base, "stack") < 0)
		return -ENOMEM;
	writer_open(&w, NULL, '{');
	writer_raw(&w, "call", buf_text(&json), json.n - 1); /* without its line feed */
	if (stack_place_find(call->stack, &place))
		frames_place_write(&w, &place);
	if (call->stack)
		frames_write(&w, call->stack);
	writer_close(&w, '}');
	return answer->body.failed ? -ENOMEM : 0;
}

static int explain_call_tool_run(const struct tool_call *call, struct answer *answer)
{
	const struct explain_call_arguments *a = call->arguments;
	CLEANUP(ingero_explanation_done) struct ingero_explanation explanation = { .reply = NULL };
	const struct ingero_explain_wish wish = { .id = a->id };
	struct ingero *ingero = tool_connect(call, answer);
	int r;

	if (!ingero)
		return -EINVAL;
	r = tool_asked(ingero, ingero_explain(ingero, &wish, &explanation), answer);
	if (r < 0)
		return r;
	if (!explanation.reply->call)
		return answer_fail(answer,
				   "this is the id of a finding: 'explain' takes it, and its 'examples' are calls");
	return call_write(explanation.reply->call, answer);
}

const struct tool tool_explain_call = {
	.name = "explain_call",
	.title = "One recorded call",
	.description =
		"Where the time of one recorded call went, in nanoseconds: on the CPU, waiting for a CPU, for the "
		"device, a lock, a disk; and where in the program it was made. For proof of a finding; not to find "
		"problems "
		"(explain).",
	.params = explain_call_params,
	.n_params = ARRAY_SIZE(explain_call_params),
	.arguments_bytes = sizeof(struct explain_call_arguments),
	.members = explain_call_members,
	.n_members = ARRAY_SIZE(explain_call_members),
	.shape = &explain_call_shape,
	.run = explain_call_tool_run,
};
