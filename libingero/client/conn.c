// SPDX-License-Identifier: Apache-2.0
/* A connection: open, greet, read and write, close. */
#include "libingero/client/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fd.h"

#define SOCKET_PATH "/run/ingero.sock"
#define DAEMON_USER "ingero"
#define READ_BYTES 65536
#define READS_PER_TURN 32 /* so that a busy stream leaves time for the caller's screen */
#define CONNECT_S 5	  /* maximum wait, while more clients queue than the daemon accepts */
#define HELLO_MS 10000
#define PRIVATE_END_MS 8000	/* to detach every probe; the slowest back end needs seconds on many CPUs */
#define PRIVATE_HELLO_MS 120000 /* one that captures answers once its programs are loaded: a second of a quiet CPU */

uint64_t conn_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static void PRINTF_LIKE(2, 0) say(struct ingero *ingero, const char *fmt, va_list ap)
{
	(void)vsnprintf(ingero->error, sizeof(ingero->error), fmt, ap);
}

int conn_say(struct ingero *ingero, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(ingero, fmt, ap);
	va_end(ap);
	return r;
}

/* Ends the connection: every stream ends with -EPIPE. */
static int PRINTF_LIKE(2, 3) conn_fail(struct ingero *ingero, const char *fmt, ...)
{
	va_list ap;

	if (ingero->over)
		return ingero->over;
	va_start(ap, fmt);
	say(ingero, fmt, ap);
	va_end(ap);

	ingero->over = -EPIPE;
	while (!LIST_EMPTY(&ingero->streams))
		stream_end(LIST_FIRST(&ingero->streams), -EPIPE);
	return -EPIPE;
}

int conn_fail_other(struct ingero *ingero, const char *what)
{
	ingero->is_other = true;
	return conn_fail(ingero, "what answers is not ingero-collectord of this release: it sent %s", what);
}

/* ---- traffic ---- */

static void conn_write(struct ingero *ingero)
{
	while (ingero->out.n && !ingero->is_write_broken) {
		ssize_t n = send(ingero->fd, ingero->out.data, ingero->out.n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			ingero->is_write_broken = true;
		else
			buf_consume(&ingero->out, (size_t)n);
	}
	if (ingero->is_write_broken)
		ingero->out.n = 0;
}

/* Return: 1 when data came, 0 without data, or -EPIPE */
static int conn_read(struct ingero *ingero)
{
	uint8_t *p = buf_reserve(&ingero->in, READ_BYTES);
	ssize_t n;

	if (!p)
		return conn_fail(ingero, "out of memory");
	do
		n = recv(ingero->fd, p, READ_BYTES, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0)
		return conn_fail(ingero, "ingero-collectord has closed the connection");
	ingero->in.n += (size_t)n;
	return 1;
}

static void conn_forget_read(struct ingero *ingero)
{
	if (ingero->in_start == ingero->in.n) {
		ingero->in.n = ingero->in_start = 0;
	} else if (ingero->in_start >= ingero->in.n / 2) {
		buf_consume(&ingero->in, ingero->in_start);
		ingero->in_start = 0;
	}
}

static int conn_last_word(struct ingero *ingero, const struct frame *frame)
{
	struct frame_end end;

	if (frame->type != FRAME_END || frame_end_parse(frame, &end) != FRAME_OK)
		return conn_fail_other(ingero, "bytes that make no sense");
	ingero->code = end.code;
	return conn_fail(ingero, "ingero-collectord has ended the connection: %s", end.text);
}

static int conn_frames(struct ingero *ingero)
{
	while (!ingero->over) {
		struct frame frame = { .stream = 0 };
		size_t used = 0;

		switch (frame_decode(ingero->in.data + ingero->in_start, ingero->in.n - ingero->in_start,
				     FRAME_SERVER_BODY_MAX, &frame, &used)) {
		case FRAME_OK:
			ingero->in_start += used;
			if (frame.stream == 0)
				return conn_last_word(ingero, &frame);
			(void)stream_frame(ingero, &frame);
			continue;
		case FRAME_SHORT:
			conn_forget_read(ingero);
			return 0;
		case FRAME_TOO_LARGE:
		case FRAME_BAD:
			return conn_fail_other(ingero, "bytes that make no sense");
		}
	}
	return ingero->over;
}

int ingero_process(struct ingero *ingero)
{
	conn_write(ingero);
	for (int i = 0; i < READS_PER_TURN && !ingero->over; i++) {
		int r = conn_read(ingero);

		if (r == 0)
			break;
		if (r > 0)
			(void)conn_frames(ingero);
	}
	conn_write(ingero); /* credit for the bytes read */
	return ingero->over;
}

int ingero_fd(const struct ingero *ingero)
{
	return ingero->fd;
}

short ingero_events(const struct ingero *ingero)
{
	return (short)(POLLIN | (ingero->out.n ? POLLOUT : 0));
}

int conn_wait(struct ingero *ingero, uint64_t until_ns)
{
	struct pollfd poll_fd = { .fd = ingero->fd, .events = ingero_events(ingero) };
	uint64_t now_ns = conn_now_ns();
	int r;

	if (now_ns >= until_ns)
		return -ETIMEDOUT;
	r = poll(&poll_fd, 1, (int)((until_ns - now_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC));
	if (r < 0)
		return errno == EINTR ? 0 : -errno; /* signals belong to the caller; the wait goes on */
	return 0;
}

/* ---- opening ---- */

static int connect_to(const char *path, int *ret_fd)
{
	CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval patience = { .tv_sec = CONNECT_S };
	struct sockaddr_un address;
	int r;

	if (fd < 0)
		return -errno;
	r = fd_socket_address(path, &address);
	if (r)
		return r;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	while (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		if (errno != EINTR)
			return -errno;
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int say_connect(struct ingero *ingero, int r, const char *path)
{
	switch (r) {
	case -ENOENT:
	case -ENOTDIR:
	case -ECONNREFUSED:
		return conn_say(ingero, -ENOENT,
				"ingero-collectord is not running (nothing answers at '%s'); start it with 'systemctl "
				"start ingero-collectord', or run with sudo to capture on your own",
				path);
	case -EACCES:
	case -EPERM:
		return conn_say(ingero, -EACCES,
				"uid %u is not allowed to connect to '%s'; ask an administrator for access to that "
				"socket, or run with sudo to capture on your own",
				(unsigned int)geteuid(), path);
	case -EAGAIN:
		return conn_say(ingero, -EAGAIN, "ingero-collectord is too busy to answer at '%s'; try again later",
				path);
	default:
		return conn_say(ingero, r, "cannot connect to '%s': %s", path, strerror(-r));
	}
}

/* The peer learns our requests and is trusted: it has to be root, the service's user, or ourselves. */
static bool is_trusted_uid(uid_t uid)
{
	char text[4096];
	struct passwd user, *found = NULL;

	if (uid == 0 || uid == geteuid())
		return true;
	return getpwnam_r(DAEMON_USER, &user, text, sizeof(text), &found) == 0 && found && found->pw_uid == uid;
}

static int check_server(struct ingero *ingero, const char *path)
{
	struct ucred cred;
	socklen_t bytes = sizeof(cred);

	if (getsockopt(ingero->fd, SOL_SOCKET, SO_PEERCRED, &cred, &bytes))
		return conn_say(ingero, -errno, "cannot tell who serves '%s': %s", path, strerror(errno));
	if (!is_trusted_uid(cred.uid))
		return conn_say(ingero, -EPROTO,
				"'%s' is served by uid %u, which is neither root nor the user '%s'; not talking to it",
				path, (unsigned int)cred.uid, DAEMON_USER);
	return 0;
}

static int open_service(struct ingero *ingero, const struct ingero_options *options)
{
	const char *path = options->socket_path ? options->socket_path : SOCKET_PATH;
	int r;

	r = connect_to(path, &ingero->fd);
	if (r)
		return say_connect(ingero, r, path);
	return check_server(ingero, path);
}

static int say_early_end(struct ingero *ingero)
{
	int status;

	if (!ingero->daemon.pid || !private_wait(&ingero->daemon, 1000, &status))
		return -EPIPE;
	if (WIFSIGNALED(status))
		return conn_say(ingero, -EPIPE, "ingero-collectord was killed by signal %d (%s) before it answered",
				WTERMSIG(status), strsignal(WTERMSIG(status)));
	return conn_say(ingero, -EPIPE, "ingero-collectord ended with status %d before it answered; it says why above",
			WEXITSTATUS(status));
}

static int say_hello_refused(struct ingero *ingero)
{
	switch (ingero->code) {
	case CALL_ERROR_NOT_ALLOWED:
		return -EACCES;
	case CALL_ERROR_QUOTA:
	case CALL_ERROR_RATE:
		return -EAGAIN;
	default:
		return -EPROTO;
	}
}

static int greet(struct ingero *ingero, const struct ingero_options *options)
{
	Ingero__V1__HelloRequest request = INGERO__V1__HELLO_REQUEST__INIT;
	ProtobufCMessage *reply;
	int r;

	request.protocol_major = FRAME_PROTOCOL_MAJOR;
	request.protocol_minor = FRAME_PROTOCOL_MINOR;
	request.program = (char *)(options->program ? options->program : "libingero " INGERO_VERSION);
	request.has_on_behalf_of = options->has_on_behalf_of;
	request.on_behalf_of_uid = options->on_behalf_of;
	request.on_behalf_of_gids = (uint32_t *)(uintptr_t)options->on_behalf_of_gids; /* the message borrows it */
	request.n_on_behalf_of_gids = options->n_on_behalf_of_gids;
	r = ingero_call(ingero, FRAME_HELLO_METHOD, &request.base, ingero->daemon.pid ? PRIVATE_HELLO_MS : HELLO_MS,
			&reply);
	if (r == -EREMOTEIO || (r == -EPIPE && ingero->code))
		return say_hello_refused(ingero);
	if (r == -EPIPE)
		return ingero->is_other ? -EPROTO : say_early_end(ingero);
	if (r)
		return r;

	ingero->hello = (Ingero__V1__HelloReply *)reply;
	if (ingero->hello->protocol_major != FRAME_PROTOCOL_MAJOR)
		return conn_say(ingero, -EPROTO,
				"ingero-collectord speaks version %u of the protocol and this program version %d; "
				"install both from the same release",
				ingero->hello->protocol_major, FRAME_PROTOCOL_MAJOR);
	return 0;
}

static void ingero_closep(struct ingero **ingero)
{
	ingero_close(*ingero);
}

int ingero_open(const struct ingero_options *options, char *error, size_t error_bytes, struct ingero **ret_ingero)
{
	CLEANUP(ingero_closep) struct ingero *ingero = calloc(1, sizeof(*ingero));
	int r;

	if (!ingero) {
		(void)snprintf(error, error_bytes, "out of memory");
		return -ENOMEM;
	}
	ingero->fd = -1;
	ingero->daemon = (struct private_daemon)PRIVATE_DAEMON_INIT;
	LIST_INIT(&ingero->streams);

	if (options->private_daemon)
		r = private_start(options, ingero->error, sizeof(ingero->error), &ingero->fd, &ingero->daemon);
	else
		r = open_service(ingero, options);
	if (r == 0 && fcntl(ingero->fd, F_SETFL, O_RDWR | O_NONBLOCK))
		r = conn_say(ingero, -errno, "cannot prepare the connection: %s", strerror(errno));
	if (r == 0)
		r = greet(ingero, options);
	if (r) {
		(void)snprintf(error, error_bytes, "%s", ingero->error);
		return r;
	}
	*ret_ingero = TAKE_PTR(ingero);
	return 0;
}

void ingero_close(struct ingero *ingero)
{
	if (!ingero)
		return;

	ingero->over = -EPIPE; /* callbacks that start calls are refused */
	while (!LIST_EMPTY(&ingero->streams))
		stream_end(LIST_FIRST(&ingero->streams), -ECANCELED);
	closep(&ingero->fd);
	/* A daemon that was never greeted has attached nothing, and needs no time to detach. */
	private_stop(&ingero->daemon, ingero->hello ? PRIVATE_END_MS : 0);
	if (ingero->hello)
		protobuf_c_message_free_unpacked(&ingero->hello->base, NULL);
	buf_done(&ingero->in);
	buf_done(&ingero->out);
	free(ingero);
}

const Ingero__V1__HelloReply *ingero_hello(const struct ingero *ingero)
{
	return ingero->hello;
}

pid_t ingero_daemon_pid(const struct ingero *ingero)
{
	return ingero->daemon.pid ? ingero->daemon.pid : (pid_t)ingero->hello->pid;
}

const char *ingero_last_error(const struct ingero *ingero)
{
	return ingero->error;
}

const char *ingero_why(const struct ingero *ingero, int r)
{
	return ingero->error[0] ? ingero->error : strerror(-r);
}

uint32_t ingero_last_code(const struct ingero *ingero)
{
	return ingero->code;
}
