// SPDX-License-Identifier: Apache-2.0
/*
 * ingero-mcp: answers the questions of editors, over the Model Context Protocol. `ingero mcp` runs it.
 *
 * Exit status: 0 the input ended, 1 failed, 2 misused.
 */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "libingero/render/option_help.h"
#include "mcp-server/options.h"
#include "mcp-server/stdio.h"

static const struct option_table table = MCP_OPTION_TABLE;

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_MISUSED = 2 };

static int help_print(void)
{
	const struct text_style style = { .is_utf8 = true, .columns = 80 };
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	text_paragraph(&out, &style, "ingero-mcp: ", MCP_SUMMARY);
	text_line(&out, &style, TEXT_PLAIN, "%s", "");
	text_line(&out, &style, TEXT_PLAIN, "usage: ingero-mcp " MCP_USAGE);
	text_line(&out, &style, TEXT_PLAIN, "%s", "");
	option_help_append(&table, &style, &out);
	for (size_t i = 0; mcp_paragraphs[i]; i++) {
		text_line(&out, &style, TEXT_PLAIN, "%s", "");
		text_paragraph(&out, &style, "", mcp_paragraphs[i]);
	}
	return fd_write_full(STDOUT_FILENO, out.data, out.n) < 0 ? EXIT_FAILED : EXIT_DONE;
}

int main(int argc, char **argv)
{
	static const struct option_dialect dialect = { .absent = NULL };
	struct mcp_fields fields = { .dbs.n = 0 };
	struct server server = { .db_paths = NULL };
	char error[OPTIONS_ERROR_BYTES];
	struct options_rest rest;
	int status = EXIT_DONE, r;

	fd_fill_standard();
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	(void)signal(SIGPIPE, SIG_IGN);
	switch (option_line_read(&table, &dialect, argc - 1, argv + 1, &fields, &rest, error)) {
	case OPTIONS_MISUSED:
		(void)dprintf(STDERR_FILENO, "ingero-mcp: %s\n", error);
		status = EXIT_MISUSED;
		break;
	case OPTIONS_HELP:
		status = help_print();
		break;
	case OPTIONS_OK:
		server.db_paths = fields.dbs.n ? fields.dbs.items : NULL;
		r = stdio_serve(&server, STDIN_FILENO, STDOUT_FILENO);
		if (r < 0) {
			(void)dprintf(STDERR_FILENO, "ingero-mcp: cannot read standard input: %s\n", strerror(-r));
			status = EXIT_FAILED;
		}
		break;
	}
	options_done(&table, &fields);
	return status;
}
