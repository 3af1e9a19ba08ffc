// SPDX-License-Identifier: Apache-2.0
/*
 * A command is a row: name, summary, options, function. Dispatch, help and manual are made from the rows; cli/list.h
 * lists them.
 */
#pragma once

#include "cli/options.h"

/* Exit statuses of every command; `trace -- PROGRAM` passes on the program's status. */
enum command_exit { COMMAND_OK = 0, COMMAND_FAILED = 1, COMMAND_MISUSED = 2 };

struct command {
	const char *name;
	const char *summary;	       /* one line, without a full stop */
	const char *usage;	       /* synopsis after the name: "[options] [-- PROGRAM [ARGUMENT...]]" */
	const char *const *paragraphs; /* paragraphs of the help, NULL-terminated */
	struct option_table options;
	size_t fields_bytes;  /* size of the struct that the options are bound to */
	const void *defaults; /* initial value of that struct */
	const char *program;  /* an executable beside ours that takes the same options and runs instead; NULL: none */
	/* runs the command. Return: exit status */
	int (*run)(const void *fields, const struct options_rest *rest);
};

/** command_find() - find a command by name. Return: the row, or NULL */
const struct command *command_find(const char *name);
/** command_get() - Return: the i-th row in the order of cli/list.h, NULL after the last */
const struct command *command_get(size_t i);
/**
 * command_absent() - look up a command of Ingero that this program does not have
 * Return: the alternative, as the end of a sentence; NULL when no such command is known
 */
const char *command_absent(const char *name);
/** command_meant() - look up a word for what another command does. Return: as command_absent() */
const char *command_meant(const char *name);
/** command_refuse() - print one line on stderr. Return: COMMAND_MISUSED */
int command_refuse(const char *sentence);
/** command_help_append() - append the help of one command */
void command_help_append(const struct command *command, const struct text_style *style, struct buf *out);
/** command_run() - dispatch. @argv: argc arguments without the program's own name. Return: exit status */
int command_run(int argc, char **argv);
