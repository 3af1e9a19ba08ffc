// SPDX-License-Identifier: Apache-2.0
/* Messages of our own contract as JSON text; the outcome is compared to the byte. */
#include "libingero/render/pb_json.h"

#include <math.h>

#include "base/cleanup.h"
#include "ingero/v1/ingero.pb-c.h"
#include "tests/support/check.h"

static void event_test(void)
{
	uint64_t args[] = { 0, UINT64_MAX };
	char *reasons[] = { "slow", "sync" };
	Ingero__V1__Blame blame = INGERO__V1__BLAME__INIT;
	Ingero__V1__Event event = INGERO__V1__EVENT__INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	blame.has_on_cpu = blame.has_quota = true;
	blame.on_cpu = 7; /* quota measured and zero; all others not measured */
	event.timestamp_unix_ns = 1700000000000000042ull;
	event.pid = 4711;
	event.process_name = "py\"thon";
	event.op = "cudaMalloc";
	event.duration_ns = 9007199254740993ull; /* more than a double holds */
	event.args = args;
	event.n_args = ARRAY_SIZE(args);
	event.ret_code = -2;
	event.reasons = reasons;
	event.n_reasons = ARRAY_SIZE(reasons);
	event.blame_ns = &blame;
	event.id = "1.2a.7";

	CHECK_INT_EQ("event", pb_json_line(&out, "event", &event.base, NULL), 0);
	CHECK_STR_EQ("event", buf_text(&out),
		     "{\"type\":\"event\",\"timestamp\":\"2023-11-14T22:13:20.000000042Z\",\"pid\":4711,\"tid\":0,"
		     "\"process_name\":\"py\\\"thon\",\"source\":\"\",\"op\":\"cudaMalloc\","
		     "\"duration_ns\":9007199254740993,\"duration_raw_ns\":0,\"args\":[0,18446744073709551615],"
		     "\"ret_code\":-2,\"uid\":0,\"reasons\":[\"slow\",\"sync\"],\"depth\":0,"
		     "\"blame_ns\":{\"on_cpu\":7,\"quota\":0},\"id\":\"1.2a.7\"}\n");
}

static void summary_test(void)
{
	Ingero__V1__Operation a = INGERO__V1__OPERATION__INIT, b = INGERO__V1__OPERATION__INIT;
	Ingero__V1__Operation *operations[] = { &a, &b };
	Ingero__V1__Cost cost = INGERO__V1__COST__INIT;
	Ingero__V1__Summary summary = INGERO__V1__SUMMARY__INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	const char *text;

	a.start_time_unix_ns = UINT64_MAX;
	cost.probe_ratio = 0.1;
	summary.operations = operations;
	summary.n_operations = ARRAY_SIZE(operations);
	summary.cost = &cost;

	CHECK_INT_EQ("summary", pb_json_line(&out, "summary", &summary.base, "more"), 0);
	CHECK("not left out", strstr(buf_text(&out), "\"libraries\":[]"));
	CHECK_INT_EQ("left out", pb_json_line(&out, "figures", &summary.base, "more libraries lib findings"), 0);
	text = strchr(buf_text(&out), '\n');
	CHECK("each of them", !strstr(text, "\"more\"") && !strstr(text, "\"libraries\"") &&
				      !strstr(text, "\"findings\"") && strstr(text, "\"not_shown\""));
	text = buf_text(&out);
	CHECK("starts with its type", strncmp(text, "{\"type\":\"summary\",\"timestamp\":null,", 35) == 0);
	CHECK("last moment there is", strstr(text, "\"start_time\":\"2554-07-21T23:34:33.709551615Z\""));
	CHECK("time that nobody knows", strstr(text, "},{\"pid\":0,\"start_time\":null,"));
	CHECK("shortest number", strstr(text, "\"probe_ratio\":0.1,"));
	CHECK("empty lists are lists", strstr(text, "\"in_flight\":[],\"behind\":[],"));
	CHECK("absent message is left out", !strstr(text, "\"lost\""));
	CHECK("skipped", !strstr(text, "\"more\""));

	cost.probe_ratio = NAN;
	buf_done(&out);
	CHECK_INT_EQ("not a number", pb_json_line(&out, "summary", &summary.base, NULL), 0);
	CHECK("not a number", strstr(buf_text(&out), "\"probe_ratio\":null,"));
	CHECK("not skipped", strstr(buf_text(&out), "\"more\":false,"));
}

/* Of a choice only the chosen one is there. */
static void oneof_test(void)
{
	Ingero__V1__Loss loss = INGERO__V1__LOSS__INIT;
	Ingero__V1__TraceReply reply = INGERO__V1__TRACE_REPLY__INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	reply.body_case = INGERO__V1__TRACE_REPLY__BODY_LOSS;
	reply.loss = &loss;
	CHECK_INT_EQ("choice", pb_json_line(&out, NULL, &reply.base, NULL), 0);
	CHECK_STR_EQ("choice", buf_text(&out), "{\"loss\":{\"timestamp\":null}}\n");
}

/* What is not told is left out; a zero that is told is there. */
static void told_test(void)
{
	Ingero__V1__Cost cost = INGERO__V1__COST__INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	CHECK_INT_EQ("not told", pb_json_line(&out, NULL, &cost.base, NULL), 0);
	CHECK("not told", !strstr(buf_text(&out), "bystander"));
	cost.bystander_calls_told_case = INGERO__V1__COST__BYSTANDER_CALLS_TOLD_BYSTANDER_CALLS;
	buf_done(&out);
	CHECK_INT_EQ("zero that is told", pb_json_line(&out, NULL, &cost.base, NULL), 0);
	CHECK("zero that is told", strstr(buf_text(&out), ",\"bystander_calls\":0,"));
	CHECK("each for itself", !strstr(buf_text(&out), "bystander_ns"));
}

static void full_test(void)
{
	Ingero__V1__Event event = INGERO__V1__EVENT__INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT_CAP(100);

	(void)buf_append_text(&out, "before");
	CHECK_INT_EQ("no room", pb_json_line(&out, "event", &event.base, NULL), -ENOMEM);
	CHECK_STR_EQ("no half line", buf_text(&out), "before");
}

int main(void)
{
	event_test();
	summary_test();
	oneof_test();
	told_test();
	full_test();
	return check_result();
}
