// SPDX-License-Identifier: Apache-2.0
#include "events/decode.h"

#include <stdbool.h>
#include <string.h>

#include "events/op.h"

static bool is_text(const char comm[RECORD_COMM_BYTES])
{
	return memchr(comm, 0, RECORD_COMM_BYTES) != NULL;
}

enum decode_result decode_call(const void *data, size_t n, const struct call_record **ret_call)
{
	const struct call_record *c = data;

	if (n < sizeof(*c))
		return DECODE_SHORT;
	if (c->type != RECORD_CALL)
		return DECODE_UNKNOWN_TYPE;
	if (!op_get(c->op))
		return DECODE_UNKNOWN_OP;
	if (!is_text(c->comm))
		return DECODE_NOT_TEXT;

	*ret_call = c;
	return DECODE_OK;
}

enum decode_result decode_life(const void *data, size_t n, const struct life_record **ret_life)
{
	const struct life_record *l = data;

	if (n < sizeof(*l))
		return DECODE_SHORT;
	if (l->type < RECORD_EXEC || l->type > RECORD_OOM)
		return DECODE_UNKNOWN_TYPE;
	if (!is_text(l->comm) || !is_text(l->by_comm))
		return DECODE_NOT_TEXT;

	*ret_life = l;
	return DECODE_OK;
}
