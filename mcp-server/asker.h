// SPDX-License-Identifier: Apache-2.0
/*
 * The connection of one thread to the daemon that answers. It is kept between calls, since a private daemon takes
 * longer to start than a question to answer, and it is opened again when the daemon has gone.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "ingero/connect.h"
#include "mcp-server/server.h"

#define ASKER_ERROR_BYTES 512

struct asker {
	const struct server *server;
	struct ingero *ingero; /* NULL: not connected */
};

/**
 * asker_connect() - the connection that reads the recording
 * @command: of `ingero`, for what a refusal advises
 * @error: ASKER_ERROR_BYTES; one sentence on failure
 * Return: 0, or as ingero_connect()
 */
int asker_connect(struct asker *asker, const char *command, char *error, struct ingero **ret);
void asker_done(struct asker *asker);
/**
 * asker_read() - as ingero_read(), and the daemon is told to stop when the call is cancelled
 * Return: as ingero_read(); -ECANCELED
 */
int asker_read(struct ingero *ingero, const char *method, const ProtobufCMessage *request, ingero_take_func take,
	       void *data, const atomic_bool *is_cancelled);
