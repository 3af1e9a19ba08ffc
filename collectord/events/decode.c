// SPDX-License-Identifier: Apache-2.0
#include "events/decode.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "events/op.h"

enum record_ring { RECORD_RING_none, RECORD_RING_calls, RECORD_RING_stacks, RECORD_RING_life };

/* The ring of each kind. */
static const uint8_t rings[RECORD_TYPE_COUNT] = {
#define KIND(kind, ring, event) [RECORD_##kind] = RECORD_RING_##ring,
#include "bpf/kinds.def"
#undef KIND
};

static bool is_from(enum record_ring ring, uint8_t type)
{
	return type < RECORD_TYPE_COUNT && rings[type] == ring;
}

static bool is_text(const char comm[RECORD_COMM_BYTES])
{
	return memchr(comm, 0, RECORD_COMM_BYTES) != NULL;
}

enum decode_result decode_call(const void *data, size_t n, struct call_record *ret_call)
{
	const struct call_record *c = data;

	assert((uintptr_t)data % sizeof(uint64_t) == 0);
	if (n < CALL_RECORD_SHORT)
		return DECODE_SHORT;
	if (!is_from(RECORD_RING_calls, c->type) || c->type != RECORD_CALL)
		return DECODE_UNKNOWN_TYPE;
	if (!op_get(c->op))
		return DECODE_UNKNOWN_OP;
	if (!is_text(c->comm))
		return DECODE_NOT_TEXT;

	memset(ret_call, 0, sizeof(*ret_call));
	memcpy(ret_call, c, n < sizeof(*c) ? CALL_RECORD_SHORT : sizeof(*c));
	return DECODE_OK;
}

enum decode_result decode_file(const void *data, size_t n, const struct file_record **ret_file)
{
	const struct file_record *f = data;

	assert((uintptr_t)data % sizeof(uint64_t) == 0);
	if (n < FILE_RECORD_HEAD)
		return DECODE_SHORT;
	if (!is_from(RECORD_RING_calls, f->type) || f->type != RECORD_FILE)
		return DECODE_UNKNOWN_TYPE;
	if (f->n_bytes > FILE_PATH_BYTES || f->n_bytes > n - FILE_RECORD_HEAD)
		return DECODE_SHORT;
	if (!is_text(f->comm) || (f->n_bytes && f->text[f->n_bytes - 1]))
		return DECODE_NOT_TEXT;

	*ret_file = f;
	return DECODE_OK;
}

enum decode_result decode_life(const void *data, size_t n, const struct life_record **ret_life)
{
	const struct life_record *l = data;

	assert((uintptr_t)data % sizeof(uint64_t) == 0);
	if (n < sizeof(*l))
		return DECODE_SHORT;
	if (!is_from(RECORD_RING_life, l->type))
		return DECODE_UNKNOWN_TYPE;
	if (!is_text(l->comm) || (l->type == RECORD_OOM && !is_text(l->oom.by_comm)))
		return DECODE_NOT_TEXT;

	*ret_life = l;
	return DECODE_OK;
}
