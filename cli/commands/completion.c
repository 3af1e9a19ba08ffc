// SPDX-License-Identifier: Apache-2.0
/* `ingero completion SHELL`: print a completion script, made from the rows. */
#include <stdio.h>
#include <string.h>

#include "cli/candidates.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/output.h"

static int completion_run(const void *fields, const struct options_rest *rest)
{
	CLEANUP(output_done) struct output out = OUTPUT_INIT(STDOUT_FILENO);
	char error[OPTIONS_ERROR_BYTES];

	(void)fields;
	if (!rest->argc)
		return command_refuse("completion needs the name of a shell: bash, zsh or fish");
	for (size_t i = 0; candidate_lists[i]; i++) {
		if (strcmp(candidate_lists[i], rest->argv[0]) != 0)
			continue;
		candidates_append(candidate_lists[i], &out.buf);
		return output_flush(&out) < 0 ? COMMAND_FAILED : COMMAND_OK;
	}
	for (size_t i = 0; completion_shells[i]; i++) {
		if (strcmp(completion_shells[i], rest->argv[0]) != 0)
			continue;
		completion_append(completion_shells[i], &out.buf);
		return output_flush(&out) < 0 ? COMMAND_FAILED : COMMAND_OK;
	}
	(void)snprintf(error, sizeof(error), "there is no completion for %s, only for bash, zsh and fish",
		       option_quote(rest->argv[0]).text);
	return command_refuse(error);
}

static const char *const completion_paragraphs[] = {
	"In bash: source <(ingero completion bash). In zsh, after compinit: source <(ingero completion zsh). In fish: "
	"ingero completion fish | source.",
	"The scripts query what changes: 'ingero completion ops' lists the operations, 'ingero completion pids' the "
	"processes that map a CUDA library, as the service reports them, else your own.",
	NULL,
};

const struct command command_completion = {
	.name = "completion",
	.summary = "print a script that completes command lines in bash, zsh or fish",
	.usage = "SHELL",
	.paragraphs = completion_paragraphs,
	.options = { .command = "completion", .takes = "shell", .words = completion_shells },
	.run = completion_run,
};
