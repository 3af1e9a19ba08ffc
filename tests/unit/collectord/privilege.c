// SPDX-License-Identifier: Apache-2.0
/*
 * What a process that gave up its privilege can still call, by really calling it, in each state that the daemon serves
 * in; as root and as a user.
 */
#include "privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "tests/support/check.h"

static const struct {
	const char *name;
	struct privilege_need need;
} states[] = {
	{ "a service", { .nothing = false } },
	{ "a private daemon", { .continues = true } },
	{ "one whose probes are perf events", { .late_perf = true } },
	{ "one that only reads", { .nothing = true } },
};

/* ---- what must not work ---- */

/* Whoever is made by it ends at once. Return: as syscall(2) */
static long clone_with(unsigned long flags)
{
	long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		(void)waitpid((pid_t)pid, NULL, 0);
	return pid;
}

static long clone_user(void)
{
	return clone_with(CLONE_NEWUSER);
}
static long clone_user_and_more(void)
{
	return clone_with(CLONE_NEWUSER | CLONE_NEWNET | CLONE_FS);
}
static long clone_mounts(void)
{
	return clone_with(CLONE_NEWNS);
}
static long clone_network(void)
{
	return clone_with(CLONE_NEWNET);
}
static long clone_pids(void)
{
	return clone_with(CLONE_NEWPID);
}
static long clone_by_structure(void)
{
	struct clone_args args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		(void)waitpid((pid_t)pid, NULL, 0);
	return pid;
}
static long unshare_user(void)
{
	return unshare(CLONE_NEWUSER);
}
static long unshare_time(void)
{
	return unshare(CLONE_NEWTIME);
}
static long enter_own(void)
{
	CLEANUP(closep) int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);

	return setns(fd, 0);
}
static long ring_setup(void)
{
	struct io_uring_params params = { 0 };

	return syscall(SYS_io_uring_setup, 1, &params);
}
static long ring_enter(void)
{
	return syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0);
}
static long ring_register(void)
{
	return syscall(SYS_io_uring_register, -1, 0, NULL, 0);
}
static long take_descriptor(void)
{
	CLEANUP(closep) int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	return syscall(SYS_pidfd_getfd, self, STDERR_FILENO, 0);
}
static long network(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}
static long become_root(void)
{
	return syscall(SYS_setresuid, 0, 0, 0);
}

struct refusal {
	const char *name;
	long (*call)(void);
	int error;
};

static const struct refusal rings[] = {
	{ "io_uring", ring_setup, EPERM },
	{ "to submit to io_uring", ring_enter, EPERM },
	{ "to register with io_uring", ring_register, EPERM },
};

static const struct refusal refused[] = {
	{ "a process in a user namespace", clone_user, EPERM },
	{ "the same among other flags", clone_user_and_more, EPERM },
	{ "a process in a mount namespace", clone_mounts, EPERM },
	{ "a process in a network namespace", clone_network, EPERM },
	{ "a process in a pid namespace", clone_pids, EPERM },
	{ "clone3, whose flags no filter sees", clone_by_structure, ENOSYS },
	{ "a user namespace", unshare_user, EPERM },
	{ "a time namespace", unshare_time, EPERM },
	{ "another namespace", enter_own, EPERM },
	{ "a descriptor of another process", take_descriptor, EPERM },
	{ "a network socket", network, EAFNOSUPPORT },
	{ "another identity", become_root, EPERM },
};

/* ---- what has to work ---- */

static void *thread_run(void *data)
{
	*(bool *)data = true;
	return NULL;
}

static bool thread_works(void)
{
	pthread_t thread;
	bool has_run = false;

	return pthread_create(&thread, NULL, thread_run, &has_run) == 0 && pthread_join(thread, NULL) == 0 && has_run;
}

/* As children of the daemon are started. */
static bool child_works(void)
{
	char *const argv[] = { (char *)"true", NULL };
	int status = -1;
	pid_t pid;

	return posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) == 0 && waitpid(pid, &status, 0) == pid &&
	       status == 0;
}

static void work_run(uv_work_t *work)
{
	*(bool *)work->data = true;
}

static void work_over(uv_work_t *work, int status)
{
	(void)work;
	(void)status;
}

static bool loop_is_working(uv_loop_t *loop)
{
	bool has_run = false;
	uv_work_t work = { .data = &has_run };
	int r = uv_queue_work(loop, &work, work_run, work_over);

	if (r == 0)
		r = uv_run(loop, UV_RUN_DEFAULT);
	return r == 0 && uv_loop_close(loop) == 0 && has_run;
}

static bool loop_works(void)
{
	uv_loop_t loop;

	return uv_loop_init(&loop) == 0 && loop_is_working(&loop);
}

static const struct {
	const char *name;
	bool (*works)(void);
} kept[] = {
	{ "a thread", thread_works },
	{ "a child process", child_works },
	{ "libuv's loop and its threads", loop_works },
};

/* ---- in a process of its own ---- */

/* That nothing can come back by an exec: what a child of the daemon starts with. */
static void bounding_set_check(const char *name)
{
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != 0) {
			CHECK_INT_EQ(name, cap, -1);
			return;
		}
}

/* A loop from before the seal goes on after it, whatever libuv opened for it. */
static bool early_loop_start(uv_loop_t *loop)
{
	CHECK_INT_EQ("refuse rings", privilege_refuse_rings(), 0);
	for (size_t k = 0; k < ARRAY_SIZE(rings); k++) {
		errno = 0;
		CHECK_INT_EQ(rings[k].name, rings[k].call(), -1);
		CHECK_INT_EQ(rings[k].name, errno, rings[k].error);
	}
	return uv_loop_init(loop) == 0;
}

static int state_check(size_t i, bool is_root)
{
	uv_loop_t early;
	char name[128];

	if (!is_root && (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0))
		return 1;
	CHECK("a loop before the seal", early_loop_start(&early));
	CHECK_INT_EQ(states[i].name, privilege_seal(&states[i].need), 0);
	CHECK("that loop works", loop_is_working(&early));
	for (size_t k = 0; k < ARRAY_SIZE(refused); k++) {
		long r;

		(void)snprintf(name, sizeof(name), "%s, %s: %s", states[i].name, is_root ? "root" : "user",
			       refused[k].name);
		errno = 0;
		r = refused[k].call();
		CHECK_INT_EQ(name, r, -1);
		CHECK_INT_EQ(name, errno, refused[k].error);
	}
	for (size_t k = 0; k < ARRAY_SIZE(kept); k++) {
		(void)snprintf(name, sizeof(name), "%s, %s: %s", states[i].name, is_root ? "root" : "user",
			       kept[k].name);
		CHECK(name, kept[k].works());
	}
	if (is_root)
		bounding_set_check(states[i].name);
	return check_state.n_failed > 0;
}

int main(void)
{
	for (size_t i = 0; i < 2 * ARRAY_SIZE(states); i++) {
		bool is_root = i % 2 && geteuid() == 0;
		int status = -1;
		pid_t pid;

		if (!is_root && geteuid() != 0 && i % 2)
			continue; /* the same again */
		pid = fork();
		if (pid == 0)
			_exit(state_check(i / 2, geteuid() != 0 ? false : is_root));
		(void)waitpid(pid, &status, 0);
		CHECK_INT_EQ(states[i / 2].name, status, 0);
	}
	return check_result();
}
