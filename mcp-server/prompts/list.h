// SPDX-License-Identifier: Apache-2.0
/*
 * All prompts, one line each: PROMPT(name) is the row prompt_<name> in mcp-server/prompts/<name>.c.
 *
 * No include guard: included wherever something is derived.
 */
#ifndef PROMPT
#define PROMPT(name)
#endif

PROMPT(investigate)
PROMPT(slow_step)
PROMPT(oom)

#ifdef INGERO_MCP_FIXTURES
#include "mcp-server/fixtures/list.h"
#endif

#undef PROMPT
