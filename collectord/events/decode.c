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

enum decode_result decode_wait(const void *data, size_t n, const struct wait_record **ret_wait)
{
	const struct wait_record *w = data;

	assert((uintptr_t)data % sizeof(uint64_t) == 0);
	if (n < sizeof(*w))
		return DECODE_SHORT;
	if (!is_from(RECORD_RING_calls, w->type) || w->type != RECORD_WAIT)
		return DECODE_UNKNOWN_TYPE;
	if (!is_text(w->comm))
		return DECODE_NOT_TEXT;
	if (w->key.class >= BLAME_COUNT || w->key.kind >= RESOURCE_COUNT || w->key.slot >= PROCESS_SLOTS)
		return DECODE_RANGE;

	*ret_wait = w;
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

enum decode_result decode_stack(const void *data, size_t n, const struct stack_record **ret_stack)
{
	const struct stack_record *s = data;
	bool has_memory;

	assert((uintptr_t)data % sizeof(uint64_t) == 0);
	if (n < sizeof(*s))
		return DECODE_SHORT;
	if (!is_from(RECORD_RING_stacks, s->type) || s->type != RECORD_STACK)
		return DECODE_UNKNOWN_TYPE;
	if (!is_text(s->comm))
		return DECODE_NOT_TEXT;
	if (s->n_native > STACK_NATIVE_MAX || s->n_python > STACK_PYTHON_MAX || s->n_runs > STACK_RUNS_MAX ||
	    s->n_traps > STACK_TRAPS_MAX || s->native_end >= STACK_END_COUNT || s->python_end >= STACK_END_COUNT)
		return DECODE_RANGE;
	has_memory = s->native_end == STACK_END_RULE || s->native_end == STACK_END_LARGE;
	if (s->n_memory > (has_memory ? STACK_COPY_MAX : 0))
		return DECODE_RANGE;
	if (s->n_memory > n - sizeof(*s))
		return DECODE_SHORT;

	*ret_stack = s;
	return DECODE_OK;
}

enum decode_result decode_mappings(const void *data, size_t n, const struct mappings_record **ret_mappings)
{
	const struct mappings_record *m = data;

	assert((uintptr_t)data % sizeof(uint64_t) == 0);
	if (n < sizeof(*m))
		return DECODE_SHORT;
	if (!is_from(RECORD_RING_stacks, m->type) || m->type != RECORD_MAPPINGS)
		return DECODE_UNKNOWN_TYPE;
	if (!is_text(m->comm))
		return DECODE_NOT_TEXT;
	if (m->n > STACK_MAPPINGS_MAX)
		return DECODE_RANGE;
	for (uint32_t i = 0; i < m->n; i++)
		if (m->mapped[i].start >= m->mapped[i].end || (i && m->mapped[i].start < m->mapped[i - 1].end))
			return DECODE_RANGE;

	*ret_mappings = m;
	return DECODE_OK;
}

enum decode_result decode_code(const void *data, size_t n, const struct code_record **ret_code)
{
	const struct code_record *c = data;

	assert((uintptr_t)data % sizeof(uint64_t) == 0);
	if (n < CODE_RECORD_HEAD)
		return DECODE_SHORT;
	if (!is_from(RECORD_RING_stacks, c->type) || c->type != RECORD_CODE)
		return DECODE_UNKNOWN_TYPE;
	if (!is_text(c->comm))
		return DECODE_NOT_TEXT;
	if (c->n_name > CODE_TEXT_MAX || c->n_qualname > CODE_TEXT_MAX || c->n_file > CODE_TEXT_MAX ||
	    c->n_lines > CODE_LINES_MAX || c->n_lines > c->n_lines_all)
		return DECODE_RANGE;
	if ((size_t)c->n_name + c->n_qualname + c->n_file + c->n_lines > n - CODE_RECORD_HEAD)
		return DECODE_SHORT;

	*ret_code = c;
	return DECODE_OK;
}
