// SPDX-License-Identifier: Apache-2.0
#include "base/grace.h"

#include <linux/membarrier.h>
#include <poll.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SETTLE_MS 20 /* guess: a program of the kernel half takes microseconds */

bool grace_wait(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0)
		return true;
	(void)poll(NULL, 0, SETTLE_MS);
	return false;
}
