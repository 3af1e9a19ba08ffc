// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/explain/html.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "libingero/answers/account/text.h"
#include "libingero/answers/explain/finding.h"
#include "libingero/render/units.h"

#define PAGE_COLUMNS 100u     /* lines of a finding's block */
#define SENTENCE_COLUMNS 4096 /* the browser breaks lines */
#define COLOURS 6u

static const struct text_style block_style = { .is_utf8 = true, .columns = PAGE_COLUMNS };
static const struct text_style sentence_style = { .is_utf8 = true, .columns = SENTENCE_COLUMNS };

/* Style of the page, and a policy that forbids all loading. */
static const char page_head[] =
	"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<title>Ingero report</title>\n<style>\n"
	":root{color-scheme:light dark;--back:#fff;--text:#1b1f24;--dim:#59636e;--line:#d1d9e0;--loud:#c62828;"
	"--c0:#2f6fde;--c1:#e07b1a;--c2:#2e9e5b;--c3:#b3427f;--c4:#7b5bd6;--c5:#8a949e}\n"
	"@media (prefers-color-scheme:dark){:root{--back:#15191e;--text:#e6edf3;--dim:#9aa4ae;--line:#3a424b;"
	"--loud:#ff7b72;--c0:#6ca0ff;--c1:#f5a35c;--c2:#5fce8c;--c3:#e884b8;--c4:#b39cff;--c5:#9aa4ae}}\n"
	"body{max-width:62rem;margin:2rem auto;padding:0 1rem;background:var(--back);color:var(--text);"
	"font:1rem/1.5 system-ui,sans-serif}\n"
	"h1{font-size:1.4rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}p{overflow-wrap:anywhere}\n"
	"table{border-collapse:collapse;width:100%}td{padding:.2rem .6rem;border-top:1px solid var(--line);"
	"overflow-wrap:anywhere}\n"
	"td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}td.d,.dim{color:var(--dim)}\n"
	"svg{display:block;width:100%}svg.whole{height:1.6rem;border-radius:4px;margin:.5rem "
	"0}svg.key{width:.8rem;height:.8rem}\n"
	".c0{fill:var(--c0)}.c1{fill:var(--c1)}.c2{fill:var(--c2)}.c3{fill:var(--c3)}.c4{fill:var(--c4)}.c5{fill:var(--"
	"c5)}\n"
	"pre{overflow-x:auto;padding:.8rem;border:1px solid var(--line);border-left:4px solid var(--loud);"
	"border-radius:4px;font-size:.85rem}\n"
	"</style>\n</head>\n<body>\n<h1>Where the time went, and what went wrong</h1>\n";

/* Appends text that may come from a traced program: no control characters, no markup. */
static void html_append(struct buf *out, const char *text)
{
	for (const char *line = text; *line; line += strcspn(line, "\n")) {
		CLEANUP(buf_done) struct buf part = BUF_INIT, clean = BUF_INIT;

		if (*line == '\n') {
			(void)buf_append_text(out, "\n");
			line++;
			if (!*line)
				break;
		}
		(void)buf_append(&part, line, strcspn(line, "\n"));
		(void)text_append(&clean, &sentence_style, buf_text(&part), SENTENCE_COLUMNS);
		for (const char *p = buf_text(&clean); *p; p++) {
			switch (*p) {
			case '&':
				(void)buf_append_text(out, "&amp;");
				break;
			case '<':
				(void)buf_append_text(out, "&lt;");
				break;
			case '>':
				(void)buf_append_text(out, "&gt;");
				break;
			case '"':
				(void)buf_append_text(out, "&quot;");
				break;
			case '\'':
				(void)buf_append_text(out, "&#39;");
				break;
			default:
				(void)buf_append(out, p, 1);
				break;
			}
		}
		out->failed |= part.failed || clean.failed;
	}
}

static void element_append(struct buf *out, const char *tag, const char *attributes, const char *text)
{
	(void)buf_printf(out, "<%s%s>", tag, attributes);
	html_append(out, text);
	(void)buf_printf(out, "</%s>\n", tag);
}

/* Draws the whole time as one bar. */
static void whole_append(const struct account_view *view, struct buf *out)
{
	double at = 0;

	(void)buf_append_text(out,
			      "<svg class=\"whole\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" role=\"img\" "
			      "aria-label=\"shares of the time\">\n");
	for (size_t i = 0; i < view->lines.n; i++) {
		double width = 100.0 * (double)view->lines.items[i].ns / (double)view->wall_ns;

		(void)buf_printf(out, "<rect class=\"c%u\" x=\"%.3f\" y=\"0\" width=\"%.3f\" height=\"10\"><title>",
				 (unsigned int)MIN(i, COLOURS - 1), at, width);
		html_append(out, view->lines.items[i].label);
		(void)buf_append_text(out, "</title></rect>\n");
		at += width;
	}
	(void)buf_append_text(out, "</svg>\n");
}

static int account_html(const Ingero__V1__Account *account, struct buf *out)
{
	CLEANUP(account_view_done) struct account_view view = ACCOUNT_VIEW_INIT;
	int r = account_view_build(account, ACCOUNT_LINES_MOST, &view);

	if (r < 0 || !view.wall_ns)
		return r;
	element_append(out, "h2", "", account_title(account).text);
	whole_append(&view, out);
	(void)buf_append_text(out, "<table>\n");
	for (size_t i = 0; i < view.lines.n; i++) {
		const struct account_line *line = &view.lines.items[i];
		char percent[12] = "&lt;1";

		if (line->percent)
			(void)snprintf(percent, sizeof(percent), "%u", line->percent);
		(void)buf_printf(out,
				 "<tr><td><svg class=\"key\" viewBox=\"0 0 10 10\"><rect class=\"c%u\" width=\"10\" "
				 "height=\"10\"/></svg></td><td class=\"n\">%s %%</td><td class=\"n\">%s</td><td>",
				 (unsigned int)MIN(i, COLOURS - 1), percent, units_ns(line->ns, 0).text);
		html_append(out, line->label);
		(void)buf_append_text(out, "</td><td class=\"d\">");
		html_append(out, line->detail);
		(void)buf_append_text(out, "</td></tr>\n");
	}
	(void)buf_append_text(out, "</table>\n");
	return 0;
}

static void findings_html(const struct explain_question *q, const Ingero__V1__ExplainReply *reply, struct buf *out)
{
	for (size_t i = 0; i < reply->n_findings; i++) {
		CLEANUP(buf_done) struct buf text = BUF_INIT;
		const struct explain_finding finding = {
			.finding = reply->findings[i],
			.lost = reply->lost,
			.number = i + 1,
			.id_chars = explain_id_chars(reply->findings, reply->n_findings),
			.now_unix_ns = q->now_unix_ns,
			.goes_on = reply->is_recording,
			.db = q->db,
		};

		explain_finding_append(&finding, &block_style, &text);
		element_append(out, "pre", "", buf_text(&text));
		out->failed |= text.failed;
	}
	if (reply->more_findings)
		(void)buf_printf(out, "<p class=\"dim\">and %u more, not listed</p>\n", reply->more_findings);
}

int explain_html_append(const struct explain_question *q, const Ingero__V1__ExplainReply *reply, struct buf *out)
{
	CLEANUP(buf_done) struct buf header = BUF_INIT, footer = BUF_INIT;
	int r = 0;

	(void)buf_append_text(out, page_head);
	explain_head_append(q, reply, &sentence_style, &header);
	element_append(out, "p", "", buf_text(&header));
	for (size_t i = 0; i < reply->n_accounts && r == 0; i++)
		r = account_html(reply->accounts[i], out);
	if (r < 0)
		return r;
	if (reply->n_accounts && reply->more_accounts)
		(void)buf_printf(out, "<p class=\"dim\">and %s, not listed</p>\n",
				 units_things(reply->more_accounts, "more account", "more accounts").text);
	if (reply->n_findings) {
		(void)buf_append_text(out, "<h2>Problems, worst first</h2>\n");
		findings_html(q, reply, out);
		explain_footer_append(reply->lost, reply->gaps, reply->n_gaps, q->now_unix_ns, &sentence_style,
				      &footer);
		element_append(out, "p", " class=\"dim\"", buf_text(&footer));
	}
	(void)buf_append_text(out, "</body>\n</html>\n");
	return out->failed || header.failed || footer.failed ? -ENOMEM : 0;
}
