// SPDX-License-Identifier: Apache-2.0
#include "privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* Each with its reason; the unit file names the same five. */
static const int kept[] = {
	CAP_BPF,		/* maps read by the task iterator's program */
	CAP_PERFMON,		/* programs that read kernel memory; links of later libraries */
	CAP_SYS_PTRACE,		/* maps, exe and root of other users' processes */
	CAP_DAC_READ_SEARCH,	/* libraries in private homes and virtual environments */
	CAP_CHECKPOINT_RESTORE, /* map_files: the very file that is mapped, whatever its name */
};

static uint64_t mask_of(const struct privilege_need *need)
{
	uint64_t mask = 0;

	if (need->nothing)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		mask |= 1ull << kept[i];
	if (need->late_perf)
		mask |= 1ull << CAP_SYS_ADMIN;
	if (need->continues)
		mask |= 1ull << CAP_KILL;
	return mask;
}

int privilege_seal(const struct privilege_need *need)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	uint64_t mask = mask_of(need);

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;

	/* Bounding set and securebits first: both need CAP_SETPCAP, which goes with the rest. */
	if (data[0].effective & 1u << CAP_SETPCAP) {
		for (int c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++)
			if (!(mask & 1ull << c) && prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0)
				return -errno;
		/* A child of ours that is uid 0 gains nothing by its exec. */
		if (prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0) < 0)
			return -errno;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;

	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(mask >> (32 * i));
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}
