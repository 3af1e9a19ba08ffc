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
	OPTION_ROW(TEXT, "http", http,
		   "Serve HTTPS at this address instead: :8080 is port 8080 for programs of this machine, 0.0.0.0:8080 "
		   "for all",
		   .value = "ADDRESS"),
	OPTION_ROW(TEXT, "tls-cert", tls_cert,
		   "Certificate, in PEM form; default: a self-signed one, kept in ~/.ingero", .value = "FILE"),
	OPTION_ROW(TEXT, "tls-key", tls_key, "Its key", .value = "FILE"),
	OPTION_ROW(TEXT, "token-file", token_file,
		   "File with the bearer token; default: INGERO_MCP_BEARER_TOKEN, else one that is made and kept in "
		   "~/.ingero",
		   .value = "FILE"),
	OPTION_ROW(CHOICE, "print-config", editor, "Print what the settings of this editor need, and serve nothing",
		   .value = "EDITOR", .choices = editor_names),
};

const char *mcp_contradiction(const struct mcp_fields *fields)
{
	if (!fields->http && (fields->tls_cert || fields->tls_key || fields->token_file))
		return "'--tls-cert', '--tls-key' and '--token-file' belong to '--http'; leave them out, or add it";
	if (!fields->tls_cert != !fields->tls_key)
		return "'--tls-cert' and '--tls-key' belong together; give both";
	if (fields->http && fields->editor)
		return "'--print-config' only prints; leave out '--http'";
	return NULL;
}

const char *const mcp_paragraphs[] = {
	"Answers on standard input and output, one JSON message a line, until the input ends; an editor starts it. It "
	"has no "
	"privilege, and sees what its user may see.",
	"With --http it answers POST requests to /mcp over TLS 1.3 that have the token, and prints where the token is "
	"and "
	"the fingerprint of its certificate. Requests whose Host or Origin is not this machine are refused.",
	NULL,
};
