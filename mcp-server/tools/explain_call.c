// SPDX-License-Identifier: Apache-2.0
/* explain_call: one recorded call, in nanoseconds. */
#include <errno.h>

#include "libingero/render/pb_json.h"
#include "ingero/answers.h"
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
};

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
	(void)buf_append_text(&answer->body, "{\"call\":");
	pb_json_append(&answer->body, &explanation.reply->call->base);
	(void)buf_append_text(&answer->body, "}");
	return answer->body.failed ? -ENOMEM : 0;
}

const struct tool tool_explain_call = {
	.name = "explain_call",
	.title = "One recorded call",
	.description =
		"Where the time of one recorded call went, in nanoseconds: on the CPU, waiting for a CPU, for the "
		"device, a lock, a disk. For proof of a finding; not to find problems (explain).",
	.params = explain_call_params,
	.n_params = ARRAY_SIZE(explain_call_params),
	.arguments_bytes = sizeof(struct explain_call_arguments),
	.members = explain_call_members,
	.n_members = ARRAY_SIZE(explain_call_members),
	.run = explain_call_tool_run,
};
