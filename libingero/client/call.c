// SPDX-License-Identifier: Apache-2.0
/* Calls with one reply. */
#include "libingero/client/conn.h"

#include <errno.h>
#include <string.h>

#define DEADLINE_MS 10000
#define GRACE_MS                                                                                                       \
	2000 /* the daemon reports a timeout itself; without any answer the client gives up this much later            \
	      */

static int wait_for(struct ingero *ingero, const struct sync_call *sync, uint64_t until_ns)
{
	while (!sync->is_over) {
		int r = conn_wait(ingero, until_ns);

		if (r)
			return r;
		(void)ingero_process(ingero); /* its failure ends the call, too */
	}
	return sync->r;
}

static void message_freep(ProtobufCMessage **message)
{
	if (*message)
		protobuf_c_message_free_unpacked(*message, NULL);
}

/* Names the silent peer: a private daemon, the service, or another listener in its place. Return: r */
static int silence_say(struct ingero *ingero, int r)
{
	if (ingero->daemon.pid > 0)
		return conn_say(ingero, r, "the private ingero-collectord (pid %d) does not answer",
				(int)ingero->daemon.pid);
	if (ingero->hello)
		return conn_say(
			ingero, r,
			"ingero-collectord (pid %d) does not answer; 'systemctl restart ingero-collectord' starts "
			"it anew",
			(int)ingero_daemon_pid(ingero));
	return conn_say(ingero, r,
			"ingero-collectord does not answer; 'systemctl restart ingero-collectord' starts it anew");
}

int ingero_call(struct ingero *ingero, const char *method, const ProtobufCMessage *request, uint32_t deadline_ms,
		ProtobufCMessage **ret_reply)
{
	struct sync_call sync = { .r = 0 };
	CLEANUP(message_freep) ProtobufCMessage *reply = NULL;
	struct ingero_stream *stream;
	int r;

	if (!deadline_ms)
		deadline_ms = DEADLINE_MS;
	r = stream_open(ingero, method, request, deadline_ms, &stream);
	if (r)
		return r;

	stream->sync = &sync;
	r = wait_for(ingero, &sync, conn_now_ns() + ((uint64_t)deadline_ms + GRACE_MS) * NSEC_PER_MSEC);
	reply = sync.reply;
	if (!sync.is_over) {
		stream->sync = NULL;
		(void)ingero_stream_stop(stream);
		stream_end(stream, r); /* later replies of it are dropped */
		return silence_say(ingero, r);
	}
	if (r == -EREMOTEIO && ingero->code == CALL_ERROR_DEADLINE)
		return -ETIMEDOUT;
	if (r)
		return r;
	if (sync.n_replies > 1)
		return conn_say(ingero, -EMSGSIZE,
				"%s: the answer comes in several messages; ask for less, or take it as a stream",
				method);
	if (!reply)
		return conn_say(ingero, -EPROTO, "%s: ingero-collectord ended the call without an answer", method);
	*ret_reply = TAKE_PTR(reply);
	return 0;
}
