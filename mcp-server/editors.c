// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/editors.h"

#include <string.h>

#include "base/json_text.h"
#include "mcp-server/server.h"

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

/* JSON and TOML write such strings and arrays alike. */
static void arguments_append(const char *const *db_paths, struct buf *out)
{
	(void)buf_append_text(out, "[");
	for (size_t i = 0; db_paths && db_paths[i]; i++) {
		(void)buf_append_text(out, i ? ", \"--db\", " : "\"--db\", ");
		json_text_add(out, db_paths[i]);
	}
	(void)buf_append_text(out, "]");
}

static void server_append(const char *program, const char *const *db_paths, const char *before, struct buf *out)
{
	(void)buf_printf(out, "    \"" SERVER_NAME "\": {\n%s      \"command\": ", before);
	json_text_add(out, program);
	(void)buf_append_text(out, ",\n      \"args\": ");
	arguments_append(db_paths, out);
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
		json_text_add(out, program);
		(void)buf_append_text(out, "\nargs = ");
		arguments_append(db_paths, out);
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
