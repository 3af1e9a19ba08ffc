// SPDX-License-Identifier: Apache-2.0
/*
 * Whole reads and writes on descriptors, and descriptors sent beside bytes.
 * Everything made here is close-on-exec, but for what fd_fill_standard() opens.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct sockaddr_un;

#define FD_PASS_MAX 8 /* most descriptors one message carries */

/**
 * fd_fill_standard() - opens those of 0, 1 and 2 that a program was started without (">&-" in a shell)
 *
 * Else the first socket or file that is opened gets such a number, and what is meant for people goes there.
 * What replaces standard output refuses to be written; input is at its end, errors vanish.
 */
void fd_fill_standard(void);
/**
 * fd_close_own() - closes now what an exec would close, but for these; what a program is to inherit stays
 * Return: 0, or -errno without /proc
 */
int fd_close_own(const int *kept, size_t n_kept);
/** fd_read_full() - read exactly n bytes. Return: 0, -errno, or -ENODATA when the end came first */
int fd_read_full(int fd, void *data, size_t n);
/** fd_write_full() - write all n bytes; a vanished peer is -EPIPE and no signal on sockets. Return: 0 or -errno */
int fd_write_full(int fd, const void *data, size_t n);
/** fd_read_file() - whole small file below a directory handle into a NUL-terminated buffer. Return: bytes read, or
 * -errno */
ssize_t fd_read_file_at(int dirfd, const char *path, char *text, size_t room);
/** fd_socket_address() - that of a Unix socket with a path. Return: 0 or -ENAMETOOLONG */
int fd_socket_address(const char *path, struct sockaddr_un *ret_address);
/** fd_send() - one message with n_fds descriptors on a socket. Return: 0 or -errno */
int fd_send(int sock, const void *data, size_t n, const int *fds, size_t n_fds);
/**
 * fd_receive() - one message and the descriptors that came with it
 * @ret_fds: room for FD_PASS_MAX; the caller owns *ret_n_fds of them
 * Return: bytes received, 0 when the peer closed, or -errno (descriptors are closed on failure)
 */
ssize_t fd_receive(int sock, void *data, size_t room, int *ret_fds, size_t *ret_n_fds);
