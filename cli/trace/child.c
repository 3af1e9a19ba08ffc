// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cli/trace/descendants.h"
#include "cli/trace/guardian.h"
#include "libingero/render/user.h"

#define STATUS_NOT_FOUND 127 /* exit statuses of shells */
#define STATUS_NOT_STARTED 126
#define STATUS_SIGNAL 128 /* plus the signal's number */
#define GUARDIAN_END_MS 2000

/* Messages of the child: 0 when it waits, then an errno if exec failed. */
static void status_write(int fd, int error)
{
	(void)fd_write_full(fd, &error, sizeof(error)); /* without a parent nobody reads the errno */
}

/* In the child: become the user who typed the command. */
static int user_become(const struct caller *caller)
{
	struct user_entry entry;
	const struct passwd *user;

	if (!caller->is_sudo)
		return 0;

	user = user_find(caller->uid, &entry) ? &entry.user : NULL;
	if ((user ? initgroups(user->pw_name, caller->gid) : setgroups(1, &caller->gid)) < 0)
		return -errno;
	if (setresgid(caller->gid, caller->gid, caller->gid) < 0 ||
	    setresuid(caller->uid, caller->uid, caller->uid) < 0)
		return -errno;
	if (user && (setenv("HOME", user->pw_dir, 1) < 0 || setenv("USER", user->pw_name, 1) < 0 ||
		     setenv("LOGNAME", user->pw_name, 1) < 0 || setenv("SHELL", user->pw_shell, 1) < 0))
		return -errno;
	return 0;
}

static void __attribute__((noreturn)) child_main(int go_fd, int status_fd, char **argv, const struct caller *caller,
						 bool stdout_to_stderr, const sigset_t *mask)
{
	const int kept[] = { go_fd, status_fd };
	char go;
	int r = fd_close_own(kept, ARRAY_SIZE(kept)); /* the user must not use root's connection */

	if (r == 0)
		r = user_become(caller);
	/* Changing ids made the process undumpable, but the daemon must see its owner. The process holds no secret. */
	(void)prctl(PR_SET_DUMPABLE, 1);
	/* If guardian, client and daemon are all killed at once, the program still continues. */
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT);
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

/* Pipes and sockets between this process and its forks: our end, their end. */
struct ends {
	int go[2], status[2], guardian[2];
};
#define ENDS_INIT                                                                                                      \
	{                                                                                                              \
		{ -1, -1 }, { -1, -1 },                                                                                \
		{                                                                                                      \
			-1, -1                                                                                         \
		}                                                                                                      \
	}

static void ends_done(struct ends *ends)
{
	for (int i = 0; i < 2; i++) {
		closep(&ends->go[i]);
		closep(&ends->status[i]);
		closep(&ends->guardian[i]);
	}
}

static int ends_make(struct ends *ends)
{
	if (pipe2(ends->go, O_CLOEXEC) < 0 || pipe2(ends->status, O_CLOEXEC) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends->guardian) < 0)
		return -errno;
	return 0;
}

struct program {
	char **argv;
	const struct caller *caller;
	const sigset_t *mask;
	bool stdout_to_stderr;
};

__attribute__((noreturn)) static void guardian_main(struct ends *ends, struct guardian_start start,
						    const struct program *program)
{
	bool is_ready = guardian_prepare();

	start.program = fork();
	if (start.program == 0)
		child_main(ends->go[0], ends->status[1], program->argv, program->caller, program->stdout_to_stderr,
			   program->mask);
	if (start.program < 0)
		start.program = -errno;
	start.can_guard = is_ready && start.daemon_fd >= 0 && user_become(program->caller) == 0;
	guardian_run(&start);
}

/* The guardian is its child, the program the guardian's. */
__attribute__((noreturn)) static void second_main(struct ends *ends, struct guardian_start start,
						  const struct program *program)
{
	struct guardian_hello hello = { 0 };
	bool is_ready = guardian_prepare();
	int alive[2] = { -1, -1 };
	pid_t guardian = -1;

	(void)close(TAKE_FD(ends->go[1])); /* an inherited write end would hide our exit */
	(void)close(TAKE_FD(ends->guardian[0]));
	if (pipe2(alive, O_CLOEXEC) == 0)
		guardian = fork();
	if (guardian < 0) {
		hello.program = -errno;
		(void)send(start.client_fd, &hello, sizeof(hello), MSG_NOSIGNAL);
		_exit(1);
	}
	if (guardian == 0) {
		start.second_fd = alive[0];
		(void)close(alive[1]);
		guardian_main(ends, start, program);
	}
	is_ready = is_ready && user_become(program->caller) == 0;
	guardian_second_run(&start, guardian, alive[1], is_ready);
}

/* Reads the first messages of guardian and child. Return: 0, or -errno of the step that failed */
static int child_greet(struct trace_child *child)
{
	struct guardian_hello hello = { .program = 0 };
	int error = 0, r;

	if (recv(child->guardian_fd, &hello, sizeof(hello), 0) != (ssize_t)sizeof(hello))
		return -ESRCH;
	if (hello.program < 0)
		return hello.program;
	child->guardian = hello.guardian;
	child->pid = hello.program;
	child->pidfd = pidfd_open(child->pid, 0);
	child->is_guarded = hello.can_guard && child->pidfd >= 0;
	r = guardian_tell(child->guardian_fd, GUARDIAN_START);
	if (r == 0)
		r = fd_read_full(child->status_fd, &error, sizeof(error));
	return r < 0 ? r : -error;
}

const char *trace_child_name(char *const *argv)
{
	const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
	size_t i = 1;

	if (strcmp(name, "env") != 0)
		return argv[0];
	/* -u and -C take a word; -S has a whole command line in one. */
	for (; argv[i] && (argv[i][0] == '-' || strchr(argv[i], '=')); i++) {
		if (strncmp(argv[i], "-S", 2) == 0 || strncmp(argv[i], "--split-string", 14) == 0)
			return argv[0];
		if (strcmp(argv[i], "--") == 0)
			continue;
		if ((strcmp(argv[i], "-u") == 0 || strcmp(argv[i], "-C") == 0 || strcmp(argv[i], "--unset") == 0 ||
		     strcmp(argv[i], "--chdir") == 0) &&
		    argv[i + 1])
			i++;
	}
	return argv[i] ? argv[i] : argv[0];
}

int trace_child_start(struct trace_child *child, char **argv, const struct caller *caller, bool stdout_to_stderr,
		      const sigset_t *mask, pid_t daemon)
{
	const struct program program = { argv, caller, mask, stdout_to_stderr };
	CLEANUP(ends_done) struct ends ends = ENDS_INIT;
	CLEANUP(closep) int daemon_fd = daemon > 0 ? pidfd_open(daemon, 0) : -1;
	struct guardian_start start = {
		.client = getpid(), .daemon_fd = daemon_fd, .second_fd = -1, .is_job = guardian_is_job()
	};
	int r = ends_make(&ends);

	if (r < 0)
		return r;
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* if both guardians are killed, the program becomes our child */
	child->uid = caller->is_sudo ? caller->uid : getuid();
	start.client_fd = ends.guardian[1];
	child->second = fork();
	if (child->second == 0)
		second_main(&ends, start, &program);
	if (child->second < 0) {
		child->second = 0;
		return -errno;
	}
	child->go_fd = TAKE_FD(ends.go[1]);
	child->status_fd = TAKE_FD(ends.status[0]);
	child->guardian_fd = TAKE_FD(ends.guardian[0]);
	(void)close(TAKE_FD(ends.guardian[1])); /* its end is seen here */
	(void)close(TAKE_FD(ends.status[1]));
	return child_greet(child);
}

int trace_child_release(struct trace_child *child)
{
	int error = 0;
	int r = fd_write_full(child->go_fd, "", 1);

	if (r < 0)
		return r;
	child->is_released = true;
	(void)close(TAKE_FD(child->go_fd));

	/* A successful exec closes the pipe. */
	r = fd_read_full(child->status_fd, &error, sizeof(error));
	child->has_failed = r == 0;
	return r == 0 ? -error : 0;
}

static void child_ended(struct trace_child *child, int status)
{
	child->has_ended = true;
	child->exit_status = WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/*
 * It was killed, or has ended as it was told, and the second one ends behind it, soon: then the program is our child,
 * or was reaped.
 */
static void guardian_gone(struct trace_child *child)
{
	while (waitpid(child->second, NULL, 0) < 0 && errno == EINTR)
		;
	child->guardian = child->second = 0;
	child->is_guarded = false;
	(void)close(TAKE_FD(child->guardian_fd));
}

/* Return: whether there was news */
static bool child_learn(struct trace_child *child, bool waits)
{
	struct guardian_end end;
	int status;
	ssize_t n;

	if (child->guardian) {
		n = recv(child->guardian_fd, &end, sizeof(end), waits ? 0 : MSG_DONTWAIT);
		if (n == (ssize_t)sizeof(end))
			child_ended(child, end.status);
		else if (n >= 0 || (errno != EAGAIN && errno != EINTR))
			guardian_gone(child);
		return n >= 0;
	}
	/* Without WUNTRACED: the daemon stops and continues the program while it attaches, and users do by Ctrl-Z. */
	if (waitpid(child->pid, &status, waits ? 0 : WNOHANG) != child->pid)
		return false;
	child_ended(child, status);
	return true;
}

void trace_child_reap(struct trace_child *child)
{
	while (child->pid && !child->has_ended && child_learn(child, false))
		;
}

void trace_child_resume(const struct trace_child *child, pid_t pid)
{
	if (child->pid)
		(void)descendants_continue_one(child->uid, pid); /* ESRCH: it has ended already */
}

void trace_child_let_go(const struct trace_child *child)
{
	if (child->pid && (!child->guardian || guardian_tell(child->guardian_fd, GUARDIAN_LET_GO) < 0))
		descendants_continue(child->uid, DESCENDANTS_NO_GROUP);
}

void trace_child_signal(const struct trace_child *child, int signal_number, int code)
{
	/* The terminal signals the whole group: the program has the signal already. */
	if (!child->pid || child->has_ended || code > 0)
		return;
	/* It may have ended just now. */
	if (child->pidfd >= 0)
		(void)pidfd_send_signal(child->pidfd, signal_number, NULL, 0);
	else
		(void)kill(child->pid, signal_number);
}

/* Waits for the guardian's end unless a user has stopped it: it ends by itself as soon as it runs. */
static void guardian_end(struct trace_child *child, bool is_well)
{
	struct pollfd poll_fd = { .fd = child->guardian_fd, .events = POLLIN };

	if (is_well)
		(void)guardian_tell(child->guardian_fd, GUARDIAN_END);
	(void)shutdown(child->guardian_fd, SHUT_WR);
	if (poll(&poll_fd, 1, GUARDIAN_END_MS) > 0)
		guardian_gone(child);
	else
		(void)close(TAKE_FD(child->guardian_fd));
}

void trace_child_done(struct trace_child *child, bool is_well)
{
	if (child->go_fd >= 0)
		(void)close(TAKE_FD(child->go_fd));
	if (child->status_fd >= 0)
		(void)close(TAKE_FD(child->status_fd));
	while (child->pid && !child->is_released && !child->has_ended)
		(void)child_learn(child, true);
	if (child->guardian_fd >= 0)
		guardian_end(child, is_well);
	if (child->pidfd >= 0)
		(void)close(TAKE_FD(child->pidfd));
}
