// SPDX-License-Identifier: Apache-2.0
/* query_fleet: the questions of Ingero's fleet view, to the one node that this server answers for. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "mcp-server/findings.h"

#define FLEET_SINCE "5m"

struct fleet_arguments {
	const char *action;
	const char *since;
	struct param_pids pids;
	const char *query;
	uint64_t limit;
};

static const char *const fleet_actions[] = { "chains", "ops", "overview", "sql", NULL };

#define ARGUMENTS struct fleet_arguments
static const struct param fleet_params[] = {
	PARAM_ROW(TEXT, "action", action, "chains: findings; ops: figures; overview: both in short; sql: a SELECT",
		  .is_required = true, .choices = fleet_actions),
	PARAM_ROW(TEXT, "since", since, "Start, as a time before now; default: 5m; not of sql"),
	PARAM_ROW(PID, "pid", pids, "Only this process; not of sql"),
	PARAM_ROW(TEXT, "query", query, "The SELECT of action sql"),
	PARAM_ROW(TEXT, "sql", query, "The same"),
	PARAM_ROW(NUMBER, "limit", limit, "Most findings of chains, or rows of sql", .min = 1, .max = 10000),
};

static const struct tool_member fleet_members[] = {
	{ "nodes", "array", "Names of the machines that answered: this one" },
	{ "findings", "array", "Of chains and overview" },
	{ "operations", "array", "Of ops and overview; all other members are those of explain" },
	{ "columns", "array", "Of sql" },
	{ "data", "array", "Of sql: rows" },
};

static const struct answer_list fleet_lists[] = {
	{ "gaps", "explain", .more = NULL },
	{ "behind", "get_trace_stats", .more = NULL },
	{ "waits", "explain", .more = NULL },
	{ "accounts", "blame", .inner = "parts" },
	{ "operations", "get_trace_stats", .more = "more_operations" },
	{ "findings", "explain", .more = NULL },
	{ "data", "run_sql", .more = NULL },
};

static const char *const fleet_details[] = { "start_time", "exec_generation", "program",   "total_raw_ns",
					     "examples",   "/cost",	      "/sessions", "tid",
					     NULL };

static const struct answer_shape fleet_shape = {
	.lists = fleet_lists,
	.n_lists = ARRAY_SIZE(fleet_lists),
	.spare = findings_spare,
	.details = fleet_details,
	.details_how = "ask with details: true",
};

/* Which tool answers an action, and the name of its limit there. */
static const struct {
	const char *action, *tool, *limit;
} fleet_tools[] = {
	{ "chains", "get_causal_chains", "top_n" },
	{ "ops", "get_trace_stats", NULL },
	{ "overview", "explain", NULL },
	{ "sql", "run_sql", "limit" },
};

/* What an action has no use for is refused: an answer that ignored it would be taken for one to it. */
static int fleet_refuse(const struct fleet_arguments *a, size_t i, struct answer *answer)
{
	bool is_sql = strcmp(a->action, "sql") == 0;

	if (is_sql && !a->query)
		return answer_fail(answer, "action sql needs 'query': one SELECT");
	if (is_sql && (a->since || a->pids.n))
		return answer_fail(answer, "action sql takes no '%s'; write it into the WHERE of 'query'",
				   a->since ? "since" : "pid");
	if (!is_sql && a->query)
		return answer_fail(answer, "action %s takes no 'query'; action sql does", a->action);
	if (a->limit && !fleet_tools[i].limit)
		return answer_fail(answer, "action %s takes no 'limit'; max_tokens bounds its answer", a->action);
	return 0;
}

static json_t *fleet_arguments_for(const struct fleet_arguments *a, size_t i)
{
	bool is_sql = strcmp(a->action, "sql") == 0;
	json_t *arguments = json_object(), *pids = is_sql || !a->pids.n ? NULL : json_array();

	if (is_sql && a->query)
		(void)json_object_set_new(arguments, "query", json_string(a->query));
	if (!is_sql)
		(void)json_object_set_new(arguments, "since", json_string(a->since ? a->since : FLEET_SINCE));
	for (size_t k = 0; pids && k < a->pids.n; k++)
		(void)json_array_append_new(pids, json_integer(a->pids.items[k]));
	if (pids)
		(void)json_object_set_new(arguments, "pids", pids);
	if (a->limit && fleet_tools[i].limit)
		(void)json_object_set_new(arguments, fleet_tools[i].limit, json_integer((json_int_t)a->limit));
	return arguments;
}

static void nodes_insert(struct answer *answer)
{
	CLEANUP(buf_done) struct buf nodes = BUF_INIT;
	struct writer w = { .out = &nodes };
	char node[256] = "";

	(void)gethostname(node, sizeof(node) - 1);
	writer_open(&w, NULL, '[');
	writer_text(&w, NULL, node);
	writer_close(&w, ']');
	answer_put_first_json(answer, "nodes", buf_text(&nodes));
	answer->body.failed |= nodes.failed;
}

static int fleet_tool_run(const struct tool_call *call, struct answer *answer)
{
	const struct fleet_arguments *a = call->arguments;
	json_t *arguments;
	size_t i = 0;
	int r;

	while (strcmp(fleet_tools[i].action, a->action) != 0)
		i++; /* it is one of the choices */
	r = fleet_refuse(a, i, answer);
	if (r < 0)
		return r;
	arguments = fleet_arguments_for(a, i);
	r = tool_delegate(call, fleet_tools[i].tool, arguments, answer);
	json_decref(arguments);
	if (r == 0)
		nodes_insert(answer);
	return r < 0 ? r : answer->body.failed ? -ENOMEM : 0;
}

const struct tool tool_query_fleet = {
	.name = "query_fleet",
	.title = "The fleet: this one node",
	.description = "Ingero's fleet questions (chains, ops, overview, sql), answered for this one machine. Where "
		       "one machine is "
		       "meant, take explain, get_trace_stats or run_sql, which have more arguments.",
	.params = fleet_params,
	.n_params = ARRAY_SIZE(fleet_params),
	.arguments_bytes = sizeof(struct fleet_arguments),
	.members = fleet_members,
	.n_members = ARRAY_SIZE(fleet_members),
	.shape = &fleet_shape,
	.run = fleet_tool_run,
};
