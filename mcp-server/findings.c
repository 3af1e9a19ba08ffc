// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/findings.h"

#include <errno.h>
#include <string.h>

#include "base/json_text.h"
#include "libingero/answers/explain/json.h"
#include "libingero/answers/explain/report.h"

#define NEXT_FINDINGS 2

static const char *const findings_details[] = {
	"start_time", "exec_generation", "program",  "present_ns", "examples", "takes",	    "chain_ns", "tid", "/cost",
	"/sessions",  "total_raw_ns",	 "timeline", "source",	   "others",   "abandoned", "untimed",	NULL,
};

static const struct answer_list findings_lists[] = {
	{ "gaps", "narrow since or from and to", NULL },
	{ "behind", "raise max_tokens, or ask for one pid", NULL },
	{ "waits", "raise max_tokens, or ask for one pid", NULL },
	{ "operations", "get_trace_stats", NULL },
	{ "accounts", "blame", NULL },
	{ "findings", "raise max_tokens, or ask for one pid or a shorter since", NULL },
};

const struct answer_shape findings_shape = {
	.lists = findings_lists,
	.n_lists = ARRAY_SIZE(findings_lists),
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

/* One line that sums the answer up, in the words of `ingero explain`. */
static void summary_append(const struct ingero_explanation *e, bool is_chosen, struct buf *out)
{
	const struct text_style style = { .is_utf8 = true, .columns = 1000 };
	const struct explain_question question = {
		.now_unix_ns = e->asked_unix_ns,
		.from_unix_ns = e->from_unix_ns,
		.to_unix_ns = e->to_unix_ns,
		.whose = "in your scope",
		.words = summary_words(e, is_chosen),
		.kept_from_unix_ns = e->kept_from_unix_ns,
		.kept_to_unix_ns = e->kept_to_unix_ns,
	};
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	explain_head_append(&question, e->reply, &style, &text);
	while (text.n && text.data[text.n - 1] == '\n')
		text.n--;
	json_text_add(out, buf_text(&text));
}

int findings_write(const struct ingero_explanation *e, const char *more, bool is_chosen, struct answer *answer)
{
	static const char beginning[] = "{\"type\":\"explain\",";
	CLEANUP(buf_done) struct buf json = BUF_INIT;
	size_t skip = strlen(beginning);

	if (explain_json_append(&json, e->reply) < 0)
		return -ENOMEM;
	if (json.n < skip || memcmp(json.data, beginning, skip) != 0)
		return -EPROTO;
	(void)buf_printf(&answer->body, "{%s\"summary\":", more);
	summary_append(e, is_chosen, &answer->body);
	(void)buf_append_text(&answer->body, ",");
	(void)buf_append(&answer->body, json.data + skip, json.n - skip);
	findings_next(e, answer);
	return 0;
}

void findings_next(const struct ingero_explanation *e, struct answer *answer)
{
	const Ingero__V1__ExplainReply *reply = e->reply;

	for (size_t i = 0; i < reply->n_findings && i < NEXT_FINDINGS; i++) {
		const Ingero__V1__Finding *finding = reply->findings[i];

		if (reply->n_findings > 1 || !answer->has_details)
			answer_next(answer, "explain", "everything about this finding", "id", finding->id);
		if (finding->n_examples)
			answer_next(answer, "explain_call", "one of its slow calls, where its time went", "id",
				    finding->examples[0]->id);
	}
	if (!reply->n_findings && reply->n_accounts)
		answer_next(answer, "blame", "where the time of each thread went", NULL, NULL);
}

void findings_keep(struct ingero_explanation *e, size_t n)
{
	Ingero__V1__ExplainReply *reply = e->reply;

	for (; reply->n_findings > n; reply->n_findings--) {
		ingero__v1__finding__free_unpacked(reply->findings[reply->n_findings - 1], NULL);
		reply->more_findings++;
	}
}
