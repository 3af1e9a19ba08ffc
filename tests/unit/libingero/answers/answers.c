// SPDX-License-Identifier: Apache-2.0
/* Words for a client that knows libingero alone: in whatever locale, and never of a finding that is not there. */
#include "ingero/answers.h"

#include <locale.h>

#include "tests/support/check.h"

static Ingero__V1__Finding finding;
static Ingero__V1__Finding *findings[] = { &finding };
static Ingero__V1__ExplainReply reply;
static const struct ingero_explanation explanation = { .reply = &reply };

int main(void)
{
	char *text;

	ingero__v1__finding__init(&finding);
	ingero__v1__explain_reply__init(&reply);
	finding.id = (char *)(uintptr_t) "8f3a2c0000000001";
	finding.severity = (char *)(uintptr_t) "LOW";
	finding.title = (char *)(uintptr_t) "größe 日本";
	finding.process_name = (char *)(uintptr_t) "größe";
	finding.pid = 4711;
	reply.findings = findings;
	reply.n_findings = 1;

	text = ingero_finding_text(&explanation, 0, 80);
	CHECK("a client that never set a locale", text && strstr(text, "größe 日本"));
	CHECK("a client that never set a locale", text && !strchr(text, '?'));
	CHECK_STR_EQ("the client's locale is its own", setlocale(LC_CTYPE, NULL), "C");
	free(text);
	text = ingero_finding_text(&explanation, 1, 80);
	CHECK("no such finding", !text);
	free(text);
	return check_result();
}
