// SPDX-License-Identifier: Apache-2.0
/* The time that an answer covers, in words. */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"

/**
 * window_widened_append() - append "wider than asked (...): why", where figures reach a second or more beyond the
 * question
 */
void window_widened_append(const Ingero__V1__Window *window, uint64_t now_unix_ns, struct buf *out);
