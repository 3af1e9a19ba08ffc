// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/stack/rows.h"

#include <errno.h>

void stack_rows_done(struct stack_rows *rows)
{
	for (size_t i = 0; i < rows->pieces.n; i++)
		ingero__v1__stacks_reply__free_unpacked(rows->pieces.items[i], NULL);
	ARRAY_DONE(&rows->pieces);
	ARRAY_DONE(&rows->rows);
	rows->end = NULL;
}

Ingero__V1__StacksRequest stack_request(struct stack_wish *wish)
{
	Ingero__V1__StacksRequest request = INGERO__V1__STACKS_REQUEST__INIT;

	if (wish->span.from_unix_ns || wish->span.to_unix_ns)
		request.span = &wish->span;
	request.pids = (uint32_t *)(uintptr_t)wish->pids; /* the message borrows it, and the operation */
	request.n_pids = wish->n_pids;
	request.limit = wish->limit;
	if (wish->op)
		request.op = (char *)(uintptr_t)wish->op;
	return request;
}

/* Messages of a stream are released after the callback: keeping one means copying it. */
int stack_rows_take(const ProtobufCMessage *reply, void *data)
{
	const Ingero__V1__StacksReply *from = (const Ingero__V1__StacksReply *)reply;
	size_t n = ingero__v1__stacks_reply__get_packed_size(from);
	CLEANUP(freep) uint8_t *packed = malloc(n + 1);
	struct stack_rows *rows = data;
	Ingero__V1__StacksReply *piece;
	int r = 0;

	if (!packed)
		return -ENOMEM;
	(void)ingero__v1__stacks_reply__pack(from, packed);
	piece = ingero__v1__stacks_reply__unpack(NULL, n, packed);
	if (!piece || ARRAY_PUSH(&rows->pieces, piece) < 0) {
		if (piece)
			ingero__v1__stacks_reply__free_unpacked(piece, NULL);
		return -ENOMEM;
	}
	for (size_t i = 0; i < piece->n_rows && r == 0; i++)
		r = ARRAY_PUSH(&rows->rows, piece->rows[i]);
	if (piece->end)
		rows->end = piece->end;
	return r;
}

int stack_ask(struct ingero *ingero, struct stack_wish *wish, struct stack_rows *ret)
{
	Ingero__V1__StacksRequest request = stack_request(wish);

	return ingero_read(ingero, STACK_METHOD, &request.base, stack_rows_take, ret);
}

uint64_t stack_inner(const struct stack_rows *rows)
{
	uint64_t n = 0;

	for (size_t i = 0; i < rows->rows.n; i++)
		n += rows->rows.items[i]->is_inner ? rows->rows.items[i]->count : 0;
	return n;
}

uint64_t stack_without(const struct stack_rows *rows, uint64_t *ret_calls)
{
	*ret_calls = rows->end ? rows->end->calls : 0;
	return rows->end ? rows->end->without : 0;
}
