// SPDX-License-Identifier: Apache-2.0
/* What to say of a name that no operation of the file has. */
#pragma once

#include <stddef.h>

struct store_reader;

#define UNKNOWN_OP_BYTES 256

/** unknown_op_say() - "no operation is called 'cudaMaloc' here; did you mean 'cudaMalloc'?" */
void unknown_op_say(struct store_reader *reader, const char *typed, char ret[UNKNOWN_OP_BYTES]);
