// SPDX-License-Identifier: Apache-2.0
/* Candidates for completion scripts while the user types: names of operations, processes. */
#pragma once

#include "base/buf.h"

/** candidate_lists - names of the lists, NULL-terminated */
extern const char *const candidate_lists[];
/**
 * candidates_append() - append candidates, one a line, some followed by a tab and a description
 * @list: one of candidate_lists
 */
void candidates_append(const char *list, struct buf *out);
