// SPDX-License-Identifier: Apache-2.0
/*
 * A prompt is a row: a text that guides a model through an investigation, and the arguments that narrow it. One more is
 * a file in mcp-server/prompts/ and its word in mcp-server/prompts/list.h.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "mcp-server/writer.h"

struct prompt_argument {
	const char *name;
	const char *help;
	bool is_required;
	bool (*is_right)(const char *text); /* NULL: any text is */
	const char *takes;		    /* what is right, completes "takes" */
};

/* Arguments that several prompts have. */
bool prompt_since_is_right(const char *text);
bool prompt_pid_is_right(const char *text);
#define PROMPT_SINCE                                                                                                   \
	{                                                                                                              \
		.name = "since", .help = "How far back: 5m, 1h30m, 2d", .is_right = prompt_since_is_right,             \
		.takes = "a duration such as 5m, 1h30m or 2d"                                                          \
	}
#define PROMPT_PID(help_, ...)                                                                                         \
	{                                                                                                              \
		.name = "pid", .help = help_, .is_right = prompt_pid_is_right, .takes = "the number of a process",     \
		__VA_ARGS__                                                                                            \
	}

struct prompt {
	const char *name;
	const char *title;
	const char *description;
	const struct prompt_argument *arguments;
	size_t n_arguments;
	const char *text;
	/* Of fixtures (mcp-server/fixtures/), instead: writes the messages. @arguments: an object, or NULL */
	void (*write)(const json_t *arguments, struct writer *messages);
};

/** prompt_get() - Return: the i-th row in the order of the list, NULL after the last */
const struct prompt *prompt_get(size_t i);
/** prompt_find() - Return: the row, or NULL */
const struct prompt *prompt_find(const char *name);
/** prompt_message_open() - begin a message of the user; its content follows */
void prompt_message_open(struct writer *messages);
void prompt_message_close(struct writer *messages);
