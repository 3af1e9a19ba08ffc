// SPDX-License-Identifier: Apache-2.0
/* One call as text: in nanoseconds, with lines that add up. */
#pragma once

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/** explain_call_append() - append a recorded call and where its time went */
void explain_call_append(const Ingero__V1__Event *call, const struct text_style *style, struct buf *out);
/** explain_examples_append() - append the stack of the first example of a finding that has one */
void explain_examples_append(const Ingero__V1__ExplainReply *reply, const struct text_style *style, struct buf *out);
