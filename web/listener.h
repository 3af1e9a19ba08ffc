// SPDX-License-Identifier: Apache-2.0
/* Where a server listens, and how much the kernel keeps for its sockets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LISTENER_NAME_BYTES 80
/* What stands for the address of a server, in words. */
#define LISTENER_ADDRESS_FORMS                                                                                         \
	"PORT, :PORT, localhost:PORT, 127.0.0.1:PORT, [::1]:PORT, or another IP address in place of 127.0.0.1"

/** listener_address_fault() - Return: NULL, or what listener_open() does not take: "takes a port from 0 to 65535" */
const char *listener_address_fault(const char *address);
/**
 * listener_open() - listen at "127.0.0.1:8080", "[::1]:8080", ":8080" (loopback) or "8080"
 * @error: WEB_ERROR_BYTES
 * Return: descriptor; -EINVAL: no such address; -errno, with a sentence
 */
int listener_open(const char *address, char *error);
/**
 * listener_name() - address of a listener, with the port that was chosen for port 0
 * @name: LISTENER_NAME_BYTES
 * Return: whether only this machine reaches it
 */
bool listener_name(int fd, char *name);
/** socket_limit() - fix the buffers of a socket: a slow peer fills no more of the kernel's memory, however much it has
 */
void socket_limit(int fd);
