// SPDX-License-Identifier: Apache-2.0
#include "web/front.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "web/file.h"
#include "web/listener.h"

#define DRAIN_NS NSEC_PER_SEC
#define END_MS 200	  /* for one of the connections that end to be gone */
#define PIECE_BYTES 16384 /* read at once; what waits here for its reader is no more */
#define LINKS_MAX (FRONT_GUESTS_MAX + FRONT_STRANGERS_MAX + FRONT_ENDING_MAX)

struct front {
	struct front_wish wish;
	int listener;
	char name[LISTENER_NAME_BYTES];
	bool is_loopback;

	pthread_mutex_t mutex; /* of all below */
	pthread_cond_t changed;
	struct link *links; /* newest first */
	size_t n_links;	    /* whose threads run */
	size_t n_strangers, n_guests;
	bool is_ending;
};

/* What a link counts as. */
enum place { PLACE_STRANGER, PLACE_GUEST, PLACE_NONE /* another one has it: this link ends */ };

/* One connection, on a thread of its own. */
struct link {
	struct front *front;
	/* of the front, with its mutex held: */
	struct link *next;
	uint64_t quiet_ns; /* since when nothing moved */
	bool is_asking;	   /* a request is on its way, or its answer is */
	enum place place;
	/* of its thread: */
	SSL *ssl;
	int client, library; /* the peer; our end of the pair, -1: nothing has passed the gate */
	struct gate gate;
	struct buf in, out; /* on their way to the library, and to the client */
	bool client_has_ended, library_has_ended;
	bool wants_write;    /* TLS has to write before it can read */
	uint64_t n_answered; /* whole requests that had passed when the last bytes of an answer came */
	uint64_t moved_ns;   /* when the state began that the link is in, or an answer went on */
};

static uint64_t front_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/* ---- places ---- */

/* With the lock held, as all of these. */
static void place_leave(struct link *l)
{
	l->front->n_strangers -= l->place == PLACE_STRANGER;
	l->front->n_guests -= l->place == PLACE_GUEST;
	l->place = PLACE_NONE;
}

/* Takes the place of a link away, which is still among the front's. */
static void link_evict(struct link *l)
{
	place_leave(l);
	(void)shutdown(l->client, SHUT_RDWR); /* its thread wakes, and closes it */
}

/*
 * The oldest, whatever it did: no stranger keeps a place by what it sends, and each has the same time to show the
 * token.
 */
static void stranger_evict(struct front *front)
{
	struct link *oldest = NULL;

	for (struct link *l = front->links; l; l = l->next)
		if (l->place == PLACE_STRANGER)
			oldest = l;
	if (oldest)
		link_evict(oldest);
}

/* The one that has been quiet the longest of those that nobody waits for. */
static void guest_evict(struct front *front)
{
	struct link *idlest = NULL;

	for (struct link *l = front->links; l; l = l->next)
		if (l->place == PLACE_GUEST && !l->is_asking && (!idlest || l->quiet_ns < idlest->quiet_ns))
			idlest = l;
	if (idlest)
		link_evict(idlest);
}

/* Makes a link that sent the token a guest. Return: whether there was a place */
static bool link_admit(struct link *l)
{
	struct front *front = l->front;
	bool is_guest;

	(void)pthread_mutex_lock(&front->mutex);
	if (l->place == PLACE_STRANGER) {
		if (front->n_guests == FRONT_GUESTS_MAX)
			guest_evict(front);
		if (front->n_guests < FRONT_GUESTS_MAX) {
			place_leave(l);
			l->place = PLACE_GUEST;
			l->is_asking = true;
			front->n_guests++;
		}
	}
	is_guest = l->place == PLACE_GUEST;
	(void)pthread_mutex_unlock(&front->mutex);
	return is_guest;
}

/* Waits until a link that ends is gone, where many do. Return: whether one more may begin */
static bool links_have_room(struct front *front)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += END_MS * (long)NSEC_PER_MSEC;
	until.tv_sec += until.tv_nsec / (long)NSEC_PER_SEC;
	until.tv_nsec %= (long)NSEC_PER_SEC;
	while (front->n_links >= LINKS_MAX &&
	       pthread_cond_timedwait(&front->changed, &front->mutex, &until) != ETIMEDOUT)
		;
	return front->n_links < LINKS_MAX;
}

/* ---- one connection ---- */

/* Whether a whole request passed, and nothing of its answer came yet. */
static bool link_is_waiting(const struct link *l)
{
	return l->n_answered != l->gate.n_requests;
}

/* Whether somebody waits: for the rest of a request, or for its answer. */
static bool link_is_busy(const struct link *l)
{
	return !gate_is_between(&l->gate) || link_is_waiting(l) || l->out.n;
}

/* How long a state may last. A head and a body have one deadline each for all of it, however their bytes come. */
static uint64_t link_limit_ns(const struct link *l)
{
	uint64_t seconds = FRONT_IDLE_S;

	if (l->out.n)
		return seconds * NSEC_PER_SEC;
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
		if (!link_is_waiting(l))
			gate_refusal_append(&l->gate, &l->out);
		l->client_has_ended = l->library_has_ended = true;
		return 0;
	}
	if (was_between || was_head != (l->gate.state == GATE_HEAD) || gate_is_between(&l->gate))
		l->moved_ns = front_now_ns();
	return l->gate.has_guest && !link_admit(l) ? -EBUSY : 0;
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

/* Makes the pair, whose other end is the library's: for the first bytes that pass. */
static int library_hand(struct link *l)
{
	const struct front_wish *wish = &l->front->wish;
	int ends[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	socket_limit(ends[0]);
	socket_limit(ends[1]);
	r = wish->hand(ends[1], wish->data);
	if (r < 0)
		(void)close(ends[0]);
	else
		l->library = ends[0];
	return r;
}

/*
 * Moves what can be moved. Behind an answer that is stuck nothing is read: whoever does not read, waits. Return: 0, or
 * -errno: the connection is over
 */
static int link_move(struct link *l, short client, short library)
{
	int r = 0;

	if (!l->client_has_ended && !l->in.n && !l->out.n && (client & (POLLIN | POLLHUP | POLLERR | POLLOUT)))
		do
			r = client_read(l);
		while (r == 0 && !l->client_has_ended && !l->in.n && SSL_pending(l->ssl));
	if (r < 0 && r != -EAGAIN)
		return r;
	if (l->in.n && (client & (POLLHUP | POLLERR)))
		return -ECONNRESET;
	if (l->in.n && l->library < 0 && !l->library_has_ended) {
		r = library_hand(l);
		if (r < 0)
			return r;
	}
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
	l->is_asking = link_is_busy(l);
	is_ending = l->front->is_ending || l->place == PLACE_NONE;
	(void)pthread_mutex_unlock(&l->front->mutex);
	return is_ending;
}

static void link_serve(struct link *l)
{
	int r = 0;

	l->moved_ns = front_now_ns();
	while (r == 0 && !link_is_ending(l)) {
		struct pollfd fds[] = {
			{ .fd = l->client, .events = l->in.n || l->out.n || l->client_has_ended ? 0 : POLLIN },
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

/* As the newest stranger. Return: whether there was a place */
static bool link_add(struct link *l)
{
	struct front *front = l->front;
	bool has_room;

	(void)pthread_mutex_lock(&front->mutex);
	if (front->n_strangers == FRONT_STRANGERS_MAX)
		stranger_evict(front);
	has_room = links_have_room(front);
	if (has_room) {
		l->next = front->links;
		front->links = l;
		front->n_links++;
		front->n_strangers++;
	}
	(void)pthread_mutex_unlock(&front->mutex);
	return has_room;
}

/* Before its descriptors are closed: nobody else uses them from now on. Return: whether another one has its place */
static bool link_remove(struct link *l)
{
	struct link **at = &l->front->links;
	bool is_evicted;

	(void)pthread_mutex_lock(&l->front->mutex);
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	is_evicted = l->place == PLACE_NONE;
	place_leave(l);
	(void)pthread_mutex_unlock(&l->front->mutex);
	return is_evicted;
}

static void link_free(struct link *l)
{
	struct front *front = l->front;

	closep(&l->client);
	closep(&l->library);
	gate_done(&l->gate);
	buf_done(&l->in);
	buf_done(&l->out);
	free(l);
	(void)pthread_mutex_lock(&front->mutex);
	front->n_links--;
	(void)pthread_cond_signal(&front->changed);
	(void)pthread_mutex_unlock(&front->mutex);
}

/* What nobody reads would stay with the kernel for minutes: it is dropped with the connection. */
static void client_reset(const struct link *l)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(l->client, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static void *link_run(void *data)
{
	struct link *l = data;
	bool is_evicted;

	link_serve(l);
	(void)SSL_shutdown(l->ssl);
	SSL_free(l->ssl);
	if (l->gate.status)
		client_drain(l);
	is_evicted = link_remove(l);
	if (l->out.n || is_evicted)
		client_reset(l);
	link_free(l);
	return NULL;
}

/* ---- connections ---- */

/* Return: 0, with the link's thread running, which owns the connection, or -errno with nothing left */
static int link_start(struct front *front, int client)
{
	struct link *l = calloc(1, sizeof(*l));
	pthread_attr_t attributes;
	pthread_t thread;
	int r = -ENOMEM;

	if (!l)
		return -ENOMEM;
	*l = (struct link){ .front = front, .client = client, .library = -1, .gate = GATE_INIT(front->wish.rules) };
	l->quiet_ns = front_now_ns();
	l->ssl = SSL_new(front->wish.tls);
	if (l->ssl && SSL_set_fd(l->ssl, client) == 1)
		r = link_add(l) ? 0 : -EBUSY;
	if (r < 0) {
		SSL_free(l->ssl);
		free(l);
		return r;
	}
	SSL_set_accept_state(l->ssl);
	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	r = -pthread_create(&thread, &attributes, link_run, l);
	(void)pthread_attr_destroy(&attributes);
	if (r < 0) {
		(void)link_remove(l);
		SSL_free(l->ssl);
		l->client = -1; /* the caller's */
		link_free(l);
	}
	return r;
}

/*
 * Where no place is left, the connection is closed: its client may try again. Return: false: descriptors or memory are
 * short, and the connection waits on
 */
static bool connection_take(struct front *front)
{
	CLEANUP(closep) int client = accept4(front->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	const int one = 1, unread_ms = FRONT_IDLE_S * 1000;

	if (client < 0)
		return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
	(void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)setsockopt(client, IPPROTO_TCP, TCP_USER_TIMEOUT, &unread_ms, sizeof(unread_ms));
	if (link_start(front, client) == 0)
		client = -1; /* the link owns it */
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

int front_open(const struct front_wish *wish, char *error, struct front **ret)
{
	struct front *front;
	int fd = listener_open(wish->address, error);

	if (fd < 0)
		return fd;
	front = calloc(1, sizeof(*front));
	if (!front) {
		(void)close(fd);
		(void)snprintf(error, WEB_ERROR_BYTES, "no memory for the server");
		return -ENOMEM;
	}
	front->wish = *wish;
	front->listener = fd;
	(void)pthread_mutex_init(&front->mutex, NULL);
	(void)pthread_cond_init(&front->changed, NULL);
	front->is_loopback = listener_name(fd, front->name);
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
	while (front->n_links)
		(void)pthread_cond_wait(&front->changed, &front->mutex);
	(void)pthread_mutex_unlock(&front->mutex);
	(void)pthread_cond_destroy(&front->changed);
	(void)pthread_mutex_destroy(&front->mutex);
	free(front);
}
