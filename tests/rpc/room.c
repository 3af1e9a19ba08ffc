// SPDX-License-Identifier: Apache-2.0
/*
 * All connections are in use: a user who has none is let in, and whose connection is closed for that hears why.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "raw.h"
#include "rpc/quota.h"
#include "rpc/server.h"
#include "tests/support/check.h"

#define FIRST_UID 200000u
#define ROOT_HOLDS QUOTA_USER_CONNECTIONS
#define NOBODY (-1)

/* What a connection does: its user is greeted and then does nothing, or that. */
enum does { IDLE, SILENT, TRACING };

/* A connection of this user, as the kernel tells whose a socket is. Return: of server_adopt() */
static int open_as(struct raw *raw, struct toy *toy, uint32_t uid)
{
	int fds[2], r;

	if (seteuid(uid) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) || seteuid(0))
		abort();
	*raw = (struct raw){ .toy = toy, .fd = fds[0] };
	r = server_adopt(toy->server, fds[1]);
	if (r)
		(void)close(fds[1]); /* as accept does with a client that was turned away */
	raw_now_ns += NSEC_PER_MSEC;
	return r;
}

static void begin(struct raw *raw, enum does does)
{
	if (does != SILENT)
		raw_send_hello(raw, FRAME_PROTOCOL_MAJOR);
	if (does == TRACING)
		raw_send_trace(raw, 2, TOY_PLAIN, 0, 1);
	(void)uv_run(&raw->toy->loop, UV_RUN_NOWAIT);
}

/* What was said to it until now is of no interest. */
static void forget_said(struct raw *raw)
{
	struct frame frame;

	raw_settle(raw);
	while (raw_next(raw, &frame) == RAW_FRAME)
		;
}

/* Connections before the one that comes: connection i is of user i % n_users; all but these do what `others` do. */
static const struct {
	const char *name;
	unsigned int n_users;
	enum does others;
	unsigned int n_special;
	struct {
		unsigned int i;
		enum does does;
		bool asks_again; /* when all are there */
	} special[2];
	uint32_t uid; /* who comes, counted from FIRST_UID; root: -FIRST_UID */
	int closed;   /* which one is */
	int r;
} cases[] = {
	{ "nobody has many idle ones for good", 8, IDLE, 0, {}, 8, 0, 0 },
	{ "nor many that say nothing", 8, SILENT, 0, {}, 8, 0, 0 },
	{ "the one that says nothing is idle since it came", 8, IDLE, 1, { { 1, SILENT, false } }, 8, 0, 0 },
	{ "who traces is not idle", 8, IDLE, 1, { { 0, TRACING, false } }, 8, 1, 0 },
	{ "who asked since is idle for less long", 8, IDLE, 2, { { 0, IDLE, true }, { 1, IDLE, true } }, 8, 2, 0 },
	{ "one each", QUOTA_TOTAL_CONNECTIONS, IDLE, 0, {}, QUOTA_TOTAL_CONNECTIONS, 0, 0 },
	{ "one each, and all trace but one",
	  QUOTA_TOTAL_CONNECTIONS,
	  TRACING,
	  1,
	  { { 77, IDLE, false } },
	  QUOTA_TOTAL_CONNECTIONS,
	  77,
	  0 },
	{ "one each, and all trace: the last to come",
	  QUOTA_TOTAL_CONNECTIONS,
	  TRACING,
	  0,
	  {},
	  QUOTA_TOTAL_CONNECTIONS,
	  QUOTA_TOTAL_CONNECTIONS - 1,
	  0 },
	{ "one each, and one of them wants another: in place of his own",
	  QUOTA_TOTAL_CONNECTIONS,
	  IDLE,
	  0,
	  {},
	  5,
	  5,
	  0 },
	{ "one each, and one who traces wants another",
	  QUOTA_TOTAL_CONNECTIONS,
	  IDLE,
	  1,
	  { { 5, TRACING, false } },
	  5,
	  NOBODY,
	  -EDQUOT },
	/* user i % 300: the first 212 have two */
	{ "the idle one of who has more", 300, IDLE, 0, {}, 250, 0, 0 },
	{ "who has one does not end traces", 300, TRACING, 0, {}, 250, NOBODY, -EDQUOT },
	{ "who has one takes the idle one of who has more", 300, TRACING, 1, { { 301, IDLE, false } }, 250, 301, 0 },
	{ "his own trace lives, others' idle ones are of those with no more",
	  300,
	  TRACING,
	  1,
	  { { 299, IDLE, false } },
	  250,
	  NOBODY,
	  -EDQUOT },
	{ "root comes and nobody goes", 8, IDLE, 0, {}, 0u - FIRST_UID, NOBODY, 0 },
	{ "as many as one may have, and one more", 8, IDLE, 0, {}, 3, NOBODY, -EDQUOT },
};

static void test_case(size_t n)
{
	static struct raw raws[QUOTA_TOTAL_CONNECTIONS], roots[ROOT_HOLDS - 1];
	const char *name = cases[n].name;
	unsigned int n_closed = 0;
	struct raw comes;
	struct toy toy;
	int r;

	toy_open(&toy);
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) { /* root's are older and more than anybody's, and stay */
		CHECK_INT_EQ(name, open_as(&roots[i], &toy, 0), 0);
		begin(&roots[i], IDLE);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(raws); i++) {
		enum does does = cases[n].others;

		for (size_t k = 0; k < cases[n].n_special; k++)
			if (cases[n].special[k].i == i)
				does = cases[n].special[k].does;
		CHECK_INT_EQ(name, open_as(&raws[i], &toy, FIRST_UID + i % cases[n].n_users), 0);
		begin(&raws[i], does);
	}
	for (size_t k = 0; k < cases[n].n_special; k++)
		if (cases[n].special[k].asks_again)
			raw_send_operation(&raws[cases[n].special[k].i], 2, 0, TOY_REPLY);
	for (unsigned int i = 0; i < ARRAY_SIZE(raws); i++)
		forget_said(&raws[i]);
	CHECK_INT_EQ(name, toy.n_peers_closed, 0);

	r = open_as(&comes, &toy, FIRST_UID + cases[n].uid);
	CHECK_INT_EQ(name, r, cases[n].r);
	begin(&comes, IDLE);
	raw_settle(&comes);
	if (r) {
		raw_expect_end(name, &comes, 0, CALL_ERROR_QUOTA);
		raw_expect_closed(name, &comes);
	} else {
		raw_expect_reply(name, &comes, 1);
		raw_expect_end(name, &comes, 1, CALL_OK);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(raws); i++) {
		raw_settle(&raws[i]);
		n_closed += raws[i].is_closed;
		if ((int)i != cases[n].closed) {
			raw_expect_nothing(name, &raws[i]);
			continue;
		}
		raw_expect_end(name, &raws[i], 0, CALL_ERROR_QUOTA);
		raw_expect_closed(name, &raws[i]);
	}
	CHECK_INT_EQ(name, n_closed, cases[n].closed != NOBODY);
	CHECK_INT_EQ(name, toy.n_peers_closed, cases[n].closed != NOBODY);

	raw_close(&comes);
	for (size_t i = 0; i < ARRAY_SIZE(raws); i++)
		raw_close(&raws[i]);
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		raw_close(&roots[i]);
	toy_close(&toy);
}

/* ---- descriptors ---- */

#define CROWD 40

static void child_dials(const struct sockaddr_un *address, uint32_t uid, int n, int hold_fd)
{
	char byte;

	if (setresuid(uid, uid, uid))
		_exit(1);
	for (int i = 0; i < n; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)))
			_exit(1);
	}
	(void)!read(hold_fd, &byte, 1); /* until the test ends */
	_exit(0);
}

static pid_t crowd_of(const struct sockaddr_un *address, uint32_t uid, int n, const int hold[2])
{
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	(void)close(hold[1]);
	child_dials(address, uid, n, hold[0]);
	return 0;
}

static void turn_until(struct toy *toy, unsigned int n_opened)
{
	for (int i = 0; i < 100000 && toy->n_peers_opened < n_opened; i++)
		(void)uv_run(&toy->loop, UV_RUN_NOWAIT);
}

/* One user's connections are all that the daemon has descriptors for, and then another comes. */
static void test_descriptors(void)
{
	char directory[] = P_tmpdir "/ingero-room-XXXXXX";
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct rlimit before, few;
	int hold[2], next_fd;
	struct toy toy;
	pid_t pids[2];

	if (!mkdtemp(directory) || chmod(directory, 0755) || pipe2(hold, O_CLOEXEC) ||
	    getrlimit(RLIMIT_NOFILE, &before))
		abort();
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", directory);
	toy_open(&toy);
	CHECK_INT_EQ("listens", server_listen(toy.server, address.sun_path), 0);
	pids[0] = crowd_of(&address, FIRST_UID, CROWD, hold);
	turn_until(&toy, CROWD);
	CHECK_INT_EQ("the crowd is there", toy.n_peers_opened, CROWD);

	next_fd = dup(0);
	(void)close(next_fd);
	few = (struct rlimit){ (rlim_t)next_fd, before.rlim_max };
	if (setrlimit(RLIMIT_NOFILE, &few))
		abort();
	pids[1] = crowd_of(&address, FIRST_UID + 1, 1, hold);
	turn_until(&toy, CROWD + 1);
	CHECK_INT_EQ("without a descriptor left another is let in", toy.n_peers_opened, CROWD + 1);
	CHECK_INT_EQ("in place of one of the crowd", toy.n_peers_closed, 1);
	(void)setrlimit(RLIMIT_NOFILE, &before);

	(void)close(hold[1]);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		(void)waitpid(pids[i], NULL, 0);
	toy_close(&toy);
	(void)close(hold[0]);
	(void)rmdir(directory);
}

int main(void)
{
	struct rlimit limit;

	(void)signal(SIGPIPE, SIG_DFL); /* what started the test may have had it ignored */
	if (getuid() != 0)
		CHECK_SKIP("other users' connections can be made by root alone");
	if (getrlimit(RLIMIT_NOFILE, &limit))
		abort();
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_max < 4 * QUOTA_TOTAL_CONNECTIONS || setrlimit(RLIMIT_NOFILE, &limit))
		CHECK_SKIP("too few descriptors: %d are needed", 4 * QUOTA_TOTAL_CONNECTIONS);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		test_case(i);
	test_descriptors();
	return check_result();
}
