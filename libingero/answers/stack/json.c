// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>

#include "base/json_text.h"
#include "libingero/answers/stack/report.h"
#include "libingero/render/pb_json.h"
#include "libingero/render/stack_json.h"

#define PIDS_MOST 64u

static void count_member_append(struct buf *out, const char *key, uint64_t value)
{
	(void)buf_printf(out, ",\"%s\":%" PRIu64, key, value);
}

static void text_member_append(struct buf *out, const char *key, const char *text)
{
	(void)buf_printf(out, ",\"%s\":", key);
	json_text_add(out, text);
}

void stack_place_json(const struct stack_place *place, struct buf *out)
{
	Ingero__V1__Site site = INGERO__V1__SITE__INIT;
	CLEANUP(buf_done) struct buf func = BUF_INIT;

	(void)buf_append(&func, place->func, place->n_func);
	site.file = (char *)(uintptr_t)place->file; /* the message borrows it, and the function */
	site.func = (char *)(uintptr_t)buf_text(&func);
	site.line = place->line;
	stack_json_site(out, &site);
	out->failed |= func.failed;
}

static void from_append(const struct stack_place *place, struct buf *out)
{
	(void)buf_append_text(out, ",\"from\":");
	stack_place_json(place, out);
	if (*place->module)
		text_member_append(out, "module", place->module);
}

static void site_pids_append(const struct stack_site *site, struct buf *out)
{
	size_t n = 0;

	(void)buf_append_text(out, ",\"pids\":[");
	for (size_t i = 0; i < site->n_rows && n < PIDS_MOST; i++)
		if (i == 0 || site->rows[i]->pid != site->rows[i - 1]->pid)
			(void)buf_printf(out, n++ ? ",%" PRIu32 : "%" PRIu32, site->rows[i]->pid);
	(void)buf_append_text(out, "]");
}

static void blame_json_append(const struct blame_view *blame, struct buf *out)
{
	bool is_first = true;

	(void)buf_append_text(out, ",\"blame_ns\":{");
	for (size_t i = 0; i < BLAME_VIEW_COUNT; i++) {
		if (!blame->is_measured[i])
			continue;
		(void)buf_printf(out, "%s\"%s\":%" PRIu64, is_first ? "" : ",", blame_view_field(i), blame->ns[i]);
		is_first = false;
	}
	(void)buf_append_text(out, "}");
}

static void site_json_append(const struct stack_site *site, enum stack_by by, struct buf *out)
{
	(void)buf_append_text(out, "{\"op\":");
	json_text_add(out, site->most->op);
	text_member_append(out, "source", site->most->source);
	text_member_append(out, "process_name", site->most->process_name);
	site_pids_append(site, out);
	count_member_append(out, "processes", site->n_processes);
	count_member_append(out, "stacks", site->has_place ? site->n_rows : 0);
	count_member_append(out, "count", site->count);
	count_member_append(out, "total_ns", site->total_ns);
	if (site->count) {
		count_member_append(out, "p99_ns", site->p99_ns);
		count_member_append(out, "max_ns", site->max_ns);
	}
	count_member_append(out, "bytes", site->bytes);
	count_member_append(out, "errors", site->errors);
	blame_json_append(&site->blame, out);
	count_member_append(out, "counted", site->counted);
	count_member_append(out, "counted_ns", site->counted_ns);
	(void)buf_printf(out, ",\"is_estimate\":%s", site->is_estimate ? "true" : "false");
	(void)buf_printf(out, ",\"is_inner\":%s", site->is_inner ? "true" : "false");
	if (by == STACK_BY_STACK && site->most->node_told_case)
		text_member_append(out, "node", site->most->node);
	if (site->has_place) {
		from_append(&site->place, out);
		(void)buf_append_text(out, ",");
		stack_json_members(out, site->most->stack);
	}
	(void)buf_append_text(out, "}");
}

int stack_json_append(const struct stack_question *q, const struct stack_rows *rows, const struct stack_sites *sites,
		      struct buf *out)
{
	size_t n = q->limit && q->limit < sites->sites.n ? (size_t)q->limit : sites->sites.n, start = out->n;
	Ingero__V1__StacksEnd none = INGERO__V1__STACKS_END__INIT;
	const Ingero__V1__StacksEnd *end = rows->end ? rows->end : &none;
	CLEANUP(buf_done) struct buf rest = BUF_INIT;

	(void)buf_printf(out, "{\"type\":\"stacks\",\"by\":\"%s\",\"measure\":\"%s\",\"sites\":[",
			 q->by == STACK_BY_SITE ? "site" : "stack", stack_measure_value(&q->measure).name);
	for (size_t i = 0; i < n; i++) {
		if (i)
			(void)buf_append_text(out, ",");
		site_json_append(&sites->sites.items[i], q->by, out);
	}
	(void)buf_append_text(out, "]");
	count_member_append(out, "more_sites", sites->sites.n - n);
	if (pb_json_line(&rest, NULL, &end->base, NULL) == 0) {
		(void)buf_append_text(out, ",");
		(void)buf_append(out, rest.data + 1, rest.n - 1); /* without its opening brace */
	}
	if (out->failed || rest.failed) {
		out->n = start;
		return -ENOMEM;
	}
	return 0;
}
