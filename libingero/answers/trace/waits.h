// SPDX-License-Identifier: Apache-2.0
/*
 * What main threads of processes wait for outside of their calls.
 */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/* What a main thread that waits between its calls means. */
#define TRACE_WAITS_MEANING "if a main thread feeds the GPU, it is the bottleneck, not CUDA"

/** trace_waits_append() - one line of the process whose main thread waits most; nothing where that is next to nothing
 */
void trace_waits_append(struct buf *out, const struct text_style *style, const Ingero__V1__Summary *summary);
/** trace_waits_meaning() - a sentence, where that is most of the time that was watched */
void trace_waits_meaning(struct buf *out, const struct text_style *style, const Ingero__V1__Summary *summary);
/** trace_wait_tell() - the same of one process, whatever its share */
void trace_wait_tell(struct buf *out, const struct text_style *style, const Ingero__V1__Operation *op,
		     uint64_t span_ns);
