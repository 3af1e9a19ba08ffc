// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/grace.h"

#define STATUS_BYTES 8192
#define ANCESTORS_MAX 4096 /* maximum number of processes; the list may change while it is read */
#define TRIES_MAX 8	   /* tries to follow a chain of parents, when an ancestor ended meanwhile */

/* The lines needed from /proc/.../status. */
struct status {
	pid_t ppid;
	uid_t uid; /* real uid; the kernel checks the rest when a signal is sent */
	char state;
	bool has_stop_pending;
};

static const char *line_find(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line ? line + strlen(name) : NULL;
}

static int status_read(int dir_fd, const char *path, struct status *ret)
{
	char text[STATUS_BYTES];
	ssize_t n = fd_read_file_at(dir_fd, path, text, sizeof(text));
	const char *state, *ppid, *uid, *pending;

	if (n < 0)
		return (int)n;
	state = line_find(text, "\nState:\t");
	ppid = line_find(text, "\nPPid:\t");
	uid = line_find(text, "\nUid:\t");
	pending = line_find(text, "\nShdPnd:\t");
	if (!state || !ppid || !uid)
		return -EINVAL;
	*ret = (struct status){
		.state = *state,
		.ppid = (pid_t)strtol(ppid, NULL, 10),
		.uid = (uid_t)strtoul(uid, NULL, 10),
		/* After a list of groups that was too long: one signal too many does less harm than one too few. */
		.has_stop_pending = !pending || strtoull(pending, NULL, 16) >> (SIGSTOP - 1) & 1,
	};
	return 0;
}

static int status_of(int proc_fd, pid_t pid, struct status *ret)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "%d/status", (int)pid);
	return status_read(proc_fd, path, ret);
}

/* Return: 1 or 0; -EAGAIN when an ancestor ended before its parent was known */
static int try_descends(int proc_fd, pid_t pid, pid_t root)
{
	struct status status;

	for (int i = 0; i < ANCESTORS_MAX && pid > 0; i++) {
		if (pid == root)
			return i > 0;
		if (status_of(proc_fd, pid, &status) < 0)
			return -EAGAIN;
		pid = status.ppid;
	}
	return 0;
}

static bool descends(int proc_fd, pid_t pid)
{
	int r = -EAGAIN;

	for (int i = 0; i < TRIES_MAX && r == -EAGAIN; i++)
		r = try_descends(proc_fd, pid, getpid());
	return r > 0;
}

static bool is_stop(char state)
{
	return state == 'T' || state == 't';
}

/* The main thread of a process with several threads may stop last. */
static bool has_stopped_thread(int proc_fd, pid_t pid)
{
	char path[64];
	bool has_one = false;
	int fd;
	DIR *tasks;

	(void)snprintf(path, sizeof(path), "%d/task", (int)pid);
	fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	tasks = fd < 0 ? NULL : fdopendir(fd);
	if (!tasks) {
		closep(&fd);
		return false;
	}
	for (const struct dirent *entry; !has_one && (entry = readdir(tasks));) {
		struct status status;

		(void)snprintf(path, sizeof(path), "%d/task/%.16s/status", (int)pid, entry->d_name);
		has_one = isdigit((unsigned char)entry->d_name[0]) && status_read(proc_fd, path, &status) == 0 &&
			  is_stop(status.state);
	}
	(void)closedir(tasks);
	return has_one;
}

/* Which processes to signal. */
struct choice {
	uid_t uid;
	bool only_stopped;
	pid_t except_group;
};

static int signal_if(int proc_fd, pid_t pid, const struct choice *choice)
{
	CLEANUP(closep)
	int pidfd = pidfd_open(pid, 0); /* before reading: everything that is read belongs to this process */
	struct status status;

	if (pidfd < 0)
		return -errno;
	if (status_of(proc_fd, pid, &status) < 0 || status.uid != choice->uid || !descends(proc_fd, pid))
		return -ESRCH;
	if (choice->except_group != DESCENDANTS_NO_GROUP && getpgid(pid) == choice->except_group)
		return 0;
	/* In this order: a signal that is no longer pending has become a stop. */
	if (choice->only_stopped && !status.has_stop_pending && !is_stop(status.state) &&
	    !has_stopped_thread(proc_fd, pid))
		return 0;
	return pidfd_send_signal(pidfd, SIGCONT, NULL, 0) < 0 ? -errno : 0;
}

static int proc_open(void)
{
	return open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool descendants_can_be_found(void)
{
	CLEANUP(closep) int proc_fd = proc_open();
	CLEANUP(closep) int pidfd = pidfd_open(getpid(), 0);
	struct status status;

	return proc_fd >= 0 && pidfd >= 0 && pidfd_send_signal(pidfd, 0, NULL, 0) == 0 &&
	       status_of(proc_fd, getpid(), &status) == 0 && status.ppid == getppid();
}

int descendants_continue_one(uid_t uid, pid_t pid)
{
	const struct choice choice = { .uid = uid, .except_group = DESCENDANTS_NO_GROUP };
	CLEANUP(closep) int proc_fd = proc_open();

	return proc_fd < 0 ? -errno : signal_if(proc_fd, pid, &choice);
}

static void descendants_look(const struct choice *choice)
{
	CLEANUP(closep) int proc_fd = proc_open();
	DIR *proc = opendir("/proc");

	for (const struct dirent *entry; proc && proc_fd >= 0 && (entry = readdir(proc));)
		if (isdigit((unsigned char)entry->d_name[0]))
			(void)signal_if(proc_fd, (pid_t)strtol(entry->d_name, NULL, 10), choice);
	if (proc)
		(void)closedir(proc);
}

/* After the wait every process to stop has its signal, and one scan finds all. */
void descendants_continue(uid_t uid, pid_t except_group)
{
	const struct choice choice = { .uid = uid, .only_stopped = true, .except_group = except_group };

	(void)grace_wait();
	descendants_look(&choice);
}
