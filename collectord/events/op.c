// SPDX-License-Identifier: Apache-2.0
#include "events/op.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

#define ARG(index, meaning) OP_MEANING_##meaning
#define OUT(index, meaning) OP_MEANING_##meaning
#define ELEMENTS(index, log2, meaning) OP_MEANING_##meaning
#define AREA(index, by, log2, meaning) OP_MEANING_##meaning
#define BOX(index, offset, words, meaning) OP_MEANING_##meaning
#define SUM(index, count, meaning) OP_MEANING_##meaning
#define TYPED(index, type, meaning) OP_MEANING_##meaning
#define WORD(meaning) OP_MEANING_##meaning
#define ARGS(...)                                                                                                      \
	{                                                                                                              \
		__VA_ARGS__                                                                                            \
	}
#define OP(number, in_layer, symbol, alias, arguments, bits, worth)                                                    \
	{                                                                                                              \
		.id = (number),                                                                                        \
		.layer = OP_LAYER_##in_layer,                                                                          \
		.name = #symbol,                                                                                       \
		.short_name = (alias),                                                                                 \
		.meaning = arguments,                                                                                  \
		.traits = (bits),                                                                                      \
		.tier = OP_TIER_##worth,                                                                               \
	},
#define EVENT(number, in_layer, symbol, arguments, bits, result)                                                       \
	{                                                                                                              \
		.id = (number),                                                                                        \
		.layer = OP_LAYER_##in_layer,                                                                          \
		.name = #symbol,                                                                                       \
		.short_name = #symbol,                                                                                 \
		.meaning = arguments,                                                                                  \
		.traits = (bits),                                                                                      \
	},

static const struct op ops[] = {
#include "bpf/ops.def"
};

#undef OP
#undef EVENT
#define OP(number, ...) [number] = __COUNTER__ - FIRST_COUNTED,
#define EVENT(number, ...) [number] = __COUNTER__ - FIRST_COUNTED,
enum { FIRST_COUNTED = __COUNTER__ };

/* Place of an id's row, counted from 1; 0: there is none. */
static const uint16_t places[OP_ID_MAX] = {
#include "bpf/ops.def"
};

const struct op *op_get(uint32_t id)
{
	return id < OP_ID_MAX && places[id] ? &ops[places[id] - 1] : NULL;
}

size_t op_count(void)
{
	return ARRAY_SIZE(ops);
}

const struct op *op_at(size_t i)
{
	return &ops[i];
}

const struct op *op_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (strcmp(ops[i].name, name) == 0)
			return &ops[i];
	return NULL;
}

bool op_is_call(const struct op *op)
{
	return !op || op->layer < OP_LAYER_CALLS_END;
}

bool op_is_measured(const struct op *op)
{
	return op_is_call(op) || (op->traits & OP_WAITS) == OP_WAITS;
}

const char *op_layer_to_source(enum op_layer layer)
{
	static const char *const sources[OP_LAYER_COUNT] = {
		[OP_LAYER_NONE] = "",
#define LAYER(layer, source, ...) [OP_LAYER_##layer] = (source),
#include "bpf/layers.def"
#undef LAYER
	};

	return sources[layer];
}

size_t op_n_args(const struct op *op)
{
	size_t n = 0;

	while (n < ARRAY_SIZE(op->meaning) && op->meaning[n] != OP_MEANING_NONE)
		n++;
	return n;
}
