// SPDX-License-Identifier: Apache-2.0
/* An explanation as an answer: its sentence counts all that was found, whatever is shown; an empty one names what to
 * ask. */
#include "mcp-server/findings.h"

#include "base/cleanup.h"
#include "tests/support/check.h"

#define AT(seconds) ((1769864400ull + (seconds)) * NSEC_PER_SEC)

/* Of its own memory, as the daemon's is. */
static Ingero__V1__ExplainReply *reply_copy(const Ingero__V1__ExplainReply *reply)
{
	CLEANUP(freep) uint8_t *packed = malloc(ingero__v1__explain_reply__get_packed_size(reply) + 1);

	return packed ? ingero__v1__explain_reply__unpack(NULL, ingero__v1__explain_reply__pack(reply, packed), packed)
		      : NULL;
}

/* Three findings in five minutes. */
static Ingero__V1__ExplainReply *found_make(void)
{
	static const char *const severities[] = { "HIGH", "LOW", "LOW" };
	Ingero__V1__Finding findings[3], *list[3];
	Ingero__V1__ExplainReply reply = INGERO__V1__EXPLAIN_REPLY__INIT;
	Ingero__V1__Window window = INGERO__V1__WINDOW__INIT;

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		findings[i] = (Ingero__V1__Finding)INGERO__V1__FINDING__INIT;
		findings[i].id = (char *)(uintptr_t) "8f3a2c0000000001";
		findings[i].severity = (char *)(uintptr_t)severities[i];
		list[i] = &findings[i];
	}
	window.from_unix_ns = AT(0);
	window.to_unix_ns = AT(300);
	window.calls = 1000;
	reply.window = &window;
	reply.findings = list;
	reply.n_findings = ARRAY_SIZE(list);
	return reply_copy(&reply);
}

static const struct {
	const char *name;
	size_t findings_max;
	const char *shown;
} cases[] = {
	{ "all", 0, "\"more_findings\":0," },
	{ "more room than needed", 10, "\"more_findings\":0," },
	{ "the worst alone", 1, "\"more_findings\":2," },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(ingero_explanation_done)
		struct ingero_explanation e = { .reply = found_make(), .asked_unix_ns = AT(300) };
		CLEANUP(answer_done) struct answer answer = ANSWER_INIT;
		const struct findings_question question = { .is_chosen = true, .findings_max = cases[i].findings_max };

		CHECK_INT_EQ(cases[i].name, findings_write(&e, &question, &answer), 0);
		CHECK(cases[i].name, strstr(buf_text(&answer.body), " 1 HIGH · 2 LOW"));
		CHECK(cases[i].name, strstr(buf_text(&answer.body), cases[i].shown));
	}
	return check_result();
}
