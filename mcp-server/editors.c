// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/editors.h"

#include <string.h>

#include "base/utf8.h"
#include "mcp-server/server.h"
#include "mcp-server/untrusted.h"

enum editor_form {
	EDITOR_SERVERS_OBJECT,	/* {"mcpServers":{NAME:{...}}} */
	EDITOR_TYPED,		/* {"servers":{NAME:{"type":"stdio",...}}} */
	EDITOR_CONTEXT_SERVERS, /* {"context_servers":{NAME:{"source":"custom",...}}} */
	EDITOR_TOML,
};

static const struct {
	const char *name;
	const char *where;
	enum editor_form form;
} editors[] = {
#define EDITOR(name_, where_, form_) { name_, where_, form_ },
#include "mcp-server/editors.def"
};

/* A character that is not shown as it is; TOML has no surrogates. */
static void escape_append(uint32_t code, bool is_toml, struct buf *out)
{
	if (code <= UINT16_MAX)
		(void)buf_printf(out, "\\u%04x", code);
	else if (is_toml)
		(void)buf_printf(out, "\\U%08x", code);
	else
		(void)buf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10), 0xdc00 + (code & 0x3ff));
}

/* Appends a path as a string; a terminal shows all of it, in its order. */
static void path_append(const char *path, bool is_toml, struct buf *out)
{
	size_t n = strlen(path), taken;
	uint32_t code;

	(void)buf_append_text(out, "\"");
	for (; n > 0; path += taken, n -= taken) {
		taken = utf8_decode(path, n, &code);
		if (code == '"' || code == '\\')
			(void)buf_printf(out, "\\%c", (char)code);
		else if (utf8_is_control(code) || untrusted_is_hidden(code))
			escape_append(code, is_toml, out);
		else
			(void)buf_append(out, path, taken);
	}
	(void)buf_append_text(out, "\"");
}

/* JSON and TOML write arrays alike. */
static void arguments_append(const char *const *db_paths, bool is_toml, struct buf *out)
{
	(void)buf_append_text(out, "[");
	for (size_t i = 0; db_paths && db_paths[i]; i++) {
		(void)buf_append_text(out, i ? ", \"--db\", " : "\"--db\", ");
		path_append(db_paths[i], is_toml, out);
	}
	(void)buf_append_text(out, "]");
}

static void server_append(const char *program, const char *const *db_paths, const char *before, struct buf *out)
{
	(void)buf_printf(out, "    \"" SERVER_NAME "\": {\n%s      \"command\": ", before);
	path_append(program, /* is_toml= */ false, out);
	(void)buf_append_text(out, ",\n      \"args\": ");
	arguments_append(db_paths, /* is_toml= */ false, out);
	(void)buf_append_text(out, "\n    }\n");
}

static void snippet_append(enum editor_form form, const char *program, const char *const *db_paths, struct buf *out)
{
	static const struct {
		const char *key, *before;
	} forms[] = {
		[EDITOR_SERVERS_OBJECT] = { "mcpServers", "" },
		[EDITOR_TYPED] = { "servers", "      \"type\": \"stdio\",\n" },
		[EDITOR_CONTEXT_SERVERS] = { "context_servers", "      \"source\": \"custom\",\n" },
	};

	if (form == EDITOR_TOML) {
		(void)buf_append_text(out, "[mcp_servers." SERVER_NAME "]\ncommand = ");
		path_append(program, /* is_toml= */ true, out);
		(void)buf_append_text(out, "\nargs = ");
		arguments_append(db_paths, /* is_toml= */ true, out);
		(void)buf_append_text(out, "\n");
		return;
	}
	(void)buf_printf(out, "{\n  \"%s\": {\n", forms[form].key);
	server_append(program, db_paths, forms[form].before, out);
	(void)buf_append_text(out, "  }\n}\n");
}

const char *editor_snippet_append(const char *name, const char *program, const char *const *db_paths, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(editors); i++)
		if (strcmp(editors[i].name, name) == 0) {
			snippet_append(editors[i].form, program, db_paths, out);
			return editors[i].where;
		}
	return NULL;
}
