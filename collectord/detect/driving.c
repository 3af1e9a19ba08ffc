// SPDX-License-Identifier: Apache-2.0
#include "detect/driving.h"

#include "base/cleanup.h"
#include "events/op.h"

/*
 * Whether time in a call is a wait for the device: a synchronising call of libcuda blocks in ioctl(2), poll(2) or a
 * futex, or spins.
 */
static bool is_device_wait(const struct account_part *part, const struct op *op)
{
	switch (part->class) {
	case BLAME_DEVICE:
		return true;
	case BLAME_ON_CPU:
	case BLAME_LOCK:
	case BLAME_NETWORK:
	case BLAME_OTHER:
		return op && (op->traits & OP_SYNC);
	default:
		return false;
	}
}

void driving_of(const struct account *account, struct driving *ret)
{
	*ret = (struct driving){ .account = account };
	for (size_t i = 0; i < account->parts.n; i++) {
		const struct account_part *part = &account->parts.items[i];

		if (part->class >= BLAME_COUNT)
			continue;
		if (part->where == ACCOUNT_BETWEEN) {
			ret->between_ns[part->class] += part->ns;
			continue;
		}
		if (part->where != ACCOUNT_IN)
			continue;
		ret->in_ns[part->class] += part->ns;
		ret->calls_ns += part->ns;
		if (is_device_wait(part, op_get((uint16_t)part->op)))
			ret->device_ns += part->ns;
	}
}

uint64_t driving_least(const struct driving *driving, uint64_t between_ns)
{
	return between_ns - MIN(between_ns, driving->device_ns);
}
