// SPDX-License-Identifier: Apache-2.0
/* The transport for programs elsewhere: one message a POST to /mcp, over TLS 1.3, for whoever has the token. */
#pragma once

#include "mcp-server/server.h"

struct http_wish {
	const struct server *server;
	const char *address;	/* as of struct front_wish */
	const char *cert_path;	/* NULL: a self-signed one is kept */
	const char *key_path;	/* of cert_path */
	const char *token_path; /* NULL: INGERO_MCP_BEARER_TOKEN, else one is made and kept */
};

/**
 * http_serve() - answer until SIGINT or SIGTERM; what people need to know is printed on stderr
 * @error: WEB_ERROR_BYTES
 * Return: 0; -errno with a sentence
 */
int http_serve(const struct http_wish *wish, char *error);
