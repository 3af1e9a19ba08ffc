// SPDX-License-Identifier: Apache-2.0
/*
 * Requests of every method, mutated in fields, in bytes and in frames, as one user beside another's
 * secrets: no byte of an answer is of the other, who is served all the while, and the daemon lives.
 *
 * mutate [SECONDS [SEED]]; a few seconds as a test, minutes for docs/measurements/mutate.md.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "mutation.h"
#include "tests/support/check.h"
#include "tests/support/now.h"
#include "world.h"

#define SECONDS_DEFAULT 8
#define BATCH 16	      /* requests before their answers are waited for */
#define QUIET_MS 300	      /* without a byte, what is not answered is cancelled */
#define RSS_MAX (96ull << 20) /* DESIGN: under load */

static struct {
	uint64_t n_requests, n_ends, n_bytes, n_connections, n_broken;
	uint64_t n_codes[CALL_ERROR_RATE + 1];
	uint64_t rss_max_bytes;
} told;

/* Everything that alice was sent on a connection, with the frames' headers, as it came. */
struct session {
	struct wire wire;
	struct buf all;
	size_t looked; /* bytes that were decoded */
	uint32_t open[BATCH];
	size_t n_open;
};

static struct mutation_bait bait_pick(void)
{
	static const enum tenant_id others[] = { TENANT_BOB, TENANT_BOB, TENANT_ROOT, TENANT_READER };
	static char name[sizeof(tenants.of[0].comm)];
	enum tenant_id id = others[mutation_random(ARRAY_SIZE(others))];

	/* All but the last letter: a refusal may say what was asked. */
	memcpy(name, tenants.of[id].comm, sizeof(name));
	name[strlen(name) - 1] = '\0';
	return (struct mutation_bait){ subjects[id].pid, subjects[id].uid, subjects[id].call_id, name };
}

static void request_make(struct session *s, struct buf *out)
{
	const struct question *q = &questions[mutation_random(n_questions)];
	const struct mutation_bait bait = bait_pick();
	CLEANUP(buf_done) struct buf message = BUF_INIT;
	uint32_t stream = ++s->wire.stream;
	uint8_t *p;

	while (strcmp(q->method, HELLO) == 0 && mutation_random(20))
		q = &questions[mutation_random(n_questions)];
	question_pack(q, &subjects[mutation_random(TENANT_COUNT + 1)], &message);
	mutation_message(&message, &bait);
	if (mutation_random(16) == 0) /* to who does not take it */
		q = &questions[mutation_random(n_questions)];
	p = frame_reserve(out, FRAME_REQUEST, stream, frame_request_bytes(q->method) + message.n);
	if (!p)
		abort();
	p = frame_request_write(p, q->method, (uint32_t)mutation_random(3000));
	if (message.n)
		memcpy(p, message.data, message.n);
	s->open[s->n_open++] = stream;
	told.n_requests++;
}

static void stream_over(struct session *s, const struct frame *frame)
{
	struct frame_end end;

	if (frame_end_parse(frame, &end) == FRAME_OK && end.code < ARRAY_SIZE(told.n_codes))
		told.n_codes[end.code]++;
	told.n_ends++;
	for (size_t i = 0; i < s->n_open; i++)
		if (s->open[i] == frame->stream)
			s->open[i--] = s->open[--s->n_open];
}

/* Reads until all is answered, nothing comes any more, or the connection is over. Return: whether it lives */
static bool session_read(struct session *s)
{
	while (s->n_open) {
		struct pollfd p = { .fd = s->wire.fd, .events = POLLIN };
		uint8_t *room = buf_reserve(&s->all, 65536);
		struct frame frame;
		size_t used;
		ssize_t n;

		if (!room)
			abort();
		if (poll(&p, 1, QUIET_MS) == 0)
			return true;
		n = recv(s->wire.fd, room, 65536, 0);
		if (n <= 0)
			return false;
		s->all.n += (size_t)n;
		told.n_bytes += (size_t)n;
		while (frame_decode(s->all.data + s->looked, s->all.n - s->looked, FRAME_SERVER_BODY_MAX, &frame,
				    &used) == FRAME_OK) {
			s->looked += used;
			if (frame.type == FRAME_END && frame.stream == 0)
				return false;
			if (frame.type == FRAME_END)
				stream_over(s, &frame);
		}
	}
	return true;
}

static void rest_cancel(struct session *s)
{
	for (int twice = 0; twice < 2; twice++)
		for (size_t i = 0; i < s->n_open; i++) {
			CLEANUP(buf_done) struct buf out = BUF_INIT;

			if (frame_append(&out, FRAME_CANCEL, s->open[i], NULL, 0) == 0)
				(void)wire_send(&s->wire, out.data, out.n);
		}
}

static void session_check(const struct session *s)
{
	for (enum tenant_id owner = 0; owner < TENANT_COUNT; owner++) {
		const char *secret =
			owner == TENANT_ALICE ? NULL : tenants_find_secret(&tenants.of[owner], s->all.data, s->all.n);

		if (secret)
			fprintf(stderr, "%s of %s after %" PRIu64 " requests\n", secret, tenants.of[owner].name,
				told.n_requests);
		CHECK("nobody else's", !secret);
	}
}

/* One connection of alice's: batches of requests; now and then its frames are broken at the end. */
static void session_run(void)
{
	struct session s = { .all = BUF_INIT };
	bool lives = true;

	tenants_greet(&tenants, TENANT_ALICE, &s.wire);
	told.n_connections++;
	for (int batch = 0; lives && batch < 8 && s.all.n < 32u << 20; batch++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		bool breaks = mutation_random(10) == 0;

		s.n_open = 0;
		for (int i = 0; i < BATCH; i++)
			request_make(&s, &out);
		if (breaks)
			mutation_frame(&out);
		told.n_broken += breaks;
		lives = wire_send(&s.wire, out.data, out.n);
		if (breaks) /* half a frame would be waited for */
			(void)shutdown(s.wire.fd, SHUT_WR);
		lives = session_read(&s) && lives && !breaks;
		if (!lives)
			break;
		rest_cancel(&s);
		lives = session_read(&s);
	}
	session_check(&s);
	buf_done(&s.all);
	wire_close(&s.wire);
}

/* Bob is answered, about his own. */
static void neighbour_check(void)
{
	Ingero__V1__OperationsRequest request = INGERO__V1__OPERATIONS_REQUEST__INIT;
	struct wire_answer answer;
	struct wire wire;

	tenants_greet(&tenants, TENANT_BOB, &wire);
	wire_ask(&wire, OPERATIONS, &request.base, &answer);
	CHECK_INT_EQ("bob is answered", answer.code, CALL_OK);
	CHECK("bob is told of his own",
	      tenants_find_secret(&tenants.of[TENANT_BOB], answer.replies.data, answer.replies.n));
	wire_answer_done(&answer);
	wire_close(&wire);
	told.rss_max_bytes = MAX(told.rss_max_bytes, tenants_daemon_rss_bytes(&tenants));
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : SECONDS_DEFAULT;
	uint64_t end_ns;

	(void)signal(SIGPIPE, SIG_IGN);
	mutation_seed(argc > 2 ? strtoull(argv[2], NULL, 10) : 0);
	world_start();
	end_ns = now_ns() + seconds * NSEC_PER_SEC;
	do {
		session_run();
		neighbour_check();
	} while (now_ns() < end_ns && tenants_daemon_lives(&tenants) && !check_state.n_failed);
	CHECK("the daemon lives", tenants_daemon_lives(&tenants));
#ifndef INGERO_SANITIZED /* whose freed memory is kept for a while */
	CHECK_INT_IN("memory of the daemon", told.rss_max_bytes, 1, RSS_MAX);
#endif
	printf("%" PRIu64 " s: %" PRIu64 " requests on %" PRIu64 " connections, %" PRIu64 " broken in frames; %" PRIu64
	       " ends, %.1f MB of answers; daemon at most %.1f MiB\n",
	       seconds, told.n_requests, told.n_connections, told.n_broken, told.n_ends, (double)told.n_bytes / 1e6,
	       (double)told.rss_max_bytes / 1048576);
	for (size_t i = 0; i < ARRAY_SIZE(told.n_codes); i++)
		printf("code %zu: %" PRIu64 "\n", i, told.n_codes[i]);
	CHECK("some were answered", told.n_codes[CALL_OK] > 0);
	CHECK("some were refused", told.n_codes[CALL_ERROR_INVALID] > 0 && told.n_codes[CALL_ERROR_PROTOCOL] > 0);
	world_stop();
	return check_result();
}
