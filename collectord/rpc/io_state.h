// SPDX-License-Identifier: Apache-2.0
/* Parts of the handler of Io: the request, the messages, the running call. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "io/io_hub.h"
#include "io/io_pattern.h"
#include "rpc/call.h"
#include "ingero/v1/ingero.pb-c.h"

/* ---- io_request.c ---- */

/** io_request_check() - Return: whether the request may be granted; if not it was refused with a sentence */
bool io_request_check(struct call *call, const Ingero__V1__IoRequest *request);
/**
 * io_request_wish() - what a request that was checked wants of the kernel half; borrows from the request
 * @own_uid: room for the caller's uid, as long as the wish
 */
struct io_wish io_request_wish(const struct call *call, const Ingero__V1__IoRequest *request, uint32_t *own_uid);
/** io_request_follow() - add descendants that named processes have already. Return: 0 or -errno */
int io_request_follow(struct io_lease_state *lease, const Ingero__V1__IoRequest *request);

/* ---- io_answer.c ---- */

/* Rows that a caller may see, and their order. */
struct io_view {
	struct io_book *book;
	const struct io_files *files;
	const struct call_identity *identity;
	const struct io_pattern *pattern; /* of paths; NULL: all */
	const struct io_row **by_time;
	size_t n;
};

/** io_view_make() - select and sort rows. Return: 0 or -ENOMEM */
int io_view_make(struct io_view *view);
void io_view_done(struct io_view *view);
/** io_answer_operations() - sums by process and call, most time first. Return: 0 or -ENOMEM */
int io_answer_operations(const struct io_view *view, struct arena *arena, Ingero__V1__IoFigures *ret);
/** io_answer_files() - rows @from to @from + @n of the view. Return: 0 or -ENOMEM */
int io_answer_files(const struct io_view *view, size_t from, size_t n, struct arena *arena, Ingero__V1__IoFigures *ret);
/** io_answer_event() - one call; NULL: not for this caller, not of this pattern, or no memory */
Ingero__V1__IoEvent *io_answer_event(const struct io_view *view, const struct io_call_record *call,
				     struct arena *arena);
