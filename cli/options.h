// SPDX-License-Identifier: Apache-2.0
/* Options of commands (base/option.h): other names from Ingero, clock times. */
#pragma once

#include "base/option.h"
#include "libingero/answers/time.h"
#include "libingero/render/option_help.h"

/* Rows shared by several commands, bound to a bool and to struct option_ids of their FIELDS. */
#define JSON_OPTION(member, help) OPTION_ROW(FLAG, "json", member, help)
#define PIDS_OPTION(member, help) OPTION_ROW(PIDS, "pid", member, help, .letter = 'p', .value = "PID[,PID...]")
/* The rows of a command that writes a file, bound to a text and a bool; the words say when standard output serves. */
#define OUTPUT_OPTIONS(path, is_forced, words)                                                                         \
	OPTION_ROW(TEXT, "output", path, "Write to FILE; - is standard output, " words, .letter = 'o',                 \
		   .value = "FILE"),                                                                                   \
		OPTION_ROW(FLAG, "force", is_forced, "With --output: overwrite FILE")

/** options_parse() - parse the options of a command with option_line_read() */
enum options_result options_parse(const struct option_table *table, int argc, char **argv, void *fields,
				  struct options_rest *ret_rest, char *error);
/**
 * option_file() - look up a file that was given without --db, by the ending .db or because it exists
 * Return: the way out, as the end of a sentence, until the next call; NULL: the word is no file
 */
const char *option_file(const char *word);
/** option_time_parse() - parse an OPTION_TIME row; the field is a struct clock_time */
int option_time_parse(const struct option *row, const char *text, void *field, char *error);
