// SPDX-License-Identifier: Apache-2.0
#include "archive/write/owner.h"

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/capabilities.h"

/*
 * Raw system calls, because the C library's functions change every thread of the process. An fsuid other than 0 drops
 * the capabilities over files; the others are dropped, too, for good, and with them those that an exec could give: this
 * thread needs none.
 */
int owner_become(uint32_t uid, uint32_t gid)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	if (syscall(SYS_setgroups, 0, NULL) < 0 && (errno != EPERM || geteuid() != uid))
		return -errno;
	(void)syscall(SYS_setfsgid, gid);
	(void)syscall(SYS_setfsuid, uid);
	/*
	 * Both return the previous id, not an error: setting an invalid id changes nothing and reveals the current one.
	 */
	if ((uint32_t)syscall(SYS_setfsgid, UINT32_MAX) != gid || (uint32_t)syscall(SYS_setfsuid, UINT32_MAX) != uid)
		return -EPERM;
	(void)capabilities_bound_none(); /* an unprivileged daemon may not, and gains nothing by an exec */
	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}
