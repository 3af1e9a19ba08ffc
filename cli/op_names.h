// SPDX-License-Identifier: Apache-2.0
/* Names of traced operations. */
#pragma once

#include "base/buf.h"

/** op_names_append() - append all accepted names of operations, one a line */
void op_names_append(struct buf *out);
