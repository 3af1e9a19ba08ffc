// SPDX-License-Identifier: Apache-2.0
/* One call as people read it: to the nanosecond, with lines that add up. */
#pragma once

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/** explain_call_append() - what a kept call did and where its time went */
void explain_call_append(const Ingero__V1__Event *call, const struct text_style *style, struct buf *out);
