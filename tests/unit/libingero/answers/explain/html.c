// SPDX-License-Identifier: Apache-2.0
/*
 * The report as a page: nothing that runs or is fetched, whatever processes are called; every element that begins ends.
 */
#include "libingero/answers/explain/html.h"

#include <locale.h>
#include <time.h>

#include "../account/accounts.h"
#include "replies.h"
#include "tests/support/check.h"

#define HOSTILE "</pre><script>alert('1')</script>&\"\x1b[31m\xff"

static const struct explain_question asked = {
	.now_unix_ns = AT(300), .from_unix_ns = AT(0), .to_unix_ns = AT(300), .whose = "of root"
};

static struct reply reply; /* too large for a stack */
static struct account_made made[2];
static Ingero__V1__Account *account_list[] = { &made[0].account, &made[1].account };

static const char *page(void)
{
	static struct buf out;

	buf_consume(&out, out.n);
	CHECK_INT_EQ("page", explain_html_append(&asked, &reply.reply, &out), 0);
	return buf_text(&out);
}

static void accounts_set(size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		(void)account_make(&made[i], account_starved, ARRAY_SIZE(account_starved));
	reply.reply.accounts = account_list;
	reply.reply.n_accounts = n;
}

static unsigned int count_of(const char *text, const char *what)
{
	unsigned int n = 0;

	for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
		n++;
	return n;
}

static void page_check(const char *name, const char *text)
{
	static const char *const elements[] = { "html", "head",	 "body", "style", "h1",	   "h2", "p",
						"pre",	"table", "tr",	 "svg",	  "title", "td" };
	static const char *const never[] = { "<script", "http:", "https:", "url(", "@import", " src=",
					     "href",	"<link", " on",	   "\x1b", "\xff" };

	CHECK(name, strncmp(text, "<!doctype html>\n", 16) == 0);
	CHECK(name, strcmp(text + strlen(text) - 8, "</html>\n") == 0);
	for (size_t i = 0; i < ARRAY_SIZE(elements); i++) {
		char begins[16], begins_with[16], ends[16];

		(void)snprintf(begins, sizeof(begins), "<%s>", elements[i]);
		(void)snprintf(begins_with, sizeof(begins_with), "<%s ", elements[i]);
		(void)snprintf(ends, sizeof(ends), "</%s>", elements[i]);
		CHECK_INT_EQ(ends, count_of(text, begins) + count_of(text, begins_with), count_of(text, ends));
	}
	for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
		const char *found = strstr(text, never[i]);

		/* " on" begins handlers of events, in elements alone. */
		for (; found && strcmp(never[i], " on") == 0; found = strstr(found + 1, never[i]))
			if (strcspn(found, "=") < strcspn(found, "<> "))
				break;
		CHECK(never[i], !found);
	}
}

int main(void)
{
	const char *text;

	(void)setlocale(LC_CTYPE, "C.UTF-8");
	(void)setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();

	(void)reply_hog(&reply);
	accounts_set(2);
	text = page();
	page_check("a finding", text);
	CHECK("whose", strstr(text, "<h2>python3 4711 · main thread · 1 min 0 s</h2>"));
	CHECK("a bar", strstr(text, "<rect class=\"c0\" x=\"0.000\" y=\"0\" width=\"60.000\" height=\"10\">"));
	CHECK("after it", strstr(text, "<rect class=\"c1\" x=\"60.000\" y=\"0\" width=\"19.000\" height=\"10\">"));
	CHECK("a line", strstr(text, "<td class=\"n\">60 %</td><td class=\"n\">36.0 s</td><td>waits for a pipe</td>"
				     "<td class=\"d\">from python (4720) 83 %, python (4721) 17 %</td>"));
	CHECK("two processes", count_of(text, "<svg class=\"whole\"") == 2);
	CHECK("the finding", strstr(text, "<pre>1 HIGH  cudaStreamSynchronize waited for the CPU"));
	CHECK("no empty line in front", !strstr(text, "<pre>\n"));
	CHECK("none is left out", !strstr(text, "more account"));
	reply.reply.more_accounts = 3;
	CHECK("others", strstr(page(), "<p class=\"dim\">and 3 more accounts, not listed</p>\n<h2>Problems"));

	accounts_set(1);
	made[0].account.n_parts = 5;
	made[0].parts[4].part.ns = 1;
	CHECK("a share that is no percent",
	      strstr(page(), "<td class=\"n\">&lt;1 %</td><td class=\"n\">1 ns</td><td>Python on the CPU</td>"));

	(void)reply_calm(&reply);
	accounts_set(1);
	text = page();
	page_check("nothing found", text);
	CHECK("the sentence", strstr(text, " of 2 processes\n\nNo finding: no process of root had"));
	CHECK("no heading of problems", !strstr(text, "<pre>"));

	(void)reply_hog(&reply);
	accounts_set(1);
	made[0].account.process_name = figures_text(HOSTILE);
	made[0].parts[0].part.by->comm = figures_text(HOSTILE);
	made[0].parts[2].part.op = figures_text(HOSTILE);
	reply.finding[0].title = figures_text(HOSTILE);
	reply.finding[0].process_name = figures_text(HOSTILE);
	reply.cause[0].comm = figures_text(HOSTILE);
	reply.session.node = figures_text(HOSTILE);
	page_check("hostile names", page());
	return check_result();
}
