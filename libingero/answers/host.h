// SPDX-License-Identifier: Apache-2.0
/* Events of the host in words. They are no calls, and their numbers have other meanings. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/** host_is_source() - whether a source of events or operations is the host */
bool host_is_source(const char *source);
/** host_event_append() - append the details: "status 1", "killed by signal 9", "child 4711"; nothing without details */
void host_event_append(struct buf *out, const Ingero__V1__Event *event);
/** host_event_is_bad() - whether a process ended with an error */
bool host_event_is_bad(const Ingero__V1__Event *event);
/**
 * host_life_append() - append a line of totals: starts and ends of processes, and memory work of the kernel; nothing
 * where all are 0
 */
void host_life_append(struct buf *out, const struct text_style *style, const Ingero__V1__Summary *summary);
