// SPDX-License-Identifier: Apache-2.0
/*
 * Words for the ways in which time passes, one set for options and environment.
 */
#pragma once

#include "control.h"

#define HOW_WORDS "spin, block, poll, sleep or yield"

/** how_parse() - Return: 0, or -EINVAL for a word that is none of HOW_WORDS */
int how_parse(const char *text, enum ingero_standin_how *ret_how);
