// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cli/trace/descendants.h"

#define GUARDIAN_NAME "ingero-guardian"
#define CLIENT_LOOK_MS 1000 /* whether the client was stopped */

struct guardian {
	pid_t client, client_group;
	pid_t session; /* leader of the process group shared by client and program; 0: the program has one of its own */
	pid_t program; /* 0: it has ended */
	int client_fd, daemon_fd, second_fd, signal_fd;
	bool is_armed; /* the kernel half may stop descendants */
	bool is_over;  /* it may not stop them again */
};

bool guardian_prepare(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 && descendants_can_be_found();
}

bool guardian_is_job(void)
{
	pid_t parent = getppid();

	return parent > 0 && getsid(parent) == getsid(0) && getpgid(parent) != getpgrp();
}

static void arm(struct guardian *g, bool is_armed)
{
	g->is_armed = prctl(PR_SET_PDEATHSIG, is_armed ? SIGCONT : 0) == 0 && is_armed;
}

static void disarm(struct guardian *g, pid_t except_group)
{
	arm(g, false);
	descendants_continue(getuid(), except_group);
}

static bool is_client_stopped(pid_t client)
{
	char path[32], text[512];
	const char *end;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)client);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) < 0)
		return false;
	end = strrchr(text, ')'); /* the process's name */
	return end && end[1] == ' ' && (end[2] == 'T' || end[2] == 't');
}

/*
 * While the client is stopped, too, its own process group is left alone: the shell continues that group, as after
 * Ctrl-Z.
 */
static void disarm_for_good(struct guardian *g)
{
	if (g->is_over)
		return;
	g->is_over = true;
	disarm(g, is_client_stopped(g->client) ? g->client_group : DESCENDANTS_NO_GROUP);
}

/*
 * No process is held meanwhile: a stopped client cannot continue processes, and those that left its group would wait.
 * If its shell is gone, too, the kernel ends a stopped process group unless this process stands in between.
 */
static void client_look(struct guardian *g)
{
	bool is_stopped = is_client_stopped(g->client);

	if (is_stopped && g->session && kill(g->session, 0) < 0 && errno == ESRCH) {
		disarm_for_good(g);
		_exit(0);
	}

	if (is_stopped && g->is_armed)
		disarm(g, g->client_group);
	else if (!is_stopped && !g->is_armed)
		arm(g, true);
}

/* Reaps all children that have ended, orphans too. */
static void children_reap(struct guardian *g)
{
	struct guardian_end end;
	pid_t pid;

	while ((pid = waitpid(-1, &end.status, WNOHANG)) > 0) {
		if (pid != g->program)
			continue;
		g->program = 0;
		(void)send(g->client_fd, &end, sizeof(end), MSG_NOSIGNAL);
	}
}

/* Return: whether a message came */
static bool client_hear(struct guardian *g, int flags)
{
	char word;
	ssize_t n = recv(g->client_fd, &word, sizeof(word), flags);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n != 1 || word == GUARDIAN_LET_GO)
		disarm_for_good(g);
	if (n != 1 || word == GUARDIAN_END)
		_exit(0);
	return true;
}

/* Closes all descriptors from one on, except those to keep, in ascending order; -1: none. */
static void close_from(int fd, const int *kept, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (kept[i] > fd)
			(void)close_range((unsigned int)fd, (unsigned int)kept[i] - 1, 0);
		fd = MAX(fd, kept[i] + 1);
	}
	(void)close_range((unsigned int)fd, ~0u, 0);
}

static int ascending(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Nothing of the program's, of the terminal's or of the client's stays open here. */
static void guardian_close_others(int *kept, size_t n)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	qsort(kept, n, sizeof(kept[0]), ascending);
	close_from(STDERR_FILENO + 1, kept, n);
}

static void signals_block(void)
{
	sigset_t set;

	(void)sigfillset(&set);
	(void)sigprocmask(SIG_SETMASK, &set, NULL);
}

static int guardian_signals_open(void)
{
	sigset_t set;

	signals_block();
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

__attribute__((noreturn)) static void guard(struct guardian *g)
{
	for (;;) {
		enum { CLIENT, DAEMON, SECOND, CHILDREN, COUNT };
		struct pollfd fds[COUNT] = {
			[CLIENT] = { .fd = g->client_fd, .events = POLLIN },
			[DAEMON] = { .fd = g->daemon_fd, .events = POLLIN },
			[SECOND] = { .fd = g->second_fd },
			[CHILDREN] = { .fd = g->signal_fd, .events = POLLIN },
		};
		struct signalfd_siginfo info;

		(void)poll(fds, COUNT, g->is_over ? -1 : CLIENT_LOOK_MS);
		if (fds[DAEMON].revents) {
			disarm_for_good(g);
			(void)close(TAKE_FD(g->daemon_fd));
		}
		if (fds[SECOND].revents) {
			disarm_for_good(g);
			(void)close(TAKE_FD(g->second_fd));
		}
		if (fds[CLIENT].revents)
			(void)client_hear(g, MSG_DONTWAIT);
		while (read(g->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
			;
		children_reap(g);
		if (!g->is_over)
			client_look(g);
	}
}

/* Who this is, what it announces, and who may look into it: nobody. */
static void appear(void)
{
	(void)prctl(PR_SET_NAME, GUARDIAN_NAME);
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)!chdir("/"); /* no file system is kept busy */
}

/*
 * A process group with a parent in another group of its session can be stopped by Ctrl-Z, and survives its client. The
 * fork must not change that: a group without such a parent must not get one, and a group with one must keep it.
 * Return: whether this process stays in the session
 */
static bool group_leave(bool is_job)
{
	if (is_job && setpgid(0, 0) == 0)
		return true;
	(void)setsid();
	return false;
}

void guardian_run(const struct guardian_start *start)
{
	struct guardian_hello hello = { .guardian = getpid(), .program = start->program };
	struct guardian g = { .client = start->client,
			      .client_group = getpgrp(),
			      .program = start->program,
			      .client_fd = start->client_fd,
			      .daemon_fd = start->daemon_fd,
			      .second_fd = start->second_fd,
			      .signal_fd = guardian_signals_open() };
	int kept[] = { g.client_fd, g.daemon_fd, g.second_fd, g.signal_fd };
	char ready;

	/* The second one's word that it guards; at its end none comes. */
	hello.can_guard = start->can_guard && fd_read_full(g.second_fd, &ready, sizeof(ready)) == 0;
	g.is_over = !hello.can_guard;
	if (hello.can_guard)
		arm(&g, true);
	appear();
	if (group_leave(start->is_job))
		g.session = getsid(0);
	guardian_close_others(kept, ARRAY_SIZE(kept));
	if (g.signal_fd < 0 || send(g.client_fd, &hello, sizeof(hello), MSG_NOSIGNAL) < 0)
		_exit(1);
	/* No child is reaped before the client has its pidfd of the program. */
	while (!client_hear(&g, 0))
		;
	guard(&g);
}

void guardian_second_run(const struct guardian_start *start, pid_t guardian, int alive_fd, bool is_ready)
{
	pid_t client_group = getpgrp(), ended;
	int kept[] = { alive_fd };
	int status = 0;

	signals_block();
	is_ready = is_ready && prctl(PR_SET_PDEATHSIG, SIGCONT) == 0;
	appear();
	(void)group_leave(start->is_job);
	guardian_close_others(kept, ARRAY_SIZE(kept));
	if (!is_ready || fd_write_full(alive_fd, "", 1) < 0)
		(void)close(TAKE_FD(alive_fd)); /* there is none then */
	/* Orphans come here only after the guardian. */
	do
		ended = waitpid(guardian, &status, 0);
	while (ended < 0 && errno == EINTR);
	if (ended != guardian || !WIFEXITED(status) || WEXITSTATUS(status))
		descendants_continue(getuid(), is_client_stopped(start->client) ? client_group : DESCENDANTS_NO_GROUP);
	_exit(0);
}

int guardian_tell(int fd, enum guardian_word word)
{
	const char text = (char)word;

	return send(fd, &text, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}
