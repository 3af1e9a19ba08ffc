// SPDX-License-Identifier: Apache-2.0
/*
 * A client of one version and a daemon of another talk, or say why not: libingero against daemons
 * made by hand, and the real server against clients made by hand, older and newer than either.
 *
 * The test is its own daemon: started with --private it plays the version that a further argument names.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "ingero/ingero.h"
#include "raw.h"
#include "tests/support/check.h"

#define STATUS "ingero.v1.Query.Status"
#define BYTES(literal) (literal), sizeof(literal) - 1

/* ---- daemons made by hand ---- */

/* A reply in bytes ("" with a code: none), then the END. */
struct said {
	const char *reply;
	size_t n;
	uint32_t code;
	const char *text;
};

static const struct version {
	const char *name;
	struct said hello, call;
	int open_r; /* of libingero */
	int call_r;
	const char *sentence; /* a part of what it says */
} versions[] = {
	{ "the same, and nothing but the oldest fields",
	  { BYTES("\x08\x01"), CALL_OK, "" },
	  { BYTES("\x10\x07"), CALL_OK, "" },
	  0,
	  0,
	  "" },
	/* fields 90 and 1000, of every kind, and a longer list of known ones */
	{ "newer in the minor, with fields that are not known",
	  { BYTES("\x08\x01\x10\x63\x1a\x03new\xd0\x05\x2a\xc2\x3e\x02hi"), CALL_OK, "" },
	  { BYTES("\x10\x07\xd2\x05\x02\x08\x01\xd5\x05\x01\x02\x03\x04\xd1\x05\x01\x02\x03\x04\x05\x06\x07\x08"),
	    CALL_OK, "" },
	  0,
	  0,
	  "" },
	{ "newer, with a code that is not known",
	  { BYTES("\x08\x01\x10\x63"), CALL_OK, "" },
	  { BYTES(""), 99, "the moon is in the wrong place" },
	  0,
	  -EREMOTEIO,
	  "the moon is in the wrong place" },
	{ "older, without the method",
	  { BYTES("\x08\x01"), CALL_OK, "" },
	  { BYTES(""), CALL_ERROR_UNKNOWN_METHOD, "ingero-collectord 0.0.9 does not know 'ingero.v1.Query.Status'" },
	  0,
	  -EREMOTEIO,
	  "0.0.9 does not know" },
	{ "another major, which says so",
	  { BYTES(""), CALL_ERROR_VERSION, "ingero-collectord 9.0 speaks version 9 of the protocol" },
	  { BYTES(""), CALL_OK, "" },
	  -EPROTO,
	  0,
	  "speaks version 9" },
	{ "another major, which greets",
	  { BYTES("\x08\x09\x10\x01"), CALL_OK, "" },
	  { BYTES(""), CALL_OK, "" },
	  -EPROTO,
	  0,
	  "speaks version 9 of the protocol and this program version 1" },
};

static void say(int fd, uint32_t stream, const struct said *said)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	if (said->n && frame_append(&out, FRAME_REPLY, stream, said->reply, said->n))
		abort();
	if (frame_append_end(&out, stream, said->code, said->text))
		abort();
	(void)fd_write_full(fd, out.data, out.n);
}

static int be_daemon(int fd, const struct version *version)
{
	static uint8_t bytes[FRAME_HEADER_BYTES + FRAME_CLIENT_BODY_MAX];

	for (;;) {
		struct frame_request request;
		struct frame frame;
		size_t used, n;

		if (fd_read_full(fd, bytes, FRAME_HEADER_BYTES))
			return 0;
		n = (size_t)bytes[0] | (size_t)bytes[1] << 8;
		if (n > FRAME_CLIENT_BODY_MAX || (n && fd_read_full(fd, bytes + FRAME_HEADER_BYTES, n)))
			return 1;
		if (frame_decode(bytes, FRAME_HEADER_BYTES + n, FRAME_CLIENT_BODY_MAX, &frame, &used) != FRAME_OK)
			return 1;
		if (frame.type != FRAME_REQUEST || frame_request_parse(&frame, &request) != FRAME_OK)
			continue;
		say(fd, frame.stream,
		    strcmp(request.method, FRAME_HELLO_METHOD) == 0 ? &version->hello : &version->call);
	}
}

static void test_daemons(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		const struct version *v = &versions[i];
		const char *const args[] = { v->name, NULL };
		struct ingero_options options = { .private_daemon = true,
						  .daemon_path = "/proc/self/exe",
						  .daemon_args = args };
		Ingero__V1__StatusRequest request = INGERO__V1__STATUS_REQUEST__INIT;
		ProtobufCMessage *reply = NULL;
		struct ingero *ingero = NULL;
		char error[512] = "";

		CHECK_INT_EQ(v->name, ingero_open(&options, error, sizeof(error), &ingero), v->open_r);
		if (v->open_r) {
			CHECK(v->name, strstr(error, v->sentence) != NULL);
			continue;
		}
		if (!ingero)
			continue;
		CHECK_INT_EQ(v->name, ingero_call(ingero, STATUS, &request.base, 0, &reply), v->call_r);
		if (v->call_r) {
			CHECK_INT_EQ(v->name, ingero_last_code(ingero), v->call.code);
			CHECK(v->name, strstr(ingero_last_error(ingero), v->sentence) != NULL);
		} else if (reply) {
			CHECK_INT_EQ(v->name, ((Ingero__V1__StatusReply *)reply)->pid, 7);
			ingero__v1__status_reply__free_unpacked((Ingero__V1__StatusReply *)reply, NULL);
		}
		ingero_close(ingero);
	}
}

/* ---- clients made by hand ---- */

static void test_clients(void)
{
	static const struct {
		const char *name;
		const char *hello;
		size_t n;
		uint32_t code; /* of the Hello; CALL_OK: it is answered, and so is the next request */
	} cases[] = {
		{ "the oldest: the major alone", BYTES("\x08\x01"), CALL_OK },
		{ "newer in the minor", BYTES("\x08\x01\x10\x63"), CALL_OK },
		{ "newer, with fields that are not known",
		  BYTES("\x08\x01\x10\x63\x1a\x03new\xd2\x05\x02hi\xd0\x3e\x2a"), CALL_OK },
		{ "older in the major", BYTES("\x08\x00\x10\x05"), CALL_ERROR_VERSION },
		{ "newer in the major", BYTES("\x08\x02\x10\x00"), CALL_ERROR_VERSION },
		{ "newer in the major, with fields that are not known", BYTES("\x08\x02\xd2\x05\x02hi"),
		  CALL_ERROR_VERSION },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct toy toy;
		struct raw raw;

		toy_open(&toy);
		raw_open(&raw, &toy);
		raw_send_request(&raw, 1, FRAME_HELLO_METHOD, 0, cases[i].hello, cases[i].n);
		raw_settle(&raw);
		if (cases[i].code) {
			raw_expect_end(cases[i].name, &raw, 1, cases[i].code);
			raw_expect_end(cases[i].name, &raw, 0, CALL_ERROR_VERSION);
			raw_expect_closed(cases[i].name, &raw);
		} else {
			raw_expect_reply(cases[i].name, &raw, 1);
			raw_expect_end(cases[i].name, &raw, 1, CALL_OK);
			/* A method of another version is refused, and what both know goes on. */
			raw_send_request(&raw, 2, "ingero.v1.Query.Tomorrow", 0, NULL, 0);
			raw_send_request(&raw, 3, STATUS, 0, BYTES("\xd2\x05\x02hi"));
			raw_settle(&raw);
			raw_expect_end(cases[i].name, &raw, 2, CALL_ERROR_UNKNOWN_METHOD);
			raw_expect_reply(cases[i].name, &raw, 3);
			raw_expect_end(cases[i].name, &raw, 3, CALL_OK);
		}
		raw_close(&raw);
		toy_close(&toy);
	}
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "--private") == 0) {
		for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
			if (strcmp(versions[i].name, argv[3]) == 0)
				return be_daemon(atoi(argv[2]), &versions[i]);
		return 2;
	}
	(void)signal(SIGPIPE, SIG_DFL);
	test_daemons();
	test_clients();
	return check_result();
}
