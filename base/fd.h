// SPDX-License-Identifier: Apache-2.0
/*
 * Whole reads and writes on descriptors, and descriptors sent with a message. All descriptors made here are
 * close-on-exec, except those of fd_fill_standard().
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct sockaddr_un;

#define FD_PASS_MAX 8 /* maximum number of descriptors in one message */

/**
 * fd_fill_standard() - open those of 0, 1 and 2 that are closed at the start (">&-" in a shell)
 *
 * Otherwise the first socket or file gets such a number, and messages for people go there. The replacement of standard
 * output refuses writes; input is at its end, errors vanish.
 */
void fd_fill_standard(void);
/**
 * fd_close_own() - close now what an exec would close, except these; inheritable descriptors stay
 * Return: 0, or -errno without /proc
 */
int fd_close_own(const int *kept, size_t n_kept);
/** fd_read_full() - read exactly n bytes. Return: 0, -errno, or -ENODATA when the end came first */
int fd_read_full(int fd, void *data, size_t n);
/** fd_write_full() - write all n bytes; a vanished peer is -EPIPE and no signal on sockets. Return: 0 or -errno */
int fd_write_full(int fd, const void *data, size_t n);
/**
 * fd_read_file() - read a small file below a directory handle into a NUL-terminated buffer. Return: bytes read, or
 * -errno
 */
ssize_t fd_read_file_at(int dirfd, const char *path, char *text, size_t room);
/** fd_socket_address() - address of a Unix socket with a path. Return: 0 or -ENAMETOOLONG */
int fd_socket_address(const char *path, struct sockaddr_un *ret_address);
/** fd_send() - send one message with n_fds descriptors. Return: 0 or -errno */
int fd_send(int sock, const void *data, size_t n, const int *fds, size_t n_fds);
/**
 * fd_receive() - receive one message and its descriptors
 * @ret_fds: room for FD_PASS_MAX; the caller owns *ret_n_fds of them
 * Return: bytes received, 0 when the peer closed, or -errno (descriptors are closed on failure)
 */
ssize_t fd_receive(int sock, void *data, size_t room, int *ret_fds, size_t *ret_n_fds);
