// SPDX-License-Identifier: Apache-2.0
/* State of the daemon: the service, or for root a private one. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "libingero/check/item.h"
#include "libingero/render/units.h"

#define SERVICE_SOCKET "run/ingero.sock"

void check_service(const struct check_world *world, struct check_result *result)
{
	const struct check_daemon *daemon = &world->daemon;
	struct stat st;

	if (daemon->error == 0 && !daemon->is_private)
		check_say(result, CHECK_LEVEL_OK, NULL, "answers: ingero-collectord %s, pid %u, for %s",
			  daemon->status->version, daemon->status->pid, units_ns(daemon->status->uptime_ns, 0).text);
	else if (daemon->error && daemon->error != -ENOENT)
		check_say(result, CHECK_LEVEL_FAIL, "read its messages: 'systemctl status ingero-collectord'", "%s",
			  daemon->sentence);
	else if (fstatat(world->root, SERVICE_SOCKET, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode))
		check_say(result, CHECK_LEVEL_FAIL, "start it again: 'systemctl restart ingero-collectord.socket'",
			  "its socket exists, but nothing answers");
	else
		check_say(result, CHECK_LEVEL_WARN,
			  "'systemctl start ingero-collectord' lets every user trace; without it 'sudo ingero trace' "
			  "does",
			  "not running");
}

void check_back_end(const struct check_world *world, struct check_result *result)
{
	const Ingero__V1__StatusReply *status = world->daemon.status;
	const char *reason = status && status->back_end_reason ? status->back_end_reason : "";
	const char *separator = *reason ? "; " : "";

	if (!status)
		check_say(result, CHECK_LEVEL_WARN,
			  "can only be verified by attaching: 'sudo ingero check', or start the service", "not tried");
	else if (strcmp(status->back_end, "session") == 0)
		check_say(result, CHECK_LEVEL_OK, NULL, "session%s%s", separator, reason);
	else if (strcmp(status->back_end, "multi") == 0)
		check_say(result, CHECK_LEVEL_OK, NULL, "multi%s%s", separator, reason);
	else if (strcmp(status->back_end, "perf") == 0)
		check_say(
			result, CHECK_LEVEL_WARN,
			"all is measured, but each call costs more and detaching takes seconds; use Linux 6.6 or newer",
			"perf%s%s", separator, reason);
	else
		check_say(result, CHECK_LEVEL_FAIL, "mend the checks that say 'fail' above; capture then starts",
			  "none%s%s", separator, reason);
}

void check_probes(const struct check_world *world, struct check_result *result)
{
	const Ingero__V1__StatusReply *status = world->daemon.status;
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	bool is_absent = false, are_off = status && status->n_families;

	for (size_t i = 0; are_off && i < status->n_families; i++)
		are_off = strcmp(status->families[i]->state, "off") == 0;
	for (size_t i = 0; status && i < status->n_families; i++) {
		const Ingero__V1__ProbeFamily *family = status->families[i];

		(void)buf_printf(&text, "%s%s%s%s", i ? ", " : "", family->name, are_off ? "" : " ",
				 are_off ? "" : family->state);
		if (*family->reason)
			(void)buf_printf(&text, " (%s)", family->reason);
		is_absent |= strcmp(family->state, "absent") == 0;
	}
	if (are_off)
		(void)buf_append_text(&text, world->daemon.is_private ? ": off, because this check traces nobody"
								      : ": off, because nobody is tracing now");
	if (!status)
		check_say(result, CHECK_LEVEL_WARN,
			  "'sudo ingero check' starts a private daemon to verify it; or start the service",
			  "not tried");
	else
		check_say(result, is_absent ? CHECK_LEVEL_WARN : CHECK_LEVEL_OK,
			  is_absent ? "answers name what is not measured without it" : NULL, "%s",
			  status->n_families ? buf_text(&text) : "none");
}
