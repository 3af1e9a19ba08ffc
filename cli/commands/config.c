// SPDX-License-Identifier: Apache-2.0
/* `ingero config check|show [FILE]`: verify or print the service's configuration. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "cli/command.h"
#include "libingero/connect/config_reader.h"
#include "cli/output.h"

/* A file that nobody wrote says nothing, and that is right. */
static int config_file_open(const char *path, bool is_named, int *ret_fd)
{
	int fd = config_reader_open(path);

	if (fd == -ENOENT && !is_named)
		fd = config_reader_open("/dev/null");
	if (fd < 0) {
		output_error("cannot read %s: %s", option_quote(path).text, strerror(-fd));
		return fd;
	}
	*ret_fd = fd;
	return 0;
}

static int config_run(const void *fields, const struct options_rest *rest)
{
	const char *what = rest->argc ? rest->argv[0] : "", *path = rest->argc > 1 ? rest->argv[1] : CONFIG_PATH;
	bool is_check = strcmp(what, "check") == 0;
	CLEANUP(output_done) struct output out = OUTPUT_INIT(STDOUT_FILENO);
	CLEANUP(closep) int fd = -1;
	char error[512];
	struct stat st;
	int status;

	(void)fields;
	if (!rest->argc)
		return command_refuse("config takes 'check' or 'show', and a file if it is not " CONFIG_PATH);
	if (!is_check && strcmp(what, "show") != 0) {
		(void)snprintf(error, sizeof(error), "config takes 'check' or 'show', and a file, not %s",
			       option_quote(what).text);
		return command_refuse(error);
	}
	if (!*path)
		return command_refuse("config takes the name of a file, not ''");
	if (config_file_open(path, rest->argc > 1, &fd) < 0)
		return COMMAND_FAILED;
	status = config_reader_run(is_check ? "--config-check" : "--config-show", path, fd,
				   /* is_quiet= */ false, error, sizeof(error));
	if (*error)
		output_error("%s", error);
	if (!is_check || status != COMMAND_OK)
		return status;
	(void)buf_printf(&out.buf, "%s: %s\n", path,
			 rest->argc < 2 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode)
				 ? "no such file; every option has its default"
				 : "valid");
	return output_flush(&out) < 0 ? COMMAND_FAILED : COMMAND_OK;
}

static const char *const config_words[] = { "check", "show", NULL };

static const char *const config_paragraphs[] = {
	"'check' prints every error with line and column, and exits with 1. 'show' prints every option with its value "
	"and "
	"a description, in the form of the file; defaults are shown as comments. Without FILE: "
	"/etc/ingero/ingero.yaml, which the service reads at start and at 'systemctl reload ingero-collectord'.",
	NULL,
};

const struct command command_config = {
	.name = "config",
	.summary = "check the configuration of the service, or show it",
	.usage = "check|show [FILE]",
	.paragraphs = config_paragraphs,
	.options = { .command = "config", .takes = "check or show", .takes_most = 2, .words = config_words },
	.run = config_run,
};
