// SPDX-License-Identifier: Apache-2.0
#include "libingero/connect/config_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/become.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "libingero/connect/caller.h"
#include "ingero/ingero.h"

#define NOBODY 65534 /* the uid that owns nothing */

/*
 * Root reads its own file as root; another user's file as the user who typed sudo, or as nobody, which the process
 * becomes itself (libingero/client/private.c has the reason). Return: whether it has to
 */
static bool reader_user_write(const struct caller *caller, uid_t owner, pid_t parent, char *text, size_t room)
{
	(void)snprintf(text, room, BECOME_FORMAT, caller->is_sudo ? caller->uid : NOBODY,
		       caller->is_sudo ? caller->gid : NOBODY, parent);
	return geteuid() == 0 && (owner != 0 || caller->is_sudo);
}

__attribute__((noreturn)) static void daemon_run(const char *daemon, const char *option, const char *name, int fd,
						 int error_fd, uid_t owner)
{
	struct caller caller = caller_get();
	char become[BECOME_BYTES];

	if ((error_fd < 0 || dup2(error_fd, STDERR_FILENO) >= 0) && dup2(fd, STDIN_FILENO) >= 0) {
		if (reader_user_write(&caller, owner, getppid(), become, sizeof(become)))
			(void)execl(daemon, "ingero-collectord", BECOME_OPTION, become, option, name, NULL);
		else
			(void)execl(daemon, "ingero-collectord", option, name, NULL);
	}
	(void)dprintf(STDERR_FILENO, "ingero: cannot start '%s': %s\n", daemon, strerror(errno));
	_exit(1);
}

static int daemon_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}

/* First line of the child's output without the program's name: the caller prints its own. */
static void line_take(int fd, char *said, size_t room)
{
	static const char prefix[] = "ingero: ";
	size_t n = 0;
	ssize_t got;

	while (n + 1 < room && ((got = read(fd, said + n, room - 1 - n)) > 0 || (got < 0 && errno == EINTR)))
		n += got > 0 ? (size_t)got : 0;
	said[n] = 0;
	said[strcspn(said, "\n")] = 0;
	if (strncmp(said, prefix, strlen(prefix)) == 0)
		memmove(said, said + strlen(prefix), strlen(said + strlen(prefix)) + 1);
}

int config_reader_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

int config_reader_run(const char *option, const char *name, int fd, bool is_quiet, char *said, size_t room)
{
	CLEANUP(closep) int ours = -1, theirs = -1;
	char daemon[PATH_MAX], error[512] = "";
	int ends[2];
	struct stat st;
	pid_t pid;

	said[0] = 0;
	if (fstat(fd, &st) < 0)
		(void)snprintf(error, sizeof(error), "cannot read '%s': %s", name, strerror(errno));
	else if (ingero_find_daemon(daemon, sizeof(daemon), error, sizeof(error)) == 0 && is_quiet &&
		 pipe2(ends, O_CLOEXEC) < 0)
		(void)snprintf(error, sizeof(error), "cannot make a pipe: %s", strerror(errno));
	if (error[0]) {
		(void)snprintf(said, room, "%s", error);
		return 1;
	}
	if (is_quiet) {
		ours = ends[0];
		theirs = ends[1];
	}
	pid = fork();
	if (pid == 0)
		daemon_run(daemon, option, name, fd, theirs, st.st_uid);
	closep(&theirs);
	theirs = -1;
	if (is_quiet)
		line_take(ours, said, room);
	return pid < 0 ? 1 : daemon_wait(pid);
}
