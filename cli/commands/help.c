// SPDX-License-Identifier: Apache-2.0
/* `ingero help [COMMAND]`, and with --man the manual page, made from the rows. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/help_json.h"
#include "cli/manual.h"
#include "cli/output.h"

struct help_fields {
	bool is_manual;
	bool is_json;
};

#define FIELDS struct help_fields
static const struct option help_options[] = {
	OPTION_ROW(FLAG, "man", is_manual, "Print the manual page (troff)"),
	JSON_OPTION(is_json, "Print all commands and options as one JSON object (docs/schema/help.schema.json)"),
};

static void overview_append(const struct text_style *style, struct buf *out)
{
	text_paragraph(out, style, "", "ingero: find out why GPU calls are slow.");
	text_line(out, style, TEXT_PLAIN, "%s", "");
	text_line(out, style, TEXT_PLAIN, "usage: ingero COMMAND [options]");
	text_line(out, style, TEXT_PLAIN, "%s", "");
	for (size_t i = 0; command_get(i); i++) {
		char first[32];

		(void)snprintf(first, sizeof(first), "  %-10s ", command_get(i)->name);
		text_paragraph(out, style, first, command_get(i)->summary);
	}
	text_line(out, style, TEXT_PLAIN, "%s", "");
	text_line(out, style, TEXT_PLAIN, "examples");
	text_line(out, style, TEXT_PLAIN, "  sudo ingero trace                      watch your programs, live");
	text_line(out, style, TEXT_PLAIN, "  sudo ingero trace -- python train.py   start one and watch it");
	text_line(out, style, TEXT_PLAIN, "  ingero help trace                      what else trace can do");
}

static int help_run(const void *fields, const struct options_rest *rest)
{
	const struct help_fields *help = fields;
	CLEANUP(output_done) struct output out = OUTPUT_INIT(STDOUT_FILENO);
	struct text_style style = output_style(STDOUT_FILENO, /* no_color= */ true);
	const struct command *command = rest->argc ? command_find(rest->argv[0]) : NULL;
	char error[OPTIONS_ERROR_BYTES];

	if (rest->argc && !command) {
		const char *way_out = command_absent(rest->argv[0]), *meant = command_meant(rest->argv[0]);

		if (way_out)
			(void)snprintf(error, sizeof(error), "%s is not supported; %s",
				       option_quote(rest->argv[0]).text, way_out);
		else
			(void)snprintf(error, sizeof(error), "there is no command %s to help with; %s",
				       option_quote(rest->argv[0]).text, meant ? meant : "'ingero help' lists them");
		return command_refuse(error);
	}
	if (help->is_manual && help->is_json)
		return command_refuse("'--man' and '--json' exclude each other; leave out one");
	if (help->is_json && help_json_append(&out.buf) < 0) {
		output_error("no memory for the help");
		return COMMAND_FAILED;
	}
	if (help->is_json)
		return output_flush(&out) < 0 ? COMMAND_FAILED : COMMAND_OK;
	if (help->is_manual)
		manual_append(&out.buf);
	else if (command)
		command_help_append(command, &style, &out.buf);
	else
		overview_append(&style, &out.buf);
	return output_flush(&out) < 0 ? COMMAND_FAILED : COMMAND_OK;
}

static const char *const help_paragraphs[] = {
	"Exit status: 0 done, 1 failed, 2 misused. Where a command has others, its own help names them.",
	NULL,
};

const struct command command_help = {
	.name = "help",
	.summary = "list the commands, or show one's options",
	.usage = "[COMMAND]",
	.paragraphs = help_paragraphs,
	.options = { .command = "help", .rows = help_options, .n = ARRAY_SIZE(help_options), .takes = "command" },
	.fields_bytes = sizeof(struct help_fields),
	.run = help_run,
};
