// SPDX-License-Identifier: Apache-2.0
/* Figures and single calls of an Io call as messages. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "clock.h"
#include "io/io_calls.h"
#include "rpc/access.h"
#include "rpc/io_state.h"

#define SOURCE "io"
#define MINOR_BITS 20

static bool view_sees(const struct io_view *view, uint32_t process)
{
	const struct io_process_info *p = io_files_process_find(view->files, process);

	return p && access_may_see(view->identity, p->uid, p->is_guarded);
}

static bool view_wants(const struct io_view *view, const struct io_file_info *file)
{
	return !view->pattern || (file && io_pattern_takes(view->pattern, file->path));
}

/* Matched once for each text of a path. */
static bool view_wants_row(const struct io_view *view, struct io_row *row)
{
	const struct io_file_info *file = view->pattern ? io_files_file_find(view->files, row->file) : NULL;

	if (!file || row->matched != file->version) {
		row->is_match = view_wants(view, file);
		row->matched = file ? file->version : 0;
	}
	return row->is_match;
}

static int time_order(const void *a, const void *b)
{
	const struct io_row *one = *(const struct io_row *const *)a, *two = *(const struct io_row *const *)b;

	if (one->sums.total_ns != two->sums.total_ns)
		return one->sums.total_ns > two->sums.total_ns ? -1 : 1;
	return one < two ? -1 : one > two;
}

static int operation_order(const void *a, const void *b)
{
	const struct io_row *one = *(const struct io_row *const *)a, *two = *(const struct io_row *const *)b;

	if (one->process != two->process)
		return one->process < two->process ? -1 : 1;
	return one->call < two->call ? -1 : one->call > two->call;
}

int io_view_make(struct io_view *view)
{
	view->by_time = calloc(view->book->rows.n + 1, sizeof(struct io_row *));
	view->n = 0;
	if (!view->by_time)
		return -ENOMEM;
	for (size_t i = 0; i < view->book->rows.n; i++) {
		struct io_row *row = &view->book->rows.items[i];

		if (view_sees(view, row->process) && view_wants_row(view, row))
			view->by_time[view->n++] = row;
	}
	qsort(view->by_time, view->n, sizeof(struct io_row *), time_order);
	return 0;
}

void io_view_done(struct io_view *view)
{
	free(view->by_time);
	view->by_time = NULL;
	view->n = 0;
}

static const char *name_of(struct arena *arena, const char *name)
{
	const char *copy = arena_copy_name(arena, name);

	return copy ? copy : "";
}

/* One row of the answer out of several rows of one process and call. */
static int operation_fill(const struct io_view *view, const struct io_row *const *rows, size_t n, struct arena *arena,
			  Ingero__V1__IoOperation *ret)
{
	const struct io_process_info *p = io_files_process_find(view->files, rows[0]->process);
	struct io_sums sums = { .histogram = HISTOGRAM_INIT };
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = io_sums_merge(&sums, &rows[i]->sums);
	ingero__v1__io_operation__init(ret);
	ret->op = (char *)(uintptr_t)io_call_name(rows[0]->call);
	ret->source = (char *)(uintptr_t)SOURCE;
	ret->pid = p ? p->tgid : 0;
	ret->uid = p ? p->uid : 0;
	ret->process_name = (char *)(uintptr_t)(p ? name_of(arena, p->comm) : "");
	ret->count = sums.count;
	ret->errors = sums.errors;
	ret->bytes = sums.bytes;
	ret->total_ns = sums.total_ns;
	ret->gap_ns = sums.gap_ns;
	ret->max_ns = sums.max_ns;
	ret->p50_ns = histogram_quantile(&sums.histogram, 0.5, sums.max_ns);
	ret->p99_ns = histogram_quantile(&sums.histogram, 0.99, sums.max_ns);
	io_sums_done(&sums);
	return r;
}

static int message_order(const void *a, const void *b)
{
	const Ingero__V1__IoOperation *one = *(Ingero__V1__IoOperation *const *)a,
				      *two = *(Ingero__V1__IoOperation *const *)b;

	return one->total_ns > two->total_ns ? -1 : one->total_ns < two->total_ns;
}

int io_answer_operations(const struct io_view *view, struct arena *arena, Ingero__V1__IoFigures *ret)
{
	CLEANUP(freep) const struct io_row **rows = calloc(view->n + 1, sizeof(*rows));
	int r = 0;

	ret->operations = ARENA_NEW_N(arena, Ingero__V1__IoOperation *, view->n + 1);
	if (!rows || !ret->operations)
		return -ENOMEM;
	memcpy(rows, view->by_time, view->n * sizeof(*rows));
	qsort(rows, view->n, sizeof(*rows), operation_order);
	for (size_t from = 0, to; from < view->n && r == 0; from = to) {
		Ingero__V1__IoOperation *operation = ARENA_NEW(arena, Ingero__V1__IoOperation);

		if (!operation)
			return -ENOMEM;
		for (to = from + 1; to < view->n && operation_order(&rows[from], &rows[to]) == 0; to++)
			;
		r = operation_fill(view, &rows[from], to - from, arena, operation);
		ret->operations[ret->n_operations++] = operation;
		ret->processes += from == 0 || rows[from - 1]->process != rows[from]->process;
	}
	qsort(ret->operations, ret->n_operations, sizeof(struct io_row *), message_order);
	return r;
}

static void file_fill(const struct io_view *view, const struct io_row *row, struct arena *arena,
		      Ingero__V1__IoFile *ret)
{
	const struct io_process_info *p = io_files_process_find(view->files, row->process);
	const struct io_file_info *file = io_files_file_find(view->files, row->file);
	char device[32] = "";

	ingero__v1__io_file__init(ret);
	if (file)
		(void)snprintf(device, sizeof(device), "%u:%u", file->device >> MINOR_BITS,
			       file->device & ((1u << MINOR_BITS) - 1));
	ret->path = (char *)(uintptr_t)(file ? name_of(arena, file->path) : "");
	ret->kind = (char *)(uintptr_t)(file ? file->kind : "not_known");
	ret->dev = (char *)(uintptr_t)name_of(arena, device);
	ret->inode = file ? file->inode : 0;
	ret->op = (char *)(uintptr_t)io_call_name(row->call);
	ret->pid = p ? p->tgid : 0;
	ret->process_name = (char *)(uintptr_t)(p ? name_of(arena, p->comm) : "");
	ret->count = row->sums.count;
	ret->errors = row->sums.errors;
	ret->bytes = row->sums.bytes;
	ret->total_ns = row->sums.total_ns;
	ret->gap_ns = row->sums.gap_ns;
	ret->max_ns = row->sums.max_ns;
	ret->p50_ns = histogram_quantile(&row->sums.histogram, 0.5, row->sums.max_ns);
	ret->p99_ns = histogram_quantile(&row->sums.histogram, 0.99, row->sums.max_ns);
}

int io_answer_files(const struct io_view *view, size_t from, size_t n, struct arena *arena, Ingero__V1__IoFigures *ret)
{
	ret->files = ARENA_NEW_N(arena, Ingero__V1__IoFile *, n + 1);
	if (!ret->files)
		return -ENOMEM;
	for (size_t i = from; i < from + n && i < view->n; i++) {
		Ingero__V1__IoFile *file = ARENA_NEW(arena, Ingero__V1__IoFile);

		if (!file)
			return -ENOMEM;
		file_fill(view, view->by_time[i], arena, file);
		ret->files[ret->n_files++] = file;
	}
	return 0;
}

Ingero__V1__IoEvent *io_answer_event(const struct io_view *view, const struct io_call_record *call, struct arena *arena)
{
	const struct io_file_info *file = io_files_file_find(view->files, call->file);
	char comm[RECORD_COMM_BYTES + 1] = "";
	Ingero__V1__IoEvent *event;

	if (!io_call_name(call->call) || !view_sees(view, call->process) || !view_wants(view, file))
		return NULL;
	event = ARENA_NEW(arena, Ingero__V1__IoEvent);
	if (!event)
		return NULL;
	memcpy(comm, call->comm, RECORD_COMM_BYTES);
	ingero__v1__io_event__init(event);
	event->timestamp_unix_ns = clock_to_unix_ns(call->start_ns);
	event->op = (char *)(uintptr_t)io_call_name(call->call);
	event->source = (char *)(uintptr_t)SOURCE;
	event->pid = call->tgid;
	event->tid = call->tid;
	event->process_name = (char *)(uintptr_t)name_of(arena, comm);
	event->duration_ns = call->duration_ns;
	event->gap_ns = call->gap_ns;
	event->ret_code = call->ret;
	event->fd = call->fd;
	event->path = (char *)(uintptr_t)(file ? name_of(arena, file->path) : "");
	event->bytes = io_call_returns_bytes(call->call) && call->ret > 0 ? (uint64_t)call->ret : 0;
	return event;
}
