// SPDX-License-Identifier: Apache-2.0
/* Recorded calls by stack, as the daemon answers: asking for them, and keeping what came. */
#pragma once

#include "base/array.h"
#include "ingero/ingero.h"

#define STACK_METHOD "ingero.v1.Query.Stacks"

struct stack_wish {
	Ingero__V1__Span span; /* both ends 0: everything */
	const uint32_t *pids;
	size_t n_pids;	/* 0: all that the caller may see */
	const char *op; /* NULL: all */
	uint64_t limit; /* most rows; 0: the daemon's default */
};

struct stack_rows {
	ARRAY(Ingero__V1__StacksReply *) pieces;  /* owned */
	ARRAY(const Ingero__V1__StackRow *) rows; /* of the pieces, those with most time first */
	const Ingero__V1__StacksEnd *end;	  /* of the last piece; NULL: it has not come */
};

#define STACK_ROWS_INIT                                                                                                \
	{                                                                                                              \
		.end = NULL                                                                                            \
	}

void stack_rows_done(struct stack_rows *rows);
/** stack_request() - the request for a wish, which it borrows */
Ingero__V1__StacksRequest stack_request(struct stack_wish *wish);
/** stack_rows_take() - an ingero_take_func: keep a copy of one message. @data: struct stack_rows. Return: 0 or -ENOMEM
 */
int stack_rows_take(const ProtobufCMessage *reply, void *data);
/**
 * stack_ask() - ask and keep everything
 * @ret: release with stack_rows_done(), also on failure
 * Return: as ingero_read()
 */
int stack_ask(struct ingero *ingero, struct stack_wish *wish, struct stack_rows *ret);
/** stack_inner() - recorded calls of the rows that were made within other calls */
uint64_t stack_inner(const struct stack_rows *rows);
/** stack_without() - calls that are recorded and have no stack; @ret_calls: recorded calls. 0: nothing came */
uint64_t stack_without(const struct stack_rows *rows, uint64_t *ret_calls);
