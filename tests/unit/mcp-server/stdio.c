// SPDX-License-Identifier: Apache-2.0
/*
 * Lines on a pair of descriptors: as many answers as requests, each a line of its own, whatever came between them, and
 * all of them before the end.
 */
#include "mcp-server/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "mcp-server/rpc.h"
#include "mcp-server/workers.h"
#include "tests/support/check.h"

#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}"
/* Refused by the tool itself, without a daemon: on a thread, as every call is. */
#define CALL(id)                                                                                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":" id                                                                              \
	",\"method\":\"tools/call\",\"params\":{\"name\":\"explain\",\"arguments\":{\"x\":1}}}"

static const struct {
	const char *name, *input;
	const char *ids; /* of the answers, in ascending order, separated by spaces; "-": an error without id */
} cases[] = {
	{ "nothing", "", "" },
	{ "one", PING("1") "\n", "1" },
	{ "without a line end", PING("1"), "1" },
	{ "other line ends", PING("1") "\r\n" PING("2") "\r\n", "1 2" },
	{ "blank lines", "\n\n" PING("1") "\n \t\r\n\n", "1" },
	{ "goes on behind rubbish", "rubbish\n" PING("2") "\n", "- 2" },
	{ "a NUL byte is rubbish", "\x7f\n" PING("2") "\n", "- 2" },
	{ "calls", CALL("1") "\n" CALL("2") "\n" PING("3") "\n" CALL("4") "\n" CALL("5") "\n" CALL("6") "\n",
	  "1 2 3 4 5 6" },
	{ "no answer to a notification",
	  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n" PING("1") "\n", "1" },
	{ "cancelled, what nobody asked",
	  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}\n"
	  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}\n" PING("1") "\n",
	  "1" },
};

/* Serves an input from beginning to end. Return: what was answered, in a descriptor */
static int serve(const void *input, size_t n, int *ret_r)
{
	static const struct server server;
	int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC);

	CHECK_INT_EQ("input", fd_write_full(in, input, n), 0);
	(void)lseek(in, 0, SEEK_SET);
	*ret_r = stdio_serve(&server, in, out);
	(void)close(in);
	(void)lseek(out, 0, SEEK_SET);
	return out;
}

static int id_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Ids of the answers, sorted: threads answer in any order. */
static void ids_read(int out, struct buf *ret)
{
	FILE *file = fdopen(out, "r");
	char *line = NULL, *ids[256];
	size_t room = 0, n = 0;

	while (n < 256 && getline(&line, &room, file) > 0) {
		json_t *answer = json_loads(line, JSON_REJECT_DUPLICATES, NULL), *id = json_object_get(answer, "id");

		CHECK(line, answer);
		ids[n++] = id ? json_dumps(id, JSON_ENCODE_ANY) : strdup("-");
		json_decref(answer);
	}
	qsort(ids, n, sizeof(*ids), id_compare);
	for (size_t i = 0; i < n; i++) {
		(void)buf_printf(ret, "%s%s", i ? " " : "", ids[i]);
		free(ids[i]);
	}
	free(line);
	(void)fclose(file);
}

static void long_lines_test(void)
{
	static const size_t lengths[] = { RPC_MESSAGE_BYTES_MAX + 1, 3 * RPC_MESSAGE_BYTES_MAX, 64u << 20 };

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		CLEANUP(buf_done) struct buf input = BUF_INIT, ids = BUF_INIT;
		uint8_t *room = buf_reserve(&input, lengths[i]);
		int r;

		memset(room, 'x', lengths[i]);
		input.n += lengths[i];
		(void)buf_append_text(&input, "\n" PING("2") "\n");
		ids_read(serve(input.data, input.n, &r), &ids);
		CHECK_INT_EQ("a long line", r, 0);
		CHECK_STR_EQ("one refusal, then on", buf_text(&ids), "- 2");
	}
}

/* More than may wait are refused, and all are answered. */
static void flood_test(void)
{
	CLEANUP(buf_done) struct buf input = BUF_INIT, ids = BUF_INIT;
	size_t n_ids = 1;
	int r;

	for (int i = 1000; i < 1000 + 3 * WORKERS_JOBS_MAX; i++)
		(void)buf_printf(
			&input,
			"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"run_sql\"}}\n",
			i);
	ids_read(serve(input.data, input.n, &r), &ids);
	for (const char *p = buf_text(&ids); *p; p++)
		n_ids += *p == ' ';
	CHECK_INT_EQ("an answer each", n_ids, 3 * WORKERS_JOBS_MAX);
}

/* A reader that has gone ends the server, and is no failure. */
static void gone_test(void)
{
	static const struct server server;
	int in = memfd_create("in", MFD_CLOEXEC), out = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)fd_write_full(in, PING("1") "\n", strlen(PING("1") "\n"));
	(void)lseek(in, 0, SEEK_SET);
	CHECK_INT_EQ("nobody reads", stdio_serve(&server, in, out), 0);
	(void)close(in);
	(void)close(out);
}

/* ---- nobody reads the answers, and the input ends ---- */

#define UNREAD_LIMIT_S (WORKERS_END_S + 3) /* with room for a machine that is busy */

#define READ(id)                                                                                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"resources/read\",\"params\":{\"uri\":\"ingero://docs/sql\"}}"

static const struct unread {
	const char *name;
	const char *line; /* asked again and again */
	bool is_socket;	  /* both ends; else pipes */
	bool is_file;	  /* the input is a file: only who reads it to the end learns of it */
} unreads[] = {
	{ "quick questions", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n", false, false },
	{ "calls", CALL("%d") "\n", false, false },
	{ "quick questions on a socket", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n", true, false },
	{ "calls on a socket", CALL("%d") "\n", true, false },
	{ "calls of a file", READ("%d") "\n", false, true },
};

struct unread_run {
	const struct unread *kind;
	pthread_t thread;
	int r;
	time_t seconds;
};

static time_t seconds_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static void pair_make(bool is_socket, int ends[2])
{
	int r = is_socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) : pipe2(ends, O_CLOEXEC);

	CHECK_INT_EQ("a pair", r, 0);
}

static void *unread_serve(void *data)
{
	static const struct server server;
	struct unread_run *run = data;
	CLEANUP(buf_done) struct buf input = BUF_INIT;
	int in[2], out[2];
	time_t start;

	for (int i = 0; i < (run->kind->is_file ? WORKERS_JOBS_MAX : 2000); i++) {
		const char *id = strstr(run->kind->line, "%d");

		if (id)
			(void)buf_printf(&input, "%.*s%d%s", (int)(id - run->kind->line), run->kind->line, i, id + 2);
		else if (i < 100)
			(void)buf_append_text(&input, run->kind->line);
	}
	pair_make(run->kind->is_socket, out);
	if (run->kind->is_file) {
		in[0] = memfd_create("in", MFD_CLOEXEC);
		in[1] = dup(in[0]);
	} else {
		pair_make(run->kind->is_socket, in);
		(void)fcntl(in[1], F_SETFL, O_NONBLOCK);
	}
	CHECK("what has room is written", write(in[1], input.data, input.n) >= 0 || errno == EAGAIN);
	if (run->kind->is_file)
		(void)lseek(in[0], 0, SEEK_SET);
	(void)close(in[1]);
	start = seconds_now();
	run->r = stdio_serve(&server, in[0], run->kind->is_socket ? out[0] : out[1]);
	run->seconds = seconds_now() - start;
	(void)close(in[0]);
	(void)close(out[0]);
	(void)close(out[1]);
	return NULL;
}

/* At once, since each takes as long as answers may take after the end. */
static void unread_test(void)
{
	struct unread_run runs[ARRAY_SIZE(unreads)];

	(void)signal(SIGPIPE, SIG_IGN);
	(void)alarm(60);
	for (size_t i = 0; i < ARRAY_SIZE(unreads); i++) {
		runs[i] = (struct unread_run){ .kind = &unreads[i] };
		CHECK_INT_EQ("a thread", pthread_create(&runs[i].thread, NULL, unread_serve, &runs[i]), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(unreads); i++) {
		(void)pthread_join(runs[i].thread, NULL);
		CHECK_INT_EQ(unreads[i].name, runs[i].r, 0);
		CHECK(unreads[i].name, runs[i].seconds <= UNREAD_LIMIT_S);
	}
	(void)alarm(0);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_done) struct buf ids = BUF_INIT;
		int r;

		ids_read(serve(cases[i].input, strlen(cases[i].input), &r), &ids);
		CHECK_INT_EQ(cases[i].name, r, 0);
		CHECK_STR_EQ(cases[i].name, buf_text(&ids), cases[i].ids);
	}
	long_lines_test();
	flood_test();
	gone_test();
	unread_test();
	return check_result();
}
