// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/explain/call.h"

#include <inttypes.h>

#include "base/layer.h"
#include "libingero/render/user.h"
#include "libingero/answers/explain/bars.h"
#include "libingero/answers/host.h"
#include "libingero/answers/stack/frames.h"
#include "libingero/answers/stack/place.h"
#include "libingero/answers/time.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/render/units.h"

static void returned_append(const Ingero__V1__Event *call, const struct text_style *style, struct buf *out)
{
	const char *name = layer_error_name(call->source, call->ret_code);

	if (name)
		text_line(out, style, TEXT_LOUD, "  returned %" PRId32 ", %s: it failed", call->ret_code, name);
	else
		text_line(out, style, call->ret_code ? TEXT_LOUD : TEXT_PLAIN, "  returned %" PRId32 "%s",
			  call->ret_code, call->ret_code ? ": it failed" : "");
}

static void sum_append(const Ingero__V1__Event *call, const struct text_style *style, struct buf *out)
{
	uint64_t raw_ns = MAX(call->duration_raw_ns, call->duration_ns), removed_ns = raw_ns - call->duration_ns;
	char value[40];

	(void)snprintf(value, sizeof(value), "%s ns", units_count(raw_ns).text);
	text_line(out, style, TEXT_BOLD, "  in all   %18s", value);
	if (!removed_ns)
		return;
	(void)snprintf(value, sizeof(value), "%s ns", units_count(removed_ns).text);
	text_line(out, style, TEXT_PLAIN, "  tracing  %18s  the tracer's own share", value);
	(void)snprintf(value, sizeof(value), "%s ns", units_count(call->duration_ns).text);
	text_line(out, style, TEXT_PLAIN, "  without  %18s  the program's own time", value);
}

static void call_from_append(const Ingero__V1__Event *call, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	struct stack_place place;

	if (!stack_place_find(call->stack, &place))
		return;
	stack_place_append(&place, &text);
	text_paragraph(out, style, "  from     ", buf_text(&text));
	out->failed |= text.failed;
}

static void host_append(const Ingero__V1__Event *event, const struct text_style *style, struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	text_line(out, style, TEXT_BOLD, "%s", event->op);
	text_line(out, style, TEXT_PLAIN, "  when     %s", clock_text_exact(event->timestamp_unix_ns).text);
	(void)buf_printf(&text, "%s (pid %u%s%s, %s)", trace_process_name(event->process_name, event->program).text,
			 event->pid, event->node_told_case ? " on " : "", event->node_told_case ? event->node : "",
			 user_name(event->uid).text);
	text_paragraph(out, style, "  who      ", buf_text(&text));
	buf_consume(&text, text.n);
	host_event_append(&text, event);
	if (text.n)
		text_paragraph(out, style, "  what     ", buf_text(&text));
}

void explain_call_append(const Ingero__V1__Event *call, const struct text_style *style, struct buf *out)
{
	struct explain_bars bars = {
		.blame = call->blame_ns,
		.whole_ns = MAX(call->duration_raw_ns, call->duration_ns),
		.first = BLAME_VIEW_COUNT,
		.most = BLAME_VIEW_COUNT,
		.is_exact = true,
	};
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (host_is_source(call->source)) {
		host_append(call, style, out);
		return;
	}
	text_line(out, style, TEXT_BOLD, "%s took %s", call->op, units_ns(call->duration_ns, 0).text);
	text_line(out, style, TEXT_PLAIN, "  when     %s", clock_text_exact(call->timestamp_unix_ns).text);
	(void)buf_printf(&text, "%s (pid %u%s%s, thread %u, %s)",
			 trace_process_name(call->process_name, call->program).text, call->pid,
			 call->node_told_case ? " on " : "", call->node_told_case ? call->node : "", call->tid,
			 user_name(call->uid).text);
	text_paragraph(out, style, "  who      ", buf_text(&text));
	call_from_append(call, style, out);

	if (call->blame_ns)
		explain_bars_append(&bars, style, out);
	else
		text_paragraph(out, style, "  where    ", "not measured: the recording carries no blame");
	sum_append(call, style, out);

	buf_consume(&text, text.n);
	for (size_t i = 0; i < call->n_args; i++)
		(void)buf_printf(&text, "%s%" PRIu64, i ? ", " : "", call->args[i]);
	if (call->n_args)
		text_paragraph(out, style, "  args     ", buf_text(&text));
	returned_append(call, style, out);
	buf_consume(&text, text.n);
	for (size_t i = 0; i < call->n_reasons; i++)
		(void)buf_printf(&text, "%s%s", i ? ", " : "", call->reasons[i]);
	if (call->n_reasons)
		text_paragraph(out, style, "  reason   ", buf_text(&text));
	if (call->depth)
		text_line(out, style, TEXT_PLAIN, "  inside   %s",
			  units_things(call->depth, "other traced call", "other traced calls").text);
	if (call->stack)
		stack_lines_append(call->stack, style, out);
}

void explain_examples_append(const Ingero__V1__ExplainReply *reply, const struct text_style *style, struct buf *out)
{
	for (size_t i = 0; i < reply->n_examples; i++) {
		const Ingero__V1__Event *call = reply->examples[i];

		if (!call->stack || !call->stack->n_frames)
			continue;
		text_line(out, style, TEXT_PLAIN, "  example  %s, %s", call->id, units_ns(call->duration_ns, 0).text);
		stack_lines_append(call->stack, style, out);
		return;
	}
}
