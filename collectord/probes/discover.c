// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "discover"
#include "probes/discover.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "clock.h"
#include "probes/lease.h"
#include "probes/mapping_look.h"
#include "probes/mapping_watch.h"
#include "probes/target.h"
#include "procs/owner.h"
#include "procs/process_list.h"
#include "procs/procfs.h"

/* A mapping of any process: only captured processes are examined. The loader has reported most mappings already. */
static void mapping_seen(const struct mapping_seen *seen, void *data)
{
	struct discover *d = data;
	const struct target_load load = {
		.tgid = seen->tgid,
		.base = seen->start,
		.time_ns = seen->time_ns,
		.file = { .device = seen->device, .inode = seen->inode },
	};
	CLEANUP(closep) int process_fd = -1;
	struct owner owner;

	if (!lease_set_covers(d->leases, seen->tgid, OWNER_NOBODY)) {
		/* During a build this is called a thousand times a second, and reading the owner costs 100 us. */
		if (!lease_set_is_by_owner(d->leases))
			return;
		process_fd = procfs_open_process(d->proc_fd, seen->tgid);
		if (process_fd < 0 || owner_read(process_fd, &owner) < 0 ||
		    !lease_set_covers(d->leases, seen->tgid, owner_uid(&owner)))
			return;
	}
	target_set_load(d->targets, &load, NULL, NULL);
}

static void mapping_lost(void *data)
{
	struct discover *d = data;

	d->must_look = true;
}

static void mappings_unlooked(int r)
{
	(void)log_warning(r, "libraries that no dynamic loader reports are found only when a trace starts");
}

/* Fall back to polling: libraries are found within a second instead of a tenth of one. */
static void mappings_untold(struct discover *d, int r)
{
	(void)log_info(
		"the kernel does not report mappings (%s): libraries that no dynamic loader reports are searched "
		"for once a second",
		strerror(-r));
	r = d->look ? 0 : mapping_look_new(d->probes, &d->look);
	if (r < 0)
		mappings_unlooked(r);
}

static void leases_changed(void *data)
{
	struct discover *d = data;
	bool is_on = lease_set_count(d->leases) > 0;
	int r = mapping_watch_set(d->mappings, is_on);

	if (r < 0)
		mappings_untold(d, r);
	r = d->look ? mapping_look_set(d->look, is_on) : 0;
	if (r < 0)
		mappings_unlooked(r);
}

static bool mapping_changed(uint32_t tgid, uint32_t uid, void *data)
{
	struct discover *d = data;
	bool is_covered = lease_set_covers(d->leases, tgid, uid);

	if (is_covered)
		(void)target_set_scan(d->targets, tgid, 0, NULL, NULL);
	return is_covered;
}

void discover_prepare(struct discover *d, uv_loop_t *loop)
{
	d->mappings_error = mapping_watch_open(loop, mapping_seen, mapping_lost, d, &d->mappings);
}

int discover_open(struct discover *d, struct probe_set *probes, struct target_set *targets, struct lease_set *leases)
{
	int fd = procfs_open();

	if (fd < 0)
		return fd;
	d->probes = probes;
	d->targets = targets;
	d->leases = leases;
	d->proc_fd = fd;
	if (!d->mappings)
		mappings_untold(d, d->mappings_error);
	lease_set_watch(leases, leases_changed, d);
	return 0;
}

/* Records of processes and their libraries were lost: scan all processes. */
static void lost_processes_look(struct discover *d)
{
	process_list list = { .items = NULL };

	d->must_look = false;
	(void)process_list_read(d->proc_fd, &list); /* use the processes found before an error */
	for (size_t i = 0; i < list.n; i++)
		if (lease_set_covers(d->leases, list.items[i].pid, list.items[i].uid))
			(void)target_set_scan(d->targets, list.items[i].pid, 0, NULL, NULL);
	ARRAY_DONE(&list);
}

void discover_second(struct discover *d)
{
	uint64_t losses[LOSS_COUNT];

	if (!d->targets)
		return;
	probe_set_losses(d->probes, losses);
	d->must_look |= losses[LOSS_LIFE_FULL] != d->life_full;
	d->life_full = losses[LOSS_LIFE_FULL];
	if (d->must_look)
		lost_processes_look(d);
	if (d->look)
		(void)mapping_look_again(d->look, clock_now_ns(), mapping_changed, d);
	target_set_second(d->targets);
}

void discover_close(struct discover *d)
{
	mapping_watch_close(d->mappings);
	d->mappings = NULL;
	mapping_look_free(d->look);
	d->look = NULL;
	if (!d->targets)
		return;
	lease_set_watch(d->leases, NULL, NULL);
	closep(&d->proc_fd);
	d->targets = NULL;
}
