// SPDX-License-Identifier: Apache-2.0
#include "probes/closer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "procs/closers.h"

/*
 * A daemon that attaches takes the lock shared, a closer exclusive. Any process can lock this file: waits are limited.
 */
#define LOCK_PATH "/sys/bus/event_source/devices/uprobe/type"
#define LOOK_NS (5 * NSEC_PER_MSEC)
#define HOLD_NS NSEC_PER_SEC	    /* one event takes 0.7 s at most */
#define WAIT_NS (60 * NSEC_PER_SEC) /* of one closer, in total; guess: several starts of a trace */

static struct {
	void (*func)(uint32_t pid, uint32_t n_probes, void *data);
	void *data;
} observer;

void closer_observe(void (*func)(uint32_t pid, uint32_t n_probes, void *data), void *data)
{
	observer.func = func;
	observer.data = data;
}

static void pause_ns(uint64_t ns)
{
	const struct timespec t = { .tv_nsec = (long)ns };

	(void)nanosleep(&t, NULL);
}

/* Return: time that was waited */
static uint64_t lock_wait(int fd, int operation, uint64_t most_ns)
{
	uint64_t waited_ns = 0;

	while (fd >= 0 && flock(fd, operation | LOCK_NB) < 0 && errno == EWOULDBLOCK && waited_ns < most_ns) {
		pause_ns(LOOK_NS);
		waited_ns += LOOK_NS;
	}
	return waited_ns;
}

int closer_hold(void)
{
	int fd = open(LOCK_PATH, O_RDONLY | O_CLOEXEC);

	(void)lock_wait(fd, LOCK_SH, HOLD_NS);
	return fd;
}

/* ---- the process ---- */

typedef ARRAY(int) fd_list;

static void fd_list_done(fd_list *list)
{
	ARRAY_DONE(list);
}

/* List open descriptors above the standard ones, ascending. Unlisted ones are closed when the process ends. */
static void open_list(fd_list *list)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	uint64_t fd;

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (parse_u64(entry->d_name, INT32_MAX, &fd) == 0 && fd > STDERR_FILENO && (int)fd != dirfd(dir))
			(void)ARRAY_PUSH(list, (int)fd);
	(void)closedir(dir);
}

static uint32_t probes_of(size_t n_fds)
{
	return (uint32_t)(n_fds + 1) / 2; /* each event has a link */
}

static void title_set(size_t n_fds)
{
	char title[32];

	(void)snprintf(title, sizeof(title), CLOSER_TITLE "%u", probes_of(n_fds));
	(void)prctl(PR_SET_NAME, title);
}

int closer_main(void)
{
	CLEANUP(fd_list_done) fd_list fds = { .n = 0 };
	uint64_t left_ns = WAIT_NS;
	char byte;
	int lock_fd;

	open_list(&fds);
	title_set(fds.n);
	while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
		;
	lock_fd = open(LOCK_PATH, O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; i < fds.n; i++) {
		left_ns -= lock_wait(lock_fd, LOCK_EX, left_ns);
		(void)close(fds.items[i]);
		title_set(fds.n - i - 1);
		if (lock_fd >= 0)
			(void)flock(lock_fd, LOCK_UN);
		pause_ns(NSEC_PER_MSEC); /* lets a waiting daemon take the lock */
	}
	closep(&lock_fd);
	return 0;
}

/* ---- starting it ---- */

/* Close all descriptors but those in the list; makes system calls only. */
static void close_others(const int *sorted, size_t n)
{
	int low = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (sorted[i] > low)
			(void)syscall(SYS_close_range, low, sorted[i] - 1, 0);
		low = sorted[i] + 1;
	}
	(void)syscall(SYS_close_range, low, ~0u, 0);
}

static int compare_int(const void *a, const void *b)
{
	int x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

/*
 * Keeps the descriptors until the daemon has closed its own, so that the slow last close happens in this process.
 * Between fork and exec it makes system calls only, because other threads of the daemon may hold any lock. If exec
 * fails, the kernel closes the descriptors when this process ends.
 */
static _Noreturn void closer_become(const int *sorted, size_t n, int gate_fd)
{
	static const char name[] = "ingero-collectord", child[] = "--child", role[] = CLOSER_ROLE;
	char *const argv[] = { (char *)name, (char *)child, (char *)role, NULL };
#ifdef INGERO_SANITIZED
	char **env = environ; /* variables that configure error reports */
#else
	char *const env[] = { NULL };
#endif
	sigset_t none;
	char byte;

	(void)setsid();
	(void)dup2(gate_fd, STDIN_FILENO);
	close_others(sorted, n);
	for (size_t i = 0; i < n; i++)
		if (sorted[i] > STDERR_FILENO)
			(void)fcntl(sorted[i], F_SETFD, 0);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)execve("/proc/self/exe", argv, env);
	while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

/* Fork a grandchild, which init reaps. Return: its pid; 0: unknown; -1: fork failed */
static pid_t closer_fork(const int *sorted, size_t n, int gate_fd)
{
	sigset_t all, before;
	pid_t child, closer = 0;
	int told[2];

	if (pipe2(told, O_CLOEXEC) < 0)
		return -1;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	child = fork();
	if (child == 0) {
		closer = fork();
		if (closer == 0)
			closer_become(sorted, n, gate_fd);
		(void)!write(told[1], &closer, sizeof(closer));
		_exit(0);
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)close(told[1]);
	if (child > 0 && read(told[0], &closer, sizeof(closer)) != sizeof(closer))
		closer = 0;
	(void)close(told[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return child > 0 ? closer : -1;
}

void closer_start(const int *fds, size_t n)
{
	CLEANUP(freep) int *keep = calloc(n + 1, sizeof(*keep));
	pid_t closer = -1;
	int gate[2];

	if (keep && pipe2(gate, O_CLOEXEC) == 0) {
		memcpy(keep, fds, n * sizeof(*keep));
		keep[n] = STDIN_FILENO; /* becomes the read end of the gate */
		qsort(keep, n + 1, sizeof(*keep), compare_int);
		closer = closer_fork(keep, n + 1, gate[0]);
		(void)close(gate[0]);
		if (closer > 0 && observer.func)
			observer.func((uint32_t)closer, probes_of(n), observer.data);
	} else {
		gate[1] = -1;
	}
	for (size_t i = 0; i < n; i++)
		(void)close(fds[i]);
	if (gate[1] >= 0)
		(void)close(gate[1]);
}
