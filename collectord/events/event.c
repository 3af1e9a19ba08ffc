// SPDX-License-Identifier: Apache-2.0
#include "events/event.h"

bool process_identity_equal(const struct process_identity *a, const struct process_identity *b)
{
	return a->start_boot_ns == b->start_boot_ns && a->tgid == b->tgid && a->exec_gen == b->exec_gen &&
	       a->flags == b->flags;
}

const char *const event_reason_names[EVENT_REASONS] = { "slow", "error", "sync", "alloc", "sample", "all" };
_Static_assert(RECORD_REASON_ALL == 1 << (EVENT_REASONS - 1), "a name for each reason");
