// SPDX-License-Identifier: Apache-2.0
/*
 * Events of the host in words: they are no calls, and their numbers mean other things.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/** host_is_source() - whether a source of events or operations is the host */
bool host_is_source(const char *source);
/** host_event_append() - what happened: "status 1", "killed by signal 9", "child 4711"; nothing where there is no more
 */
void host_event_append(struct buf *out, const Ingero__V1__Event *event);
/** host_event_is_bad() - a process did not end well */
bool host_event_is_bad(const Ingero__V1__Event *event);
/** host_life_append() - a line of totals: life of processes, and what the kernel did for them; nothing where there was
 * nothing */
void host_life_append(struct buf *out, const struct text_style *style, const Ingero__V1__Summary *summary);
