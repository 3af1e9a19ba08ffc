// SPDX-License-Identifier: Apache-2.0
/* The kernel: its version, features and permissions. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "libingero/check/item.h"

#define KERNEL_MAJOR_LEAST 5
#define KERNEL_MINOR_LEAST 15
#define BTF_MAGIC "\x9f\xeb" /* magic of BTF, little-endian like every processor that runs the daemon */

void check_kernel(const struct check_world *world, struct check_result *result)
{
	char release[128];
	unsigned int major, minor;
	int r = check_read_line(world, "proc/sys/kernel/osrelease", release, sizeof(release));

	if (r < 0)
		check_say(result, CHECK_LEVEL_FAIL, "mount proc: 'mount -t proc proc /proc'",
			  "unknown: /proc is not readable (%s)", strerror(-r));
	else if (sscanf(release, "%u.%u", &major, &minor) != 2)
		check_say(result, CHECK_LEVEL_WARN, "verify that the kernel is Linux 5.15 or newer", "%s", release);
	else if (major * 1000 + minor < KERNEL_MAJOR_LEAST * 1000 + KERNEL_MINOR_LEAST)
		check_say(result, CHECK_LEVEL_FAIL, "boot Linux 5.15 or newer; Debian 12 has 6.1", "%s", release);
	else
		check_say(result, CHECK_LEVEL_OK, NULL, "%s", release);
}

void check_kernel_types(const struct check_world *world, struct check_result *result)
{
	CLEANUP(closep) int fd = openat(world->root, "sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char magic[2];

	if (fd < 0)
		check_say(result, CHECK_LEVEL_FAIL,
			  "boot a kernel built with CONFIG_DEBUG_INFO_BTF, as Debian's are, and mount sysfs on "
			  "/sys",
			  "/sys/kernel/btf/vmlinux: %s", strerror(errno));
	else if (read(fd, magic, sizeof(magic)) != sizeof(magic) || memcmp(magic, BTF_MAGIC, sizeof(magic)) != 0)
		check_say(result, CHECK_LEVEL_FAIL, "boot a kernel built with CONFIG_DEBUG_INFO_BTF, as Debian's are",
			  "/sys/kernel/btf/vmlinux holds no BTF");
	else
		check_say(result, CHECK_LEVEL_OK, NULL, "BTF in /sys/kernel/btf/vmlinux");
}

/* The service may have permissions that the caller lacks. */
static bool service_captures(const struct check_world *world)
{
	return world->daemon.error == 0 && !world->daemon.is_private;
}

void check_bpf(const struct check_world *world, struct check_result *result)
{
	char unprivileged[16];
	bool has_setting = check_read_line(world, "proc/sys/kernel/unprivileged_bpf_disabled", unprivileged,
					   sizeof(unprivileged)) == 0;
	const char *setting = has_setting ? unprivileged : "missing";

	if (world->bpf_error == ENOSYS)
		check_say(result, CHECK_LEVEL_FAIL, "boot a kernel built with CONFIG_BPF_SYSCALL, as Debian's are",
			  "the kernel has no bpf system call");
	else if (world->bpf_error == 0)
		check_say(result, CHECK_LEVEL_OK, NULL, "permitted (unprivileged_bpf_disabled: %s)", setting);
	else if (world->is_root)
		check_say(result, service_captures(world) ? CHECK_LEVEL_OK : CHECK_LEVEL_FAIL,
			  service_captures(world)
				  ? NULL
				  : "in a container allow the system calls bpf and perf_event_open, and add "
				    "the capabilities named below",
			  "refused here, to root, too: %s", strerror(world->bpf_error));
	else
		check_say(result, CHECK_LEVEL_OK, NULL,
			  "permitted for root and the service, not for you (unprivileged_bpf_disabled: %s), "
			  "as expected",
			  setting);
}

void check_lockdown(const struct check_world *world, struct check_result *result)
{
	char line[128];
	int r = check_read_line(world, "sys/kernel/security/lockdown", line, sizeof(line));

	if (r == -ENOENT)
		check_say(result, CHECK_LEVEL_OK, NULL, "not active");
	else if (r < 0)
		check_say(result, CHECK_LEVEL_WARN, "'sudo ingero check' can read it", "unknown: %s", strerror(-r));
	else if (strstr(line, "[confidentiality]"))
		check_say(result, CHECK_LEVEL_FAIL,
			  "boot with lockdown=integrity or without lockdown: now programs may not read kernel memory",
			  "confidentiality");
	else
		check_say(result, CHECK_LEVEL_OK, NULL, "%s",
			  strstr(line, "[integrity]") ? "integrity, which does not hinder tracing" : "none");
}

struct capability {
	unsigned int bit;
	const char *name;
	bool is_of_admin; /* CAP_SYS_ADMIN includes it */
};

/* Capabilities that capture needs; the service has them. */
static const struct capability capabilities[] = {
	{ CAP_BPF, "CAP_BPF", true },
	{ CAP_PERFMON, "CAP_PERFMON", true },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", false },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", false },
	{ CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE", true },
};

void check_capabilities(const struct check_world *world, struct check_result *result)
{
	CLEANUP(buf_done) struct buf status = BUF_INIT, missing = BUF_INIT;
	int r = check_read(world, "proc/self/status", &status);
	const char *field = r == 0 ? strstr(buf_text(&status), "\nCapEff:") : NULL;
	uint64_t held;

	if (service_captures(world)) {
		check_say(result, CHECK_LEVEL_OK, NULL, "none needed: the service captures");
		return;
	}
	if (!field || sscanf(field, "\nCapEff: %" SCNx64, &held) != 1) {
		check_say(result, CHECK_LEVEL_WARN, "mount proc: 'mount -t proc proc /proc'",
			  "unknown: /proc/self/status is not readable");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++) {
		const struct capability *c = &capabilities[i];

		if (!(held >> c->bit & 1) && !(c->is_of_admin && held >> CAP_SYS_ADMIN & 1))
			(void)buf_printf(&missing, "%s%s", missing.n ? ", " : "", c->name);
	}
	if (!missing.n)
		check_say(result, CHECK_LEVEL_OK, NULL, "all that capture needs");
	else if (world->is_root)
		check_say(result, CHECK_LEVEL_FAIL, "give the container or unit these capabilities", "root lacks %s",
			  buf_text(&missing));
	else
		check_say(result, CHECK_LEVEL_WARN,
			  "'sudo ingero trace' captures, and so does the service: 'systemctl start ingero-collectord'",
			  "none, and no service runs: only databases and demos work");
}

void check_ptrace_scope(const struct check_world *world, struct check_result *result)
{
	char line[16];
	int r = check_read_line(world, "proc/sys/kernel/yama/ptrace_scope", line, sizeof(line));

	/* Neither tracing nor reading about a process uses ptrace(2). */
	if (r == -ENOENT)
		check_say(result, CHECK_LEVEL_OK, NULL, "Yama is not enabled");
	else if (r < 0)
		check_say(result, CHECK_LEVEL_WARN, "no setting of Yama hinders tracing", "unknown: %s", strerror(-r));
	else
		check_say(result, CHECK_LEVEL_OK, NULL, "%s, which does not hinder tracing", line);
}

void check_perf_event_paranoid(const struct check_world *world, struct check_result *result)
{
	char line[16];
	int r = check_read_line(world, "proc/sys/kernel/perf_event_paranoid", line, sizeof(line));

	if (r == -ENOENT)
		check_say(result, CHECK_LEVEL_WARN, "boot a kernel built with CONFIG_PERF_EVENTS, as Debian's are",
			  "the kernel has no perf events");
	else if (r < 0)
		check_say(result, CHECK_LEVEL_WARN, "'sudo ingero check' can read it", "unknown: %s", strerror(-r));
	else
		check_say(result, CHECK_LEVEL_OK, NULL, "%s, which does not hinder programs with CAP_SYS_ADMIN", line);
}
