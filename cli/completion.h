// SPDX-License-Identifier: Apache-2.0
/* Scripts that complete our command lines in shells, made from the tables of options. */
#pragma once

#include "base/buf.h"

/** completion_append() - @shell: one of completion_shells. Check out->failed */
void completion_append(const char *shell, struct buf *out);
/** completion_shells - NULL-terminated */
extern const char *const completion_shells[];
