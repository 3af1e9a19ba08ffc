// SPDX-License-Identifier: Apache-2.0
#include "cli/help_json.h"

#include "cli/command.h"
#include "libingero/render/json.h"

static const char *kind_name(enum option_kind kind)
{
	static const char *const names[] = {
		[OPTION_FLAG] = "flag",	    [OPTION_CONSTANT] = "flag", [OPTION_CHOICE] = "choice",
		[OPTION_NUMBER] = "number", [OPTION_SIZE] = "size",	[OPTION_DURATION] = "duration",
		[OPTION_TIME] = "time",	    [OPTION_TEXT] = "text",	[OPTION_PIDS] = "pids",
		[OPTION_USERS] = "users",   [OPTION_WHOM] = "users",	[OPTION_TEXTS] = "text",
	};

	return names[kind];
}

static json_t *option_json(const struct option *row)
{
	json_t *choices = json_array();

	for (size_t i = 0; row->kind == OPTION_CHOICE && row->choices[i]; i++)
		(void)json_array_append_new(choices, json_string(row->choices[i]));
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:o}", "name", row->name, "letter",
			 row->letter ? (const char[]){ row->letter, 0 } : "", "kind", kind_name(row->kind), "value",
			 row->value ? row->value : "", "help", row->help, "min", (json_int_t)row->min, "max",
			 (json_int_t)row->max, "choices", choices);
}

static json_t *command_json(const struct command *command)
{
	json_t *options = json_array();

	for (size_t i = 0; i < command->options.n; i++)
		(void)json_array_append_new(options, option_json(&command->options.rows[i]));
	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:o}", "name", command->name, "summary", command->summary, "usage",
			 command->usage, "takes", command->options.takes ? command->options.takes : "", "takes_program",
			 command->options.takes_program, "options", options);
}

int help_json_append(struct buf *out)
{
	json_t *commands = json_array();

	for (size_t i = 0; command_get(i); i++)
		(void)json_array_append_new(commands, command_json(command_get(i)));
	return json_line(out, json_pack("{s:s, s:o}", "type", "help", "commands", commands));
}
