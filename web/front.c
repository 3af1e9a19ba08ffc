// SPDX-License-Identifier: Apache-2.0
#include "web/front.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "web/token.h"

#define DRAIN_NS NSEC_PER_SEC
#define EVICT_MS 200 /* for the place of an idle connection to become free */
#define PORT_MAX 65535
#define PIECE_BYTES 16384 /* read at once; what waits for its reader is no more */

struct front {
	struct front_wish wish;
	int listener;
	char name[80];
	bool is_loopback;

	pthread_mutex_t mutex; /* of all below */
	pthread_cond_t changed;
	struct link *links;
	size_t n_connections; /* also those without a link yet */
	bool is_ending;
};

/* One connection, on a thread of its own. */
struct link {
	struct front *front;
	/* of the front, with its mutex held: */
	struct link *next;
	uint64_t quiet_ns; /* since when nothing moved */
	bool has_asked;	   /* a whole request came, some time */
	bool is_asking;	   /* one is being answered */
	bool is_evicted;   /* its place is another's */
	/* of its thread: */
	SSL *ssl;
	int client, library; /* the peer; our end of the pair */
	struct gate gate;
	struct buf in, out; /* on their way to the library, and to the client */
	bool client_has_ended, library_has_ended;
	bool wants_write;    /* TLS has to write before it can read */
	uint64_t n_answered; /* whole requests that had passed when the last bytes of an answer came */
	uint64_t moved_ns;   /* when the state began that the link is in, or an answer went on */
};

static int front_refuse(char *error, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);
static int front_refuse(char *error, int r, const char *fmt, ...)
{
	FORMAT_INTO(error, WEB_ERROR_BYTES, fmt);
	return r;
}

static uint64_t front_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/* ---- one connection ---- */

/* Whether a whole request passed, and nothing of its answer came yet. */
static bool link_is_waiting(const struct link *l)
{
	return l->n_answered != l->gate.n_requests;
}

/* How long a state may last. A head and a body have one deadline each for all of it, however their bytes come. */
static uint64_t link_limit_ns(const struct link *l)
{
	uint64_t seconds = FRONT_IDLE_S;

	if (!SSL_is_init_finished(l->ssl) || (l->gate.state == GATE_HEAD && l->gate.line.n))
		seconds = FRONT_HEAD_S;
	else if (gate_is_between(&l->gate) && link_is_waiting(l))
		seconds = FRONT_ANSWER_S;
	return seconds * NSEC_PER_SEC;
}

/* Takes what the client sent. Return: 0; -EAGAIN: nothing now; -errno */
static int client_read(struct link *l)
{
	bool was_between = gate_is_between(&l->gate), was_head = l->gate.state == GATE_HEAD;
	char piece[PIECE_BYTES];
	int n, r;

	ERR_clear_error(); /* what an earlier call left would be taken for this one's */
	n = SSL_read(l->ssl, piece, sizeof(piece));
	if (n <= 0) {
		int error = SSL_get_error(l->ssl, n);

		l->wants_write = error == SSL_ERROR_WANT_WRITE;
		if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
			return -EAGAIN;
		l->client_has_ended = true;
		return error == SSL_ERROR_ZERO_RETURN ? 0 : -ECONNRESET;
	}
	l->wants_write = false;
	r = gate_feed(&l->gate, piece, (size_t)n, &l->in);
	if (r < 0)
		return r;
	if (r > 0) {
		/* Behind a request without its answer, a refusal would be taken for that answer. */
		if (!link_is_waiting(l) && !l->out.n)
			gate_refusal_append(&l->gate, &l->out);
		l->client_has_ended = l->library_has_ended = true;
		return 0;
	}
	if (was_between || was_head != (l->gate.state == GATE_HEAD) || gate_is_between(&l->gate))
		l->moved_ns = front_now_ns();
	return 0;
}

static int client_write(struct link *l)
{
	int n;

	ERR_clear_error();
	n = SSL_write(l->ssl, l->out.data, (int)MIN(l->out.n, PIECE_BYTES));
	if (n > 0) {
		buf_consume(&l->out, (size_t)n);
		l->moved_ns = front_now_ns();
		return 0;
	}
	n = SSL_get_error(l->ssl, n);
	return n == SSL_ERROR_WANT_READ || n == SSL_ERROR_WANT_WRITE ? -EAGAIN : -ECONNRESET;
}

static int answer_read(struct link *l)
{
	uint8_t *room = buf_reserve(&l->out, PIECE_BYTES);
	ssize_t n;

	if (!room)
		return -ENOMEM;
	n = recv(l->library, room, PIECE_BYTES, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -errno;
	if (n == 0)
		l->library_has_ended = true;
	l->out.n += (size_t)n;
	l->n_answered = l->gate.n_requests;
	l->moved_ns = front_now_ns();
	return 0;
}

static int request_write(struct link *l)
{
	ssize_t n = send(l->library, l->in.data, l->in.n, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -errno;
	buf_consume(&l->in, (size_t)n);
	return 0;
}

/* Moves what can be moved. Return: 0, or -errno: the connection is over */
static int link_move(struct link *l, short client, short library)
{
	int r = 0;

	if (!l->client_has_ended && !l->in.n && (client & (POLLIN | POLLHUP | POLLERR | POLLOUT)))
		do
			r = client_read(l);
		while (r == 0 && !l->client_has_ended && !l->in.n && SSL_pending(l->ssl));
	if (r < 0 && r != -EAGAIN)
		return r;
	if (l->in.n && (client & (POLLHUP | POLLERR)))
		return -ECONNRESET;
	if (l->in.n && !l->library_has_ended) {
		r = request_write(l);
		if (r < 0 && r != -EAGAIN)
			return r;
	}
	if (!l->library_has_ended && !l->out.n && (library & (POLLIN | POLLHUP | POLLERR))) {
		r = answer_read(l);
		if (r < 0 && r != -EAGAIN)
			return r;
	}
	if (l->out.n) {
		r = client_write(l);
		if (r < 0 && r != -EAGAIN)
			return r;
	}
	if (l->client_has_ended && !l->in.n && !l->library_has_ended)
		return -ECONNRESET; /* whoever went away wants no answer */
	return l->library_has_ended && !l->out.n ? -EPIPE : 0;
}

/* Tells the front what this link is at. Return: whether it has to end */
static bool link_is_ending(struct link *l)
{
	bool is_ending;

	(void)pthread_mutex_lock(&l->front->mutex);
	l->quiet_ns = l->moved_ns;
	l->has_asked = l->gate.n_requests > 0;
	l->is_asking = link_is_waiting(l) || l->out.n;
	is_ending = l->front->is_ending || l->is_evicted;
	(void)pthread_mutex_unlock(&l->front->mutex);
	return is_ending;
}

static void link_serve(struct link *l)
{
	int r = 0;

	l->moved_ns = front_now_ns();
	while (r == 0 && !link_is_ending(l)) {
		struct pollfd fds[] = {
			{ .fd = l->client, .events = l->in.n || l->client_has_ended ? 0 : POLLIN },
			/* what has ended would be reported again and again */
			{ .fd = l->library_has_ended || (l->out.n && !l->in.n) ? -1 : l->library,
			  .events = l->out.n ? 0 : POLLIN },
		};

		if (l->out.n || l->wants_write)
			fds[0].events |= POLLOUT;
		if (l->in.n)
			fds[1].events |= POLLOUT;
		if (poll(fds, ARRAY_SIZE(fds), /* ms */ 1000) < 0 && errno != EINTR)
			return;
		r = link_move(l, fds[0].revents, fds[1].revents);
		if (front_now_ns() - l->moved_ns > link_limit_ns(l))
			return;
	}
}

/* What the client still sends would make the kernel drop the answer: it is read for a while, and thrown away. */
static void client_drain(struct link *l)
{
	const uint64_t until_ns = front_now_ns() + DRAIN_NS;
	struct pollfd fd = { .fd = l->client, .events = POLLIN };
	char piece[PIECE_BYTES];

	(void)shutdown(l->client, SHUT_WR);
	while (front_now_ns() < until_ns && poll(&fd, 1, /* ms */ 100) >= 0)
		if (fd.revents && recv(l->client, piece, sizeof(piece), MSG_DONTWAIT) <= 0)
			return;
}

static void link_add(struct link *l)
{
	(void)pthread_mutex_lock(&l->front->mutex);
	l->next = l->front->links;
	l->front->links = l;
	(void)pthread_mutex_unlock(&l->front->mutex);
}

/* Before its descriptors are closed: nobody else uses them from now on. */
static void link_remove(struct link *l)
{
	struct link **at = &l->front->links;

	(void)pthread_mutex_lock(&l->front->mutex);
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	(void)pthread_mutex_unlock(&l->front->mutex);
}

static void *link_run(void *data)
{
	struct link *l = data;
	struct front *front = l->front;

	link_serve(l);
	(void)SSL_shutdown(l->ssl);
	SSL_free(l->ssl);
	if (l->gate.status)
		client_drain(l);
	link_remove(l);
	(void)close(l->client);
	(void)close(l->library);
	gate_done(&l->gate);
	buf_done(&l->in);
	buf_done(&l->out);
	free(l);
	(void)pthread_mutex_lock(&front->mutex);
	front->n_connections--;
	(void)pthread_cond_signal(&front->changed);
	(void)pthread_mutex_unlock(&front->mutex);
	return NULL;
}

/* ---- connections ---- */

/* Return: 0, with the link's thread running, or -errno with nothing left */
static int link_start(struct front *front, int client, int library)
{
	struct link *l = calloc(1, sizeof(*l));
	pthread_attr_t attributes;
	pthread_t thread;
	int r = -ENOMEM;

	if (!l)
		return -ENOMEM;
	*l = (struct link){
		.front = front, .client = client, .library = library, .gate = GATE_INIT(front->wish.rules)
	};
	l->quiet_ns = front_now_ns();
	l->ssl = SSL_new(front->wish.tls);
	if (l->ssl && SSL_set_fd(l->ssl, client) == 1) {
		SSL_set_accept_state(l->ssl);
		(void)pthread_attr_init(&attributes);
		(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
		link_add(l);
		r = -pthread_create(&thread, &attributes, link_run, l);
		(void)pthread_attr_destroy(&attributes);
		if (r < 0)
			link_remove(l);
	}
	if (r < 0) {
		SSL_free(l->ssl);
		free(l);
	}
	return r;
}

/* Whether a link gives its place away before another: who never asked, then who has been quiet longer. */
static bool link_is_idler(const struct link *l, const struct link *than)
{
	if (l->has_asked != than->has_asked)
		return !l->has_asked;
	return l->quiet_ns < than->quiet_ns;
}

/*
 * With the lock held. Ends one of the connections whose requests are not being answered: whoever takes all places
 * without asking loses them to those who ask.
 */
static void idle_evict(struct front *front)
{
	struct link *idlest = NULL;

	for (struct link *l = front->links; l; l = l->next)
		if (!l->is_asking && !l->is_evicted && (!idlest || link_is_idler(l, idlest)))
			idlest = l;
	if (!idlest)
		return;
	idlest->is_evicted = true;
	(void)shutdown(idlest->client, SHUT_RDWR); /* its thread wakes, and closes it */
}

/* Return: whether there is a place for one more */
static bool connection_count(struct front *front)
{
	struct timespec until;
	bool has_room;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += EVICT_MS * (long)NSEC_PER_MSEC;
	until.tv_sec += until.tv_nsec / (long)NSEC_PER_SEC;
	until.tv_nsec %= (long)NSEC_PER_SEC;
	(void)pthread_mutex_lock(&front->mutex);
	if (front->n_connections == FRONT_CONNECTIONS_MAX)
		idle_evict(front);
	while (front->n_connections == FRONT_CONNECTIONS_MAX &&
	       pthread_cond_timedwait(&front->changed, &front->mutex, &until) != ETIMEDOUT)
		;
	has_room = front->n_connections < FRONT_CONNECTIONS_MAX;
	front->n_connections += has_room;
	(void)pthread_mutex_unlock(&front->mutex);
	return has_room;
}

static void connection_uncount(struct front *front)
{
	(void)pthread_mutex_lock(&front->mutex);
	front->n_connections--;
	(void)pthread_mutex_unlock(&front->mutex);
}

/*
 * Where all places are taken by requests that are being answered, the connection is closed: its client may try again.
 * Return: false: descriptors or memory are short, and the connection waits on
 */
static bool connection_take(struct front *front)
{
	CLEANUP(closep) int client = accept4(front->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), library = -1;
	int ends[2], one = 1;

	if (client < 0)
		return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
	if (!connection_count(front))
		return true;
	(void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
		library = ends[0];
		if (front->wish.hand(ends[1], front->wish.data) == 0 && link_start(front, client, library) == 0) {
			client = library = -1; /* the link owns them */
			return true;
		}
	}
	connection_uncount(front);
	return true;
}

int front_run(struct front *front, int stop_fd)
{
	for (;;) {
		struct pollfd fds[] = { { .fd = front->listener, .events = POLLIN },
					{ .fd = stop_fd, .events = POLLIN } };

		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[1].revents)
			return 0;
		if (fds[0].revents && !connection_take(front))
			(void)poll(&fds[1], 1, /* ms */ 100); /* the listener stays readable */
	}
}

/* ---- the address ---- */

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

const char *front_address_fault(const char *address)
{
	struct addrinfo *found = NULL;
	int r = address_find(address, &found);

	if (r == 0)
		freeaddrinfo(found);
	return r == 0 ? NULL : r == -ERANGE ? "takes a port from 0 to 65535" : "takes " FRONT_ADDRESS_FORMS;
}

static bool address_is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
	return address->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static void name_find(struct front *front)
{
	struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
	socklen_t n = sizeof(address);
	char host[64] = "", port[16] = "";

	(void)getsockname(front->listener, (struct sockaddr *)&address, &n);
	(void)getnameinfo((struct sockaddr *)&address, n, host, sizeof(host), port, sizeof(port),
			  NI_NUMERICHOST | NI_NUMERICSERV);
	(void)snprintf(front->name, sizeof(front->name), strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
	front->is_loopback = address_is_loopback((struct sockaddr *)&address);
}

static int listener_open(const struct addrinfo *found)
{
	int fd = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, found->ai_protocol);
	int one = 1, r;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, FRONT_CONNECTIONS_MAX) == 0)
		return fd;
	r = -errno;
	(void)close(fd);
	return r;
}

int front_open(const struct front_wish *wish, char *error, struct front **ret)
{
	const char *fault = front_address_fault(wish->address);
	struct addrinfo *found = NULL;
	struct front *front;
	int fd;

	if (fault || address_find(wish->address, &found) < 0)
		return front_refuse(error, -EINVAL, "an address %s, not '%.64s'", fault ? fault : "is none",
				    wish->address);
	fd = listener_open(found);
	freeaddrinfo(found);
	if (fd == -EADDRINUSE)
		return front_refuse(error, fd,
				    "cannot listen at '%.64s': another program does; take another port, or port 0 for "
				    "one that is free",
				    wish->address);
	if (fd < 0)
		return front_refuse(error, fd, "cannot listen at '%.64s': %s", wish->address, strerror(-fd));
	front = calloc(1, sizeof(*front));
	if (!front) {
		(void)close(fd);
		return front_refuse(error, -ENOMEM, "no memory for the server");
	}
	front->wish = *wish;
	front->listener = fd;
	(void)pthread_mutex_init(&front->mutex, NULL);
	(void)pthread_cond_init(&front->changed, NULL);
	name_find(front);
	*ret = front;
	return 0;
}

const char *front_name(const struct front *front)
{
	return front->name;
}

bool front_is_loopback(const struct front *front)
{
	return front->is_loopback;
}

void front_close(struct front *front)
{
	(void)close(front->listener);
	(void)pthread_mutex_lock(&front->mutex);
	front->is_ending = true;
	while (front->n_connections)
		(void)pthread_cond_wait(&front->changed, &front->mutex);
	(void)pthread_mutex_unlock(&front->mutex);
	(void)pthread_cond_destroy(&front->changed);
	(void)pthread_mutex_destroy(&front->mutex);
	free(front);
}
