// SPDX-License-Identifier: Apache-2.0
#include "rooms.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIPE_BYTES 4096 /* one page: a write waits until all of it was read */
#define SOCKET_BYTES 2048

static int pipe_ends[2], sockets[2];
static pid_t *stopped; /* shared; 0: none is about to stop */

int rooms_open(void)
{
	static const char data[PIPE_BYTES];
	int bytes = 1; /* the least that the kernel allows */

	stopped = mmap(NULL, sizeof(*stopped), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stopped == MAP_FAILED)
		return -1;
	if (pipe2(pipe_ends, O_CLOEXEC) < 0 || fcntl(pipe_ends[1], F_SETPIPE_SZ, PIPE_BYTES) != PIPE_BYTES ||
	    write(pipe_ends[1], data, sizeof(data)) != (ssize_t)sizeof(data))
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
		return -1;
	return setsockopt(sockets[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

int rooms_fd(void (*await)(void))
{
	return await == await_full_pipe ? pipe_ends[1] : await == await_full_socket ? sockets[0] : -1;
}

void await_full_pipe(void)
{
	static const char data[PIPE_BYTES];

	if (write(pipe_ends[1], data, sizeof(data)) != (ssize_t)sizeof(data))
		_exit(2);
}

void wake_full_pipe(void)
{
	static char data[PIPE_BYTES];

	if (read(pipe_ends[0], data, sizeof(data)) != (ssize_t)sizeof(data))
		_exit(2);
}

/* The other end empties it: the kernel wakes the sender when the buffer is mostly free. */
void await_full_socket(void)
{
	static const char data[SOCKET_BYTES];

	while (send(sockets[0], data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	if (send(sockets[0], data, sizeof(data), 0) != (ssize_t)sizeof(data))
		_exit(2);
}

void wake_full_socket(void)
{
	static char data[SOCKET_BYTES];

	while (recv(sockets[1], data, sizeof(data), MSG_DONTWAIT) > 0)
		;
}

static char state_of(pid_t pid)
{
	char path[32], state = '?';
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return state;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	(void)fclose(file);
	return state;
}

void await_stop(void)
{
	__atomic_store_n(stopped, getpid(), __ATOMIC_SEQ_CST);
	(void)kill(getpid(), SIGSTOP);
	__atomic_store_n(stopped, 0, __ATOMIC_SEQ_CST);
}

void wake_stop(void)
{
	pid_t pid;

	while (!(pid = __atomic_load_n(stopped, __ATOMIC_SEQ_CST)) || state_of(pid) != 'T')
		(void)sched_yield();
	if (kill(pid, SIGCONT) < 0)
		_exit(2);
}
