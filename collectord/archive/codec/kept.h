// SPDX-License-Identifier: Apache-2.0
/* Numbers of events/columns.def in packed form: signed numbers by varint_fold(), which keeps them small. */
#pragma once

#include <stdint.h>

#include "archive/codec/varint.h"

#define KEPT_IS_SIGNED(member) ((__typeof__(member))-1 < 1)
#define KEPT_GET(member) (KEPT_IS_SIGNED(member) ? varint_fold((uint64_t)(int64_t)(member)) : (uint64_t)(member))
#define KEPT_SET(member, value)                                                                                        \
	((member) = (__typeof__(member))(KEPT_IS_SIGNED(member) ? varint_unfold(value) : (value)))
/* Largest valid packed number of the member. */
#define KEPT_MOST(struct_type, member) (UINT64_MAX >> (64 - 8 * sizeof(((struct_type *)0)->member)))
