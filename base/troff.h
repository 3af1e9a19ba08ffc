// SPDX-License-Identifier: Apache-2.0
/* Text in manual pages. */
#pragma once

#include "base/buf.h"

/** troff_append() - append one line for troff: copyable dashes, no text that looks like a request */
void troff_append(struct buf *out, const char *text);
