// SPDX-License-Identifier: Apache-2.0
/*
 * JSON-RPC as the Model Context Protocol uses it: one message in, at most one message out, whatever carries them. The
 * era is chosen for each message: there is no state between messages (docs/rooms/mcp.md).
 */
#pragma once

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "mcp-server/asker.h"
#include "mcp-server/writer.h"

#define RPC_MESSAGE_BYTES_MAX (256u << 10) /* a SELECT of 64 KiB, escaped, and more */
#define RPC_ID_BYTES_MAX 256
#define RPC_ERROR_BYTES 512

enum rpc_code {
	RPC_NOT_JSON = -32700,
	RPC_INVALID = -32600,
	RPC_NO_METHOD = -32601,
	RPC_BAD_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_NO_RESOURCE = -32002,   /* legacy: there is none with this URI */
	RPC_BAD_HEADER = -32020,    /* modern, over HTTP: a header is missing, or differs from the message */
	RPC_NO_CAPABILITY = -32021, /* modern: the client did not declare what the method needs */
	RPC_NO_VERSION = -32022,    /* modern: this revision is not served */
};

enum rpc_era { RPC_LEGACY = 1, RPC_MODERN = 2 }; /* with the handshake `initialize`; each message for itself */

struct method;

struct rpc_message {
	json_t *root;			/* owned; the rest points into it */
	char id[RPC_ID_BYTES_MAX + 32]; /* as JSON; "": a notification, or an id that could not be read */
	const char *name;
	const json_t *params; /* an object, or NULL */
	enum rpc_era era;
	const char *revision;	     /* that a modern message names; NULL: none */
	const struct method *method; /* NULL: of a notification */
	enum rpc_code code;	     /* of a message that is refused; 0: none */
};

#define RPC_MESSAGE_INIT                                                                                               \
	{                                                                                                              \
		.root = NULL                                                                                           \
	}

enum rpc_kind {
	RPC_REFUSED,	  /* the answer, an error, was appended */
	RPC_IGNORED,	  /* nothing to answer: a response, or a notification that nobody knows */
	RPC_NOTIFICATION, /* message->name */
	RPC_REQUEST,	  /* for rpc_run() */
};

/* One call on its way. */
struct rpc_call {
	struct asker *asker; /* of the thread that runs it */
	const struct rpc_message *message;
	atomic_bool is_cancelled;
	/* Sends a notification, one object. NULL: the transport cannot */
	void (*notify)(struct rpc_call *call, const char *json, size_t n);
	void *transport;
	/* the error, if the method fails */
	enum rpc_code code;
	char error[RPC_ERROR_BYTES];
	struct buf error_data; /* JSON; empty: none */
};

void rpc_message_done(struct rpc_message *message);
/**
 * rpc_read() - read a message of n bytes
 * @ret: of RPC_MESSAGE_INIT; release with rpc_message_done()
 * @out: gets the answer of a message that is refused
 */
enum rpc_kind rpc_read(const char *text, size_t n, struct rpc_message *ret, struct buf *out);
/** rpc_run() - run the method of a request, and append the answer: one object without a line end */
void rpc_run(struct rpc_call *call, struct buf *out);
/** rpc_is_slow() - whether a request asks the daemon, so that its answer takes time */
bool rpc_is_slow(const struct rpc_message *message);
/** rpc_cursor_refuse() - of a list on one page: refuse a cursor, which is none of this server's. Return: 0, or
 * rpc_fail() */
int rpc_cursor_refuse(struct rpc_call *call);
/** rpc_fail() - set the error of a call. Return: -EPROTO */
int rpc_fail(struct rpc_call *call, enum rpc_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/**
 * rpc_progress() - tell how far a call is, if its caller wants to know and the transport can
 * @progress: larger each time
 */
void rpc_progress(struct rpc_call *call, double progress, double total, const char *text);
/** rpc_error_append() - append an error; @id: as JSON, "": it could not be read */
void rpc_error_append(struct buf *out, const char *id, enum rpc_code code, const char *sentence, const char *data);
