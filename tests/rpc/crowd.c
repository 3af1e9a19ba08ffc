// SPDX-License-Identifier: Apache-2.0
/*
 * What one user may have, and that another is served beside one who takes all of it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

/* ---- quotas ---- */

static void test_connection_quota(void)
{
	struct raw raws[QUOTA_USER_CONNECTIONS], extra;
	struct toy toy;

	toy_open(&toy);
	for (size_t i = 0; i < ARRAY_SIZE(raws); i++)
		raw_open_greeted(&raws[i], &toy);

	for (int i = 0; i < 100; i++) {
		int fds[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds))
			abort();
		CHECK_INT_EQ("one connection too many", server_adopt(toy.server, fds[1]), -EDQUOT);
		(void)close(fds[1]); /* as accept does with a client that was turned away */
		extra = (struct raw){ .toy = &toy, .fd = fds[0] };
		raw_settle(&extra);
		raw_expect_end("one connection too many", &extra, 0, CALL_ERROR_QUOTA);
		raw_expect_closed("one connection too many", &extra);
		raw_close(&extra);
	}
	CHECK_INT_EQ("those within the quota live", toy.n_peers_closed, 0);

	raw_close(&raws[0]);
	raw_settle(&raws[1]);
	raw_open_greeted(&raws[0], &toy);
	for (size_t i = 0; i < ARRAY_SIZE(raws); i++)
		raw_close(&raws[i]);
	toy_close(&toy);
}

/* What is there when the loop looks is answered in that turn: the next one may be long. */
static void test_answered_at_once(void)
{
	struct frame frame;
	struct toy toy;
	struct raw raw;

	toy_open(&toy);
	raw_open_greeted(&raw, &toy);
	raw_send_operation(&raw, 2, 0, TOY_REPLY);
	(void)uv_run(&toy.loop, UV_RUN_NOWAIT);
	server_close(toy.server); /* which sends nothing any more */
	toy.server = NULL;
	raw_settle(&raw);
	CHECK_INT_EQ("the reply", raw_next(&raw, &frame), RAW_FRAME);
	CHECK_INT_EQ("the reply", frame.type, FRAME_REPLY);
	raw_close(&raw);
	toy_close(&toy);
}

/* Each of them takes half of a user's turn. */
static void spend(struct toy *toy)
{
	(void)toy;
	raw_spent_ns += QUOTA_USER_TURN_NS / 2;
	raw_now_ns += QUOTA_USER_TURN_NS / 2;
}

/* The same in a time that the loop sees going by. */
static void spend_for_long(struct toy *toy)
{
	spend(toy);
	raw_now_ns += QUOTA_USER_TURN_NS;
	(void)poll(NULL, 0, 2);
	uv_update_time(&toy->loop);
}

/* What one user sends at once on one connection is not one turn of the loop: others are looked at in between. */
static void test_turn_of_one(void)
{
	enum { ASKED = 20 };
	unsigned int turns = 0;
	struct toy toy;
	struct raw raw;

	toy_open(&toy);
	raw_open_greeted(&raw, &toy);
	toy.on_operation = spend;
	for (uint32_t i = 0; i < ASKED; i++)
		raw_send_operation(&raw, 2 + i, 0, TOY_REPLY);
	while (toy.n_operations < ASKED && turns < 1000) {
		unsigned int before = toy.n_operations;

		(void)uv_run(&toy.loop, UV_RUN_NOWAIT);
		CHECK_INT_IN("of one turn", toy.n_operations - before, 0, 2);
		raw_now_ns += NSEC_PER_MSEC; /* as the loop waits for it */
		server_check(toy.server);
		turns++;
	}
	CHECK_INT_EQ("all of them", toy.n_operations, ASKED);
	toy.on_operation = NULL;
	raw_close(&raw);
	toy_close(&toy);
}

/* What is left of it is gone on with by a timer, which is due again when it is done: in one turn it comes once. */
static void test_turn_of_timers(void)
{
	enum { ASKED = 20 };
	struct raw raws[2];
	struct toy toy;

	toy_open(&toy);
	for (size_t i = 0; i < ARRAY_SIZE(raws); i++)
		raw_open_greeted(&raws[i], &toy);
	toy.on_operation = spend_for_long;
	for (uint32_t i = 0; i < ASKED; i++)
		raw_send_operation(&raws[i % 2], 2 + i, 0, TOY_REPLY);
	for (unsigned int turns = 0; toy.n_operations < ASKED && turns < 1000; turns++) {
		unsigned int before = toy.n_operations;

		(void)uv_run(&toy.loop, UV_RUN_ONCE); /* which waits for the timer */
		CHECK_INT_IN("of one turn, by a timer and by what is read", toy.n_operations - before, 0, 4);
		raw_now_ns += NSEC_PER_MSEC;
	}
	CHECK_INT_EQ("all of them", toy.n_operations, ASKED);
	toy.on_operation = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(raws); i++)
		raw_close(&raws[i]);
	toy_close(&toy);
}

/* Nor on many connections. */
static void test_turn_of_many(void)
{
	struct raw raws[QUOTA_USER_CONNECTIONS];
	unsigned int turns = 0;
	struct toy toy;

	toy_open(&toy);
	for (size_t i = 0; i < ARRAY_SIZE(raws); i++)
		raw_open_greeted(&raws[i], &toy);
	toy.on_operation = spend;
	for (size_t i = 0; i < ARRAY_SIZE(raws); i++)
		raw_send_operation(&raws[i], 2, 0, TOY_REPLY);
	while (toy.n_operations < ARRAY_SIZE(raws) && turns < 1000) {
		unsigned int before = toy.n_operations;

		(void)uv_run(&toy.loop, UV_RUN_NOWAIT);
		CHECK_INT_IN("of one turn", toy.n_operations - before, 0, 2);
		turns++;
	}
	CHECK_INT_EQ("all of them", toy.n_operations, ARRAY_SIZE(raws));
	CHECK_INT_IN("none of the turns was lost", turns, 1, ARRAY_SIZE(raws));
	toy.on_operation = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(raws); i++)
		raw_close(&raws[i]);
	toy_close(&toy);
}

#define TURNED_AWAY 30 /* with the other, as many as may wait */
#define TURNS_MOST 16

static int dial(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)))
		abort();
	return fd;
}

/* A toy that listens under a name. */
struct place {
	char directory[64];
	struct sockaddr_un address;
};

static void place_open(struct place *place, struct toy *toy)
{
	*place = (struct place){ .directory = P_tmpdir "/ingero-wire-XXXXXX", .address.sun_family = AF_UNIX };
	if (!mkdtemp(place->directory) || chmod(place->directory, 0755))
		abort();
	(void)snprintf(place->address.sun_path, sizeof(place->address.sun_path), "%s/socket", place->directory);
	toy_open(toy);
	CHECK_INT_EQ("listens", server_listen(toy->server, place->address.sun_path), 0);
}

static void place_close(struct place *place, struct toy *toy)
{
	toy_close(toy);
	(void)rmdir(place->directory);
}

/* What was said before the connection was taken is answered in the turn that takes it: others may wait behind it. */
static void test_greeted_at_once(void)
{
	struct place place;
	struct toy toy;
	struct raw raw;

	place_open(&place, &toy);
	raw = (struct raw){ .toy = &toy, .fd = dial(&place.address) };
	raw_send_hello(&raw, FRAME_PROTOCOL_MAJOR);
	(void)uv_run(&toy.loop, UV_RUN_NOWAIT);
	server_close(toy.server); /* which sends nothing any more */
	toy.server = NULL;
	raw_settle(&raw);
	raw_expect_reply("greeting", &raw, 1);
	raw_expect_end("greeting", &raw, 1, CALL_OK);
	raw_close(&raw);
	place_close(&place, &toy);
}

/* A user who has all the connections he may have queues up for more, and then another comes. */
static void test_behind_a_crowd(void)
{
	int fds[QUOTA_USER_CONNECTIONS + TURNED_AWAY], turns = 0;
	struct place place;
	struct toy toy;
	pid_t pid;

	if (getuid() != 0) {
		printf("not tried without root: another user behind a crowd\n");
		return;
	}
	place_open(&place, &toy);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = dial(&place.address);
		while (i < QUOTA_USER_CONNECTIONS && toy.n_peers_opened <= i)
			(void)uv_run(&toy.loop, UV_RUN_NOWAIT);
	}
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (setresuid(54399, 54399, 54399))
			_exit(1);
		(void)dial(&place.address);
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
	while (toy.n_peers_opened == QUOTA_USER_CONNECTIONS && turns < 1000) {
		(void)uv_run(&toy.loop, UV_RUN_NOWAIT);
		turns++;
	}
	CHECK_INT_EQ("the other one is let in", toy.n_peers_opened, QUOTA_USER_CONNECTIONS + 1);
	CHECK_INT_IN("without waiting long for the crowd", turns, 1, TURNS_MOST);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		(void)close(fds[i]);
	place_close(&place, &toy);
}

static void test_call_quota(void)
{
	struct raw raws[2];
	struct toy toy;

	toy_open(&toy);
	raw_open_greeted(&raws[0], &toy);
	raw_open_greeted(&raws[1], &toy);
	for (uint32_t i = 0; i < QUOTA_USER_CALLS; i++)
		raw_send_trace(&raws[i % 2], 2 + i, TOY_PLAIN, 0, 1);
	raw_settle(&raws[0]);
	raw_settle(&raws[1]);
	for (uint32_t i = 0; i < QUOTA_USER_CALLS; i++)
		raw_expect_reply("within the quota", &raws[i % 2], 2 + i);

	raw_send_operation(&raws[0], 1000, 0, TOY_REPLY);
	raw_settle(&raws[0]);
	raw_expect_end("one call too many, of all connections", &raws[0], 1000, CALL_ERROR_QUOTA);
	raw_send_frame(&raws[1], FRAME_CANCEL, 3, NULL, 0);
	raw_settle(&raws[1]);
	raw_expect_end("one ends", &raws[1], 3, CALL_ERROR_CANCELLED);
	raw_send_operation(&raws[0], 1001, 0, TOY_REPLY);
	raw_settle(&raws[0]);
	raw_expect_reply("so another may begin", &raws[0], 1001);
	raw_close(&raws[0]);
	raw_close(&raws[1]);
	toy_close(&toy);
}

static void test_rate(void)
{
	struct toy toy;
	struct raw raw;
	unsigned int n_ok = 0, n_refused = 0;
	struct frame frame;
	struct frame_end end;

	toy_open(&toy);
	raw_open_greeted(&raw, &toy);
	for (uint32_t i = 0; i < 2 * QUOTA_USER_FRAMES_BURST + 100; i++) {
		raw_send_request(&raw, 2 + i, "ingero.v1.Query.Nothing", 0, NULL, 0);
		if (i % 100 == 99)
			raw_settle(&raw);
	}
	raw_settle(&raw);
	while (raw_next(&raw, &frame) == RAW_FRAME && frame_end_parse(&frame, &end) == FRAME_OK) {
		n_ok += end.code == CALL_ERROR_UNKNOWN_METHOD;
		n_refused += end.code == CALL_ERROR_RATE;
	}
	/* the greeting was one, too */
	CHECK_INT_EQ("answered at once", n_ok, QUOTA_USER_FRAMES_BURST - QUOTA_CONNECT_FRAMES - 1);
	CHECK_INT_EQ("refused, then no longer read", n_refused, QUOTA_USER_FRAMES_BURST + 1);
	raw_expect_nothing("no longer read", &raw);

	/* What was not read was not lost either. */
	raw_now_ns += 2 * (uint64_t)QUOTA_USER_FRAMES_BURST * NSEC_PER_SEC / QUOTA_USER_FRAMES_PER_S;
	server_check(toy.server);
	raw_settle(&raw);
	for (n_ok = 0; raw_next(&raw, &frame) == RAW_FRAME; n_ok++) {
		CHECK_INT_EQ("answered later", frame_end_parse(&frame, &end), FRAME_OK);
		CHECK_INT_EQ("answered later", end.code, CALL_ERROR_UNKNOWN_METHOD);
	}
	CHECK_INT_EQ("answered later", n_ok, 100 + QUOTA_CONNECT_FRAMES);
	raw_close(&raw);
	toy_close(&toy);
}

int main(void)
{
	/* What started the test may have had it ignored. */
	(void)signal(SIGPIPE, SIG_DFL);
	test_answered_at_once();
	test_greeted_at_once();
	test_connection_quota();
	test_behind_a_crowd();
	test_turn_of_one();
	test_turn_of_timers();
	test_turn_of_many();
	test_call_quota();
	test_rate();
	return check_result();
}
