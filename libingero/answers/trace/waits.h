// SPDX-License-Identifier: Apache-2.0
/* Waits of main threads outside of their calls. */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/* Meaning of a main thread that waits between its calls. */
#define TRACE_WAITS_MEANING "if a main thread feeds the GPU, it is the bottleneck, not CUDA"

/** trace_waits_append() - append one line of the process whose main thread waits most; nothing for a tiny wait */
void trace_waits_append(struct buf *out, const struct text_style *style, const Ingero__V1__Summary *summary);
/** trace_waits_meaning() - append a sentence, if the wait is most of the time watched */
void trace_waits_meaning(struct buf *out, const struct text_style *style, const Ingero__V1__Summary *summary);
