// SPDX-License-Identifier: Apache-2.0
/*
 * A private daemon on a socket pair: nothing listens, and it ends with its client.
 *
 * It ends when our end of the pair is closed, which its loop sees. If the client is killed while that loop is stuck,
 * the kernel sends the daemon SIGTERM as well. (For the kernel, the client is the thread that called ingero_open().)
 */
#include "libingero/client/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/become.h"
#include "base/fd.h"

#define DAEMON_NAME "ingero-collectord"
#define ARGS_MAX 64
#define TERM_MS 2000

/* Directories of an installation, in order of search. */
static const char *const installed[] = { INGERO_LIBEXECDIR "/" DAEMON_NAME, INGERO_SBINDIR "/" DAEMON_NAME };

static bool is_executable(const char *path)
{
	return access(path, X_OK) == 0;
}

static int find_beside(char *path, size_t room)
{
	ssize_t n = readlink("/proc/self/exe", path, room - 1);
	char *slash;
	size_t left;

	if (n < 0)
		return -errno;
	path[n] = 0;
	slash = strrchr(path, '/');
	if (!slash)
		return -ENOENT;
	left = room - (size_t)(slash + 1 - path);
	if ((size_t)snprintf(slash + 1, left, "%s", DAEMON_NAME) >= left)
		return -ENAMETOOLONG;
	return is_executable(path) ? 0 : -ENOENT;
}

static int find_daemon(const struct ingero_options *options, char *path, size_t room)
{
	if (options->daemon_path)
		return (size_t)snprintf(path, room, "%s", options->daemon_path) < room ? 0 : -ENAMETOOLONG;
	if (find_beside(path, room) == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(installed); i++) {
		(void)snprintf(path, room, "%s", installed[i]);
		if (is_executable(path))
			return 0;
	}
	return -ENOENT;
}

struct child_start {
	const char *path;
	const char *const *args;
	int socket_fd;
	int error_fd; /* closed by a successful exec; otherwise the errno is written to it */
	pid_t parent;
};

static bool descriptors_close_between(unsigned int first, unsigned int last)
{
	first = MAX(first, STDERR_FILENO + 1u);
	return first > last || close_range(first, last, 0) == 0;
}

/* Closes all but the standard descriptors and these two. */
static bool others_close(int a, int b)
{
	unsigned int low = (unsigned int)MIN(a, b), high = (unsigned int)MAX(a, b);

	return (low == 0 || descriptors_close_between(0, low - 1)) && descriptors_close_between(low + 1, high - 1) &&
	       descriptors_close_between(high + 1, ~0u);
}

/* Between fork and exec only async-signal-safe calls: the client may have threads. */
__attribute__((noreturn)) static void child_run(const struct child_start *start)
{
	sigset_t none;
	int error;

	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL); /* the daemon must not inherit ignored signals */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	/* Leaves the terminal's foreground: Ctrl-C reaches only the client, which then asks for the summary. */
	(void)setpgid(0, 0);
	/* A daemon of another user must not get the client's connections. */
	if (others_close(start->socket_fd, start->error_fd)) {
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != start->parent)
			_exit(1); /* the client died before prctl() */
		if (fcntl(start->socket_fd, F_SETFD, 0) == 0)
			(void)execv(start->path, (char *const *)start->args);
	}

	error = errno;
	(void)!write(start->error_fd, &error, sizeof(error));
	_exit(127);
}

static int fork_child(const struct child_start *start, pid_t *ret_pid)
{
	sigset_t all, before;
	pid_t pid;
	int r = 0;

	/* No signal handler of the client runs in the child. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		child_run(start);
	if (pid < 0)
		r = -errno;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r == 0)
		*ret_pid = pid;
	return r;
}

/*
 * The user who typed sudo, or the owner of a file: the daemon gets no more rights than that user. It changes its user
 * itself, when nothing is executed any more: a process that executes as a user can be traced by that user, and would
 * still have root's environment and descriptors.
 */
static void daemon_user_write(const struct ingero_options *options, char *text, size_t room)
{
	(void)snprintf(text, room, BECOME_FORMAT, options->daemon_uid, options->daemon_gid, getpid());
}

static int build_args(const struct ingero_options *options, const char *path, const char *become, const char *fd_text,
		      const char *args[ARGS_MAX])
{
	size_t n = 0;

	args[n++] = path;
	if (options->has_daemon_user) {
		args[n++] = BECOME_OPTION; /* the first, if any */
		args[n++] = become;
	}
	args[n++] = "--private";
	args[n++] = fd_text;
	for (size_t i = 0; options->daemon_args && options->daemon_args[i]; i++) {
		if (n + 1 >= ARGS_MAX)
			return -E2BIG;
		args[n++] = options->daemon_args[i];
	}
	args[n] = NULL;
	return 0;
}

static int start_child(const char *path, const char *const *args, int socket_fd, struct private_daemon *ret_daemon)
{
	CLEANUP(closep) int error_read_fd = -1;
	CLEANUP(closep) int error_write_fd = -1;
	struct private_daemon daemon = PRIVATE_DAEMON_INIT;
	int fds[2], error = 0, r;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	error_read_fd = fds[0];
	error_write_fd = fds[1];

	struct child_start start = { path, args, socket_fd, error_write_fd, getpid() };

	r = fork_child(&start, &daemon.pid);
	if (r)
		return r;
	(void)close(TAKE_FD(error_write_fd));
	daemon.pidfd = pidfd_open(daemon.pid, 0); /* without a pidfd the end is polled for */
	if (fd_read_full(error_read_fd, &error, sizeof(error)) == 0) {
		(void)private_wait(&daemon, -1, &r);
		return -error;
	}
	*ret_daemon = daemon;
	return 0;
}

static int say_not_found(int r, char *error, size_t error_bytes)
{
	(void)snprintf(error, error_bytes,
		       "cannot find %s beside this program, in %s or in %s; install it, or build all of it",
		       DAEMON_NAME, INGERO_LIBEXECDIR, INGERO_SBINDIR);
	return r;
}

int ingero_find_daemon(char *path, size_t path_bytes, char *error, size_t error_bytes)
{
	const struct ingero_options none = { .daemon_path = NULL };
	int r = find_daemon(&none, path, path_bytes);

	return r ? say_not_found(r, error, error_bytes) : 0;
}

int private_start(const struct ingero_options *options, char *error, size_t error_bytes, int *ret_fd,
		  struct private_daemon *ret_daemon)
{
	CLEANUP(closep) int our_fd = -1;
	CLEANUP(closep) int its_fd = -1;
	const char *args[ARGS_MAX];
	char path[PATH_MAX], fd_text[16], become[BECOME_BYTES];
	int fds[2], r;

	r = find_daemon(options, path, sizeof(path));
	if (r)
		return say_not_found(r, error, error_bytes);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) {
		r = -errno;
		(void)snprintf(error, error_bytes, "cannot make a socket pair: %s", strerror(-r));
		return r;
	}
	our_fd = fds[0];
	its_fd = fds[1];

	(void)snprintf(fd_text, sizeof(fd_text), "%d", its_fd);
	daemon_user_write(options, become, sizeof(become));
	r = build_args(options, path, become, fd_text, args);
	if (r == 0)
		r = start_child(path, args, its_fd, ret_daemon);
	if (r) {
		(void)snprintf(error, error_bytes, "cannot start '%s': %s", path, strerror(-r));
		return r;
	}
	*ret_fd = TAKE_FD(our_fd);
	return 0;
}

static void daemon_gone(struct private_daemon *daemon)
{
	closep(&daemon->pidfd);
	*daemon = (struct private_daemon)PRIVATE_DAEMON_INIT;
}

bool private_wait(struct private_daemon *daemon, int wait_ms, int *ret_status)
{
	struct pollfd poll_fd = { .fd = daemon->pidfd, .events = POLLIN };
	uint64_t until_ns = conn_now_ns() + (uint64_t)(wait_ms < 0 ? INT_MAX : wait_ms) * NSEC_PER_MSEC;
	int status = 0;

	for (;;) {
		uint64_t now_ns = conn_now_ns();
		pid_t pid = waitpid(daemon->pid, &status, WNOHANG);
		int left_ms;

		/* ECHILD: another part of this process reaps every child, or SIGCHLD is ignored. */
		if (pid == daemon->pid || (pid < 0 && errno != EINTR)) {
			daemon_gone(daemon);
			*ret_status = status;
			return true;
		}
		if (now_ns >= until_ns)
			return false;
		left_ms = (int)((until_ns - now_ns) / NSEC_PER_MSEC) + 1;
		/* Without a pidfd (old kernel) poll in short intervals. */
		(void)poll(&poll_fd, 1, daemon->pidfd >= 0 ? left_ms : MIN(left_ms, 10));
	}
}

void private_stop(struct private_daemon *daemon, int wait_ms)
{
	int status;

	if (!daemon->pid || private_wait(daemon, wait_ms, &status))
		return;
	(void)kill(daemon->pid, SIGTERM);
	if (private_wait(daemon, TERM_MS, &status))
		return;
	(void)kill(daemon->pid, SIGKILL);
	(void)private_wait(daemon, -1, &status);
}
