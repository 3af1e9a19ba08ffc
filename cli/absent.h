// SPDX-License-Identifier: Apache-2.0
/* Options that Ingero's users know and this version does not have (cli/absent.def). */
#pragma once

#include <stddef.h>

/**
 * option_absent() - @command: "" for what stands in front of one; @name: without its dashes, n_name bytes
 * Return: what to use instead, as the end of a sentence, or NULL when Ingero's command knows no such option either
 */
const char *option_absent(const char *command, const char *name, size_t n_name);
/**
 * option_other() - @name: without its dashes, with "=VALUE" where that was typed
 * Return: the option of ours that it means, "" where there is nothing to do, or NULL when it is not known by that name
 */
const char *option_other(const char *command, const char *name);
