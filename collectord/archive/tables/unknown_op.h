// SPDX-License-Identifier: Apache-2.0
/* The message for a name that no operation of the file has. */
#pragma once

#include <stddef.h>

struct store_reader;

#define UNKNOWN_OP_BYTES 256

/** unknown_op_say() - write "no operation is called 'cudaMaloc' here; did you mean 'cudaMalloc'?" */
void unknown_op_say(struct store_reader *reader, const char *typed, char ret[UNKNOWN_OP_BYTES]);
