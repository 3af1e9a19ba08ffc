// SPDX-License-Identifier: Apache-2.0
/*
 * Accounts for tests, written as tables of parts.
 */
#pragma once

#include <string.h>

#include "../figures.h"

#define ACCOUNT_PARTS_MAX 16

struct part_row {
	const char *where;
	const char *class;
	const char *op; /* NULL: none */
	uint64_t ns;
	const char *kind; /* of the resource; NULL: not known */
	const char *name;
	uint32_t by_pid, by_tid, by_uid;
	const char *by;	    /* NULL: not known */
	const char *device; /* of the resource; NULL: not known */
	uint32_t line;	    /* of /src/train.py, in load; 0: not known */
	struct hop_row {
		const char *class; /* NULL: not known */
		uint64_t ns;
		const char *kind; /* of the resource; NULL: not known */
		const char *name;
		uint32_t pid, tid; /* pid 0: no more hops, but for a hidden one, which has a thread */
	} chain[4];
};

/* Everything that one Account points at. */
struct account_made {
	Ingero__V1__Account account;
	Ingero__V1__AccountPart *list[ACCOUNT_PARTS_MAX];
	struct part_made {
		Ingero__V1__AccountPart part;
		Ingero__V1__Resource resource;
		Ingero__V1__Waker waker;
		Ingero__V1__Site from;
		struct chain_made {
			Ingero__V1__Hop hops[4], *list[4];
			Ingero__V1__Resource resources[4];
			Ingero__V1__Waker wakers[4];
		} chain;
	} parts[ACCOUNT_PARTS_MAX], waiting;
};

static inline void chain_make(const struct hop_row *rows, struct chain_made *made, Ingero__V1__AccountPart *part)
{
	part->chain = made->list;
	for (size_t i = 0; i < 4 && rows[i].tid; i++) {
		Ingero__V1__Hop *hop = made->list[i] = &made->hops[i];

		*hop = (Ingero__V1__Hop)INGERO__V1__HOP__INIT;
		hop->by = &made->wakers[i];
		*hop->by = (Ingero__V1__Waker)INGERO__V1__WAKER__INIT;
		hop->by->uid = 4294900000; /* nobody's who runs this */
		hop->by->pid = rows[i].pid;
		hop->by->tid = rows[i].tid;
		hop->by->comm = figures_text(rows[i].pid ? "python" : "");
		hop->class_ = figures_text(rows[i].class ? rows[i].class : "");
		hop->ns = rows[i].ns;
		if (rows[i].kind) {
			hop->resource = &made->resources[i];
			*hop->resource = (Ingero__V1__Resource)INGERO__V1__RESOURCE__INIT;
			hop->resource->kind = figures_text(rows[i].kind);
			hop->resource->name = figures_text(rows[i].name);
		}
		part->n_chain++;
	}
}

static inline Ingero__V1__AccountPart *part_make(struct part_made *made, const struct part_row *row)
{
	Ingero__V1__AccountPart *part = &made->part;

	*part = (Ingero__V1__AccountPart)INGERO__V1__ACCOUNT_PART__INIT;
	part->where = figures_text(row->where);
	part->class_ = figures_text(row->class);
	part->ns = row->ns;
	if (row->op) {
		part->op_told_case = INGERO__V1__ACCOUNT_PART__OP_TOLD_OP;
		part->op = figures_text(row->op);
	}
	if (row->kind) {
		part->resource = &made->resource;
		*part->resource = (Ingero__V1__Resource)INGERO__V1__RESOURCE__INIT;
		part->resource->kind = figures_text(row->kind);
		part->resource->name = figures_text(row->name);
		if (row->device) {
			part->resource->device_told_case = INGERO__V1__RESOURCE__DEVICE_TOLD_DEVICE;
			part->resource->device = figures_text(row->device);
		}
	}
	if (row->by) {
		part->by = &made->waker;
		*part->by = (Ingero__V1__Waker)INGERO__V1__WAKER__INIT;
		part->by->pid = row->by_pid;
		part->by->tid = row->by_tid;
		part->by->uid = row->by_uid;
		part->by->comm = figures_text(row->by);
	}
	if (row->line) {
		part->from = &made->from;
		*part->from = (Ingero__V1__Site)INGERO__V1__SITE__INIT;
		part->from->file = figures_text("/src/train.py");
		part->from->func = figures_text("load");
		part->from->line = row->line;
	}
	chain_make(row->chain, &made->chain, part);
	return part;
}

/* The main thread of python3 4711, which drives. The rows end with one of 0 ns, or with the last. */
static inline Ingero__V1__Account *account_make(struct account_made *a, const struct part_row *rows, size_t n)
{
	memset(a, 0, sizeof(*a));
	a->account = (Ingero__V1__Account)INGERO__V1__ACCOUNT__INIT;
	a->account.pid = a->account.tid = 4711;
	a->account.uid = 1000;
	a->account.process_name = figures_text("python3");
	a->account.is_driving = 1;
	a->account.parts = a->list;
	for (size_t i = 0; i < n && rows[i].ns; i++) {
		a->list[i] = part_make(&a->parts[i], &rows[i]);
		a->account.wall_ns += rows[i].ns;
		a->account.n_parts++;
	}
	return &a->account;
}

/* The wait that its thread is in. */
static inline void account_make_waiting(struct account_made *a, const struct part_row *row)
{
	a->account.waiting = part_make(&a->waiting, row);
}

/* A loop that is starved by its loader, beside a hog. */
static const struct part_row account_starved[] = {
	{ .where = "between",
	  .class = "network",
	  .ns = 30 * S,
	  .kind = "pipe",
	  .name = "",
	  .by_pid = 4720,
	  .by_tid = 4720,
	  .by_uid = 1000,
	  .by = "python" },
	{ .where = "between",
	  .class = "network",
	  .ns = 6 * S,
	  .kind = "pipe",
	  .name = "",
	  .by_pid = 4721,
	  .by_tid = 4721,
	  .by_uid = 1000,
	  .by = "python" },
	{ .where = "in", .class = "device", .op = "cudaStreamSynchronize", .ns = 11 * S },
	{ .where = "in", .class = "on_cpu", .op = "cudaStreamSynchronize", .ns = 400 * MS },
	{ .where = "between", .class = "on_cpu", .ns = 8400 * MS },
	{ .where = "between",
	  .class = "runnable",
	  .ns = 2500 * MS,
	  .by_pid = 8821,
	  .by_tid = 0,
	  .by_uid = 1000,
	  .by = "ffmpeg" },
	{ .where = "in",
	  .class = "runnable",
	  .op = "cudaStreamSynchronize",
	  .ns = 500 * MS,
	  .by_pid = 8821,
	  .by_tid = 0,
	  .by_uid = 1000,
	  .by = "ffmpeg" },
	{ .where = "in", .class = "on_cpu", .op = "cudaLaunchKernel", .ns = 600 * MS },
	{ .where = "between", .class = "sleep", .ns = 300 * MS },
	{ .where = "not_known", .class = "other", .ns = 300 * MS },
};

static const struct part_row account_waits = { .where = "between",
					       .class = "network",
					       .ns = 14200 * MS,
					       .kind = "pipe",
					       .name = "pipe:[4026]",
					       .by_pid = 4720,
					       .by_tid = 4720,
					       .by_uid = 1000,
					       .by = "loader" };
