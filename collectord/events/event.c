// SPDX-License-Identifier: Apache-2.0
#include "events/event.h"

#include "events/op.h"

const char *const event_reason_names[EVENT_REASONS] = { "slow", "error", "sync", "alloc", "sample", "all" };
_Static_assert(RECORD_REASON_ALL == 1 << (EVENT_REASONS - 1), "a name for each reason");

uint64_t event_bytes_asked(const struct event *event)
{
	for (size_t i = 0; i < op_n_args(event->op); i++)
		if (event->op->meaning[i] == OP_MEANING_BYTES)
			return event->call->args[i];
	return 0;
}
