// SPDX-License-Identifier: Apache-2.0
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"

void fd_fill_standard(void)
{
	static const int modes[] = {
		[STDIN_FILENO] = O_RDONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_WRONLY
	};

	/* Upwards: open() returns the lowest free number. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", modes[fd]); /* inherited on purpose */
}

static bool fd_is_among(int fd, const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fds[i] == fd)
			return true;
	return false;
}

int fd_close_own(const int *kept, size_t n_kept)
{
	CLEANUP(closedirp) DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!dir)
		return -errno;
	while ((errno = 0, entry = readdir(dir))) {
		uint64_t fd;

		if (parse_u64(entry->d_name, INT_MAX, &fd) < 0 || (int)fd == dirfd(dir) ||
		    fd_is_among((int)fd, kept, n_kept))
			continue;
		if (fcntl((int)fd, F_GETFD) & FD_CLOEXEC)
			(void)close((int)fd);
	}
	return -errno;
}

int fd_read_full(int fd, void *data, size_t n)
{
	char *p = data;

	while (n) {
		ssize_t got = read(fd, p, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -ENODATA;
		p += got;
		n -= (size_t)got;
	}
	return 0;
}

int fd_write_full(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t put = send(fd, p, n, MSG_NOSIGNAL);

		if (put < 0 && errno == ENOTSOCK)
			put = write(fd, p, n);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		p += put;
		n -= (size_t)put;
	}
	return 0;
}

ssize_t fd_read_file_at(int dirfd, const char *path, char *text, size_t room)
{
	CLEANUP(closep) int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;

	if (fd < 0)
		return -errno;

	while (n + 1 < room) {
		ssize_t got = read(fd, text + n, room - 1 - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	text[n] = 0;
	return (ssize_t)n;
}

int fd_socket_address(const char *path, struct sockaddr_un *ret_address)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	*ret_address = address;
	return 0;
}

int fd_send(int sock, const void *data, size_t n, const int *fds, size_t n_fds)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(FD_PASS_MAX * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_base = (void *)data, .iov_len = n };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t put;

	if (n_fds > FD_PASS_MAX)
		return -E2BIG;
	if (n_fds) {
		struct cmsghdr *c;

		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	do
		put = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (put < 0 && errno == EINTR);
	if (put < 0)
		return -errno;
	return (size_t)put == n ? 0 : -EMSGSIZE;
}

ssize_t fd_receive(int sock, void *data, size_t room, int *ret_fds, size_t *ret_n_fds)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(FD_PASS_MAX * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = data, .iov_len = room };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fds[FD_PASS_MAX];
	size_t n_fds = 0;
	ssize_t got;

	do
		got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n && n_fds < FD_PASS_MAX; i++)
			memcpy(&fds[n_fds++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
	}
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		for (size_t i = 0; i < n_fds; i++)
			(void)close(fds[i]);
		return -EMSGSIZE;
	}
	memcpy(ret_fds, fds, n_fds * sizeof(int));
	*ret_n_fds = n_fds;
	return got;
}
