// SPDX-License-Identifier: Apache-2.0
/* compare: what got slower between two times, runs or files. */
#include <errno.h>
#include <string.h>

#include "libingero/answers/compare/ask.h"
#include "libingero/answers/compare/json.h"
#include "mcp-server/tool.h"
#include "mcp-server/window.h"

struct compare_arguments {
	const char *a;
	const char *b;
	const char *per;
};

#define ARGUMENTS struct compare_arguments
static const struct param compare_params[] = {
	PARAM_ROW(TEXT, "a", a,
		  "Before: a time such as 10m..5m or 14:00..14:10, a run of a program, run:train.py or run:train.py~1 "
		  "(the one before the last), or a process, pid:4711; of a "
		  "server of two files: all of the first"),
	PARAM_ROW(TEXT, "b", b,
		  "After, likewise: 5m, run:train.py, pid:4890; of a server of two files: all of the second"),
	PARAM_ROW(TEXT, "per", per,
		  "Unit of work: an operation, such as cudaStreamSynchronize, or call; default: the synchronising "
		  "operation with most time"),
};

static const struct tool_member compare_members[] = {
	{ "verdict", "string",
	  "same, slower or faster: b against a; unknown: it cannot be judged, and why says the reason" },
	{ "change_ratio", "number", "0.03: a unit of work takes 3 % longer in b" },
	{ "error_ratio", "number",
	  "The change may be so much less; of same, off so far either way; in confidence_ratio of all cases" },
	{ "basis", "string", "wall; without_runnable: time ready without a CPU is not in change_ratio" },
	{ "why", "string", "Of unknown: the reason" },
	{ "process_name", "string", "The program that is compared" },
	{ "program", "object", "Its script" },
	{ "b_process_name", "string", "Its name in b, if it is another" },
	{ "per", "string", "Unit of work: calls of an operation, or call" },
	{ "a", "object", "Before: units, unit_ns, wall_ns, pieces of time" },
	{ "b", "object", "After" },
	{ "parts", "array",
	  "What a unit takes by part of the wall clock; is_told: it changed by more than both sides vary" },
	{ "operations", "array", "Of each operation calls of a unit, mean, p50, p99 and time by class, in a and b" },
	{ "others", "array", "Other programs on both sides, and their verdicts" },
	{ "more_programs", "integer", "Number of programs left out" },
	{ "only_a", "array", "Programs on one side alone" },
	{ "only_b", "array", "Likewise" },
	{ "confidence_ratio", "number", "0.99" },
	{ "a_window", "object", "The time that the answer covers" },
	{ "b_window", "object", "Likewise" },
	{ "a_lost", "object", "What was lost in it, by reason; {}: nothing" },
	{ "b_lost", "object", "Likewise" },
};

static const struct answer_list compare_lists[] = {
	{ "only_a", "name a process with pid:N", .more = NULL },
	{ "only_b", "name a process with pid:N", .more = NULL },
	{ "others", "name a process with pid:N", .more = "more_programs" },
	{ "operations", "raise max_tokens", .more = NULL },
	{ "parts", "raise max_tokens", .more = NULL },
};

static const char *const compare_details[] = { "errors", "sample_ns", "pids", "source", NULL };

static const struct answer_shape compare_shape = {
	.lists = compare_lists,
	.n_lists = ARRAY_SIZE(compare_lists),
	.details = compare_details,
	.details_how = "ask with details: true",
};

/* Return: 0, or answer_fail() */
static int compare_side_read(const struct tool_call *call, const char *name, const char *text, uint64_t now_unix_ns,
			     struct compare_side *ret, struct answer *answer)
{
	const char *const *paths = call->rpc->asker->server->db_paths;
	char error[COMPARE_SIDE_ERROR_BYTES];

	*ret = (struct compare_side){ .kind = COMPARE_FILE };
	if (!text && paths && paths[0] && paths[1])
		return 0; /* all of one of the two files */
	if (!text)
		return answer_fail(answer,
				   "'%s' is missing: give a time such as 10m..5m, or a process such as pid:4711", name);
	if (compare_side_parse(text, /* is_file= */ false, now_unix_ns, ret, error) < 0)
		return answer_fail(answer, "'%s': %s", name, error);
	if (ret->kind == COMPARE_FILE)
		return answer_fail(
			answer,
			"'%s' is a file: start the server with both files, 'ingero mcp --db A --db B', and leave out "
			"'a' and 'b'",
			name);
	return 0;
}

/* Where the time of the sides went, of the program that was judged. */
static void compare_next(const Ingero__V1__CompareReply *reply, struct answer *answer)
{
	const Ingero__V1__Compared *c = reply->compared;
	CLEANUP(buf_done) struct buf a = BUF_INIT, b = BUF_INIT;

	window_arguments(&b, reply->b_window, c->b->n_pids ? c->b->pids[0] : 0);
	answer_next_arguments(answer, "explain", "what is judged of b: findings, causes and remedies", buf_text(&b));
	answer_next_arguments(answer, "blame", "where the time of b went: who ended its waits, and who had the CPU",
			      buf_text(&b));
	window_arguments(&a, reply->a_window, c->a->n_pids ? c->a->pids[0] : 0);
	answer_next_arguments(answer, "blame", "where the time of a went", buf_text(&a));
}

static int compare_tool_run(const struct tool_call *call, struct answer *answer)
{
	const struct compare_arguments *arguments = call->arguments;
	uint64_t now_unix_ns = clock_now_unix_ns();
	Ingero__V1__CompareReply *reply = NULL;
	struct compare_side a, b;
	struct ingero *ingero;
	const char *fault;
	int r = compare_side_read(call, "a", arguments->a, now_unix_ns, &a, answer);

	if (r == 0)
		r = compare_side_read(call, "b", arguments->b, now_unix_ns, &b, answer);
	if (r < 0)
		return r;
	fault = compare_sides_fault(&a, &b);
	if (fault)
		return answer_fail(answer, "%s", fault);
	ingero = tool_connect(call, answer);
	if (!ingero)
		return -EINVAL;
	r = tool_asked(ingero, compare_ask(ingero, &a, &b, arguments->per, &reply), answer);
	if (r < 0)
		return r;
	r = compare_json_append(reply, &answer->body);
	compare_next(reply, answer);
	ingero__v1__compare_reply__free_unpacked(reply, NULL);
	return r < 0 || answer->body.failed ? -ENOMEM : 0;
}

const struct tool tool_compare = {
	.name = "compare",
	.title = "What got slower between two times or runs",
	.description = "Compares two times, or two runs of a program, per unit of its work: whether it is slower, by "
		       "how much, and "
		       "which part of its wall clock changed; only what exceeds the variation within both is told. For "
		       "'slower "
		       "since' and before/after questions; what is wrong now says explain.",
	.params = compare_params,
	.n_params = ARRAY_SIZE(compare_params),
	.arguments_bytes = sizeof(struct compare_arguments),
	.members = compare_members,
	.n_members = ARRAY_SIZE(compare_members),
	.shape = &compare_shape,
	.run = compare_tool_run,
};
