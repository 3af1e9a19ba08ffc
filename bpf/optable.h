// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ops.def as the call programs need it: what to keep of a call, by operation id.
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
	__u8 factor;  /* index of what multiplies it; OP_NO_FACTOR and beyond: nothing */
	__u8 shift;   /* and then by that power of two */
};

struct op_row {
	struct op_argument args[2];
	__u8 flags;
	__u8 is_known;
};

#define ARG(index, meaning)                                                                                            \
	{                                                                                                              \
		OP_ARG_REGISTER, index, OP_MEANING_##meaning, OP_NO_FACTOR, 0                                          \
	}
#define OUT(index, meaning)                                                                                            \
	{                                                                                                              \
		OP_ARG_OUT, index, OP_MEANING_##meaning, OP_NO_FACTOR, 0                                               \
	}
#define ELEMENTS(index, log2, meaning)                                                                                 \
	{                                                                                                              \
		OP_ARG_REGISTER, index, OP_MEANING_##meaning, OP_NO_FACTOR, log2                                       \
	}
#define AREA(index, by, meaning)                                                                                       \
	{                                                                                                              \
		OP_ARG_REGISTER, index, OP_MEANING_##meaning, by, 0                                                    \
	}
#define NONE                                                                                                           \
	{                                                                                                              \
		OP_ARG_NONE, 0, OP_MEANING_NONE, OP_NO_FACTOR, 0                                                       \
	}
#define OP(id, layer, name, short_name, arg_a, arg_b, flags) [id] = { { arg_a, arg_b }, flags, 1 },
static const volatile struct op_row op_table[OP_ID_MAX] = {
#include "ops.def"
};
#undef OP
#undef NONE
#undef AREA
#undef ELEMENTS
#undef OUT
#undef ARG

/* One argument as it is reported, from the registers at entry. */
static __always_inline __u64 op_argument_value(const volatile struct op_argument *argument, const __u64 *args)
{
	__u64 index = argument->index, factor = argument->factor, shift = argument->shift, value;

	keep(index);
	keep(factor);
	value = index < ABI_ARGUMENTS ? args[index] : 0;
	if (factor < ABI_ARGUMENTS)
		value *= args[factor];
	if (argument->meaning == OP_MEANING_COPY_KIND)
		value = (__u32)value; /* an enum: callers may leave anything above */
	return value << (shift & 63);
}
