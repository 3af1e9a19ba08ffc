// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "recording"
#include "recording.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "probes/lease.h"
#include "probes/target.h"
#include "procs/procfs.h"
#include "procs/process_list.h"

/* Sampling beside slow calls when all users are recorded: one call in this many of each thread. */
#define SAMPLE_EVERY 64

static void wish_describe(const struct recording_wish *wish, char text[RECORDING_WHOM_BYTES])
{
	if (wish->everyone)
		(void)snprintf(text, RECORDING_WHOM_BYTES, "everyone");
	else if (wish->n_uids)
		(void)snprintf(text, RECORDING_WHOM_BYTES, "%zu %s", wish->n_uids,
			       wish->n_uids == 1 ? "user" : "users");
	else
		(void)snprintf(text, RECORDING_WHOM_BYTES, "nobody");
}

void recording_init(struct recording *recording)
{
	*recording = (struct recording){ .whom = "nobody", .now = "nobody" };
}

bool recording_is_wished(const struct recording_wish *wish)
{
	return wish->everyone || wish->n_uids;
}

void recording_wish(struct recording *recording, const struct recording_wish *wish)
{
	recording->wish = *wish;
	wish_describe(wish, recording->whom);
}

/* Those that were there before: later ones are heard of when they load a library. */
static void recorded_processes_look(const struct lease *lease, struct target_set *targets)
{
	CLEANUP(closep) int proc_fd = procfs_open();
	process_list list = { .items = NULL };
	int r = proc_fd < 0 ? proc_fd : process_list_read(proc_fd, &list);

	if (r < 0)
		(void)log_warning(r, "cannot list processes: those that run already are found late");
	for (size_t i = 0; i < list.n; i++)
		if (lease_covers(lease, list.items[i].pid, list.items[i].uid, 0))
			(void)target_set_scan(targets, list.items[i].pid, 0, NULL, NULL);
	ARRAY_DONE(&list);
}

/* The new lease starts before the old one ends, so that processes in both are captured without a gap. */
int recording_apply(struct recording *recording, struct lease_set *leases, struct target_set *targets)
{
	const struct recording_wish *whom = &recording->wish;
	struct lease_wish wish = {
		.all = whom->everyone,
		.uids = whom->uids,
		.n_uids = whom->n_uids,
		.each = process_wish_of(!whom->record_none, whom->record_all, SAMPLE_EVERY),
		.without_stacks = whom->without_stacks,
	};
	struct lease *lease = NULL;
	int r = recording_is_wished(whom) ? lease_add(leases, &wish, &lease) : 0;

	if (r < 0)
		return r;
	lease_remove(leases, recording->lease);
	recording->lease = lease;
	wish_describe(whom, recording->now);
	target_set_keep(targets, whom->everyone);
	if (lease)
		recorded_processes_look(lease, targets);
	return 0;
}

void recording_end(struct recording *recording, struct lease_set *leases)
{
	lease_remove(leases, recording->lease);
	recording->lease = NULL;
}
