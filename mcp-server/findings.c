// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/findings.h"

#include <errno.h>
#include <string.h>

#include "base/json_text.h"
#include "libingero/answers/explain/json.h"
#include "libingero/answers/explain/report.h"
#include "libingero/answers/explain/rest.h"
#include "mcp-server/offer.h"

#define NEXT_FINDINGS 2
#define FAILED_SQL                                                                                                     \
	"SELECT comm, pid, op_name, ret_code, count(*) AS n, max(arg0) AS arg0 FROM events WHERE ret_code <> 0 AND "   \
	"source_name <> 'host' GROUP BY 1, 2, 3, 4 ORDER BY n DESC"

static const char *const findings_details[] = {
	"start_time", "exec_generation", "program",  "present_ns", "examples", "takes",	    "chain_ns", "tid", "/cost",
	"/sessions",  "total_raw_ns",	 "timeline", "source",	   "others",   "abandoned", "untimed",	NULL,
};

static const struct answer_list findings_lists[] = {
	{ "examples", "explain_call, with the id of one", .inner = "stack" },
	{ "gaps", "narrow since or from and to", .more = NULL },
	{ "behind", "raise max_tokens, or ask for one pid", .more = NULL },
	{ "waits", "raise max_tokens, or ask for one pid", .more = NULL },
	{ "operations", "get_trace_stats", .more = NULL },
	{ "accounts", "blame", .inner = "parts" },
	{ "findings", "raise max_tokens, or ask for one pid or a shorter since", .more = NULL },
};

const char *const findings_spare[] = { "system_peak", NULL };

const struct answer_shape findings_shape = {
	.lists = findings_lists,
	.n_lists = ARRAY_SIZE(findings_lists),
	.spare = findings_spare,
	.details = findings_details,
	.details_how = "ask with details: true, or with the id of a finding",
};

/* How the window was chosen; NULL: as asked, or the recording is shorter. */
static const char *summary_words(const struct ingero_explanation *e, bool is_chosen)
{
	switch (explain_window_of(e, is_chosen)) {
	case EXPLAIN_WINDOW_ASKED:
		break;
	case EXPLAIN_WINDOW_DEFAULT:
		return "the last 5m (since covers more)";
	case EXPLAIN_WINDOW_LAST:
		return "the last 5m that were recorded (from covers more)";
	case EXPLAIN_WINDOW_LAST_WHOLE:
		return "the last that was recorded";
	}
	return NULL;
}

/* "in your scope", "of pid 4711" */
static void whose_write(const struct param_pids *pids, struct buf *out)
{
	(void)buf_append_text(out, pids && pids->n ? pids->n > 1 ? "of pids " : "of pid " : "in your scope");
	for (size_t i = 0; pids && i < pids->n; i++)
		(void)buf_printf(out, "%s%u", i ? ", " : "", pids->items[i]);
}

/* One line that sums the answer up, in the words of `ingero explain`. */
static void summary_append(const struct ingero_explanation *e, const struct findings_question *q, struct buf *out)
{
	const struct text_style style = { .is_utf8 = true, .columns = 1000 };
	struct explain_question question = {
		.now_unix_ns = e->asked_unix_ns,
		.from_unix_ns = e->from_unix_ns,
		.to_unix_ns = e->to_unix_ns,
		.from_word = "from",
		.words = summary_words(e, q->is_chosen),
		.kept_from_unix_ns = e->kept_from_unix_ns,
		.kept_to_unix_ns = e->kept_to_unix_ns,
		.whole = q->pids && q->pids->n ? q->whole : NULL,
	};
	CLEANUP(buf_done) struct buf text = BUF_INIT, whose = BUF_INIT;

	whose_write(q->pids, &whose);
	question.whose = buf_text(&whose);
	explain_head_append(&question, e->reply, &style, &text);
	while (text.n && text.data[text.n - 1] == '\n')
		text.n--;
	json_text_add(out, buf_text(&text));
}

static void findings_keep(struct ingero_explanation *e, size_t n)
{
	Ingero__V1__ExplainReply *reply = e->reply;

	for (; n && reply->n_findings > n; reply->n_findings--) {
		ingero__v1__finding__free_unpacked(reply->findings[reply->n_findings - 1], NULL);
		reply->more_findings++;
	}
}

int findings_write(struct ingero_explanation *e, const struct findings_question *q, struct answer *answer)
{
	static const char beginning[] = "{\"type\":\"explain\",";
	CLEANUP(buf_done) struct buf json = BUF_INIT;
	size_t skip = strlen(beginning);

	(void)buf_printf(&answer->body, "{%s\"summary\":", q->more ? q->more : "");
	summary_append(e, q, &answer->body);
	findings_keep(e, q->findings_max);
	if (explain_json_append(&json, e->reply) < 0)
		return -ENOMEM;
	if (json.n < skip || memcmp(json.data, beginning, skip) != 0)
		return -EPROTO;
	(void)buf_append_text(&answer->body, ",");
	(void)buf_append(&answer->body, json.data + skip, json.n - skip);
	findings_next(e, answer);
	if (q->whole)
		nothing_next(&(struct nothing){ .tool = q->tool,
						.from_unix_ns = e->from_unix_ns,
						.to_unix_ns = e->to_unix_ns,
						.pids = q->pids,
						.is_of_file = q->is_of_file },
			     q->whole, answer);
	return 0;
}

static bool has_nothing(const Ingero__V1__ExplainReply *reply)
{
	return !reply->n_findings && !reply->call && (!reply->window || !reply->window->calls);
}

int findings_answer(const struct tool_call *call, const struct ingero_explain_wish *wish,
		    const struct findings_question *question, struct answer *answer)
{
	CLEANUP(ingero_explanation_done) struct ingero_explanation explanation = { .reply = NULL };
	CLEANUP(ingero_explanation_done) struct ingero_explanation whole = { .reply = NULL };
	struct findings_question q = *question;
	struct ingero *ingero = tool_connect(call, answer);
	int r;

	if (!ingero)
		return -EINVAL;
	r = tool_asked(ingero, ingero_explain(ingero, wish, &explanation), answer);
	if (r < 0)
		return r;
	/* Not knowing what else there is takes nothing from the answer. */
	if (!wish->id && has_nothing(explanation.reply) && recorded_ask(ingero, &whole) == 0)
		q.whole = whole.reply;
	q.is_of_file = call->rpc->asker->server->db_paths;
	return findings_write(&explanation, &q, answer);
}

void findings_next(const struct ingero_explanation *e, struct answer *answer)
{
	const Ingero__V1__ExplainReply *reply = e->reply;

	for (size_t i = 0; i < reply->n_findings && i < NEXT_FINDINGS; i++) {
		const Ingero__V1__Finding *finding = reply->findings[i];

		if ((reply->n_findings > 1 || !answer->has_details) && offer_is_id(finding->id))
			answer_next(answer, "explain", "everything about this finding", "id", finding->id);
		if (finding->n_examples && offer_is_id(finding->examples[0]->id))
			answer_next(answer, "explain_call", "one of its slow calls, where its time went", "id",
				    finding->examples[0]->id);
	}
	if (explain_rest_has_failures(reply))
		answer_next_arguments(answer, "run_sql", "the calls that failed: their codes, and what they asked for",
				      "{\"query\":\"" FAILED_SQL "\"}");
	if (!reply->n_findings && reply->n_accounts)
		answer_next(answer, "blame", "where the time of each thread went", NULL, NULL);
}
