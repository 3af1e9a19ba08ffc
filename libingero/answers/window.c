// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/window.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "libingero/answers/time.h"

void window_widened_append(const Ingero__V1__Window *window, uint64_t now_unix_ns, struct buf *out)
{
	const Ingero__V1__Widened *w = window ? window->widened : NULL;
	uint64_t row_s;

	if (!w)
		return;
	if (window->from_unix_ns + NSEC_PER_SEC > w->asked_from_unix_ns &&
	    (!w->asked_to_unix_ns || window->to_unix_ns < w->asked_to_unix_ns + NSEC_PER_SEC))
		return;
	row_s = (w->row_ns + NSEC_PER_SEC / 2) / NSEC_PER_SEC;
	(void)buf_append_text(out, "wider than asked (");
	if (w->asked_from_unix_ns && w->asked_to_unix_ns)
		(void)buf_append_text(out,
				      clock_span_text(w->asked_from_unix_ns, w->asked_to_unix_ns, now_unix_ns).text);
	else if (w->asked_from_unix_ns)
		(void)buf_printf(out, "since %s", clock_text(w->asked_from_unix_ns, now_unix_ns).text);
	else
		(void)buf_printf(out, "up to %s", clock_text(w->asked_to_unix_ns, now_unix_ns).text);
	(void)buf_append_text(out, "): figures of that time are stored in spans of ");
	if (row_s >= 3600)
		(void)buf_append_text(out, "an hour");
	else if (row_s >= 60)
		(void)buf_append_text(out, "a minute");
	else
		(void)buf_printf(out, "%" PRIu64 " s", MAX(row_s, 1));
}
