// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ops.def for the call programs: which arguments to keep, by operation id.
 */
#pragma once

#include "abi.h"
#include "kernel.h"
#include "ops.h"

#define OP_NO_FACTOR 0xff

struct op_argument {
	__u8 kind; /* enum op_arg_kind */
	__u8 index;
	__u8 meaning; /* enum op_meaning */
	__u8 factor;  /* index of the factor; OP_ARG_SUM: of the count; OP_ARG_TYPED: of the type; OP_NO_FACTOR: none */
	__u8 shift;   /* the product is shifted left by this */
	__u8 offset;  /* OP_ARG_BOX: byte offset in the structure */
	__u8 words;   /* OP_ARG_BOX: number of words to multiply, 1 ... OP_BOX_WORDS */
};

#define OP_BOX_WORDS 3
#define OP_SUM_WORDS 16 /* words per read; OP_SUM_MAX is a multiple */

struct op_row {
	struct op_argument args[OP_ARGS_MAX];
	__u16 traits;
};

#define OP_ARGUMENT(...)                                                                                               \
	{                                                                                                              \
		__VA_ARGS__                                                                                            \
	}
#define ARG(index, meaning) OP_ARGUMENT(OP_ARG_CALL, index, OP_MEANING_##meaning, OP_NO_FACTOR, 0, 0, 0)
#define OUT(index, meaning) OP_ARGUMENT(OP_ARG_OUT, index, OP_MEANING_##meaning, OP_NO_FACTOR, 0, 0, 0)
#define ELEMENTS(index, log2, meaning) OP_ARGUMENT(OP_ARG_CALL, index, OP_MEANING_##meaning, OP_NO_FACTOR, log2, 0, 0)
#define AREA(index, by, log2, meaning) OP_ARGUMENT(OP_ARG_CALL, index, OP_MEANING_##meaning, by, log2, 0, 0)
#define BOX(index, offset, words, meaning)                                                                             \
	OP_ARGUMENT(OP_ARG_BOX, index, OP_MEANING_##meaning, OP_NO_FACTOR, 0, offset, words)
#define SUM(index, count, meaning) OP_ARGUMENT(OP_ARG_SUM, index, OP_MEANING_##meaning, count, 0, 0, 0)
#define TYPED(index, type, meaning) OP_ARGUMENT(OP_ARG_TYPED, index, OP_MEANING_##meaning, type, 0, 0, 0)
#define ARGS(...) OP_ARGUMENT(__VA_ARGS__)
#define OP(id, layer, name, short_name, arguments, traits, tier) [id] = { arguments, traits },
static const volatile struct op_row op_table[OP_ID_MAX] = {
#include "ops.def"
};
#undef OP
#undef ARGS
#undef TYPED
#undef SUM
#undef BOX
#undef AREA
#undef ELEMENTS
#undef OUT
#undef ARG
#undef OP_ARGUMENT

/* Row of an operation; ids assigned at attach get row 0, which keeps no argument. */
static __always_inline const volatile struct op_row *op_row_of(__u32 op)
{
	__u64 at = op < OP_ID_MAX ? op : 0;

	keep(at);
	return &op_table[at & (OP_ID_MAX - 1)];
}

/* The reported value of an argument, from the arguments at entry. */
static __always_inline __u64 op_argument_value(const volatile struct op_argument *argument, const __u64 *args)
{
	__u64 index = argument->index, factor = argument->factor, shift = argument->shift, value;

	keep(index);
	keep(factor);
	value = index < CALL_ARGUMENTS ? args[index] : 0;
	if (factor < CALL_ARGUMENTS)
		value *= args[factor];
	if (argument->meaning >= OP_MEANING_COPY_KIND)
		value = (__u32)value;
	return value << (shift & 63);
}

/*
 * The product of a few words of the structure that an argument points at. Such structures are passed as const, so their
 * contents at the return are those at entry.
 */
static __always_inline __u64 op_box_value(const volatile struct op_argument *argument, __u64 address)
{
	__u64 at = address + argument->offset, product = 1, word;
	__u32 i;

	for (i = 0; i < OP_BOX_WORDS; i++) {
		if (i >= argument->words)
			break;
		if (bpf_probe_read_user(&word, sizeof(word), (void *)(at + i * sizeof(word))))
			return 0;
		product *= word;
	}
	return argument->meaning == OP_MEANING_COPY_KIND ? (__u32)product : product;
}

/* The sum of the words of an array. */
static __always_inline __u64 op_sum_value(__u64 address, __u64 count)
{
	__u64 words[OP_SUM_WORDS], sum = 0;
	__u32 i, k;

	if (count > OP_SUM_MAX)
		return 0;
	_Pragma("clang loop unroll(disable)") for (i = 0; i < OP_SUM_MAX / OP_SUM_WORDS; i++)
	{
		if (count < OP_SUM_WORDS)
			break;
		if (bpf_probe_read_user(words, sizeof(words), (void *)address))
			return 0;
		_Pragma("clang loop unroll(full)") for (k = 0; k < OP_SUM_WORDS; k++) sum += words[k];
		address += sizeof(words);
		count -= OP_SUM_WORDS;
	}
	_Pragma("clang loop unroll(disable)") for (i = 0; i < OP_SUM_WORDS; i++)
	{
		if (i >= count)
			break;
		if (bpf_probe_read_user(words, sizeof(words[0]), (void *)(address + i * sizeof(words[0]))))
			return 0;
		sum += words[0];
	}
	return sum;
}

static __always_inline __u64 op_typed_value(__u64 count, __u32 type)
{
	return type < OP_TYPE_COUNT ? count << ((OP_TYPE_SIZES >> 2 * type) & 3) : 0;
}

/* A value computed from two arguments or read through a pointer. */
VERIFIED_ALONE __u64 op_value_made(__u32 op, __u32 which, __u64 first, __u64 second)
{
	const volatile struct op_argument *argument;
	__u64 at = which;

	keep(at);
	if (at >= OP_ARGS_MAX)
		return 0;
	argument = &op_row_of(op)->args[at];
	if (argument->kind == OP_ARG_BOX)
		return op_box_value(argument, first);
	if (argument->kind == OP_ARG_SUM)
		return op_sum_value(first, second);
	return op_typed_value(first, second);
}

static __always_inline __u64 op_derived_value(__u32 op, __u32 which, const __u64 *args)
{
	const volatile struct op_argument *argument = &op_row_of(op)->args[which];
	__u64 index = argument->index, factor = argument->factor;

	keep(index);
	keep(factor);
	return op_value_made(op, which, index < CALL_ARGUMENTS ? args[index] : 0,
			     factor < CALL_ARGUMENTS ? args[factor] : 0);
}

/* Bytes of the call; 0 if the first kept argument has another meaning. */
static __always_inline __u64 op_bytes(__u32 op, const __u64 *args)
{
	const volatile struct op_argument *argument = &op_row_of(op)->args[0];

	if (argument->meaning != OP_MEANING_BYTES)
		return 0;
	return argument->kind == OP_ARG_CALL ? op_argument_value(argument, args) : op_derived_value(op, 0, args);
}
