// SPDX-License-Identifier: Apache-2.0
/* Whom an answer is about. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "ingero/ingero.h"

/**
 * whose_append() - append whom an answer is about, to follow "processes": "of alice", "of pid 4711"
 * @pids:    that were asked for
 * @is_file: a database that the caller named: whoever may read it sees all
 */
void whose_append(const struct ingero *ingero, const uint32_t *pids, size_t n_pids, bool is_file, struct buf *out);
