// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ops.def as the call programs need it: what to keep of a call, by operation id.
 */
#pragma once

#include "kernel.h"
#include "ops.h"

struct op_argument {
	__u8 kind; /* enum op_arg_kind */
	__u8 index;
	__u8 meaning; /* enum op_meaning */
};

struct op_row {
	struct op_argument args[2];
	__u8 flags;
	__u8 is_known;
};

#define ARG(index, meaning)                                                                                            \
	{                                                                                                              \
		OP_ARG_REGISTER, index, OP_MEANING_##meaning                                                           \
	}
#define OUT(index, meaning)                                                                                            \
	{                                                                                                              \
		OP_ARG_OUT, index, OP_MEANING_##meaning                                                                \
	}
#define NONE                                                                                                           \
	{                                                                                                              \
		OP_ARG_NONE, 0, OP_MEANING_NONE                                                                        \
	}
#define OP(id, layer, name, short_name, arg_a, arg_b, flags) [id] = { { arg_a, arg_b }, flags, 1 },
static const volatile struct op_row op_table[OP_ID_MAX] = {
#include "ops.def"
};
#undef OP
#undef NONE
#undef OUT
#undef ARG
