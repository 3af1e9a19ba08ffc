// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/host.h"

#include <inttypes.h>
#include <string.h>

#include "libingero/render/units.h"

#define STATUS_SIGNAL(status) ((unsigned int)(status)&0x7f)
#define STATUS_CODE(status) ((unsigned int)(status) >> 8 & 0xff)

bool host_is_source(const char *source)
{
	return source && strcmp(source, "host") == 0;
}

bool host_event_is_bad(const Ingero__V1__Event *event)
{
	return strcmp(event->op, "oom_kill") == 0 || (strcmp(event->op, "process_exit") == 0 && event->ret_code);
}

static void oom_append(struct buf *out, const Ingero__V1__Event *event)
{
	static const char *const scopes[] = { "", "its control group was out of memory",
					      "the machine was out of memory" };

	if (event->n_args && event->args[0])
		(void)buf_printf(out, "held %s", units_bytes(event->args[0]).text);
	if (event->ret_code > 0 && (size_t)event->ret_code < ARRAY_SIZE(scopes))
		(void)buf_printf(out, "%s%s", event->n_args && event->args[0] ? ", " : "", scopes[event->ret_code]);
}

void host_event_append(struct buf *out, const Ingero__V1__Event *event)
{
	if (strcmp(event->op, "oom_kill") == 0)
		oom_append(out, event);
	else if (strcmp(event->op, "process_fork") == 0 && event->n_args == 2)
		(void)buf_printf(out, "child %" PRIu64, event->args[1]);
	else if (strcmp(event->op, "process_exit") == 0 && STATUS_SIGNAL(event->ret_code))
		(void)buf_printf(out, "killed by signal %u", STATUS_SIGNAL(event->ret_code));
	else if (strcmp(event->op, "process_exit") == 0)
		(void)buf_printf(out, "status %u", STATUS_CODE(event->ret_code));
}

static void count_append(struct buf *text, uint64_t n, const char *one, const char *more)
{
	if (n)
		(void)buf_printf(text, "%s%s", text->n ? " · " : "", units_things(n, one, more).text);
}

void host_life_append(struct buf *out, const struct text_style *style, const Ingero__V1__Summary *summary)
{
	uint64_t pages = 0, bytes = 0, reclaims = 0, reclaim_ns = 0;
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	const Ingero__V1__Life *life = summary->life;

	for (size_t i = 0; i < summary->n_operations; i++) {
		const Ingero__V1__Operation *op = summary->operations[i];

		if (!host_is_source(op->source))
			continue;
		if (strcmp(op->op, "mm_page_alloc") == 0) {
			pages += op->count;
			bytes += op->bytes;
		} else if (strcmp(op->op, "mm_reclaim") == 0) {
			reclaims += op->count;
			reclaim_ns += op->total_ns;
		}
	}
	if (life) {
		count_append(&text, life->oom_kills, "process killed (out of memory)",
			     "processes killed (out of memory)");
		count_append(&text, life->forks, "fork", "forks");
		count_append(&text, life->execs, "exec", "execs");
		count_append(&text, life->exits, "exit", "exits");
	}
	if (pages)
		(void)buf_printf(&text, "%s%s allocated in %s", text.n ? " · " : "", units_bytes(bytes).text,
				 units_things(pages, "page allocation", "page allocations").text);
	if (reclaims)
		(void)buf_printf(&text, " · memory reclaimed %s, %s", units_things(reclaims, "time", "times").text,
				 units_ns(reclaim_ns, 0).text);
	if (text.n)
		text_paragraph(out, style, "host: ", buf_text(&text));
}
