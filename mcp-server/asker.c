// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/asker.h"

#include <errno.h>
#include <poll.h>

#define CANCEL_MS 50 /* within which a cancellation is seen */

int asker_connect(struct asker *asker, const char *command, char *error, struct ingero **ret)
{
	const char *const *paths = asker->server->db_paths;
	const struct ingero_connect_wish wish = {
		.kind = INGERO_CONNECT_READ,
		.command = command,
		.program = "ingero-mcp " INGERO_VERSION,
		.db_path = paths ? paths[0] : NULL,
		.more_db_paths = paths && paths[0] ? &paths[1] : NULL,
	};
	int r;

	if (asker->ingero && ingero_process(asker->ingero) < 0)
		asker_done(asker); /* the daemon has gone */
	if (!asker->ingero) {
		r = ingero_connect(&wish, error, ASKER_ERROR_BYTES, &asker->ingero, NULL);
		if (r < 0) {
			asker->ingero = NULL;
			return r;
		}
	}
	*ret = asker->ingero;
	return 0;
}

void asker_done(struct asker *asker)
{
	ingero_close(asker->ingero);
	asker->ingero = NULL;
}

struct asked {
	ingero_take_func take;
	void *data;
	int taken_r; /* error of the first message that was not taken */
	int end_r;
	bool has_ended;
	bool is_stopping;
};

static void asked_stop(struct asked *asked, struct ingero_stream *stream)
{
	if (!asked->is_stopping)
		(void)ingero_stream_stop(stream);
	asked->is_stopping = true;
}

static void on_asked_reply(struct ingero_stream *stream, const ProtobufCMessage *reply, void *data)
{
	struct asked *asked = data;

	if (asked->taken_r < 0)
		return; /* on its way when reading stopped */
	asked->taken_r = asked->take(reply, asked->data);
	if (asked->taken_r < 0)
		asked_stop(asked, stream);
}

static void on_asked_end(struct ingero_stream *stream, int r, void *data)
{
	struct asked *asked = data;

	(void)stream;
	asked->has_ended = true;
	asked->end_r = r;
}

int asker_read(struct ingero *ingero, const char *method, const ProtobufCMessage *request, ingero_take_func take,
	       void *data, const atomic_bool *is_cancelled)
{
	struct asked asked = { .take = take, .data = data };
	struct ingero_stream *stream;
	int r = ingero_stream_start(ingero, method, request, on_asked_reply, on_asked_end, &asked, &stream);

	if (r < 0)
		return r;
	/* A connection that fails ends its streams. */
	while (!asked.has_ended) {
		struct pollfd fd = { .fd = ingero_fd(ingero), .events = ingero_events(ingero) };

		if (atomic_load(is_cancelled) && asked.taken_r == 0) {
			asked.taken_r = -ECANCELED;
			asked_stop(&asked, stream);
		}
		(void)poll(&fd, 1, CANCEL_MS);
		(void)ingero_process(ingero);
	}
	return asked.taken_r < 0 ? asked.taken_r : asked.end_r;
}
