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
#include "procs/procfs.h"

/* Of each second, for a scan of all processes: 3 % of a CPU, some hundreds of processes, one at least. */
#define LOOK_ALL_NS (30 * NSEC_PER_MSEC)

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

/*
 * Records of processes and their libraries were lost: scan all processes, in parts. Losses meanwhile lead to another
 * scan after this one.
 */
static void lost_processes_look(struct discover *d)
{
	uint64_t until_ns = clock_now_ns() + LOOK_ALL_NS;
	struct listed_process process;

	if (!d->look_all.dir) {
		if (!d->must_look || process_walk_begin(&d->look_all, d->proc_fd) < 0)
			return;
		d->must_look = false;
	}
	/* At an error the processes found before it are scanned. */
	while (process_walk_next(&d->look_all, &process) > 0) {
		if (lease_set_covers(d->leases, process.pid, process.uid))
			(void)target_set_scan(d->targets, process.pid, 0, NULL, NULL);
		if (clock_now_ns() >= until_ns)
			return;
	}
}

static uint64_t lives_lost(const struct discover *d)
{
	uint64_t losses[LOSS_COUNT];

	probe_set_losses(d->probes, losses);
	probe_set_user_losses(d->probes, UINT32_MAX, losses);
	return losses[LOSS_LIFE_FULL];
}

bool discover_second(struct discover *d)
{
	uint64_t before = d->life_full;

	if (!d->targets)
		return false;
	d->life_full = lives_lost(d);
	d->must_look |= d->life_full != before;
	lost_processes_look(d);
	if (d->look)
		(void)mapping_look_again(d->look, clock_now_ns(), mapping_changed, d);
	target_set_second(d->targets);
	return d->life_full != before;
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
	process_walk_end(&d->look_all);
	closep(&d->proc_fd);
	d->targets = NULL;
}
