// SPDX-License-Identifier: Apache-2.0
/*
 * Any words as the arguments of any command, with its own table. The first byte chooses the command,
 * zero bytes divide words. What is refused is refused in one line of text.
 */
#include "cli/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define WORDS_MAX 32

static void check_sentence(const char *error)
{
	if (!error[0] || strlen(error) >= OPTIONS_ERROR_BYTES)
		abort();
	for (const char *p = error; *p; p++)
		if ((uint8_t)*p < 0x20 || *p == 0x7f)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(freep) char *text = n ? malloc(n) : NULL;
	CLEANUP(freep) void *fields = NULL;
	const struct command *command;
	char error[OPTIONS_ERROR_BYTES] = "";
	struct options_rest rest = { .argc = 0 };
	char *argv[WORDS_MAX + 1];
	size_t n_commands = 1;
	int argc = 0;

	if (!text)
		return 0;
	while (command_get(n_commands))
		n_commands++;
	command = command_get(data[0] % n_commands);
	memcpy(text, data + 1, n - 1);
	text[n - 1] = '\0';
	for (char *word = text; argc < WORDS_MAX && word < text + n - 1; word += strlen(word) + 1)
		argv[argc++] = word;
	argv[argc] = NULL;

	fields = calloc(1, command->fields_bytes + 1);
	if (!fields)
		abort();
	if (command->defaults)
		memcpy(fields, command->defaults, command->fields_bytes);
	if (options_parse(&command->options, argc, argv, fields, &rest, error) == OPTIONS_MISUSED)
		check_sentence(error);
	options_done(&command->options, fields);
	return 0;
}
