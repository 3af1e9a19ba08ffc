// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/trace/json.h"

#include "libingero/answers/stack/join.h"
#include "libingero/render/pb_json.h"

static int events_append(struct buf *out, const Ingero__V1__EventBatch *batch)
{
	int r = 0;

	for (size_t i = 0; i < batch->n_events && r == 0; i++)
		r = stack_event_json_line(out, batch->events[i], batch->stacks, batch->n_stacks);
	return r;
}

int trace_json_reply(struct buf *out, const Ingero__V1__TraceReply *reply)
{
	switch (reply->body_case) {
	case INGERO__V1__TRACE_REPLY__BODY_START:
		return pb_json_line(out, "start", &reply->start->base, NULL);
	case INGERO__V1__TRACE_REPLY__BODY_LIBRARY:
		return pb_json_line(out, "library", &reply->library->base, NULL);
	case INGERO__V1__TRACE_REPLY__BODY_LOSS:
		return pb_json_line(out, "loss", &reply->loss->base, NULL);
	case INGERO__V1__TRACE_REPLY__BODY_EVENTS:
		return events_append(out, reply->events);
	case INGERO__V1__TRACE_REPLY__BODY_FINDING:
		return pb_json_line(out, "finding", &reply->finding->base, NULL);
	case INGERO__V1__TRACE_REPLY__BODY_FIGURES:
	case INGERO__V1__TRACE_REPLY__BODY_SUMMARY:
	case INGERO__V1__TRACE_REPLY__BODY_RESUME:
	case INGERO__V1__TRACE_REPLY__BODY_RECENT:
	case INGERO__V1__TRACE_REPLY__BODY__NOT_SET:
	case _INGERO__V1__TRACE_REPLY__BODY__CASE_IS_INT_SIZE:
		break;
	}
	return 0;
}

int trace_json_figures(struct buf *out, const Ingero__V1__Summary *figures)
{
	if (figures->from_told_case == INGERO__V1__SUMMARY__FROM_TOLD__NOT_SET)
		return 0; /* a daemon without figures of a second sends totals, which the summary has */
	return pb_json_line(out, "figures", &figures->base, "more libraries findings delay store life not_shown");
}

int trace_json_summary(struct buf *out, const Ingero__V1__Summary *summary)
{
	return pb_json_line(out, "summary", &summary->base, "more from_unix_ns to_unix_ns");
}
