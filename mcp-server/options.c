// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/options.h"

static const char *const editor_names[] = {
#define EDITOR(name, where, form) name,
#include "mcp-server/editors.def"
	NULL,
};

#define FIELDS struct mcp_fields
const struct option mcp_options[MCP_OPTIONS] = {
	OPTION_ROW(
		TEXTS, "db", dbs,
		"Answer from this database, of ours or recorded by Ingero; repeat it to read several as one. Default: "
		"INGERO_DB, else the service's, else ~/.ingero/ingero.db",
		.letter = 'd', .value = "FILE"),
	OPTION_ROW(CHOICE, "print-config", editor, "Print what the settings of this editor need, and serve nothing",
		   .value = "EDITOR", .choices = editor_names),
};

const char *const mcp_paragraphs[] = {
	"Answers on standard input and output, one JSON message a line, until the input ends; an editor starts it. It "
	"has no "
	"privilege, and sees what its user may see.",
	NULL,
};
