// SPDX-License-Identifier: Apache-2.0
/* Text in manual pages. */
#pragma once

#include "base/buf.h"

/** troff_append() - one line as troff takes it: dashes that can be copied, nothing that looks like a request */
void troff_append(struct buf *out, const char *text);
