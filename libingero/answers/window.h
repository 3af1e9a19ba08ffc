// SPDX-License-Identifier: Apache-2.0
/* Which time an answer is about, in words. */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"

/** window_widened_append() - "wider than asked (...): why", where figures reach a second or more beyond what was asked
 * for */
void window_widened_append(const Ingero__V1__Window *window, uint64_t now_unix_ns, struct buf *out);
