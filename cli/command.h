// SPDX-License-Identifier: Apache-2.0
/*
 * A command is a row: its name, what it is for, its options, what it does.
 * Dispatch, help and manual come from the rows; cli/list.h names them.
 */
#pragma once

#include "cli/options.h"

/* Exit statuses of every command; trace with a program passes on that program's. */
enum command_exit { COMMAND_OK = 0, COMMAND_FAILED = 1, COMMAND_MISUSED = 2 };

struct command {
	const char *name;
	const char *summary;	       /* one line, without a stop */
	const char *usage;	       /* what follows the name: "[options] [-- PROGRAM [ARGUMENT...]]" */
	const char *const *paragraphs; /* of the help, NULL-terminated */
	struct option_table options;
	size_t fields_bytes;  /* of the struct that the options are bound to */
	const void *defaults; /* that struct as it is before parsing */
	/* Return: exit status */
	int (*run)(const void *fields, const struct options_rest *rest);
};

/** command_find() - Return: the row, or NULL */
const struct command *command_find(const char *name);
/** command_get() - the i-th row in the order of cli/list.h, NULL behind the last */
const struct command *command_get(size_t i);
/**
 * command_absent() - a command of Ingero that this version does not have
 * Return: what to use instead, as the end of a sentence, or NULL when no such command is known
 */
const char *command_absent(const char *name);
/** command_refuse() - one line on stderr. Return: COMMAND_MISUSED */
int command_refuse(const char *sentence);
/** command_help_append() - help of one command */
void command_help_append(const struct command *command, const struct text_style *style, struct buf *out);
/** command_run() - dispatch. @argv: argc arguments without the program's own name. Return: exit status */
int command_run(int argc, char **argv);
