// SPDX-License-Identifier: Apache-2.0
/* Snippets for the settings of programs that start MCP servers. */
#pragma once

#include "base/buf.h"

/**
 * editor_snippet_append() - append what tells an editor to start this server
 *
 * Paths are UTF-8; a character that a terminal would hide or obey is escaped.
 *
 * @name:     one of mcp-server/editors.def
 * @program:  path of the executable
 * @db_paths: recordings to answer from, NULL-terminated; NULL: none
 * Return: where it belongs, completes "put it into"; NULL: no such editor
 */
const char *editor_snippet_append(const char *name, const char *program, const char *const *db_paths, struct buf *out);
