// SPDX-License-Identifier: Apache-2.0
/* Replies over HTTP: of one object, of nothing, or a stream of events while a request runs. */
#pragma once

#include <microhttpd.h>

#include "mcp-server/workers.h"

/**
 * http_reply() - queue a reply
 * @body:   JSON; empty: none
 * @header: one more header, with its value; NULL: none
 */
enum MHD_Result http_reply(struct MHD_Connection *connection, unsigned int status, struct buf *body, const char *header,
			   const char *value);
/** http_reply_nothing() - queue a reply without a body */
enum MHD_Result http_reply_nothing(struct MHD_Connection *connection, unsigned int status, const char *header,
				   const char *value);
/** http_reply_error() - queue an error of JSON-RPC. @id: as JSON, "": none */
enum MHD_Result http_reply_error(struct MHD_Connection *connection, unsigned int status, const char *id,
				 enum rpc_code code, const char *sentence);
/**
 * http_answer() - run a request, and queue its answer
 * @message: taken over where the request takes time
 * Return: MHD_NO also where the client went away meanwhile
 */
enum MHD_Result http_answer(struct workers *workers, struct rpc_message *message, struct MHD_Connection *connection);
