// SPDX-License-Identifier: Apache-2.0
/* Words for a client that knows libingero alone: in whatever locale, and never of a finding that does not exist. */
#include "ingero/answers.h"

#include <locale.h>
#include <sys/stat.h>

#include "tests/support/check.h"

static Ingero__V1__Finding finding;
static Ingero__V1__Finding *findings[] = { &finding };
static Ingero__V1__ExplainReply reply;
static const struct ingero_explanation explanation = { .reply = &reply };

/* A locale whose numbers have a comma, made here: no machine need have one. Return: whether it is set */
static bool comma_set(void)
{
	static const char source[] =
		"LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n";
	char directory[] = P_tmpdir "/ingero-test-XXXXXX", command[128], path[64];
	bool is_made, is_set = false;
	FILE *file;

	if (!mkdtemp(directory))
		return false;
	(void)snprintf(path, sizeof(path), "%s/source", directory);
	file = fopen(path, "w");
	if (file) {
		(void)fputs(source, file);
		(void)fclose(file);
		/* It also warns of all that the source leaves out. */
		(void)snprintf(command, sizeof(command), "localedef -c -i %s/source %s/comma 2>/dev/null", directory,
			       directory);
		is_made = system(command) != -1;
		(void)setenv("LOCPATH", directory, 1);
		is_set = is_made && setlocale(LC_NUMERIC, "comma") != NULL;
		(void)unsetenv("LOCPATH"); /* newlocale(3) of glibc leaks its parts */
	}
	(void)snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) == 0 && is_set;
}

static void numbers_test(void)
{
	char *text = ingero_finding_json(&finding);

	CHECK("a finding's numbers", text && strstr(text, "\"confidence\":0.75"));
	free(text);
	text = ingero_explanation_json(&explanation);
	CHECK("an answer's numbers", text && strstr(text, "\"confidence\":0.75"));
	free(text);
}

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
	finding.confidence = 0.75;
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

	numbers_test();
	if (!comma_set())
		CHECK_SKIP("localedef cannot make a locale with a decimal comma here");
	numbers_test();
	CHECK_STR_EQ("the client's numbers are its own", localeconv()->decimal_point, ",");
	return check_result();
}
