// SPDX-License-Identifier: Apache-2.0
/* The options of ingero-mcp, which `ingero mcp` has, too: it runs the program. */
#pragma once

#include "base/option.h"

#define MCP_SUMMARY "answer the questions of an editor (Model Context Protocol)"
#define MCP_USAGE "[options]"

struct mcp_fields {
	struct option_texts dbs;
	const char *http; /* address to serve at; NULL: standard input and output */
	const char *tls_cert, *tls_key, *token_file;
	const char *editor; /* print its snippet instead of serving; NULL: not asked for */
};

#define MCP_OPTIONS 6 /* number of rows */
extern const struct option mcp_options[MCP_OPTIONS];
extern const char *const mcp_paragraphs[];
/** mcp_contradiction() - Return: NULL, or the sentence of a contradiction */
const char *mcp_contradiction(const struct mcp_fields *fields);

#define MCP_OPTION_TABLE                                                                                               \
	{                                                                                                              \
		.command = "mcp", .rows = mcp_options, .n = MCP_OPTIONS                                                \
	}
