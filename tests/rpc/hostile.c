// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile clients of one user, of every kind, while another user asks: he is answered, and the
 * daemon lives, in bounded memory and with few descriptors.
 *
 * hostile: each attack until it has done what it can do. hostile --measure ATTACK ROUNDS: how long the other user
 * waits for the daemon, in turns: while nothing else happens, while the same clients attack a listener that has
 * nothing to do with it, and while they attack the daemon. A line each: what NS_QUIET NS_ELSEWHERE NS_BESIDE.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attacks.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "mutation.h"
#include "questions.h"
#include "sink.h"
#include "tests/support/check.h"
#include "tests/support/now.h"
#include "tests/support/tenants.h"

#define RSS_MAX (96ull << 20)
#define DESCRIPTORS_MAX 700 /* its own some 100, 64 of each user, and of processes that answer */
#define ASKED 100	    /* times a round of a measurement, on one connection */
#define GREETED 30	    /* the same, on new ones */
#define PAUSE_MS 300	    /* before a round: all of them are more than a user's rate otherwise */

static struct tenants tenants;

static unsigned int descriptors_count(void)
{
	char path[64];
	unsigned int n = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", tenants.daemon);
	dir = opendir(path);
	while (dir && readdir(dir))
		n++;
	if (dir)
		(void)closedir(dir);
	return n;
}

static void ask_status(const char *name, struct wire *wire)
{
	Ingero__V1__StatusRequest request = INGERO__V1__STATUS_REQUEST__INIT;
	struct wire_answer answer;

	wire_ask(wire, STATUS, &request.base, &answer);
	CHECK_INT_EQ(name, answer.code, CALL_OK);
	CHECK_INT_EQ(name, answer.n_replies, 1);
	wire_answer_done(&answer);
}

static void ask_rows(const char *name, struct wire *wire)
{
	Ingero__V1__SqlRequest request = INGERO__V1__SQL_REQUEST__INIT;
	struct wire_answer answer;

	request.sql = (char *)(uintptr_t) "SELECT count(*) FROM operations";
	wire_ask(wire, SQL, &request.base, &answer);
	CHECK_INT_EQ(name, answer.code, CALL_OK);
	wire_answer_done(&answer);
}

/* While it goes on: bob's old connection, a new one, a question that takes a process. */
static void check_served(const char *name, struct wire *old)
{
	struct wire fresh;

	ask_status(name, old);
	tenants_greet(&tenants, TENANT_BOB, &fresh);
	ask_status(name, &fresh);
	ask_rows(name, &fresh);
	wire_close(&fresh);
	CHECK(name, tenants_daemon_lives(&tenants));
	CHECK_INT_IN(name, descriptors_count(), 1, DESCRIPTORS_MAX);
#ifndef INGERO_SANITIZED /* whose freed memory is kept for a while */
	CHECK_INT_IN(name, tenants_daemon_rss_bytes(&tenants), 1, RSS_MAX);
#endif
}

/* Page faults of processes of the daemon's that have ended: each has hundreds. */
static unsigned long long faults_of_children(void)
{
	char path[64], text[1024], *rest;
	unsigned long long n = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", tenants.daemon);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) < 0 || !(rest = strrchr(text, ')')) ||
	    sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %llu", &n) != 1)
		abort();
	return n;
}

static void send_cancelled(struct wire *wire)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	for (int i = 0; i < 20; i++) {
		size_t n = frame_request_bytes(EVENTS);
		uint8_t *p = frame_reserve(&out, FRAME_REQUEST, ++wire->stream, n);

		(void)frame_request_write(p, EVENTS, 0);
		/* The one before: there is always one that could begin meanwhile. */
		if (i)
			(void)frame_append(&out, FRAME_CANCEL, wire->stream - 1, NULL, 0);
	}
	(void)frame_append(&out, FRAME_CANCEL, wire->stream, NULL, 0);
	CHECK("sent", wire_send(wire, out.data, out.n));
}

/* Questions that are taken back in the same breath take no process; a few where the loop looks at others in between. */
static void test_taken_back(void)
{
	unsigned long long before, after;
	struct wire wire;

	tenants_greet(&tenants, TENANT_ALICE, &wire);
	ask_rows("a question that is answered", &wire);
	while ((before = faults_of_children()) == 0) /* until that has been waited for */
		(void)poll(NULL, 0, 10);
	send_cancelled(&wire);
	ask_status("those that are not", &wire);
	(void)poll(NULL, 0,
		   300); /* for what would have been started to have ended: nothing tells of what did not happen */
	after = faults_of_children();
	CHECK_INT_IN("take next to none", after - before, 0, 4 * before);
	wire_close(&wire);
}

static void test_attacks(void)
{
	struct wire old;

	tenants_greet(&tenants, TENANT_BOB, &old);
	for (size_t i = 0; i < n_attacks; i++) {
		char byte;
		int done;
		pid_t pid = attack_start(&attacks[i], &tenants, TENANT_ALICE, &done);

		ask_status(attacks[i].name, &old);
		CHECK_INT_EQ(attacks[i].name, read(done, &byte, 1), 1);
		check_served(attacks[i].name, &old);
		attack_stop(pid, done);
		check_served(attacks[i].name, &old);
	}
	wire_close(&old);
}

/* ---- measuring ---- */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t median(uint64_t *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return values[n / 2];
}

struct waits {
	uint64_t status_ns, greeting_ns, rows_ns;
};

static struct waits waits_measure(struct wire *wire)
{
	uint64_t values[ASKED];
	struct waits w;

	(void)poll(NULL, 0, PAUSE_MS);
	for (size_t i = 0; i < ASKED; i++) {
		uint64_t before = now_ns();

		ask_status("measured", wire);
		values[i] = now_ns() - before;
	}
	w.status_ns = median(values, ASKED);
	for (size_t i = 0; i < GREETED; i++) {
		struct wire fresh;
		uint64_t before;
		int fd;

		/* Who connects is a process of bob's, whose start takes a time of its own; the rest is the daemon's. */
		fd = tenants_connect(&tenants, TENANT_BOB, &values[i]);
		before = now_ns();
		CHECK("let in", wire_open(&fresh, fd));
		values[i] += now_ns() - before;
		wire_close(&fresh);
	}
	w.greeting_ns = median(values, GREETED);
	for (size_t i = 0; i < 20; i++) {
		uint64_t before = now_ns();

		ask_rows("measured", wire);
		values[i] = now_ns() - before;
	}
	w.rows_ns = median(values, 20);
	return w;
}

/* While alice attacks whoever listens on that socket. */
static struct waits waits_beside(const struct attack *attack, const struct tenants *attacked, struct wire *wire)
{
	struct waits w;
	char byte;
	int done;
	pid_t pid = attack_start(attack, attacked, TENANT_ALICE, &done);

	CHECK_INT_EQ(attack->name, read(done, &byte, 1), 1);
	w = waits_measure(wire);
	attack_stop(pid, done);
	return w;
}

static void print_waits(const char *what, uint64_t quiet_ns, uint64_t elsewhere_ns, uint64_t beside_ns)
{
	printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", what, quiet_ns, elsewhere_ns, beside_ns);
}

static int measure(const char *name, int rounds)
{
	const struct attack *attack = NULL;
	struct tenants elsewhere = tenants;
	struct wire wire;
	pid_t sink;

	for (size_t i = 0; i < n_attacks; i++)
		if (strcmp(attacks[i].name, name) == 0)
			attack = &attacks[i];
	if (!attack) {
		fprintf(stderr, "there is no attack '%s'\n", name);
		return 2;
	}
	(void)snprintf(elsewhere.socket, sizeof(elsewhere.socket), "%s/sink", tenants.directory);
	sink = sink_start(elsewhere.socket);
	tenants_greet(&tenants, TENANT_BOB, &wire);
	for (int i = 0; i < rounds; i++) {
		struct waits quiet = waits_measure(&wire), away, beside;
		bool is_away_first = i % 2 == 0;

		if (is_away_first)
			away = waits_beside(attack, &elsewhere, &wire);
		beside = waits_beside(attack, &tenants, &wire);
		if (!is_away_first)
			away = waits_beside(attack, &elsewhere, &wire);
		print_waits("status", quiet.status_ns, away.status_ns, beside.status_ns);
		print_waits("greeting", quiet.greeting_ns, away.greeting_ns, beside.greeting_ns);
		print_waits("rows", quiet.rows_ns, away.rows_ns, beside.rows_ns);
		print_waits("rss", 0, 0, tenants_daemon_rss_bytes(&tenants));
	}
	sink_stop(sink);
	wire_close(&wire);
	CHECK("the daemon lives", tenants_daemon_lives(&tenants));
	return check_state.n_failed != 0;
}

int main(int argc, char **argv)
{
	char db[96];
	const char *const arguments[] = { "--db", db, NULL };
	int status = 0;

	(void)signal(SIGPIPE, SIG_IGN);
	tenants_open(&tenants, TENANTS_PROC_HIDES);
	(void)snprintf(db, sizeof(db), "%s/ingero.db", tenants.directory);
	tenants_start_daemon(&tenants, arguments);
	tenants_start_program(&tenants, TENANT_ALICE);
	tenants_start_program(&tenants, TENANT_BOB);
	if (argc == 4 && strcmp(argv[1], "--measure") == 0) {
		status = measure(argv[2], atoi(argv[3]));
		tenants_close(&tenants);
		return status;
	}
	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		for (size_t i = 0; i < n_attacks; i++)
			puts(attacks[i].name);
		tenants_close(&tenants);
		return 0;
	}
	test_taken_back();
	test_attacks();
	tenants_close(&tenants);
	return check_result();
}
