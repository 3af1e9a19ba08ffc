// SPDX-License-Identifier: Apache-2.0
/* Completion scripts for shells, made from the option tables. */
#pragma once

#include "base/buf.h"

/** completion_append() - append the script of a shell. @shell: one of completion_shells. Check out->failed */
void completion_append(const char *shell, struct buf *out);
/** completion_shells - names of the shells, NULL-terminated */
extern const char *const completion_shells[];
