// SPDX-License-Identifier: Apache-2.0
#include "events/event.h"

bool process_identity_equal(const struct process_identity *a, const struct process_identity *b)
{
	return a->start_boot_ns == b->start_boot_ns && a->tgid == b->tgid && a->exec_gen == b->exec_gen;
}
