// SPDX-License-Identifier: Apache-2.0
/* get_check: whether this machine has what Ingero needs. */
#include <errno.h>

#include "libingero/check/ask.h"
#include "mcp-server/tool.h"

static const struct tool_member check_members[] = {
	{ "all_passed", "boolean", "Whether no check failed; a warning is not a failure" },
	{ "checks", "array", "Each check: name, level (ok, warn, fail), value, recommendation" },
};

static const char *const check_details[] = { "pass", "optional", "detail", NULL };

static const struct answer_shape check_shape = { .details = check_details, .details_how = "ask with details: true" };

static int check_tool_run(const struct tool_call *call, struct answer *answer)
{
	CLEANUP(check_answer_done) struct check_answer checks = CHECK_ANSWER_INIT;
	char error[CHECK_ERROR_BYTES];

	(void)call;
	if (check_ask(/* is_all= */ false, "ingero-mcp " INGERO_VERSION, error, &checks) < 0)
		return answer_fail(answer, "%s", error);
	return check_json_append(checks.results, checks.n, &answer->body);
}

const struct tool tool_get_check = {
	.name = "get_check",
	.title = "Is this machine ready?",
	.description = "Checks kernel, permissions, service, database, GPU driver and CUDA libraries, and names the "
		       "action for "
		       "each problem. When nothing is recorded, or another tool says that no daemon is running.",
	.members = check_members,
	.n_members = ARRAY_SIZE(check_members),
	.shape = &check_shape,
	.run = check_tool_run,
};
