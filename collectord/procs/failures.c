// SPDX-License-Identifier: Apache-2.0
#include "procs/failures.h"

#include <stddef.h>

/* A process fails in few operations: a search through all is short. */
static struct failure *failure_find(const process_failures *failures, uint32_t op)
{
	for (size_t i = 0; i < failures->n; i++)
		if (failures->items[i].op == op)
			return &failures->items[i];
	return NULL;
}

void failures_note(process_failures *failures, uint32_t op, int32_t code, uint64_t time_ns)
{
	struct failure fresh = { .op = op, .code = code, .time_ns = time_ns };
	struct failure *known = failure_find(failures, op);

	if (known)
		*known = fresh;
	else
		(void)ARRAY_PUSH(failures, fresh); /* without memory the code is not known */
}

int32_t failures_since(const process_failures *failures, uint32_t op, uint64_t since_ns)
{
	const struct failure *known = failure_find(failures, op);

	return known && known->time_ns >= since_ns ? known->code : 0;
}

void failures_done(process_failures *failures)
{
	ARRAY_DONE(failures);
}
