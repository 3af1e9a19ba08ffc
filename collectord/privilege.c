// SPDX-License-Identifier: Apache-2.0
#include "privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/cleanup.h"
#include "base/parse.h"

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

/*
 * What a process without CAP_SYS_ADMIN could still call and this one has no use for: groups @clock, @cpu-emulation,
 * @debug, @module, @mount, @obsolete, @raw-io, @reboot, @swap, @resources of systemd.exec(5), changes of identity,
 * name spaces and keys; not setpriority, with which children are made to wait for others. A list of what is refused,
 * since what libraries call differs between releases.
 */
static const int refused[] = {
	SCMP_SYS(acct),
	SCMP_SYS(add_key),
	SCMP_SYS(adjtimex),
	SCMP_SYS(chroot),
	SCMP_SYS(clock_adjtime),
	SCMP_SYS(clock_settime),
	SCMP_SYS(delete_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(fsconfig),
	SCMP_SYS(fsmount),
	SCMP_SYS(fsopen),
	SCMP_SYS(fspick),
	SCMP_SYS(init_module),
	SCMP_SYS(ioperm),
	SCMP_SYS(iopl),
	SCMP_SYS(kcmp),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(kexec_load),
	SCMP_SYS(keyctl),
	SCMP_SYS(lookup_dcookie),
	SCMP_SYS(mbind),
	SCMP_SYS(migrate_pages),
	SCMP_SYS(modify_ldt),
	SCMP_SYS(mount),
	SCMP_SYS(mount_setattr),
	SCMP_SYS(move_mount),
	SCMP_SYS(move_pages),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(open_tree),
	SCMP_SYS(personality),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(pivot_root),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(quotactl),
	SCMP_SYS(quotactl_fd),
	SCMP_SYS(reboot),
	SCMP_SYS(request_key),
	SCMP_SYS(sched_setaffinity),
	SCMP_SYS(sched_setattr),
	SCMP_SYS(sched_setparam),
	SCMP_SYS(sched_setscheduler),
	SCMP_SYS(set_mempolicy),
	SCMP_SYS(set_mempolicy_home_node),
	SCMP_SYS(setdomainname),
	SCMP_SYS(setfsgid),
	SCMP_SYS(setfsuid),
	SCMP_SYS(setgid),
	SCMP_SYS(setgroups),
	SCMP_SYS(sethostname),
	SCMP_SYS(setns),
	SCMP_SYS(setregid),
	SCMP_SYS(setresgid),
	SCMP_SYS(setresuid),
	SCMP_SYS(setreuid),
	SCMP_SYS(settimeofday),
	SCMP_SYS(setuid),
	SCMP_SYS(swapoff),
	SCMP_SYS(swapon),
	SCMP_SYS(syslog),
	SCMP_SYS(umount2),
	SCMP_SYS(unshare),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(vhangup),
#ifndef INGERO_SANITIZED /* its leak checker uses it */
	SCMP_SYS(ptrace),
#endif
};

/* Requests in a ring are seen by no filter. */
static const int rings[] = { SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register), SCMP_SYS(io_uring_setup) };

/* A process may be started, not one in a namespace of its own. */
static const unsigned int namespaces[] = {
	CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET,
};

static int filter_refuse(scmp_filter_ctx filter, const int *calls, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0);
		if (r == -EDOM) /* this processor has no such call */
			r = 0;
	}
	return r;
}

static int rings_filter_build(scmp_filter_ctx filter, const struct privilege_need *need)
{
	int r = filter_refuse(filter, rings, ARRAY_SIZE(rings));

	(void)need;
	return r == 0 ? seccomp_load(filter) : r;
}

static int seal_filter_build(scmp_filter_ctx filter, const struct privilege_need *need)
{
	int r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1); /* the writing thread, too */

	if (r == 0)
		r = filter_refuse(filter, rings, ARRAY_SIZE(rings));
	if (r == 0)
		r = filter_refuse(filter, refused, ARRAY_SIZE(refused));
	if (r == 0 && !need->late_perf)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(perf_event_open), 0);
	for (size_t i = 0; i < ARRAY_SIZE(namespaces) && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]));
	/* Its flags are in memory, which a filter cannot read; the C library falls back to clone. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	/* A socket of any other family can reach beyond the machine, or into more of the kernel. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
				     SCMP_A0(SCMP_CMP_NE, AF_UNIX, 0));
	return r == 0 ? seccomp_load(filter) : r;
}

static int filter_load(int (*build)(scmp_filter_ctx, const struct privilege_need *), const struct privilege_need *need)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int r = filter ? build(filter, need) : -ENOMEM;

	if (filter)
		seccomp_release(filter);
	return r;
}

int privilege_refuse_rings(void)
{
	return filter_load(rings_filter_build, NULL);
}

/* The directory of a file, made for its owner if it is missing; its parents are the administrator's. */
static int directory_make(const char *file, uid_t uid, gid_t gid)
{
	char path[PATH_MAX];
	const char *slash = strrchr(file, '/');

	if (!slash || (size_t)(slash - file) >= sizeof(path))
		return -EINVAL;
	memcpy(path, file, (size_t)(slash - file));
	path[slash - file] = 0;
	if (mkdir(path, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	return lchown(path, uid, gid) < 0 ? -errno : 0;
}

int privilege_leave(const char *whom)
{
	uint64_t numbers[3];
	gid_t gid;
	uid_t uid;

	if (parse_u64_list(whom, UINT32_MAX - 1, numbers, ARRAY_SIZE(numbers)) < 0)
		return -EINVAL;
	uid = (uid_t)numbers[0];
	gid = (gid_t)numbers[1];
	if (setgroups(1, &gid) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	/* A change of user sets dumpability to fs.suid_dumpable, and resets the signal. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
		return -errno;
	return getppid() == (pid_t)numbers[2] ? 0 : -ESRCH;
}

int privilege_become(const char *user, const char *file)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	const struct passwd *found = getpwnam(user);
	int r = 0;

	if (!found)
		return -ENOENT;
	if (geteuid() != 0)
		return geteuid() == found->pw_uid ? 0 : -EPERM;
	if (file)
		r = directory_make(file, found->pw_uid, found->pw_gid);
	if (r < 0)
		return r;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 ||
	    setresgid(found->pw_gid, found->pw_gid, found->pw_gid) < 0 ||
	    setresuid(found->pw_uid, found->pw_uid, found->pw_uid) < 0 || syscall(SYS_capget, &header, data) < 0)
		return -errno;
	/* The permitted set was kept; the effective set was cleared with the change of user. */
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted;
	if (syscall(SYS_capset, &header, data) < 0)
		return -errno;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

int privilege_seal(const struct privilege_need *need)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	uint64_t mask = mask_of(need);

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;

	/*
	 * Bounding set and securebits first: both need CAP_SETPCAP, which is dropped with the rest. The whole bounding
	 * set is dropped: the permitted set stays, and children could not drop theirs.
	 */
	if (data[0].effective & 1u << CAP_SETPCAP) {
		int r = capabilities_bound_none();

		if (r < 0)
			return r;
		/* A child of ours with uid 0 gains no capability by its exec. */
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
	if (syscall(SYS_capset, &header, data) < 0)
		return -errno;
	return filter_load(seal_filter_build, need);
}
