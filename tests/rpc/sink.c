// SPDX-License-Identifier: Apache-2.0
#include "sink.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define BACKLOG 32 /* as the daemon has it */

static void sink_take(int epoll, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (fd >= 0)
		(void)epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void sink_run(int listener)
{
	struct epoll_event events[64], first = { .events = EPOLLIN, .data.fd = listener };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	static char bytes[65536];

	(void)epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &first);
	for (;;) {
		int n = epoll_wait(epoll, events, ARRAY_SIZE(events), -1);

		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;

			if (fd == listener)
				sink_take(epoll, listener);
			else if (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0)
				(void)close(fd);
		}
	}
}

pid_t sink_start(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct rlimit limit;
	pid_t pid;

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) || chmod(path, 0666) ||
	    listen(fd, BACKLOG))
		abort();
	(void)fflush(NULL);
	pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
			limit.rlim_cur = limit.rlim_max;
			(void)setrlimit(RLIMIT_NOFILE, &limit);
		}
		sink_run(fd);
	}
	(void)close(fd);
	return pid;
}

void sink_stop(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}
