// SPDX-License-Identifier: Apache-2.0
/*
 * The child process: give up all rights, then answer.
 *
 * It has the daemon's uid, so its limits come from its rights, not from its user: no capability, no descriptor but its
 * socket and that of a question, and a list of system calls without any that opens, signals, traces, connects or
 * executes. Files are read with pread(2) alone; even their size comes from the daemon.
 */
#include "children/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/capabilities.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "children/child_role.h"

#define LOG_TOPIC "children"
#include "base/log.h"

#define MEMORY_LIMIT_BYTES (512ull << 20) /* guess: three times the memory that a parse maps */

static int capabilities_drop(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	/*
	 * The bounding set is empty already, or the unit's. No exec of this process gives a capability, and it may not
	 * drop the set.
	 */
	(void)capabilities_bound_none();
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

static void descriptors_close(void)
{
	if (syscall(SYS_close_range, CHILD_SOCKET_FD + 1, ~0u, 0) == 0)
		return;
	for (int fd = CHILD_SOCKET_FD + 1; fd < 65536; fd++) /* before 5.9 */
		(void)close(fd);
}

/* Opens /dev/null as standard descriptors. */
static int standard_drop(void)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int last = STDERR_FILENO;

	if (null_fd < 0)
		return -errno;
#ifdef INGERO_SANITIZED
	last = STDOUT_FILENO; /* reports go to stderr */
#endif
	for (int fd = 0; fd <= last; fd++)
		if (dup2(null_fd, fd) < 0)
			return -errno;
	(void)close(null_fd);
	return 0;
}

static int child_limits_set(const struct child_role *role)
{
	const struct {
		__rlimit_resource_t resource;
		rlim_t value;
	} rows[] = {
		{ RLIMIT_CPU, role->cpu_limit_s ? role->cpu_limit_s : CHILD_CPU_LIMIT_S },
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_NOFILE,
		  role->descriptors_max ? (rlim_t)role->descriptors_max : CHILD_SOCKET_FD + 1 + FD_PASS_MAX },
#ifndef INGERO_SANITIZED /* reports may go to a file, and shadow memory is terabytes of addresses */
		{ RLIMIT_FSIZE, role->file_bytes_max },
		{ RLIMIT_AS, MEMORY_LIMIT_BYTES },
#endif
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rlimit limit = { rows[i].value, rows[i].value };

		if (setrlimit(rows[i].resource, &limit) < 0)
			return -errno;
	}
	return 0;
}

static void filter_freep(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

static int filter_grant(scmp_filter_ctx filter, const struct child_role *role)
{
	int r = 0;

	for (size_t i = 0; i < role->n_grants && r == 0; i++) {
		const struct child_grant *g = &role->grants[i];

		if (g->last_fd < 0)
			r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, g->call, 0);
		for (int fd = g->first_fd; fd <= g->last_fd && r == 0; fd++)
			r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, g->call, 1,
					     SCMP_A0_32(SCMP_CMP_EQ, (uint32_t)fd, 0));
	}
	if (r == 0 && role->maps_files)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return r;
}

static int child_filter_build(const struct child_role *role, scmp_filter_ctx *ret_filter)
{
	static const int plain[] = {
		SCMP_SYS(pread64),	   SCMP_SYS(close),	     SCMP_SYS(brk),
		SCMP_SYS(munmap),	   SCMP_SYS(mremap),	     SCMP_SYS(madvise),
		SCMP_SYS(futex),	   SCMP_SYS(getrandom), /* malloc's */
		SCMP_SYS(clock_gettime),			/* if the vDSO cannot read the clock */
		SCMP_SYS(restart_syscall), SCMP_SYS(rt_sigreturn),   SCMP_SYS(exit),
		SCMP_SYS(exit_group),
#ifdef INGERO_SANITIZED
		SCMP_SYS(write),	   SCMP_SYS(mprotect),	     SCMP_SYS(sigaltstack),
		SCMP_SYS(rt_sigaction),	   SCMP_SYS(rt_sigprocmask), SCMP_SYS(getpid),
		SCMP_SYS(gettid),	   SCMP_SYS(sched_yield),
#endif
	};
#ifdef INGERO_SANITIZED
	const uint32_t otherwise = SCMP_ACT_ERRNO(EPERM); /* a sanitizer's report uses several system calls */
#else
	const uint32_t otherwise = SCMP_ACT_KILL_PROCESS;
#endif
	CLEANUP(filter_freep) scmp_filter_ctx filter = seccomp_init(otherwise);
	int r = 0;

	if (!filter)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(plain) && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, plain[i], 0);
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(recvmsg), 1,
				     SCMP_A0_32(SCMP_CMP_EQ, CHILD_SOCKET_FD, 0));
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sendmsg), 1,
				     SCMP_A0_32(SCMP_CMP_EQ, CHILD_SOCKET_FD, 0));
	if (r == 0) /* memory that is neither a file's nor executable */
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
				     SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
	if (r == 0)
		r = filter_grant(filter, role);
	if (r < 0)
		return r;
	*ret_filter = filter;
	filter = NULL; /* the caller's */
	return 0;
}

/* Without standard descriptors a failure can only be reported by the exit status. */
static int seal(const struct child_role *role, scmp_filter_ctx filter)
{
	int r;

	r = capabilities_drop();
	if (r < 0)
		return log_err(r, "cannot drop capabilities");
	/* After the capabilities: changing them resets dumpability and the parent-death signal. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return log_err(-errno, "cannot make the %s process undumpable", role->name);
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
		return log_err(-errno, "cannot restrict system calls: this kernel was built without seccomp");
	r = child_limits_set(role);
	if (r == 0)
		r = standard_drop();
	if (r == 0)
		r = seccomp_load(filter);
	return r;
}

/* A process that used half of its time ends between two questions. */
static bool is_worn(void)
{
	struct timespec used;

	return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0 && used.tv_sec >= CHILD_CPU_LIMIT_S / 2;
}

/* Return: exit status; 0 when the daemon closed the socket or this process has used its time. */
static int answer_all(const struct child_role *role)
{
	static _Alignas(max_align_t) uint8_t question[CHILD_QUESTION_MAX], answer[CHILD_ANSWER_MAX];

	while (!is_worn()) {
		int fds[FD_PASS_MAX];
		size_t n_fds = 0;
		ssize_t n = fd_receive(CHILD_SOCKET_FD, question, sizeof(question), fds, &n_fds);

		if (n <= 0)
			return n < 0;
		n = role->answer(question, (size_t)n, n_fds ? fds[0] : -1, answer, sizeof(answer));
		for (size_t i = 0; i < n_fds; i++)
			(void)close(fds[i]);
		if (n < 0 || fd_send(CHILD_SOCKET_FD, answer, (size_t)n, NULL, 0) < 0)
			return 1;
	}
	return 0;
}

/*
 * Waits until the daemon closes the socket: if this end is closed with an unread question, the daemon gets that error
 * instead of the last message.
 */
static void hang_on(void)
{
	static uint8_t question[CHILD_QUESTION_MAX];
	int fds[FD_PASS_MAX];
	size_t n_fds = 0;

	while (fd_receive(CHILD_SOCKET_FD, question, sizeof(question), fds, &n_fds) > 0)
		for (size_t i = 0; i < n_fds; i++)
			(void)close(fds[i]);
}

static int role_run(const struct child_role *role)
{
	CLEANUP(filter_freep) scmp_filter_ctx filter = NULL;
	int r = child_filter_build(role,
				   &filter); /* before its first message, which may come later (children/spare.h) */

	if (r < 0)
		return log_err(1, "cannot build the list of allowed system calls");
	if (role->prepare && role->prepare() < 0) {
		hang_on();
		return 1;
	}
	if (seal(role, filter) < 0)
		return 1;
	/* Not exit(): functions registered with atexit() may need rights that are gone. */
	_exit(role->serve ? role->serve() : answer_all(role));
}

int child_main(const char *role)
{
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* valid from now on; the seal enforces it */
	for (size_t i = 0; child_roles[i]; i++) {
		if (strcmp(child_roles[i]->name, role) != 0)
			continue;
		(void)prctl(PR_SET_NAME, child_roles[i]->title ? child_roles[i]->title : role);
		descriptors_close();
		return role_run(child_roles[i]);
	}
	return log_err(1, "there is no child process '%s'", role);
}
