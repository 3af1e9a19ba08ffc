// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/method.h"

#include <string.h>

#define BOTH (RPC_LEGACY | RPC_MODERN)

const char *const revisions[] = { "2026-07-28", "2025-11-25", "2025-06-18", NULL };
const char *const revisions_modern[] = { "2026-07-28", NULL };

static const struct method methods[] = {
	{ .name = "initialize", .eras = RPC_LEGACY, .run = method_initialize },
	{ .name = "ping", .eras = RPC_LEGACY, .run = method_ping },
	{ .name = "server/discover",
	  .eras = RPC_MODERN,
	  .is_cacheable = true,
	  .is_public = true,
	  .run = method_discover },
	{ .name = "tools/list", .eras = BOTH, .is_cacheable = true, .is_public = true, .run = method_tools_list },
	{ .name = "tools/call", .eras = BOTH, .is_slow = true, .run = method_tools_call },
	{ .name = "prompts/list", .eras = BOTH, .is_cacheable = true, .is_public = true, .run = method_prompts_list },
	{ .name = "prompts/get", .eras = BOTH, .run = method_prompts_get },
	{ .name = "resources/list",
	  .eras = BOTH,
	  .is_cacheable = true,
	  .is_public = true,
	  .run = method_resources_list },
	{ .name = "resources/templates/list",
	  .eras = BOTH,
	  .is_cacheable = true,
	  .is_public = true,
	  .run = method_resources_templates },
	{ .name = "resources/read",
	  .eras = BOTH,
	  .is_slow = true,
	  .is_cacheable = true,
	  .is_live = true,
	  .run = method_resources_read },
	{ .name = "completion/complete", .eras = BOTH, .is_slow = true, .run = method_complete },
};

const struct method *method_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (strcmp(methods[i].name, name) == 0)
			return &methods[i];
	return NULL;
}

bool revision_is(const char *const *list, const char *revision)
{
	for (size_t i = 0; list[i]; i++)
		if (strcmp(list[i], revision) == 0)
			return true;
	return false;
}
