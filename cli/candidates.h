// SPDX-License-Identifier: Apache-2.0
/* What completion scripts ask for while somebody types: names of operations, processes. */
#pragma once

#include "base/buf.h"

/** candidate_lists - names of the lists, NULL-terminated */
extern const char *const candidate_lists[];
/** candidates_append() - one a line, a tab and a word on it behind some; @list: one of candidate_lists */
void candidates_append(const char *list, struct buf *out);
