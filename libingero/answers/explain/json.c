// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/explain/json.h"

#include <errno.h>

#include "libingero/render/pb_json.h"

int explain_json_append(struct buf *out, const Ingero__V1__ExplainReply *reply)
{
	Ingero__V1__Window no_window = INGERO__V1__WINDOW__INIT;
	CLEANUP(buf_done) struct buf rest = BUF_INIT;
	size_t start = out->n;

	/* The field is `lost` in all messages, but `losses` in the output of explain. */
	(void)buf_append_text(out, "{\"type\":\"explain\",");
	if (!reply->window) {
		no_window.events_told_case = INGERO__V1__WINDOW__EVENTS_TOLD_EVENTS;
		(void)buf_append_text(out, "\"window\":");
		pb_json_append(out, &no_window.base);
		(void)buf_append_text(out, ",");
	}
	if (reply->lost) {
		(void)buf_append_text(out, "\"losses\":");
		pb_json_append(out, &reply->lost->base);
		(void)buf_append_text(out, ",");
	}
	if (pb_json_line(&rest, NULL, &reply->base, reply->n_examples ? "lost" : "lost examples") == 0)
		(void)buf_append(out, rest.data + 1, rest.n - 1); /* without its opening brace */

	if (out->failed || rest.failed) {
		out->n = start;
		return -ENOMEM;
	}
	return 0;
}
