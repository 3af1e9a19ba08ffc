// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define STATUS_NOT_FOUND 127 /* as shells have it */
#define STATUS_NOT_STARTED 126
#define STATUS_SIGNAL 128 /* plus the signal's number */

/* What the child writes: 0 when it waits, then an errno if it could not go on. */
static void status_write(int fd, int error)
{
	(void)fd_write_full(fd, &error, sizeof(error)); /* without a parent there is nobody to tell */
}

/* In the child: become the user who typed the command. */
static int user_become(const struct caller *caller)
{
	const struct passwd *user;

	if (!caller->is_sudo)
		return 0;

	user = getpwuid(caller->uid);
	if ((user ? initgroups(user->pw_name, caller->gid) : setgroups(1, &caller->gid)) < 0)
		return -errno;
	if (setresgid(caller->gid, caller->gid, caller->gid) < 0 ||
	    setresuid(caller->uid, caller->uid, caller->uid) < 0)
		return -errno;
	if (user && (setenv("HOME", user->pw_dir, 1) < 0 || setenv("USER", user->pw_name, 1) < 0 ||
		     setenv("LOGNAME", user->pw_name, 1) < 0 || setenv("SHELL", user->pw_shell, 1) < 0))
		return -errno;
	/*
	 * Changing ids hid this process from its own user; the daemon must see whose it is. From now on that user may
	 * look into it: of the client's it holds no descriptor any more.
	 */
	(void)prctl(PR_SET_DUMPABLE, 1);
	return 0;
}

static void __attribute__((noreturn)) child_main(int go_fd, int status_fd, char **argv, const struct caller *caller,
						 bool stdout_to_stderr, const sigset_t *mask)
{
	const int kept[] = { go_fd, status_fd };
	char go;
	int r = fd_close_own(kept, ARRAY_SIZE(kept)); /* root's connection is none of the user's business */

	if (r == 0)
		r = user_become(caller);
	if (r == 0 && stdout_to_stderr && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		r = -errno;
	status_write(status_fd, -r);
	if (r < 0 || fd_read_full(go_fd, &go, 1) < 0)
		_exit(STATUS_NOT_STARTED);

	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	(void)execvp(argv[0], argv);
	r = errno;
	status_write(status_fd, r);
	_exit(r == ENOENT || r == ENOTDIR ? STATUS_NOT_FOUND : STATUS_NOT_STARTED);
}

int trace_child_start(struct trace_child *child, char **argv, const struct caller *caller, bool stdout_to_stderr,
		      const sigset_t *mask)
{
	int go[2], status[2], error = 0;
	int r;

	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(status, O_CLOEXEC) < 0) {
		r = -errno;
		(void)close(go[0]);
		(void)close(go[1]);
		return r;
	}

	child->pid = fork();
	if (child->pid == 0) {
		(void)close(go[1]); /* else it would keep its own pipe open and never see us go */
		(void)close(status[0]);
		child_main(go[0], status[1], argv, caller, stdout_to_stderr, mask);
	}
	r = child->pid < 0 ? -errno : 0;
	(void)close(go[0]);
	(void)close(status[1]);
	child->go_fd = go[1];
	child->status_fd = status[0];
	if (r < 0) {
		child->pid = 0;
		return r;
	}

	r = fd_read_full(child->status_fd, &error, sizeof(error));
	return r < 0 ? r : -error;
}

int trace_child_release(struct trace_child *child)
{
	int error = 0;
	int r = fd_write_full(child->go_fd, "", 1);

	if (r < 0)
		return r;
	child->is_released = true;
	(void)close(TAKE_FD(child->go_fd));

	/* The end comes when exec succeeded: the pipe closes itself then. */
	r = fd_read_full(child->status_fd, &error, sizeof(error));
	child->has_failed = r == 0;
	return r == 0 ? -error : 0;
}

void trace_child_reap(struct trace_child *child)
{
	int status;

	/* Without WUNTRACED: the daemon stops and continues the program while it attaches, users do by Ctrl-Z. */
	if (!child->pid || child->has_ended || waitpid(child->pid, &status, WNOHANG) != child->pid)
		return;
	child->has_ended = true;
	child->exit_status = WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

void trace_child_resume(const struct trace_child *child, pid_t pid)
{
	if (child->pid && (pid || !child->has_ended))
		(void)kill(pid ? pid : child->pid, SIGCONT); /* gone is as good */
}

void trace_child_signal(const struct trace_child *child, int signal_number, int code)
{
	/* The terminal sends to the whole group: the program has it already. */
	if (child->pid && !child->has_ended && code <= 0)
		(void)kill(child->pid, signal_number); /* it may just have ended */
}

void trace_child_done(struct trace_child *child)
{
	if (child->go_fd >= 0)
		(void)close(TAKE_FD(child->go_fd));
	if (child->status_fd >= 0)
		(void)close(TAKE_FD(child->status_fd));
	if (child->pid && !child->is_released && !child->has_ended) {
		while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
			;
		child->has_ended = true;
	}
}
