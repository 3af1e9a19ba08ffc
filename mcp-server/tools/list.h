// SPDX-License-Identifier: Apache-2.0
/*
 * All tools, one line each, in the order of tools/list: TOOL(name) is the row tool_<name> in mcp-server/tools/<name>.c.
 *
 * No include guard: included wherever something is derived.
 */
#ifndef TOOL
#define TOOL(name)
#endif

TOOL(explain)
TOOL(explain_call)
TOOL(blame)
TOOL(compare)
TOOL(get_trace_stats)
TOOL(get_causal_chains)
TOOL(run_sql)
TOOL(get_stacks)
TOOL(graph_lifecycle)
TOOL(graph_frequency)
TOOL(watch)
TOOL(get_check)
TOOL(run_demo)
TOOL(query_fleet)
TOOL(get_test_report)

#ifdef INGERO_MCP_FIXTURES
#include "mcp-server/fixtures/list.h"
#endif

#undef TOOL
