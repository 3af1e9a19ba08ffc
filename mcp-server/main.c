// SPDX-License-Identifier: Apache-2.0
/*
 * ingero-mcp: answers the questions of editors, over the Model Context Protocol. `ingero mcp` runs it.
 *
 * Exit status: 0 the input ended, 1 failed, 2 misused.
 */
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/utf8.h"
#include "libingero/render/option_help.h"
#include "mcp-server/editors.h"
#include "mcp-server/http.h"
#include "mcp-server/options.h"
#include "mcp-server/stdio.h"
#include "web/token.h"

/* As it was called: "ingero" of `ingero mcp`. */
static const char *program_name = "ingero-mcp";

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

/* Every question about such a file fails, with the reason; who starts the server is told at once. */
static void files_warn(const struct mcp_fields *fields)
{
	struct stat st;

	for (size_t i = 0; i < fields->dbs.n; i++) {
		const char *path = fields->dbs.items[i], *why = NULL;

		if (access(path, R_OK) < 0 || stat(path, &st) < 0)
			why = strerror(errno);
		else if (!S_ISREG(st.st_mode))
			why = "no plain file";
		else if (st.st_size == 0)
			why = "it is empty";
		if (why)
			(void)dprintf(STDERR_FILENO, "%s: warning: %s cannot be read: %s\n", program_name,
				      option_quote(path).text, why);
	}
}

/* No setting of an editor can name another path. Return: 0 or -EILSEQ */
static int path_check(const char *path)
{
	size_t n = strlen(path), taken;

	for (const char *at = path; n > 0; at += taken, n -= taken) {
		taken = utf8_length(at, n);
		if (taken)
			continue;
		(void)dprintf(STDERR_FILENO, "%s: %s is not UTF-8: the settings of an editor cannot name it\n",
			      program_name, option_quote(path).text);
		return -EILSEQ;
	}
	return 0;
}

/* The snippet goes to standard output, where it belongs to standard error. Paths hold wherever the editor starts us. */
static int config_print(const struct mcp_fields *fields)
{
	const char *database = getenv("INGERO_DB");
	char program[PATH_MAX], *paths[OPTION_TEXTS_MAX + 1] = { NULL };
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	const char *where;
	int r = n < 0 ? -errno : 0;

	program[MAX(n, 0)] = 0;
	if (r == 0)
		r = path_check(program);
	for (size_t i = 0; r == 0 && i < fields->dbs.n; i++) {
		paths[i] = realpath(fields->dbs.items[i], NULL);
		if (!paths[i]) {
			r = -errno;
			(void)dprintf(STDERR_FILENO, "%s: cannot find %s: %s\n", program_name,
				      option_quote(fields->dbs.items[i]).text, strerror(errno));
		} else {
			r = path_check(paths[i]);
		}
	}
	if (r == 0) {
		where = editor_snippet_append(fields->editor, program, (const char *const *)paths, &out);
		r = fd_write_full(STDOUT_FILENO, out.data, out.n);
		(void)dprintf(STDERR_FILENO, "put it into %s\n", where);
		files_warn(fields);
		if (!fields->dbs.n && database && *database)
			(void)dprintf(STDERR_FILENO,
				      "%s: warning: INGERO_DB is set here; the editor may not have it; to print it, "
				      "too, add --db %s\n",
				      program_name, option_quote(database).text);
	}
	for (size_t i = 0; i < fields->dbs.n; i++)
		free(paths[i]);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

static int transport_serve(const struct mcp_fields *fields)
{
	const struct server server = { .db_paths = fields->dbs.n ? fields->dbs.items : NULL };
	const struct http_wish http = { .server = &server,
					.address = fields->http,
					.cert_path = fields->tls_cert,
					.key_path = fields->tls_key,
					.token_path = fields->token_file };
	char error[WEB_ERROR_BYTES] = "cannot read standard input";
	int r;

	files_warn(fields);
	if (!fields->http && isatty(STDIN_FILENO))
		(void)dprintf(
			STDERR_FILENO,
			"%s: waits for an editor's messages; an editor starts it: '--print-config EDITOR' prints its "
			"settings, Ctrl-D ends\n",
			program_name);
	r = fields->http ? http_serve(&http, error) : stdio_serve(&server, STDIN_FILENO, STDOUT_FILENO);

	if (r < 0)
		(void)dprintf(STDERR_FILENO, "%s: %s\n", program_name, error);
	return r == -EINVAL ? EXIT_MISUSED : r < 0 ? EXIT_FAILED : EXIT_DONE;
}

static int mcp_run(const struct mcp_fields *fields)
{
	const char *sentence = mcp_contradiction(fields);

	if (sentence) {
		(void)dprintf(STDERR_FILENO, "%s: %s\n", program_name, sentence);
		return EXIT_MISUSED;
	}
	return fields->editor ? config_print(fields) : transport_serve(fields);
}

int main(int argc, char **argv)
{
	static const struct option_dialect dialect = { .absent = NULL };
	struct mcp_fields fields = { .dbs.n = 0 };
	char error[OPTIONS_ERROR_BYTES];
	struct options_rest rest;
	int status = EXIT_DONE;

	if (argc > 0 && *argv[0])
		program_name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	fd_fill_standard();
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	(void)signal(SIGPIPE, SIG_IGN);
	switch (option_line_read(&table, &dialect, argc - 1, argv + 1, &fields, &rest, error)) {
	case OPTIONS_MISUSED:
		(void)dprintf(STDERR_FILENO, "%s: %s\n", program_name, error);
		status = EXIT_MISUSED;
		break;
	case OPTIONS_HELP:
		status = help_print();
		break;
	case OPTIONS_OK:
		status = mcp_run(&fields);
		break;
	}
	options_done(&table, &fields);
	return status;
}
