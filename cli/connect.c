// SPDX-License-Identifier: Apache-2.0
#include "cli/connect.h"

#include <errno.h>

#include "cli/output.h"

#define ERROR_BYTES 512

int connect_open(const struct connect_wish *wish, const struct caller *caller, struct ingero **ret_ingero,
		 bool *ret_is_private)
{
	struct ingero_options options = {
		.program = "ingero-cli " INGERO_VERSION,
		.has_on_behalf_of = caller->is_sudo && !wish->acts_as_root,
		.on_behalf_of = caller->uid,
	};
	char error[ERROR_BYTES] = "";
	int r = -ENOENT;

	if (wish->needs_private && !caller->is_root) {
		output_error("'%s' needs a daemon of its own, which only root can start; try 'sudo ingero %s %s ...'",
			     wish->needs_private_why, wish->command, wish->needs_private_why);
		return -EPERM;
	}
	if (!wish->needs_private)
		r = ingero_open(&options, error, sizeof(error), ret_ingero);
	if (r == -ENOENT && caller->is_root) {
		options.private_daemon = true;
		options.daemon_args = wish->daemon_args;
		r = ingero_open(&options, error, sizeof(error), ret_ingero);
	} else if (r == -ENOENT) {
		output_error(
			"ingero-collectord is not running here; start it with 'systemctl start ingero-collectord', "
			"or trace without it: 'sudo ingero %s'",
			wish->command);
		return r;
	}
	if (r < 0) {
		output_error("%s", error[0] ? error : "cannot reach ingero-collectord");
		return r;
	}

	if (ret_is_private)
		*ret_is_private = options.private_daemon;
	return 0;
}
