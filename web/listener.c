// SPDX-License-Identifier: Apache-2.0
#include "web/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "web/file.h"

#define PORT_MAX 65535
#define BACKLOG 512	   /* connections that were not accepted yet */
#define SOCKET_BYTES 16384 /* for each direction of a socket; the kernel doubles it, for its own needs */

static int listener_refuse(char *error, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);
static int listener_refuse(char *error, int r, const char *fmt, ...)
{
	FORMAT_INTO(error, WEB_ERROR_BYTES, fmt);
	return r;
}

void socket_limit(int fd)
{
	const int bytes = SOCKET_BYTES;

	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

/* "HOST:PORT", where a missing host is loopback. Return: 0, -EINVAL, -ERANGE: no port has that number */
static int address_split(const char *address, char *host, size_t room, const char **ret_port)
{
	const char *colon = strrchr(address, ':');
	size_t n = colon ? (size_t)(colon - address) : 0;
	uint64_t number;

	*ret_port = colon ? colon + 1 : address;
	if (!**ret_port || strspn(*ret_port, "0123456789") != strlen(*ret_port) || n >= room)
		return -EINVAL;
	if (parse_u64(*ret_port, PORT_MAX, &number) < 0)
		return -ERANGE;
	if (n > 2 && *address == '[' && address[n - 1] == ']') {
		address++;
		n -= 2;
	} else if (memchr(address, ':', n)) {
		return -EINVAL; /* an IPv6 address needs its brackets */
	}
	(void)snprintf(host, room, "%.*s", (int)n, address);
	if (!n)
		(void)snprintf(host, room, "127.0.0.1");
	return 0;
}

/* Return: 0, -EINVAL, -ERANGE: no port has that number */
static int address_find(const char *address, struct addrinfo **ret)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	const char *port;
	char host[64];
	int r = address_split(address, host, sizeof(host), &port);

	if (r == 0 && getaddrinfo(strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, port, &hints, ret) != 0)
		r = -EINVAL;
	return r;
}

const char *listener_address_fault(const char *address)
{
	struct addrinfo *found = NULL;
	int r = address_find(address, &found);

	if (r == 0)
		freeaddrinfo(found);
	return r == 0 ? NULL : r == -ERANGE ? "takes a port from 0 to 65535" : "takes " LISTENER_ADDRESS_FORMS;
}

static bool address_is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
	return address->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

bool listener_name(int fd, char *name)
{
	struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
	socklen_t n = sizeof(address);
	char host[64] = "", port[16] = "";

	(void)getsockname(fd, (struct sockaddr *)&address, &n);
	(void)getnameinfo((struct sockaddr *)&address, n, host, sizeof(host), port, sizeof(port),
			  NI_NUMERICHOST | NI_NUMERICSERV);
	(void)snprintf(name, LISTENER_NAME_BYTES, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
	return address_is_loopback((struct sockaddr *)&address);
}

static int found_listen(const struct addrinfo *found)
{
	int fd = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, found->ai_protocol);
	int one = 1, r;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	socket_limit(fd); /* and those of its connections: they inherit it */
	if (bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	r = -errno;
	(void)close(fd);
	return r;
}

int listener_open(const char *address, char *error)
{
	const char *fault = listener_address_fault(address);
	struct addrinfo *found = NULL;
	int fd;

	if (fault || address_find(address, &found) < 0)
		return listener_refuse(error, -EINVAL, "an address %s, not '%.64s'", fault ? fault : "is none",
				       address);
	fd = found_listen(found);
	freeaddrinfo(found);
	if (fd == -EADDRINUSE)
		return listener_refuse(
			error, fd,
			"cannot listen at '%.64s': another program does; take another port, or port 0 for "
			"one that is free",
			address);
	if (fd < 0)
		return listener_refuse(error, fd, "cannot listen at '%.64s': %s", address, strerror(-fd));
	return fd;
}
