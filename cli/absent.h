// SPDX-License-Identifier: Apache-2.0
/* Options of Ingero that this program does not have (cli/absent.def). */
#pragma once

#include <stddef.h>

/**
 * option_absent() - look up an option that is refused
 * @command: name of the command; "" for options before the command
 * @name: the option without its dashes, n_name bytes
 * Return: the way out, as the end of a sentence; NULL when no such command of Ingero has the option
 */
const char *option_absent(const char *command, const char *name, size_t n_name);
/**
 * option_other() - look up another name of one of our options
 * @name: the option without its dashes, with "=VALUE" if typed
 * Return: our option; "" where there is nothing to do; NULL when the name is unknown
 */
const char *option_other(const char *command, const char *name);
