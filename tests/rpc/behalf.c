// SPDX-License-Identifier: Apache-2.0
/*
 * Who is calling, and for whom: what the greeting says, and who may say so.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ingero/v1/ingero.pb-c.h"
#include "raw.h"
#include "tests/support/check.h"

/* ---- who is calling ---- */

/* In a child, so that it can become another user. Return: code of the Hello's END, 100 + caller_uid % 100 if replied.
 */
static int hello_as(uid_t uid, bool has_on_behalf_of, uint32_t on_behalf_of)
{
	Ingero__V1__HelloRequest hello = INGERO__V1__HELLO_REQUEST__INIT;
	uint8_t bytes[64];
	struct frame_end end;
	struct frame frame;
	struct toy toy;
	struct raw raw;
	int result;

	/* The socket pair carries the credentials of who made it. */
	if (uid != getuid() && setresuid(uid, uid, uid))
		return 99;
	toy_open(&toy);
	raw_open(&raw, &toy);
	hello.protocol_major = FRAME_PROTOCOL_MAJOR;
	hello.has_on_behalf_of = has_on_behalf_of;
	hello.on_behalf_of_uid = on_behalf_of;
	raw_send_request(&raw, 1, FRAME_HELLO_METHOD, 0, bytes, ingero__v1__hello_request__pack(&hello, bytes));
	raw_settle(&raw);
	if (raw_next(&raw, &frame) != RAW_FRAME)
		return 98;
	if (frame.type == FRAME_END) {
		result = frame_end_parse(&frame, &end) == FRAME_OK ? (int)end.code : 97;
	} else {
		Ingero__V1__HelloReply *reply = ingero__v1__hello_reply__unpack(NULL, frame.body_bytes, frame.body);

		result = 100 + (int)(reply->caller_uid % 100) * (reply->can_read_all ? 1 : 0);
		if (!reply->can_read_all)
			result = 200 + (int)(reply->caller_uid % 50);
		ingero__v1__hello_reply__free_unpacked(reply, NULL);
	}
	raw_close(&raw);
	toy_close(&toy);
	return result;
}

static void test_on_behalf_of(void)
{
	static const struct {
		const char *name;
		uid_t uid;
		bool has_on_behalf_of;
		uint32_t on_behalf_of;
		int result; /* code, or 100 + uid for who reads all, or 200 + uid for who does not */
	} cases[] = {
		{ "root", 0, false, 0, 100 },
		{ "root for a user sees what the user sees", 0, true, 42, 242 },
		{ "root for root", 0, true, 0, 100 },
		{ "nobody", 65534, false, 0, 200 + 65534 % 50 },
		{ "nobody for root", 65534, true, 0, CALL_ERROR_NOT_ALLOWED },
		{ "nobody for a user", 65534, true, 42, CALL_ERROR_NOT_ALLOWED },
		{ "nobody for himself", 65534, true, 65534, CALL_ERROR_NOT_ALLOWED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int status = 0;
		pid_t pid;

		if (getuid() != 0 && cases[i].uid != getuid()) {
			printf("not tried without root: %s\n", cases[i].name);
			continue;
		}
		(void)fflush(NULL);
		pid = fork();
		if (pid == 0)
			_exit(hello_as(cases[i].uid, cases[i].has_on_behalf_of, cases[i].on_behalf_of));
		CHECK_INT_EQ(cases[i].name, waitpid(pid, &status, 0), pid);
		CHECK_INT_EQ(cases[i].name, WIFEXITED(status) ? WEXITSTATUS(status) : -1, cases[i].result);
	}
}

int main(void)
{
	/* What started the test may have had it ignored. */
	(void)signal(SIGPIPE, SIG_DFL);
	test_on_behalf_of();
	return check_result();
}
