// SPDX-License-Identifier: Apache-2.0
#include "attacks.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "ingero/v1/ingero.pb-c.h"
#include "mutation.h"
#include "questions.h"

#define BYTES(literal) (literal), sizeof(literal) - 1
#define OPEN_MAX_WANTED 10000

static const char *path;	  /* of the daemon's socket */
static int held[OPEN_MAX_WANTED]; /* -1: none */
static uint32_t streams[OPEN_MAX_WANTED];

static int dial(void)
{
	CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return -1;
	return TAKE_FD(fd);
}

static bool put(int fd, const void *data, size_t n)
{
	return fd >= 0 && send(fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n;
}

static bool put_request(int fd, uint32_t stream, const char *method, const void *message, size_t n)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	uint8_t *p = frame_reserve(&out, FRAME_REQUEST, stream, frame_request_bytes(method) + n);

	if (!p)
		abort();
	p = frame_request_write(p, method, 0);
	if (n)
		memcpy(p, message, n);
	return put(fd, out.data, out.n);
}

/* A connection that has said Hello; its answer is left for who reads. */
static int dial_greeted(void)
{
	int fd = dial();

	if (fd >= 0 && !put_request(fd, 1, FRAME_HELLO_METHOD, BYTES("\x08\x01")))
		closep(&fd), fd = -1;
	return fd;
}

static void drain(int fd)
{
	static char bytes[1 << 16];

	while (fd >= 0 && recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

static bool is_over(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	return fd < 0 || (poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLRDHUP)));
}

/* One of the first n places, with a connection in it: a new one where it was closed. */
static int *hold(size_t i, int (*open)(void))
{
	if (is_over(held[i])) {
		closep(&held[i]);
		held[i] = open();
		streams[i] = 1;
	}
	return &held[i];
}

/* ---- bytes that make no sense ---- */

static void garbage(void)
{
	CLEANUP(closep) int fd = mutation_random(2) ? dial() : dial_greeted();
	uint8_t bytes[512];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)mutation_random(256);
	(void)put(fd, bytes, sizeof(bytes));
}

static void huge_lengths(void)
{
	CLEANUP(closep) int fd = dial_greeted();

	(void)put(fd, BYTES("\xff\xff\xff\xff\1\0\0\0\2\0\0\0"));
}

/* Frames of the largest size that come a byte at a time, on as many connections as one may have. */
static void half_frames(void)
{
	static uint8_t most[65500];
	static bool is_filled[64];

	for (size_t i = 0; i < ARRAY_SIZE(is_filled); i++) {
		int before = held[i], *fd = hold(i, dial_greeted);

		if (*fd != before || !is_filled[i])
			is_filled[i] = put(*fd, BYTES("\0\0\1\0\1\0\0\0\2\0\0\0")) && put(*fd, most, sizeof(most));
		else
			(void)put(*fd, "x", 1);
	}
	(void)poll(NULL, 0, 1);
}

static void other_versions(void)
{
	CLEANUP(closep) int fd = dial();
	uint8_t hello[] = { 0x08, (uint8_t)(2 + mutation_random(100)) };

	(void)put_request(fd, 1, FRAME_HELLO_METHOD, hello, sizeof(hello));
}

/* Zero bytes and what is no UTF-8, in every field of every request that is text. */
static void bad_text(void)
{
	static const struct {
		const char *bytes;
		size_t n;
	} texts[] = { { BYTES("a\0b") },
		      { BYTES("\xc3\x28") },
		      { BYTES("\xff\xfe") },
		      { BYTES("\xed\xa0\x80") },
		      { BYTES("\xf4\x90\x80\x80") } };
	int fd = *hold(0, dial_greeted);

	for (size_t s = 0; s < QUESTION_SERVICES; s++)
		for (unsigned int m = 0; m < question_services[s]->n_methods; m++) {
			const ProtobufCMessageDescriptor *type = question_services[s]->methods[m].input;
			char method[128];

			(void)snprintf(method, sizeof(method), "%s.%s", question_services[s]->name,
				       question_services[s]->methods[m].name);
			if (strcmp(method, HELLO) == 0)
				continue;
			for (unsigned int f = 0; f < type->n_fields; f++)
				for (size_t t = 0;
				     type->fields[f].type == PROTOBUF_C_TYPE_STRING && t < ARRAY_SIZE(texts); t++) {
					uint8_t body[16] = { (uint8_t)(type->fields[f].id << 3 | 2),
							     (uint8_t)texts[t].n };

					memcpy(body + 2, texts[t].bytes, texts[t].n);
					(void)put_request(fd, ++streams[0], method, body, 2 + texts[t].n);
				}
		}
	drain(fd);
}

static void descriptors(void)
{
	int fds[FD_PASS_MAX], fd = *hold(0, dial_greeted);

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = STDERR_FILENO;
	for (int i = 0; fd >= 0 && i < 64; i++)
		(void)fd_send(fd, "\0", 1, fds, ARRAY_SIZE(fds));
	drain(fd);
}

/* ---- too much of what is allowed ---- */

static void connections(void)
{
	static size_t next;

	for (int i = 0; i < 100; i++, next = (next + 1) % OPEN_MAX_WANTED) {
		closep(&held[next]);
		held[next] = dial();
	}
}

static void never_writes(void)
{
	for (size_t i = 0; i < 64; i++)
		(void)hold(i, dial);
	(void)poll(NULL, 0, 1);
}

static void never_reads(void)
{
	static const struct subject nobody;
	CLEANUP(buf_done) struct buf sql = BUF_INIT;

	question_pack(question_find(OPERATIONS, "of all"), &nobody, &sql);
	for (size_t i = 0; i < 64; i++) {
		int fd = *hold(i, dial_greeted);

		for (int k = 0; k < 16; k++) {
			(void)put_request(fd, ++streams[i], OPERATIONS, NULL, 0);
			(void)put_request(fd, ++streams[i], STATUS, NULL, 0);
		}
	}
}

static void credit(void)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	int fd = *hold(0, dial_greeted);

	for (uint32_t i = 0; i < 200; i++)
		(void)frame_append_credit(&out, i % 3, UINT32_MAX);
	(void)put_request(fd, ++streams[0], STATUS, NULL, 0);
	(void)put(fd, out.data, out.n);
	drain(fd);
}

static void cancels(void)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	int fd = *hold(0, dial_greeted);

	for (int i = 0; i < 50; i++) {
		const char *method = i % 2 ? TRACE : EVENTS;
		size_t n = frame_request_bytes(method);
		uint8_t *p = frame_reserve(&out, FRAME_REQUEST, ++streams[0], n);

		(void)frame_request_write(p, method, 0);
		for (int k = 0; k < 3; k++)
			(void)frame_append(&out, FRAME_CANCEL, streams[0], NULL, 0);
	}
	(void)put(fd, out.data, out.n);
	drain(fd);
}

/* What takes the loop longest. */
static void looks(void)
{
	for (size_t i = 0; i < 16; i++) {
		int fd = *hold(i, dial_greeted);

		for (int k = 0; k < 8; k++)
			(void)put_request(fd, ++streams[i], STATUS, BYTES("\x08\x01"));
		drain(fd);
	}
}

/* Statements that would never end, as many as one may have; each is a process. */
static void endless_sql(void)
{
	Ingero__V1__SqlRequest request = INGERO__V1__SQL_REQUEST__INIT;
	uint8_t bytes[512];
	size_t n;

	request.sql = (char *)(uintptr_t) "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "
					  "count(*) FROM c";
	request.time_limit_ns = 600 * NSEC_PER_SEC;
	n = ingero__v1__sql_request__pack(&request, bytes);
	for (size_t i = 0; i < 4; i++) {
		int fd = *hold(i, dial_greeted);

		for (int k = 0; k < 8; k++)
			(void)put_request(fd, ++streams[i], SQL, bytes, n);
		drain(fd);
	}
	(void)poll(NULL, 0, 1);
}

/* As many traces as one may have, with figures as often as they come, whose figures are read and dropped. */
static void traces(void)
{
	Ingero__V1__TraceRequest request = INGERO__V1__TRACE_REQUEST__INIT;
	uint8_t bytes[64];
	size_t n;

	request.events = true;
	request.record = (char *)(uintptr_t) "all";
	request.figures_period_ns = 1;
	n = ingero__v1__trace_request__pack(&request, bytes);
	for (size_t i = 0; i < 64; i++) {
		int before = held[i], fd = *hold(i, dial_greeted);

		if (fd != before || mutation_random(64) == 0)
			(void)put_request(fd, ++streams[i], TRACE, bytes, n);
		drain(fd);
	}
	(void)poll(NULL, 0, 1);
}

const struct attack attacks[] = {
	{ "garbage", garbage, 2000 },	     { "huge_lengths", huge_lengths, 1000 },
	{ "half_frames", half_frames, 50 },  { "other_versions", other_versions, 1000 },
	{ "bad_text", bad_text, 50 },	     { "descriptors", descriptors, 50 },
	{ "connections", connections, 100 }, { "never_writes", never_writes, 50 },
	{ "never_reads", never_reads, 30 },  { "credit", credit, 100 },
	{ "cancels", cancels, 40 },	     { "looks", looks, 20 },
	{ "endless_sql", endless_sql, 20 },  { "traces", traces, 100 },
};
const size_t n_attacks = ARRAY_SIZE(attacks);

/* ---- life ---- */

static void attack_run(const struct attack *attack, const struct tenants *tenants, enum tenant_id id, int done)
{
	struct rlimit limit;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGPIPE, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = MIN(limit.rlim_max, (rlim_t)OPEN_MAX_WANTED + 100);
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (!tenants_become(&tenants->of[id]))
		_exit(125);
	path = tenants->socket;
	for (size_t i = 0; i < ARRAY_SIZE(held); i++)
		held[i] = -1;
	for (unsigned int i = 0;; i++) {
		attack->round();
		if (i + 1 == attack->rounds && write(done, "", 1) != 1)
			_exit(1);
	}
}

pid_t attack_start(const struct attack *attack, const struct tenants *tenants, enum tenant_id id, int *ret_done)
{
	int ends[2];
	pid_t pid;

	(void)fflush(NULL);
	if (pipe(ends) || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		(void)close(ends[0]);
		attack_run(attack, tenants, id, ends[1]);
	}
	(void)close(ends[1]);
	*ret_done = ends[0];
	return pid;
}

void attack_stop(pid_t pid, int done)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	(void)close(done);
}
