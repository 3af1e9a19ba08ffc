// SPDX-License-Identifier: Apache-2.0
/* get_stacks: where in the program calls were made. This version records no stacks, and the answer says so. */
#include "mcp-server/window.h"

struct stacks_arguments {
	struct window_wish window;
	struct param_pids pids;
	const char *source, *op;
	uint64_t limit;
};

#define ARGUMENTS struct stacks_arguments
static const struct param stacks_params[] = {
	WINDOW_PARAMS(window, "1h"),
	PARAM_ROW(PID, "pid", pids, "Only this process"),
	PARAM_ROW(TEXT, "source", source, "Only calls of this layer: cuda, driver, nccl"),
	PARAM_ROW(TEXT, "op", op, "Only this operation"),
	PARAM_ROW(NUMBER, "limit", limit, "Most stacks; default: 10", .min = 1, .max = 100),
};

static const struct tool_member stacks_members[] = {
	{ "stacks", "array", "Stacks, those with most time first" },
};

static int stacks_tool_run(const struct tool_call *call, struct answer *answer)
{
	(void)call;
	return answer_fail(answer,
			   "this version records no stacks. 'explain' and 'blame' name the operation and what it "
			   "waited for; 'explain_call' shows one slow call");
}

const struct tool tool_get_stacks = {
	.name = "get_stacks",
	.title = "Where calls are made (not in this version)",
	.description =
		"Stacks of slow calls. This version records none; use explain and blame, which name operations and "
		"what they wait for.",
	.params = stacks_params,
	.n_params = ARRAY_SIZE(stacks_params),
	.arguments_bytes = sizeof(struct stacks_arguments),
	.members = stacks_members,
	.n_members = ARRAY_SIZE(stacks_members),
	.run = stacks_tool_run,
};
