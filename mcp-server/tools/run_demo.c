// SPDX-License-Identifier: Apache-2.0
/* run_demo: plays a simulated process through a private daemon, and explains it. */
#include <errno.h>
#include <string.h>

#include "base/json_text.h"
#include "libingero/connect/demo.h"
#include "mcp-server/findings.h"

#define DEMO_SPEED "40" /* a demo of 12 s is over in 0.3 s; the findings do not depend on it */

struct demo_arguments {
	const char *scenario;
};

#define ARGUMENTS struct demo_arguments
static const struct param demo_params[] = {
	PARAM_ROW(TEXT, "scenario", scenario,
		  "Name of the demo: incident, cold-start, cpu-contention, memcpy-bottleneck; default: incident"),
};

static const struct tool_member demo_members[] = {
	{ "demo", "string", "Name of the demo that was played" },
	{ "scenario", "string", "What happens in it" },
	{ "summary", "string", "The answer in a line" },
	{ "findings", "array", "As explain answers" },
	{ "operations", "array", "As explain answers, and so are all other members" },
};

static int demo_refuse(const char *name, struct answer *answer)
{
	CLEANUP(buf_done) struct buf names = BUF_INIT;

	for (size_t i = 0; demo_get(i); i++)
		if (demo_get(i)->sentence)
			(void)buf_printf(&names, "%s%s", names.n ? ", " : "", demo_get(i)->name);
	return answer_fail(answer, "unknown demo '%.64s'; the demos are %s, one at a time", name, buf_text(&names));
}

static int demo_reply_take(const ProtobufCMessage *message, void *data)
{
	(void)message;
	(void)data;
	return 0;
}

static int demo_ask(const struct tool_call *call, struct ingero *ingero, const struct demo_row *row, uint32_t uid,
		    struct answer *answer)
{
	static char record[] = "slow";
	CLEANUP(ingero_explanation_done) struct ingero_explanation explanation = { .reply = NULL };
	const struct ingero_explain_wish wish = { .is_whole = true };
	Ingero__V1__TraceRequest request = INGERO__V1__TRACE_REQUEST__INIT;
	CLEANUP(buf_done) struct buf more = BUF_INIT;
	int r;

	request.uids = &uid;
	request.n_uids = 1;
	request.record = record;
	r = asker_read(ingero, "ingero.v1.Trace.Trace", &request.base, demo_reply_take, NULL, &call->rpc->is_cancelled);
	if (r == 0)
		r = ingero_explain(ingero, &wish, &explanation);
	if (r < 0)
		return tool_asked(ingero, r, answer);
	(void)buf_printf(&more, "\"demo\":\"%s\",\"scenario\":", row->name);
	json_text_add(&more, row->sentence);
	(void)buf_append_text(&more, ",");
	r = findings_write(&explanation, &(struct findings_question){ .more = buf_text(&more), .is_chosen = true },
			   answer);
	while (answer->n_next) /* its recording is gone: nothing can be asked about it */
		buf_done(&answer->next[--answer->n_next].arguments);
	return r;
}

static int demo_tool_run(const struct tool_call *call, struct answer *answer)
{
	const struct demo_arguments *a = call->arguments;
	const struct demo_row *row = demo_find(a->scenario ? a->scenario : "incident");
	CLEANUP(demo_file_done) struct demo_file file = DEMO_FILE_INIT;
	struct caller caller = caller_get();
	char scenario[64], error[ASKER_ERROR_BYTES];
	const char *args[] = { "--demo", scenario, "--db", file.path, NULL };
	const struct ingero_connect_wish wish = { .command = "demo",
						  .kind = INGERO_CONNECT_DEMO,
						  .daemon_args = args,
						  .program = "ingero-mcp " INGERO_VERSION };
	struct ingero *ingero;
	int r;

	if (!row || !row->sentence)
		return demo_refuse(a->scenario, answer);
	(void)snprintf(scenario, sizeof(scenario), "%s:" DEMO_SPEED, row->name);
	r = demo_file_make(&file, &caller);
	if (r < 0)
		return answer_fail(answer, "cannot make a temporary file in '%s': %s", file.directory, strerror(-r));
	if (ingero_connect(&wish, error, sizeof(error), &ingero, NULL) < 0)
		return answer_fail(answer, "%s", error);
	r = demo_ask(call, ingero, row, caller.uid, answer);
	ingero_close(ingero);
	return r;
}

const struct tool tool_run_demo = {
	.name = "run_demo",
	.title = "Play a simulated problem",
	.description = "Plays a simulated GPU program with a known problem through the real path and explains it: to "
		       "show what "
		       "answers look like without a GPU. Says nothing about this machine.",
	.params = demo_params,
	.n_params = ARRAY_SIZE(demo_params),
	.arguments_bytes = sizeof(struct demo_arguments),
	.members = demo_members,
	.n_members = ARRAY_SIZE(demo_members),
	.shape = &findings_shape,
	.starts_work = true,
	.run = demo_tool_run,
};
