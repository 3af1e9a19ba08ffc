// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "cli/absent.h"
#include "libingero/connect/caller.h"
#include "cli/output.h"

#define COMMAND(name) extern const struct command command_##name;
#include "cli/list.h"

static const struct command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "cli/list.h"
};

struct word {
	const char *name;
	const char *way_out;
};

static const struct word absent[] = {
#define ABSENT(name, way_out) { #name, way_out },
#include "cli/list.h"
};

static const struct word others[] = {
#define OTHER(name, way_out) { #name, way_out },
#include "cli/list.h"
};

const struct command *command_get(size_t i)
{
	return i < ARRAY_SIZE(commands) ? commands[i] : NULL;
}

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* Names in the list are C identifiers: underscores stand for dashes. */
static bool name_is_same(const char *listed, const char *typed)
{
	for (; *listed && *typed; listed++, typed++)
		if (*listed != *typed && !(*listed == '_' && *typed == '-'))
			return false;
	return *listed == *typed;
}

static const char *words_way_out(const struct word *words, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (name_is_same(words[i].name, name))
			return words[i].way_out;
	return NULL;
}

const char *command_absent(const char *name)
{
	return words_way_out(absent, ARRAY_SIZE(absent), name);
}

const char *command_meant(const char *name)
{
	return words_way_out(others, ARRAY_SIZE(others), name);
}

int command_refuse(const char *sentence)
{
	output_error("%s", sentence);
	return COMMAND_MISUSED;
}

void command_help_append(const struct command *command, const struct text_style *style, struct buf *out)
{
	char first[64];

	(void)snprintf(first, sizeof(first), "ingero %s: ", command->name);
	text_paragraph(out, style, first, command->summary);
	text_line(out, style, TEXT_PLAIN, "%s", "");
	text_line(out, style, TEXT_PLAIN, "usage: ingero %s%s%s", command->name, *command->usage ? " " : "",
		  command->usage);
	text_line(out, style, TEXT_PLAIN, "%s", "");
	option_help_append(&command->options, style, out);
	for (size_t i = 0; command->paragraphs && command->paragraphs[i]; i++) {
		text_line(out, style, TEXT_PLAIN, "%s", "");
		text_paragraph(out, style, "", command->paragraphs[i]);
	}
}

static int unknown_refuse(const char *name)
{
	const char *names[ARRAY_SIZE(commands)], *nearest, *way_out = command_absent(name),
							   *meant = command_meant(name);
	bool is_option = strncmp(name, "--", 2) == 0;
	char text[OPTIONS_ERROR_BYTES], typed[NAME_MAX_BYTES + 2];

	(void)snprintf(typed, sizeof(typed), "%.*s",
		       (int)MIN(is_option ? strcspn(name, "=") : strlen(name), sizeof(typed) - 1), name);
	if (is_option)
		way_out = option_absent("", typed + 2, strlen(typed + 2));
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		names[i] = commands[i]->name;
	nearest = name_nearest(name, names, ARRAY_SIZE(names));
	if (!meant && !nearest)
		meant = option_file(name) ? "a command reads files: ingero explain --db FILE"
					  : "'ingero help' lists them";

	if (way_out)
		(void)snprintf(text, sizeof(text), "%s is not supported; %s", option_quote(typed).text, way_out);
	else if (name[0] == '-')
		(void)snprintf(text, sizeof(text),
			       "unknown option %s; options go after the command, 'ingero help' lists them",
			       option_quote(name).text);
	else if (meant)
		(void)snprintf(text, sizeof(text), "unknown command %s; %s", option_quote(name).text, meant);
	else
		(void)snprintf(text, sizeof(text), "unknown command %s; did you mean '%s'?", option_quote(name).text,
			       nearest);
	return command_refuse(text);
}

/* Runs the executable of a command, beside ours, with the same arguments. Return: exit status, on failure alone */
static int sibling_run(const char *program, int argc, char **argv)
{
	CLEANUP(freep) char **arguments = calloc((size_t)argc + 1, sizeof(*arguments));
	static char own_name[] = "ingero";
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (!arguments) {
		output_error("no memory for the arguments");
		return COMMAND_FAILED;
	}
	path[MAX(n, 0)] = 0;
	slash = strrchr(path, '/');
	if (!slash || (size_t)(slash + 1 - path) + strlen(program) >= sizeof(path)) {
		output_error("cannot find '%s': /proc/self/exe cannot be read", program);
		return COMMAND_FAILED;
	}
	memcpy(slash + 1, program, strlen(program) + 1);
	arguments[0] = own_name; /* its sentences begin as ours do */
	for (int i = 1; i < argc; i++)
		arguments[i] = argv[i];
	(void)execv(path, arguments);
	output_error("cannot run '%s': %s; install it beside ingero", path, strerror(errno));
	return COMMAND_FAILED;
}

int command_run(int argc, char **argv)
{
	static char help_word[] = "help", version_word[] = "version";
	char error[OPTIONS_ERROR_BYTES];
	CLEANUP(freep) void *fields = NULL;
	const struct command *command;
	struct options_rest rest;
	int status = COMMAND_FAILED;
	char *name = argc > 0 ? argv[0] : help_word;

	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = help_word;
	else if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		name = version_word;
	command = command_find(name);
	if (!command)
		return unknown_refuse(name);

	fields = calloc(1, command->fields_bytes + 1);
	if (!fields) {
		output_error("no memory for the options");
		return COMMAND_FAILED;
	}
	if (command->defaults)
		memcpy(fields, command->defaults, command->fields_bytes);

	switch (options_parse(&command->options, argc > 0 ? argc - 1 : 0, argv + 1, fields, &rest, error)) {
	case OPTIONS_MISUSED:
		status = command_refuse(error);
		break;
	case OPTIONS_HELP: {
		CLEANUP(output_done) struct output out = OUTPUT_INIT(STDOUT_FILENO);
		struct text_style style = output_style(STDOUT_FILENO, /* no_color= */ true);

		command_help_append(command, &style, &out.buf);
		status = output_flush(&out) < 0 ? COMMAND_FAILED : COMMAND_OK;
		break;
	}
	case OPTIONS_OK:
		if (caller_check(error, sizeof(error)) == 0) {
			status = command->program ? sibling_run(command->program, argc, argv)
						  : command->run(fields, &rest);
		} else {
			output_error("%s", error);
			status = COMMAND_MISUSED;
		}
		break;
	}
	options_done(&command->options, fields);
	return status;
}
