// SPDX-License-Identifier: Apache-2.0
#include "events/event.h"

const char *const event_reason_names[EVENT_REASONS] = { "slow", "error", "sync", "alloc", "sample", "all" };
_Static_assert(RECORD_REASON_ALL == 1 << (EVENT_REASONS - 1), "a name for each reason");
