// SPDX-License-Identifier: Apache-2.0
/* Names of the operations that are traced. */
#pragma once

#include "base/buf.h"

/** op_names_append() - every name that an operation can be asked for by, one a line */
void op_names_append(struct buf *out);
