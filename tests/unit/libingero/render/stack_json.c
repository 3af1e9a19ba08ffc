// SPDX-License-Identifier: Apache-2.0
/* Stacks in events, and sites of findings: to the byte, with the names that scripts rely on; what is not known is
 * absent. */
#include "libingero/render/stack_json.h"

#include "libingero/render/pb_json.h"
#include "tests/support/check.h"

#define TEXT(text) ((char *)(uintptr_t)(text)) /* messages borrow it */

static void event_test(void)
{
	Ingero__V1__StackFrame frames[] = { INGERO__V1__STACK_FRAME__INIT, INGERO__V1__STACK_FRAME__INIT,
					    INGERO__V1__STACK_FRAME__INIT, INGERO__V1__STACK_FRAME__INIT };
	Ingero__V1__StackFrame *list[] = { &frames[0], &frames[1], &frames[2], &frames[3] };
	Ingero__V1__Stack stack = INGERO__V1__STACK__INIT;
	Ingero__V1__Event event = INGERO__V1__EVENT__INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT, none = BUF_INIT;
	const char *text;

	frames[0].ip = 0x7f00000001d4;
	frames[0].symbol = TEXT("f+0x1d4");
	frames[0].module = TEXT("/lib/libf.so.1");
	frames[1].is_python = 1;
	frames[1].symbol = TEXT("forward");
	frames[1].qualname = TEXT("Net.forward");
	frames[1].file = TEXT("/a/train.py");
	frames[1].line = 142;
	frames[2].ip = 1;
	frames[2].symbol = TEXT("g");
	frames[2].file = TEXT("g \"x\".c");
	frames[2].line = 7;
	frames[3].is_python = 1;
	stack.frames = list;
	stack.n_frames = ARRAY_SIZE(list);
	stack.id = 9;
	stack.why = TEXT("no rule describes this code");
	event.stack = &stack;

	pb_json_append(&out, &event.base);
	text = strstr(buf_text(&out), ",\"stack_id\"");
	CHECK_STR_EQ(
		"stack", text,
		",\"stack_id\":9,\"stack\":[{\"ip\":\"0x7f00000001d4\",\"symbol\":\"f+0x1d4\",\"module\":"
		"\"/lib/libf.so.1\"},"
		"{\"py_file\":\"/a/train.py\",\"py_func\":\"forward\",\"py_qualname\":\"Net.forward\",\"py_line\":142},"
		"{\"ip\":\"0x1\",\"symbol\":\"g\",\"file\":\"g \\\"x\\\".c\",\"line\":7},{}],"
		"\"stack_complete\":false,\"stack_why\":\"no rule describes this code\"}");
	stack.is_complete = 1;
	stack.n_frames = 0;
	stack.id = 0;
	buf_consume(&out, out.n);
	pb_json_append(&out, &event.base);
	CHECK("complete: no reason, and no id that is not known",
	      strstr(buf_text(&out), ",\"stack\":[],\"stack_complete\":true}"));
	event.stack = NULL;
	pb_json_append(&none, &event.base);
	CHECK("no stack: no member", !strstr(buf_text(&none), "stack"));
}

static void site_test(void)
{
	Ingero__V1__Finding finding = INGERO__V1__FINDING__INIT;
	Ingero__V1__Site site = INGERO__V1__SITE__INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT, less = BUF_INIT;

	site.file = TEXT("/a/train.py");
	site.func = TEXT("forward");
	site.line = 142;
	finding.from = &site;
	pb_json_append(&out, &finding.base);
	CHECK("site", strstr(buf_text(&out), "\"from\":{\"file\":\"/a/train.py\",\"func\":\"forward\",\"line\":142}"));
	site.file = TEXT("");
	site.line = 0;
	pb_json_append(&less, &finding.base);
	CHECK("less is known", strstr(buf_text(&less), "\"from\":{\"func\":\"forward\"}"));
}

int main(void)
{
	event_test();
	site_test();
	return check_result();
}
