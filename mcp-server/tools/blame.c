// SPDX-License-Identifier: Apache-2.0
/* blame: where the wall clock of each calling thread went. */
#include <errno.h>

#include "libingero/answers/account/ask.h"
#include "libingero/render/pb_json.h"
#include "mcp-server/nothing.h"

#define ACCOUNT_TOKENS_LEAST 60 /* of a thread with two parts, in a telegraphic table */
#define BLAME_SINCE_NS (3600 * NSEC_PER_SEC)

struct blame_arguments {
	struct window_wish window;
	struct param_pids pids;
	const char *op;
};

#define ARGUMENTS struct blame_arguments
static const struct param blame_params[] = {
	WINDOW_PARAMS(window, "1h, of a file the whole recording"),
	PIDS_PARAMS(pids),
	PARAM_ROW(TEXT, "op", op, "Only time in calls of this operation, such as cudaStreamSynchronize, in any case"),
};

static const struct tool_member blame_members[] = {
	NOTHING_MEMBER,
	{ "accounts", "array",
	  "Threads, those that drive the GPU first: wall_ns and parts[] {where, class, op, ns, resource, by}; the "
	  "parts sum "
	  "to wall_ns" },
	{ "more_accounts", "integer", "Number of threads left out by the daemon" },
	{ "gaps", "array", "Times of which something is missing" },
	{ "window", "object", "The time that the answer covers" },
	{ "lost", "object", "What was lost in it, by reason; {}: nothing" },
};

static const struct answer_list blame_lists[] = {
	{ "gaps", "narrow since or from and to", .more = NULL },
	{ "accounts", "raise max_tokens, or ask for one pid", .more = "more_accounts", .inner = "parts" },
};

static const char *const blame_details[] = { "start_time", "exec_generation", "program", "steps", "gpu", NULL };

static const struct answer_shape blame_shape = {
	.lists = blame_lists,
	.n_lists = ARRAY_SIZE(blame_lists),
	.details = blame_details,
	.details_how = "ask with details: true",
};

/* Of the process that lost most: what is judged of its time, and figures of its operations. */
static void blame_next(const Ingero__V1__BlameReply *reply, struct answer *answer)
{
	CLEANUP(buf_done) struct buf arguments = BUF_INIT;

	window_arguments(&arguments, reply->window, reply->accounts[0]->pid);
	answer_next_arguments(answer, "explain", "what is judged of this process: findings, causes and remedies",
			      buf_text(&arguments));
	answer_next_arguments(answer, "get_trace_stats", "its operations: counts, times, errors", buf_text(&arguments));
}

/* No fewer than fit the budget. */
static uint32_t accounts_that_fit(const struct answer *answer)
{
	return answer->cursor_at + (uint32_t)(answer->tokens_max / ACCOUNT_TOKENS_LEAST) + 1;
}

static int blame_tool_run(const struct tool_call *call, struct answer *answer)
{
	const struct blame_arguments *a = call->arguments;
	uint64_t default_ns = call->rpc->asker->server->db_paths ? 0 : BLAME_SINCE_NS;
	Ingero__V1__Span span = window_span(&a->window, default_ns, clock_now_unix_ns());
	Ingero__V1__BlameReply *reply = NULL;
	struct ingero *ingero;
	int r = window_refuse(&a->window, answer);

	if (r < 0)
		return r;
	ingero = tool_connect(call, answer);
	if (!ingero)
		return -EINVAL;
	r = tool_asked(ingero,
		       account_ask(ingero, &span, a->pids.items, a->pids.n, a->op, accounts_that_fit(answer), &reply),
		       answer);
	if (r < 0)
		return r;
	pb_json_append(&answer->body, &reply->base);
	if (reply->n_accounts)
		blame_next(reply, answer);
	else
		r = nothing_write(ingero,
				  &(struct nothing){ .tool = "blame",
						     .from_unix_ns = span.from_unix_ns,
						     .to_unix_ns = span.to_unix_ns,
						     .pids = &a->pids,
						     .op = a->op,
						     .is_of_file = call->rpc->asker->server->db_paths },
				  answer);
	ingero__v1__blame_reply__free_unpacked(reply, NULL);
	return r < 0 || answer->body.failed ? -ENOMEM : 0;
}

const struct tool tool_blame = {
	.name = "blame",
	.title = "Where the time of each thread went",
	.description =
		"The wall clock of each thread that makes GPU calls, exact: in calls by operation, between calls by "
		"what it waited for and who ended the wait, ready without a CPU and behind whom. For any window, "
		"process or operation, also where nothing is wrong. Begin with explain, which judges.",
	.params = blame_params,
	.n_params = ARRAY_SIZE(blame_params),
	.arguments_bytes = sizeof(struct blame_arguments),
	.members = blame_members,
	.n_members = ARRAY_SIZE(blame_members),
	.shape = &blame_shape,
	.run = blame_tool_run,
};
