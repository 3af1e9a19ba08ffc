// SPDX-License-Identifier: Apache-2.0
/*
 * The name under which a daemon listens: made, and taken away when it ends.
 *
 * By then the daemon is another user, or without root's power over directories, or was killed. So where root makes the
 * name a process waits for the daemon's end, as the owner of the directory and with nothing else.
 */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>

struct socket_file {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": none */
	struct statx bound;					/* which file that was */
	pid_t keeper;						/* 0: none */
	int keeper_fd;						/* whose end tells it to go; owned */
};

/**
 * socket_file_listen() - bind, for everybody to connect, and listen; a socket that nobody answers is replaced
 * Return: 0; -EADDRINUSE when another server answers there, or what is there is no socket; -errno
 */
int socket_file_listen(const char *path, int backlog, struct socket_file *file, int *ret_fd);
/** socket_file_remove() - while it is still listened on; another server's is left alone. Harmless where there is none
 */
void socket_file_remove(struct socket_file *file);
