// SPDX-License-Identifier: Apache-2.0
/*
 * libingero against the real server. The test is its own daemon: started with --private it
 * serves the toy services on that descriptor until its client is gone, or does what a
 * further argument says.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ingero/ingero.h"
#include "proto/frame.h"
#include "rpc/server.h"
#include "tests/support/check.h"
#include "toy.h"

#define STATUS "ingero.v1.Query.Status"
#define OPERATIONS "ingero.v1.Query.Operations"
#define PIECES OPERATIONS ": the answer comes in several messages; ask for less, or take it as a stream"
#define TRACE "ingero.v1.Trace.Trace"

/* ---- the test as daemon ---- */

static int serve(int fd)
{
	struct toy toy;

	toy_open(&toy);
	toy.stops_when_idle = true;
	if (server_adopt(toy.server, fd))
		return 1;
	(void)uv_run(&toy.loop, UV_RUN_DEFAULT);
	toy_close(&toy);
	return 0;
}

static int be_daemon(int fd, const char *mode)
{
	if (!mode)
		return serve(fd);
	if (strcmp(mode, "end") == 0)
		return 7;
	if (strcmp(mode, "crash") == 0)
		(void)kill(getpid(), SIGKILL);
	if (strcmp(mode, "babble") == 0) {
		(void)!write(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
		(void)poll(NULL, 0, -1); /* SIGTERM ends it */
	}
	if (strcmp(mode, "linger") == 0) {
		/* Greets, then never looks at its descriptor again. */
		struct toy toy;

		toy_open(&toy);
		if (server_adopt(toy.server, fd))
			return 1;
		while (toy.n_peers_closed == 0)
			(void)uv_run(&toy.loop, UV_RUN_ONCE);
		(void)poll(NULL, 0, -1);
	}
	return 1;
}

static const struct ingero_options private_options = { .private_daemon = true, .daemon_path = "/proc/self/exe" };

static struct ingero *open_private(const char *name)
{
	struct ingero *ingero = NULL;
	char error[512] = "";

	CHECK_INT_EQ(name, ingero_open(&private_options, error, sizeof(error), &ingero), 0);
	CHECK_STR_EQ(name, error, "");
	return ingero;
}

static int call_operation(struct ingero *ingero, enum toy_operation operation, uint32_t deadline_ms)
{
	Ingero__V1__OperationsRequest request = INGERO__V1__OPERATIONS_REQUEST__INIT;
	ProtobufCMessage *reply = NULL;
	uint32_t pid = operation;
	int r;

	request.pids = &pid;
	request.n_pids = operation != TOY_REPLY;
	r = ingero_call(ingero, OPERATIONS, &request.base, deadline_ms, &reply);
	if (r == 0)
		ingero__v1__summary__free_unpacked((Ingero__V1__Summary *)reply, NULL);
	return r;
}

/* What the client opened, or was given, is nothing to a daemon that it starts: it would be open as long as that runs.
 */
static void test_descriptors(void)
{
	struct pollfd end = { .events = POLLIN };
	struct ingero *ingero;
	int ends[2];

	CHECK_INT_EQ("descriptors", pipe(ends), 0); /* not close-on-exec */
	ingero = open_private("descriptors");
	(void)close(ends[1]);
	end.fd = ends[0];
	CHECK_INT_EQ("the pipe has ended", poll(&end, 1, 0), 1);
	ingero_close(ingero);
	(void)close(ends[0]);
}

/* ---- calls ---- */

static void test_hello(void)
{
	struct ingero *ingero = open_private("hello");
	const Ingero__V1__HelloReply *hello;

	if (!ingero)
		return;
	hello = ingero_hello(ingero);
	CHECK_INT_EQ("hello", hello->caller_uid, getuid());
	CHECK_INT_EQ("hello", hello->can_read_all, getuid() == 0);
	CHECK_INT_EQ("pid of the daemon", hello->pid, ingero_daemon_pid(ingero));
	CHECK_STR_EQ("program", hello->program, "ingero-collectord " INGERO_VERSION);
	CHECK_STR_EQ("no error", ingero_last_error(ingero), "");
	ingero_close(ingero);
}

static void test_calls(void)
{
	static const struct {
		const char *name;
		enum toy_operation operation;
		uint32_t deadline_ms;
		int r;
		uint32_t code;
		const char *text;
	} cases[] = {
		{ "reply", TOY_REPLY, 0, 0, 0, "" },
		{ "a reply of nearly 1 MiB", TOY_LARGE, 0, 0, 0, "" },
		{ "refusal", TOY_FAIL, 0, -EREMOTEIO, CALL_ERROR_NOT_FOUND, "no process 4711 of yours" },
		{ "after a refusal", TOY_REPLY, 0, 0, 0, "no process 4711 of yours" },
		{ "an answer in pieces", TOY_PIECES, 0, -EMSGSIZE, 0, PIECES },
		{ "after an answer in pieces", TOY_LARGE, 0, 0, 0, PIECES },
		{ "no answer in time", TOY_NEVER, 20, -ETIMEDOUT, CALL_ERROR_DEADLINE,
		  "the deadline of this call has passed" },
	};
	struct ingero *ingero = open_private("calls");

	for (size_t i = 0; ingero && i < ARRAY_SIZE(cases); i++) {
		CHECK_INT_EQ(cases[i].name, call_operation(ingero, cases[i].operation, cases[i].deadline_ms),
			     cases[i].r);
		CHECK_INT_EQ(cases[i].name, ingero_last_code(ingero), cases[i].code);
		CHECK_STR_EQ(cases[i].name, ingero_last_error(ingero), cases[i].text);
	}
	ingero_close(ingero);
}

static void test_wrong_calls(void)
{
	Ingero__V1__StatusRequest status = INGERO__V1__STATUS_REQUEST__INIT;
	Ingero__V1__OperationsRequest operations = INGERO__V1__OPERATIONS_REQUEST__INIT;
	struct ingero *ingero = open_private("wrong calls");
	CLEANUP(freep) uint32_t *pids = malloc(100000 * sizeof(*pids));
	ProtobufCMessage *reply = NULL;

	CHECK_INT_EQ("no such method", ingero_call(ingero, "ingero.v1.Query.Nothing", &status.base, 0, &reply),
		     -EINVAL);
	CHECK_INT_EQ("message of another method", ingero_call(ingero, STATUS, &operations.base, 0, &reply), -EINVAL);
	memset(pids, 0xff, 100000 * sizeof(*pids));
	operations.pids = pids;
	operations.n_pids = 100000;
	CHECK_INT_EQ("request too large", ingero_call(ingero, OPERATIONS, &operations.base, 0, &reply), -EMSGSIZE);
	CHECK("outputs are untouched", reply == NULL);
	CHECK_INT_EQ("the connection lives", call_operation(ingero, TOY_REPLY, 0), 0);
	ingero_close(ingero);
}

static void test_daemon_dies(void)
{
	struct ingero *ingero = open_private("daemon dies");

	CHECK_INT_EQ("daemon dies in the call", call_operation(ingero, TOY_DIE, 0), -EPIPE);
	CHECK_STR_EQ("daemon dies in the call", ingero_last_error(ingero),
		     "ingero-collectord has closed the connection");
	CHECK_INT_EQ("and the next", call_operation(ingero, TOY_REPLY, 0), -EPIPE);
	CHECK_INT_EQ("and the loop's", ingero_process(ingero), -EPIPE);
	ingero_close(ingero);
}

static void test_frozen_daemon(void)
{
	struct ingero *ingero = open_private("frozen daemon");

	(void)kill(ingero_daemon_pid(ingero), SIGSTOP);
	CHECK_INT_EQ("frozen", call_operation(ingero, TOY_REPLY, 1), -ETIMEDOUT);
	CHECK("frozen", strstr(ingero_last_error(ingero), "does not answer") != NULL);
	(void)kill(ingero_daemon_pid(ingero), SIGCONT);
	/* The answer to the first one comes now, and must not be taken for that to the second. */
	CHECK_INT_EQ("thawed", call_operation(ingero, TOY_FAIL, 0), -EREMOTEIO);
	CHECK_INT_EQ("thawed", call_operation(ingero, TOY_REPLY, 0), 0);
	ingero_close(ingero);
}

static void ignore_signal(int number)
{
	(void)number;
}

static void test_signals(void)
{
	struct sigaction action = { .sa_handler = ignore_signal }; /* without SA_RESTART */
	struct itimerval often = { .it_interval.tv_usec = 200, .it_value.tv_usec = 200 }, never = { 0 };
	struct ingero *ingero;

	(void)sigaction(SIGALRM, &action, NULL);
	(void)setitimer(ITIMER_REAL, &often, NULL);
	ingero = open_private("signals");
	for (int i = 0; i < 300; i++)
		CHECK_INT_EQ("signals all the time", call_operation(ingero, i % 10 ? TOY_REPLY : TOY_LARGE, 0), 0);
	ingero_close(ingero);
	(void)setitimer(ITIMER_REAL, &never, NULL);
}

/* ---- streams ---- */

struct seen {
	struct ingero *ingero;
	unsigned int n_starts;
	unsigned int n_summaries;
	unsigned int n_out_of_order;
	unsigned int stop_after; /* replies; 0: never */
	bool calls_inside;	 /* a call from within each reply */
	unsigned int n_calls_inside;
	bool is_over;
	int r;
};

static void on_reply(struct ingero_stream *stream, const ProtobufCMessage *message, void *data)
{
	const Ingero__V1__TraceReply *reply = (const Ingero__V1__TraceReply *)message;
	struct seen *seen = data;

	if (reply->body_case == INGERO__V1__TRACE_REPLY__BODY_SUMMARY)
		seen->n_summaries++;
	if (reply->body_case != INGERO__V1__TRACE_REPLY__BODY_START)
		return;
	if (reply->start->timestamp_unix_ns != ++seen->n_starts)
		seen->n_out_of_order++;
	if (seen->n_starts == seen->stop_after)
		CHECK_INT_EQ("stop", ingero_stream_stop(stream), 0);
	if (seen->calls_inside)
		seen->n_calls_inside += call_operation(seen->ingero, TOY_REPLY, 0) == 0;
}

static void on_end(struct ingero_stream *stream, int r, void *data)
{
	struct seen *seen = data;

	(void)stream;
	CHECK("ends once", !seen->is_over);
	seen->is_over = true;
	seen->r = r;
}

static void start_trace(const char *name, struct ingero *ingero, enum toy_trace kind, uint32_t n_pieces,
			uint32_t piece_bytes, struct seen *seen)
{
	Ingero__V1__TraceRequest request = INGERO__V1__TRACE_REQUEST__INIT;
	uint32_t pids[] = { kind, n_pieces };
	struct ingero_stream *stream;

	request.pids = pids;
	request.n_pids = 2;
	request.sample_every = piece_bytes;
	seen->ingero = ingero;
	CHECK_INT_EQ(name, ingero_stream_start(ingero, TRACE, &request.base, on_reply, on_end, seen, &stream), 0);
}

static void wait_for_end(struct ingero *ingero, const struct seen *seen)
{
	while (!seen->is_over) {
		struct pollfd poll_fd = { .fd = ingero_fd(ingero), .events = ingero_events(ingero) };

		(void)poll(&poll_fd, 1, -1);
		(void)ingero_process(ingero);
	}
}

static void test_streams(void)
{
	static const struct {
		const char *name;
		enum toy_trace kind;
		uint32_t n_pieces, piece_bytes;
		struct seen start;
		struct seen end;
	} cases[] = {
		{ "nothing", TOY_COUNT, 0, 1, {}, { .r = 0 } },
		{ "many small", TOY_COUNT, 20011, 10, {}, { .n_starts = 20011 } },
		{ "many times the credit", TOY_COUNT, 307, 100003, {}, { .n_starts = 307 } },
		{ "largest", TOY_COUNT, 7, FRAME_SERVER_BODY_MAX - 100, {}, { .n_starts = 7 } },
		{ "stopped", TOY_STOPPABLE, 0, 10, { .stop_after = 1 }, { .n_starts = 1, .n_summaries = 1 } },
		{ "stopped for good", TOY_PLAIN, 0, 10, { .stop_after = 1 }, { .n_starts = 1, .r = -ECANCELED } },
		{ "calls inside",
		  TOY_COUNT,
		  101,
		  50000,
		  { .calls_inside = true },
		  { .n_starts = 101, .n_calls_inside = 101 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ingero *ingero = open_private(cases[i].name);
		struct seen seen = cases[i].start;

		start_trace(cases[i].name, ingero, cases[i].kind, cases[i].n_pieces, cases[i].piece_bytes, &seen);
		wait_for_end(ingero, &seen);
		CHECK_INT_EQ(cases[i].name, seen.r, cases[i].end.r);
		CHECK_INT_EQ(cases[i].name, seen.n_starts, cases[i].end.n_starts);
		CHECK_INT_EQ(cases[i].name, seen.n_summaries, cases[i].end.n_summaries);
		CHECK_INT_EQ(cases[i].name, seen.n_calls_inside, cases[i].end.n_calls_inside);
		CHECK_INT_EQ(cases[i].name, seen.n_out_of_order, 0);
		ingero_close(ingero);
	}
}

static void test_stream_ends_with_connection(void)
{
	struct ingero *ingero = open_private("closing");
	struct seen mine = {}, other = {};

	start_trace("closing", ingero, TOY_STOPPABLE, 0, 10, &mine);
	CHECK_INT_EQ("closing", call_operation(ingero, TOY_REPLY, 0), 0);
	ingero_close(ingero);
	CHECK_INT_EQ("closed by us", mine.r, -ECANCELED);
	CHECK("closed by us", mine.is_over);

	ingero = open_private("dying");
	start_trace("dying", ingero, TOY_STOPPABLE, 0, 10, &other);
	(void)call_operation(ingero, TOY_DIE, 0);
	CHECK_INT_EQ("daemon dies in a stream", other.r, -EPIPE);
	CHECK("daemon dies in a stream", other.is_over);
	ingero_close(ingero);
}

/* ---- private daemons that go wrong ---- */

static void test_bad_private(void)
{
	static const char *const end[] = { "end", NULL }, *const crash[] = { "crash", NULL };
	static const char *const babble[] = { "babble", NULL };
	static const struct {
		const char *name;
		const char *path;
		const char *const *args;
		int r;
		const char *text; /* in the sentence */
	} cases[] = {
		{ "does not exist", "/nonexistent/ingero-collectord", NULL, -ENOENT, "cannot start '/nonexistent/" },
		{ "is a directory", "/", NULL, -EACCES, "cannot start '/'" },
		{ "is no program", "/dev/null", NULL, -EACCES, "cannot start '/dev/null'" },
		{ "ends at once", "/proc/self/exe", end, -EPIPE, "ended with status 7" },
		{ "crashes at once", "/proc/self/exe", crash, -EPIPE, "killed by signal 9" },
		{ "is no daemon of ours", "/proc/self/exe", babble, -EPROTO, "bytes that make no sense" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ingero_options options = { .private_daemon = true,
						  .daemon_path = cases[i].path,
						  .daemon_args = cases[i].args };
		struct ingero *ingero = NULL;
		char error[512] = "";

		CHECK_INT_EQ(cases[i].name, ingero_open(&options, error, sizeof(error), &ingero), cases[i].r);
		CHECK(cases[i].name, ingero == NULL);
		if (!strstr(error, cases[i].text))
			CHECK_STR_EQ(cases[i].name, error, cases[i].text);
	}
	CHECK_INT_EQ("no child is left behind", waitpid(-1, NULL, WNOHANG), -1);
	CHECK_INT_EQ("no child is left behind", errno, ECHILD);
}

/* A client that is killed takes its daemon along, even one that has stopped listening. */
static void test_dies_with_client(void)
{
	static const char *const linger[] = { "linger", NULL };
	CLEANUP(closep) int read_fd = -1;
	struct pollfd poll_fd;
	int fds[2], status;
	char byte;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		abort();
	read_fd = fds[0];
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		struct ingero_options options = { .private_daemon = true,
						  .daemon_path = "/proc/self/exe",
						  .daemon_args = linger };
		struct ingero *ingero = NULL;
		char error[512];

		/* The pipe is the daemon's stderr as well, so that its end is seen when both are gone. */
		(void)dup2(fds[1], STDERR_FILENO);
		if (ingero_open(&options, error, sizeof(error), &ingero))
			_exit(1);
		(void)!write(fds[1], "x", 1);
		(void)poll(NULL, 0, -1);
	}
	(void)close(fds[1]);
	CHECK_INT_EQ("client and daemon run", read(read_fd, &byte, 1), 1);
	(void)kill(pid, SIGKILL);
	CHECK_INT_EQ("client is gone", waitpid(pid, &status, 0), pid);
	poll_fd = (struct pollfd){ .fd = read_fd, .events = POLLIN };
	CHECK_INT_EQ("daemon is gone", poll(&poll_fd, 1, -1), 1);
	CHECK_INT_EQ("daemon is gone", read(read_fd, &byte, 1), 0);
}

int main(int argc, char **argv)
{
	if (argc >= 3 && strcmp(argv[1], "--private") == 0)
		return be_daemon(atoi(argv[2]), argc > 3 ? argv[3] : NULL);

	/* What started the test may have had it ignored. */
	(void)signal(SIGPIPE, SIG_DFL);
	test_descriptors();
	test_hello();
	test_calls();
	test_wrong_calls();
	test_daemon_dies();
	test_frozen_daemon();
	test_signals();
	test_streams();
	test_stream_ends_with_connection();
	test_bad_private();
	test_dies_with_client();
	return check_result();
}
