// SPDX-License-Identifier: Apache-2.0
#include "events/op.h"

#include <assert.h>
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

/* Index of an id's row, counted from 1; 0: none. */
static const uint16_t places[OP_ID_MAX] = {
#include "bpf/ops.def"
};

/* Operations without a row: entries are only added, each before `n_given` includes it, and never change. */
static struct {
	struct op op;
	char name[OP_NAME_BYTES];
} given[OP_GIVEN_MAX];
static uint32_t n_given, n_given_all;

/* Which names were met in whose libraries: of 64 users that use up their share. */
static struct {
	uint32_t uid, id;
} uses[64 * OP_GIVEN_OF_USER_MAX];
static size_t n_uses;

const struct op *op_get(uint32_t id)
{
	if (id >= OP_GIVEN)
		return id - OP_GIVEN < __atomic_load_n(&n_given, __ATOMIC_ACQUIRE) ? &given[id - OP_GIVEN].op : NULL;
	return id < OP_ID_MAX && places[id] ? &ops[places[id] - 1] : NULL;
}

static bool is_identifier(const char *name)
{
	size_t n = strspn(name, OP_NAME_LETTERS);

	return !name[n] && n < OP_NAME_BYTES;
}

enum op_layer op_others_layer(const char *name)
{
	enum { LEFT, COUNTED };
	static const struct {
		enum op_layer layer;
		bool is_counted;
		const char *symbols;
	} layers[] = {
#define LAYER(layer, source, library, symbols, calls, title, others) { OP_LAYER_##layer, (others), (symbols) },
#include "bpf/layers.def"
#undef LAYER
	};

	for (size_t i = 0; i < ARRAY_SIZE(layers); i++)
		if (layers[i].is_counted && strncmp(name, layers[i].symbols, strlen(layers[i].symbols)) == 0)
			return is_identifier(name) ? layers[i].layer : OP_LAYER_NONE;
	return OP_LAYER_NONE;
}

uint32_t op_given(const char *name)
{
	for (uint32_t i = 0; i < n_given; i++)
		if (strcmp(given[i].name, name) == 0)
			return given[i].op.id;
	return 0;
}

/* Return: 0 where there is no room */
static uint32_t given_add(const char *name)
{
	uint32_t n = n_given;

	assert(op_others_layer(name) != OP_LAYER_NONE); /* so it fits, too */
	if (n == OP_GIVEN_MAX)
		return 0;
	memcpy(given[n].name, name, strlen(name) + 1);
	given[n].op = (struct op){ .id = (uint16_t)(OP_GIVEN + n),
				   .layer = op_others_layer(name),
				   .name = given[n].name,
				   .short_name = given[n].name };
	__atomic_store_n(&n_given, n + 1, __ATOMIC_RELEASE);
	return OP_GIVEN + n;
}

uint32_t op_give(const char *name, uint32_t uid)
{
	uint32_t n_of_user = 0, id = op_given(name);

	for (size_t i = 0; i < n_uses; i++) {
		if (uses[i].uid == uid && uses[i].id == id)
			return id;
		n_of_user += uses[i].uid == uid;
	}
	if (n_of_user == OP_GIVEN_OF_USER_MAX || n_uses == ARRAY_SIZE(uses))
		return 0;
	if (!id && n_given - n_given_all < OP_GIVEN_MAX - OP_GIVEN_OF_ALL_MAX)
		id = given_add(name);
	if (id)
		uses[n_uses++] = (typeof(uses[0])){ .uid = uid, .id = id };
	return id;
}

uint32_t op_give_all(const char *name)
{
	uint32_t id = op_given(name);

	if (id || n_given_all == OP_GIVEN_OF_ALL_MAX)
		return id;
	id = given_add(name);
	n_given_all += id != 0;
	return id;
}

size_t op_count(void)
{
	return ARRAY_SIZE(ops);
}

const struct op *op_at(size_t i)
{
	assert(i < ARRAY_SIZE(ops));
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
