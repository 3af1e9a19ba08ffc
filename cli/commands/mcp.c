// SPDX-License-Identifier: Apache-2.0
/* `ingero mcp`: runs ingero-mcp, which answers editors. */
#include "cli/command.h"
#include "mcp-server/options.h"

const struct command command_mcp = {
	.name = "mcp",
	.summary = MCP_SUMMARY,
	.usage = MCP_USAGE,
	.paragraphs = mcp_paragraphs,
	.options = MCP_OPTION_TABLE,
	.fields_bytes = sizeof(struct mcp_fields),
	.program = "ingero-mcp",
};
