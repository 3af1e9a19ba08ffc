// SPDX-License-Identifier: Apache-2.0
/* get_check: whether this machine has what Ingero needs. */
#include <errno.h>
#include <stdio.h>

#include "libingero/check/ask.h"
#include "mcp-server/server.h"
#include "mcp-server/tool.h"

static const struct tool_member check_members[] = {
	{ "type", "string", "check" },
	{ "all_passed", "boolean", "Whether no check failed; a warning is not a failure" },
	{ "checks", "array", "Each check: name, level (ok, warn, fail), value, recommendation" },
};

static const char *const check_details[] = { "pass", "optional", "detail", NULL };

static const struct answer_shape check_shape = { .details = check_details, .details_how = "ask with details: true" };

static int nothing_take(const ProtobufCMessage *message, void *data)
{
	(void)message;
	(void)data;
	return 0;
}

/* Why the files of this server cannot be read: what every other tool would say. @problem: ASKER_ERROR_BYTES */
static void files_try(const struct tool_call *call, char *problem)
{
	static char sql[] = "SELECT 1";
	Ingero__V1__SqlRequest request = INGERO__V1__SQL_REQUEST__INIT;
	struct ingero *ingero;
	int r;

	if (asker_connect(call->rpc->asker, "explain", problem, &ingero) < 0)
		return;
	request.sql = sql;
	r = asker_read(ingero, "ingero.v1.Query.Sql", &request.base, nothing_take, NULL, &call->rpc->is_cancelled);
	(void)snprintf(problem, ASKER_ERROR_BYTES, "%s", r < 0 ? ingero_why(ingero, r) : "");
}

static int check_tool_run(const struct tool_call *call, struct answer *answer)
{
	CLEANUP(check_answer_done) struct check_answer checks = CHECK_ANSWER_INIT;
	char error[CHECK_ERROR_BYTES], problem[ASKER_ERROR_BYTES] = "";
	const struct check_wish wish = { .program = "ingero-mcp " INGERO_VERSION,
					 .files = call->rpc->asker->server->db_paths,
					 .files_problem = problem };

	if (wish.files)
		files_try(call, problem);
	if (check_ask(&wish, error, &checks) < 0)
		return answer_fail(answer, "%s", error);
	return check_json_append(checks.results, checks.n, &answer->body);
}

const struct tool tool_get_check = {
	.name = "get_check",
	.title = "Is this machine ready?",
	.description = "Checks kernel, permissions, service, the database of the answers, GPU driver and CUDA "
		       "libraries, and names the "
		       "action for "
		       "each problem. When nothing is recorded, or another tool says that no daemon is running.",
	.members = check_members,
	.n_members = ARRAY_SIZE(check_members),
	.shape = &check_shape,
	.run = check_tool_run,
};
