// SPDX-License-Identifier: Apache-2.0
/* Reading a stream to its end. */
#include "ingero/ingero.h"

#include <poll.h>

struct reading {
	ingero_take_func take;
	void *data;
	int taken_r; /* error of the first message that was not taken */
	int end_r;
	bool has_ended;
};

static void on_read_reply(struct ingero_stream *stream, const ProtobufCMessage *reply, void *data)
{
	struct reading *reading = data;

	if (reading->taken_r < 0)
		return; /* in flight when reading stopped */
	reading->taken_r = reading->take(reply, reading->data);
	if (reading->taken_r < 0)
		(void)ingero_stream_stop(stream); /* a closed connection ends the stream, too */
}

static void on_read_end(struct ingero_stream *stream, int r, void *data)
{
	struct reading *reading = data;

	(void)stream;
	reading->has_ended = true;
	reading->end_r = r;
}

int ingero_read(struct ingero *ingero, const char *method, const ProtobufCMessage *request, ingero_take_func take,
		void *data)
{
	struct reading reading = { .take = take, .data = data };
	int r = ingero_stream_start(ingero, method, request, on_read_reply, on_read_end, &reading, NULL);

	if (r < 0)
		return r;
	/* A failed connection ends its streams: otherwise this loop could not end while ours is open. */
	while (!reading.has_ended) {
		struct pollfd fd = { .fd = ingero_fd(ingero), .events = ingero_events(ingero) };

		(void)poll(&fd, 1, -1);
		(void)ingero_process(ingero);
	}
	return reading.taken_r < 0 ? reading.taken_r : reading.end_r;
}
