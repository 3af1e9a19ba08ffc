// SPDX-License-Identifier: Apache-2.0
/* Message for an operation name that does not occur in the file. */
#pragma once

#include <stddef.h>

struct store_reader;

#define UNKNOWN_OP_BYTES 256

/** unknown_op_say() - write "no operation is called 'cudaMaloc' here; did you mean 'cudaMalloc'?" */
void unknown_op_say(struct store_reader *reader, const char *typed, char ret[UNKNOWN_OP_BYTES]);
