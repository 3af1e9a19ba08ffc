// SPDX-License-Identifier: Apache-2.0
/* The service's configuration file. An error in it keeps the service from capturing. */
#include <errno.h>
#include <string.h>

#include "libingero/check/item.h"

void check_configuration(const struct check_world *world, struct check_result *result)
{
	const struct check_configuration *configuration = &world->configuration;

	switch (-configuration->error) {
	case 0:
		check_say(result, CHECK_LEVEL_OK, NULL, "%s is valid", configuration->path);
		return;
	case ENOENT:
		check_say(result, CHECK_LEVEL_OK, NULL, "no file %s: every option has its default",
			  configuration->path);
		return;
	case EINVAL:
		check_say(result, CHECK_LEVEL_FAIL,
			  "correct the file, verify it with 'ingero config check', then 'systemctl restart "
			  "ingero-collectord'",
			  "%s", configuration->sentence);
		return;
	default:
		check_say(result, CHECK_LEVEL_WARN, "make it readable for all users, as it is installed: 'chmod 644'",
			  "%s cannot be read: %s", configuration->path, strerror(-configuration->error));
		return;
	}
}
