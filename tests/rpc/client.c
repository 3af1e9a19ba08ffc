// SPDX-License-Identifier: Apache-2.0
/*
 * libingero against the real server. The test is its own daemon: started with --private it
 * serves the toy services on that descriptor until its client is gone.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ingero/ingero.h"
#include "rpc/server.h"
#include "tests/support/check.h"
#include "toy.h"

static int be_daemon(int fd)
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

struct seen {
	unsigned int n_replies;
	unsigned int n_summaries;
	uint64_t last;
	bool is_in_order;
	bool is_over;
	int r;
};

static void on_reply(struct ingero_stream *stream, const ProtobufCMessage *message, void *data)
{
	const Ingero__V1__TraceReply *reply = (const Ingero__V1__TraceReply *)message;
	struct seen *seen = data;

	(void)stream;
	seen->n_replies++;
	if (reply->body_case == INGERO__V1__TRACE_REPLY__BODY_SUMMARY)
		seen->n_summaries++;
	if (reply->body_case != INGERO__V1__TRACE_REPLY__BODY_START)
		return;
	if (reply->start->timestamp_unix_ns != seen->last + 1)
		seen->is_in_order = false;
	seen->last = reply->start->timestamp_unix_ns;
}

static void on_end(struct ingero_stream *stream, int r, void *data)
{
	struct seen *seen = data;

	(void)stream;
	seen->is_over = true;
	seen->r = r;
}

static void wait_for_end(struct ingero *ingero, struct seen *seen)
{
	while (!seen->is_over) {
		struct pollfd poll_fd = { .fd = ingero_fd(ingero), .events = ingero_events(ingero) };

		(void)poll(&poll_fd, 1, -1);
		(void)ingero_process(ingero);
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--private") == 0)
		return be_daemon(atoi(argv[2]));

	struct ingero_options options = { .private_daemon = true, .daemon_path = "/proc/self/exe" };
	char error[512] = "";
	struct ingero *ingero = NULL;
	int r = ingero_open(&options, error, sizeof(error), &ingero);

	CHECK_INT_EQ("open", r, 0);
	CHECK_STR_EQ("open", error, "");
	if (r)
		return check_result();
	Ingero__V1__StatusRequest request = INGERO__V1__STATUS_REQUEST__INIT;
	ProtobufCMessage *reply;
	CHECK_INT_EQ("status", ingero_call(ingero, "ingero.v1.Query.Status", &request.base, 0, &reply), 0);
	ingero__v1__status_reply__free_unpacked((Ingero__V1__StatusReply *)reply, NULL);

	struct seen seen = { .is_in_order = true };
	Ingero__V1__TraceRequest trace = INGERO__V1__TRACE_REQUEST__INIT;
	uint32_t pids[] = { TOY_COUNT, 5000 };
	trace.pids = pids;
	trace.n_pids = 2;
	trace.sample_every = 1000;
	struct ingero_stream *stream;
	CHECK_INT_EQ("trace", ingero_stream_start(ingero, "ingero.v1.Trace.Trace", &trace.base, on_reply, on_end, &seen, &stream), 0);
	wait_for_end(ingero, &seen);
	CHECK_INT_EQ("trace", seen.n_replies, 5000);
	CHECK("trace", seen.is_in_order);
	ingero_close(ingero);
	return check_result();
}
