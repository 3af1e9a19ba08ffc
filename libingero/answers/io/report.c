// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/io/report.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/render/pb_json.h"
#include "libingero/render/table.h"
#include "libingero/render/units.h"

#define ROWS_DEFAULT 20u
#define HEAD_ROWS 7u /* head line, two titles, two lines of further rows, an empty line, what was lost */
#define PROCESS_COLUMNS 16u
#define FILE_OTHER_COLUMNS 44u /* of the table of files, beside the path */
#define FAILED_COLUMNS 8u
#define FILE_COLUMNS_LEAST 20u
#define CUT "…"

/* One thing of a table; "" where nothing is to be said. */
static const char *none_or(uint64_t n, const char *text)
{
	return n ? text : "";
}

static void head_append(const Ingero__V1__IoFigures *f, const char *scope, const struct text_style *style,
			struct buf *out)
{
	uint64_t calls = 0, errors = 0;
	char failed[64] = "";

	for (size_t i = 0; i < f->n_operations; i++) {
		calls += f->operations[i]->count;
		errors += f->operations[i]->errors;
	}
	if (errors)
		(void)snprintf(failed, sizeof(failed), ", %s failed,", units_count(errors).text);
	text_line(out, style, TEXT_BOLD, "%s on files%s in %s by %s %s",
		  units_things(calls, "system call", "system calls").text, failed, units_ns(f->window_ns, 0).text,
		  units_things(f->processes, "process", "processes").text, scope);
}

static void further_append(size_t rows, size_t shown, const struct text_style *style, struct buf *out)
{
	if (rows > shown)
		text_line(out, style, TEXT_DIM, "and %s",
			  units_things(rows - shown, "further row", "further rows").text);
}

static int operations_append(const Ingero__V1__IoFigures *f, size_t rows, const struct text_style *style,
			     struct buf *out)
{
	static const struct table_column columns[] = {
		{ .title = "process", .max = PROCESS_COLUMNS, .takes_rest = true, .min = 8 },
		{ .title = "call" },
		{ .title = "calls", .align = TABLE_RIGHT },
		{ .title = "failed", .align = TABLE_RIGHT, .drop = 2 },
		{ .title = "bytes", .align = TABLE_RIGHT },
		{ .title = "p50", .align = TABLE_RIGHT },
		{ .title = "p99", .align = TABLE_RIGHT },
		{ .title = "max", .align = TABLE_RIGHT, .drop = 1 },
		{ .title = "time", .align = TABLE_RIGHT },
	};
	struct table table = TABLE_INIT(columns);
	int r;

	for (size_t i = 0; i < f->n_operations && i < rows; i++) {
		const Ingero__V1__IoOperation *o = f->operations[i];

		table_add(&table, TEXT_PLAIN, "%s",
			  trace_process_label(o->process_name, NULL, o->pid, PROCESS_COLUMNS).text);
		table_add(&table, TEXT_PLAIN, "%s", o->op);
		table_add(&table, TEXT_PLAIN, "%s", units_count(o->count).text);
		table_add(&table, TEXT_PLAIN, "%s", none_or(o->errors, units_count(o->errors).text));
		table_add(&table, TEXT_PLAIN, "%s", none_or(o->bytes, units_bytes(o->bytes).text));
		table_add(&table, TEXT_PLAIN, "%s", units_ns(o->p50_ns, UNITS_TIGHT).text);
		table_add(&table, TEXT_PLAIN, "%s", units_ns(o->p99_ns, UNITS_TIGHT).text);
		table_add(&table, TEXT_PLAIN, "%s", units_ns(o->max_ns, UNITS_TIGHT).text);
		table_add(&table, TEXT_PLAIN, "%s", units_ns(o->total_ns, UNITS_TIGHT).text);
	}
	r = table_render(&table, style, rows, out);
	table_done(&table);
	if (r == 0)
		further_append(f->n_operations, rows, style, out);
	return r;
}

/* Rows of calls without a file have their place in the table of calls. */
static bool has_file(const Ingero__V1__IoFile *file)
{
	return *file->path;
}

/* The end of a path that fits: its last components say most. @room: columns */
static const char *path_tail(const char *path, unsigned int room)
{
	const char *end = path, *slash;

	while (text_columns(end) + 1 > room && *end)
		end++;
	while (((unsigned char)*end & 0xc0) == 0x80)
		end++; /* never within a character */
	slash = strchr(end, '/');
	return slash ? slash : end;
}

/* @other: columns of the other cells */
static void path_add(struct table *table, const char *path, unsigned int other, const struct text_style *style)
{
	unsigned int room = MAX(style->columns, other + FILE_COLUMNS_LEAST) - other;

	if (text_columns(path) <= room)
		table_add(table, TEXT_PLAIN, "%s", path);
	else
		table_add(table, TEXT_PLAIN, CUT "%s", path_tail(path, room));
}

static bool has_failed(const Ingero__V1__IoFigures *f)
{
	for (size_t i = 0; i < f->n_files; i++)
		if (has_file(f->files[i]) && f->files[i]->errors)
			return true;
	return false;
}

static int files_append(const Ingero__V1__IoFigures *f, size_t rows, const struct text_style *style, struct buf *out)
{
	static const struct table_column columns[] = {
		{ .title = "file", .takes_rest = true, .min = 20, .narrows_last = true },
		{ .title = "call" },
		{ .title = "calls", .align = TABLE_RIGHT },
		{ .title = "bytes", .align = TABLE_RIGHT },
		{ .title = "p99", .align = TABLE_RIGHT },
		{ .title = "time", .align = TABLE_RIGHT },
		{ .title = "failed", .align = TABLE_RIGHT }, /* only where a call did */
	};
	struct table table = TABLE_INIT(columns);
	bool is_failed = has_failed(f);
	unsigned int other = FILE_OTHER_COLUMNS + (is_failed ? FAILED_COLUMNS : 0);
	size_t n = 0;
	int r;

	table.n_columns -= !is_failed;
	for (size_t i = 0; i < f->n_files; i++) {
		const Ingero__V1__IoFile *file = f->files[i];

		if (!has_file(file) || n++ >= rows)
			continue;
		path_add(&table, file->path, other, style);
		table_add(&table, TEXT_PLAIN, "%s", file->op);
		table_add(&table, TEXT_PLAIN, "%s", units_count(file->count).text);
		table_add(&table, TEXT_PLAIN, "%s", none_or(file->bytes, units_bytes(file->bytes).text));
		table_add(&table, TEXT_PLAIN, "%s", units_ns(file->p99_ns, UNITS_TIGHT).text);
		table_add(&table, TEXT_PLAIN, "%s", units_ns(file->total_ns, UNITS_TIGHT).text);
		if (is_failed)
			table_add(&table, TEXT_PLAIN, "%s", none_or(file->errors, units_count(file->errors).text));
	}
	if (n)
		(void)buf_append_text(out, "\n");
	r = n ? table_render(&table, style, rows, out) : 0;
	table_done(&table);
	if (r == 0)
		further_append(n, rows, style, out);
	return r;
}

static void io_lost_append(const Ingero__V1__IoLost *lost, const struct text_style *style, struct buf *out)
{
	char calls[128] = "", events[128] = "", compat[128] = "";
	const char *parts[] = { calls, events, compat };

	if (!lost)
		return;
	if (lost->calls)
		(void)snprintf(calls, sizeof(calls), "%s not counted", units_things(lost->calls, "call", "calls").text);
	if (lost->events + lost->subscriber_slow)
		(void)snprintf(events, sizeof(events), "%s counted and not shown singly",
			       units_things(lost->events + lost->subscriber_slow, "call", "calls").text);
	if (lost->compat)
		(void)snprintf(compat, sizeof(compat), "%s of 32-bit programs not counted",
			       units_things(lost->compat, "call", "calls").text);
	if (calls[0] || events[0] || compat[0])
		text_parts(out, style, TEXT_LOUD, "; ", parts, ARRAY_SIZE(parts));
	else
		text_line(out, style, TEXT_DIM, "every call counted, nothing lost");
}

int io_report_append(const Ingero__V1__IoFigures *f, const char *scope, size_t rows, const struct text_style *style,
		     struct buf *out)
{
	size_t each = rows > HEAD_ROWS + 2 ? (rows - HEAD_ROWS) / 2 : 1;
	int r = 0;

	if (!rows)
		each = ROWS_DEFAULT;
	head_append(f, scope, style, out);
	if (f->n_operations)
		r = operations_append(f, each, style, out);
	if (r == 0)
		r = files_append(f, each, style, out);
	io_lost_append(f->lost, style, out);
	return r == 0 && out->failed ? -ENOMEM : r;
}

int io_json_reply(struct buf *out, const Ingero__V1__IoReply *reply)
{
	int r = 0;

	if (reply->body_case == INGERO__V1__IO_REPLY__BODY_START)
		return pb_json_line(out, "start", &reply->start->base, NULL);
	if (reply->body_case != INGERO__V1__IO_REPLY__BODY_EVENTS)
		return 0;
	for (size_t i = 0; i < reply->events->n_events && r == 0; i++)
		r = pb_json_line(out, "event", &reply->events->events[i]->base, NULL);
	return r;
}

int io_json_figures(struct buf *out, const char *type, const Ingero__V1__IoFigures *figures)
{
	return pb_json_line(out, type, &figures->base, "is_whole");
}
