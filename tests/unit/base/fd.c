// SPDX-License-Identifier: Apache-2.0
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

static int n_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void descriptors_travel(void)
{
	int pair[2] = { -1, -1 }, got[FD_PASS_MAX];
	size_t n_got = 99;
	char text[8] = "";
	int before;

	CHECK_INT_EQ("pair", socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	before = n_open();
	CHECK_INT_EQ("send", fd_send(pair[0], "hello", 5, pair, 2), 0);
	CHECK_INT_EQ("receive", fd_receive(pair[1], text, sizeof(text), got, &n_got), 5);
	CHECK_STR_EQ("text", text, "hello");
	CHECK_INT_EQ("descriptors", n_got, 2);
	CHECK_INT_EQ("close on exec", fcntl(got[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	for (size_t i = 0; i < n_got; i++)
		(void)close(got[i]);

	CHECK_INT_EQ("send too long", fd_send(pair[0], "123456789", 9, pair, 2), 0);
	CHECK_INT_EQ("refuse", fd_receive(pair[1], text, sizeof(text), got, &n_got), -EMSGSIZE);
	CHECK_INT_EQ("nothing leaks", n_open(), before);

	closep(&pair[0]);
	CHECK_INT_EQ("peer closed", fd_receive(pair[1], text, sizeof(text), got, &n_got), 0);
	CHECK_INT_EQ("no signal", fd_write_full(pair[1], "x", 1), -EPIPE);
	closep(&pair[1]);
}

static void whole_reads(void)
{
	CLEANUP(closep) int proc = open("/proc", O_RDONLY | O_CLOEXEC);
	int pipes[2];
	char text[16];

	CHECK("small file", fd_read_file_at(proc, "self/comm", text, sizeof(text)) > 0);
	CHECK_INT_EQ("no such file", fd_read_file_at(proc, "self/none", text, sizeof(text)), -ENOENT);
	CHECK_INT_EQ("room is a bound", fd_read_file_at(proc, "self/status", text, sizeof(text)), sizeof(text) - 1);

	CHECK_INT_EQ("pipe", pipe(pipes), 0);
	CHECK_INT_EQ("write", fd_write_full(pipes[1], "abc", 3), 0);
	(void)close(pipes[1]);
	CHECK_INT_EQ("end too early", fd_read_full(pipes[0], text, 4), -ENODATA);
	(void)close(pipes[0]);
}

/* In a child, for this program needs its own. */
static void standard_is_filled(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
			(void)close(fd);
		fd_fill_standard();
		_exit(fcntl(STDERR_FILENO, F_GETFD) == 0 && read(STDIN_FILENO, &status, 1) == 0 &&
				      write(STDOUT_FILENO, "x", 1) < 0 && errno == EBADF &&
				      write(STDERR_FILENO, "x", 1) == 1 && open("/", O_PATH) > STDERR_FILENO
			      ? 0
			      : 1);
	}
	CHECK_INT_EQ("child", waitpid(pid, &status, 0), pid);
	CHECK_INT_EQ("none was open", status, 0);
}

int main(void)
{
	descriptors_travel();
	whole_reads();
	standard_is_filled();
	return check_result();
}
