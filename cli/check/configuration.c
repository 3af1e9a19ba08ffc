// SPDX-License-Identifier: Apache-2.0
/* The file of the service: what is wrong with it keeps the service from capturing. */
#include <errno.h>
#include <string.h>

#include "cli/check/item.h"

void check_configuration(const struct check_world *world, struct check_result *result)
{
	const struct check_configuration *configuration = &world->configuration;

	switch (-configuration->error) {
	case 0:
		check_say(result, CHECK_LEVEL_OK, NULL, "%s is right", configuration->path);
		return;
	case ENOENT:
		check_say(result, CHECK_LEVEL_OK, NULL, "%s is not there: every option has its default",
			  configuration->path);
		return;
	case EINVAL:
		check_say(result, CHECK_LEVEL_FAIL,
			  "correct that, look with 'ingero config check', then 'systemctl restart ingero-collectord'",
			  "%s", configuration->sentence);
		return;
	default:
		check_say(result, CHECK_LEVEL_WARN, "everybody may read it as it is installed: 'chmod 644' it",
			  "%s cannot be read: %s", configuration->path, strerror(-configuration->error));
		return;
	}
}
