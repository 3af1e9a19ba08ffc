// SPDX-License-Identifier: Apache-2.0
/*
 * New connections: accepting them, making room for them, refusing them; and the listening socket.
 */
#define LOG_TOPIC "rpc"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "clock.h"
#include "rpc/peer.h"
#include "rpc/room.h"
#include "rpc/server_state.h"

/*
 * A client that connects in a loop fills the queue that all clients share, and its uid is known only after accept(2).
 * Refusing a client costs about 5 us, accepting and greeting it ten times as much: the last client in a queue of this
 * length waits for less time than its own greeting takes. With a full queue a client waits in connect(2), or gets
 * EAGAIN.
 */
#define BACKLOG 32
/* Maximum number of clients accepted per turn of the loop, since connected clients wait meanwhile. */
#define ACCEPTED_PER_TURN 2
#define TELL_FULL_NS (60 * NSEC_PER_SEC)

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16, not yet in the distributions' headers */
#endif

/* ---- new clients ---- */

/*
 * No request takes file descriptors. From Linux 6.16 on the kernel refuses to send them, so the daemon never holds any,
 * not even unread; on older kernels the connection ends when some arrive (peer.c). Accepted sockets inherit the option
 * from the listening socket.
 */
static void take_no_descriptors(int fd)
{
	const int off = 0;

	(void)setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
}

/*
 * Sends the reason without keeping state: text that does not fit in the socket's buffer is dropped.
 * @reason: error of server_add(), or -EMFILE
 */
static void turn_away(int fd, int reason)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	enum call_error code = CALL_ERROR_QUOTA;
	const char *text;

	switch (reason) {
	case -EBUSY:
		code = CALL_ERROR_RATE;
		text = "too many connections in a short time; try again in a second";
		break;
	case -EDQUOT:
		text = "too many connections are open; close some and try again";
		break;
	case -EMFILE:
		text = "ingero-collectord has no file descriptor left; try again later";
		break;
	default:
		text = "ingero-collectord could not take this connection; try again later";
		break;
	}
	(void)log_debug("refused a client: %s", text);
	if (frame_append_end(&out, 0, code, text) == 0)
		(void)send(fd, out.data, out.n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Closes a connection to make room for one of this uid. Return: 0, or -EDQUOT: no connection may be closed */
static int client_make_room(struct server *server, uint32_t uid, unsigned int n_held)
{
	struct peer *goes = room_find(LIST_FIRST(&server->peers), uid, n_held);
	uint64_t now_ns = clock_now_ns();

	if (!goes)
		return -EDQUOT;
	if (now_ns >= server->tell_full_ns) {
		(void)log_notice(
			"all %u connections are in use, the most by uid %u (%u): its connections that are idle "
			"longest are closed for new clients",
			server->n_peers, goes->peer_uid, quota_connections(goes->quota_user));
		server->tell_full_ns = now_ns + TELL_FULL_NS;
	}
	peer_make_room(goes);
	return 0;
}

/*
 * @is_last: fd is the last available descriptor
 * Return: 0; -EBUSY or -EDQUOT (too many connections); another error
 */
static int server_add(struct server *server, int fd, bool is_last, struct peer **ret_peer)
{
	struct call_identity identity;
	struct quota_user *user;
	uint64_t before_ns;
	struct peer *peer;
	struct ucred cred;
	unsigned int n_held;
	int r;

	/* First only what decides about acceptance: a refused client must cost next to nothing. */
	r = access_credentials(fd, &cred);
	if (r)
		return r;
	n_held = cred.uid ? quota_connections_of(&server->quota, cred.uid) : 0;
	r = quota_connect(&server->quota, cred.uid, clock_now_ns(), &user);
	if (r == -EUSERS) {
		r = client_make_room(server, cred.uid, n_held);
		if (r == 0)
			r = quota_connect(&server->quota, cred.uid, clock_now_ns(), &user);
	} else if (r == 0 && is_last && client_make_room(server, cred.uid, n_held)) {
		quota_disconnect(&server->quota, user);
		r = -EMFILE;
	}
	if (r)
		return r;
	before_ns = clock_spent_ns();
	r = access_identify(fd, &cred, &server->groups, &identity);
	if (r == 0)
		r = peer_open(server, fd, &identity, cred.uid, user, &peer);
	if (r) {
		quota_disconnect(&server->quota, user);
		return r;
	}

	server->n_handles++;
	server->n_peers++;
	LIST_INSERT_HEAD(&server->peers, peer, link);
	if (server->events.on_peer_open)
		server->events.on_peer_open(identity.peer_pid, identity.uid, server->context);
	peer_start(peer);
	quota_take_time(&server->quota, user, clock_spent_ns() - before_ns, clock_now_ns());
	*ret_peer = peer;
	return 0;
}

int server_adopt(struct server *server, int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct peer *peer;
	int r;

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) || fcntl(fd, F_SETFD, FD_CLOEXEC))
		return -errno;
	take_no_descriptors(fd);
	r = server_add(server, fd, /* is_last= */ false, &peer);
	if (r)
		turn_away(fd, r);
	return r;
}

static int open_spare(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Accepts a waiting client in any case: otherwise the socket stays readable and the loop never rests. */
static void server_take(struct server *server, int fd, bool is_last)
{
	struct peer *peer;
	int r = server_add(server, fd, is_last, &peer);

	if (r) {
		turn_away(fd, r);
		closep(&fd);
	}
	if (is_last)
		server->spare_fd = open_spare(); /* replaces the one used for this client */
	if (r == 0)
		peer_look(peer); /* its Hello has usually arrived already */
}

static int server_accept_fd(struct server *server)
{
	return accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* Return: whether more clients may wait */
static bool accept_some(struct server *server)
{
	for (int i = 0; i < ACCEPTED_PER_TURN && !server->is_closing && server->listen_fd >= 0; i++) {
		int fd = server_accept_fd(server);
		bool is_last = fd < 0 && (errno == EMFILE || errno == ENFILE) && server->spare_fd >= 0;

		if (is_last) {
			closep(&server->spare_fd);
			server->spare_fd = -1;
			fd = server_accept_fd(server);
		}
		if (fd < 0 && is_last)
			server->spare_fd = open_spare();
		if (fd < 0)
			return false; /* no client waits, or it has gone */
		server_take(server, fd, is_last);
	}
	return !server->is_closing && server->listen_fd >= 0;
}

void server_accept(struct server *server)
{
	for (int i = 0; i < BACKLOG / ACCEPTED_PER_TURN + 1 && accept_some(server); i++)
		;
}

static void server_on_connect(uv_poll_t *poll, int status, int events)
{
	(void)events;
	if (status == 0)
		(void)accept_some(poll->data);
}

/* ---- listening ---- */

int server_listen_fd(struct server *server, int fd)
{
	int is_listening = 0, flags = fcntl(fd, F_GETFL);
	socklen_t bytes = sizeof(is_listening);
	int r;

	assert(server->listen_fd < 0);
	if (flags < 0 || getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &bytes))
		return -errno;
	if (!is_listening)
		return -EINVAL;
	if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) || fcntl(fd, F_SETFD, FD_CLOEXEC))
		return -errno;
	take_no_descriptors(fd);
	r = uv_poll_init(server->loop, &server->listen_poll, fd);
	if (r)
		return r;

	server->listen_poll.data = server;
	server->n_handles++;
	r = uv_poll_start(&server->listen_poll, UV_READABLE, server_on_connect);
	if (r) {
		uv_close((uv_handle_t *)&server->listen_poll, server_on_handle_closed);
		return r;
	}
	server->listen_fd = fd;
	server->spare_fd = open_spare();
	return 0;
}

int server_listen(struct server *server, const char *path)
{
	int fd, r = socket_file_listen(path, BACKLOG, &server->file, &fd);

	if (r)
		return r;
	r = server_listen_fd(server, fd);
	if (r) {
		socket_file_remove(&server->file);
		closep(&fd);
	}
	return r;
}

void server_stop_listening(struct server *server)
{
	if (server->listen_fd < 0)
		return;
	socket_file_remove(&server->file);
	(void)uv_poll_stop(&server->listen_poll);
	uv_close((uv_handle_t *)&server->listen_poll, server_on_handle_closed);
	closep(&server->listen_fd);
	closep(&server->spare_fd);
	server->listen_fd = server->spare_fd = -1;
}
