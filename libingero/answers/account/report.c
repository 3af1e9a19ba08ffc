// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/account/report.h"

#include <errno.h>

#include "libingero/answers/account/text.h"
#include "libingero/answers/explain/report.h"
#include "libingero/answers/lost.h"
#include "libingero/answers/time.h"
#include "libingero/answers/window.h"
#include "libingero/render/units.h"

static void blame_window_append(const struct account_question *q, const Ingero__V1__BlameReply *reply, struct buf *text)
{
	const Ingero__V1__Window *window = reply->window;
	uint64_t from_unix_ns = window && window->from_unix_ns ? window->from_unix_ns : q->from_unix_ns,
		 to_unix_ns = window && window->to_unix_ns ? window->to_unix_ns
			      : q->to_unix_ns		   ? q->to_unix_ns
							   : q->now_unix_ns;

	(void)buf_append_text(text, clock_span_text(from_unix_ns, to_unix_ns, q->now_unix_ns).text);
}

static void blame_nothing_append(const struct account_question *q, const Ingero__V1__BlameReply *reply,
				 const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (!reply->lost) { /* not a recording of ours */
		text_paragraph(
			out, style, "",
			"the recording was exported, or made by another program: 'ingero blame' has no account of "
			"its threads; 'ingero explain' shows its calls, and the sqlite3 shell the table accounts of "
			"an exported file");
		return;
	}
	(void)buf_printf(&text, "no thread %s %s%s in ", q->whose, q->op ? "called " : "made a traced call",
			 q->op ? q->op : "");
	if (q->from_unix_ns || q->to_unix_ns || (reply->window && reply->window->from_unix_ns)) {
		(void)buf_append_text(&text, "what was recorded from ");
		blame_window_append(q, reply, &text);
	} else {
		(void)buf_append_text(&text, "the recording");
	}
	(void)buf_printf(&text,
			 "; %s%s'ingero explain' shows what is recorded, and 'ingero check' what this kernel cannot "
			 "measure",
			 q->has_pids ? "without '--pid' all processes are listed, " : "",
			 q->from_unix_ns || q->to_unix_ns ? "'--since' covers a longer time, " : "");
	text_paragraph(out, style, "", buf_text(&text));
}

static void blame_header_append(const struct account_question *q, const Ingero__V1__BlameReply *reply,
				const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	blame_window_append(q, reply, &text);
	if (q->words)
		(void)buf_printf(&text, ", %s", q->words);
	(void)buf_printf(&text, " · %s",
			 units_things(reply->n_accounts + reply->more_accounts, "account", "accounts").text);
	if (q->op)
		(void)buf_printf(&text, " · in %s alone", q->op);
	text_tone(out, style, TEXT_BOLD);
	text_paragraph(out, style, "", buf_text(&text));
	text_tone(out, style, TEXT_PLAIN);
	buf_consume(&text, text.n);
	if (q->from_unix_ns || q->to_unix_ns)
		window_widened_append(reply->window, q->now_unix_ns, &text);
	if (text.n)
		text_paragraph(out, style, "", buf_text(&text));
}

int account_report_append(const struct account_question *q, const Ingero__V1__BlameReply *reply,
			  const struct text_style *style, struct buf *out)
{
	bool has_others = false;
	int r = 0;

	if (reply->n_accounts)
		blame_header_append(q, reply, style, out);
	else
		blame_nothing_append(q, reply, style, out);
	for (size_t i = 0; i < reply->n_accounts && r == 0; i++) {
		text_line(out, style, TEXT_PLAIN, "%s", "");
		if (!has_others && !reply->accounts[i]->is_driving) {
			text_line(out, style, TEXT_DIM,
				  "threads that make less than a fifth of their process's calls:");
			has_others = true;
		}
		r = account_append(reply->accounts[i], SIZE_MAX, style, out);
	}
	if (r < 0)
		return r;
	if (reply->more_accounts)
		text_line(out, style, TEXT_DIM, "and %s; '--pid' asks for one process",
			  units_things(reply->more_accounts, "more account", "more accounts").text);
	if (reply->n_gaps || (reply->lost && lost_sum(reply->lost, LOST_COUNTS) + lost_sum(reply->lost, LOST_DETAIL))) {
		text_line(out, style, TEXT_PLAIN, "%s", "");
		explain_footer_append(reply->lost, reply->gaps, reply->n_gaps, q->now_unix_ns, style, out);
	}
	return out->failed ? -ENOMEM : 0;
}
