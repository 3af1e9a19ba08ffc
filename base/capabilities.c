// SPDX-License-Identifier: Apache-2.0
#include "base/capabilities.h"

#include <errno.h>
#include <sys/prctl.h>

int capabilities_bound_none(void)
{
	for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
		if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
			return -errno;
	return 0;
}
