// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "daemon"
#include "daemon_find.h"

#include <errno.h>
#include <fcntl.h>
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

/* Of everybody: only what is captured is looked at. The loader has told of most of it already. */
static void mapping_seen(const struct mapping_seen *seen, void *data)
{
	struct daemon_find *find = data;
	const struct target_load load = {
		.tgid = seen->tgid,
		.base = seen->start,
		.time_ns = seen->time_ns,
		.file = { .device = seen->device, .inode = seen->inode },
	};
	CLEANUP(closep) int process_fd = -1;
	struct owner owner;

	if (!lease_set_covers(find->leases, seen->tgid, OWNER_NOBODY)) {
		/* Beside a build this comes a thousand times a second, and asking costs 100 us. */
		if (!lease_set_is_by_owner(find->leases))
			return;
		process_fd = procfs_open_process(find->proc_fd, seen->tgid);
		if (process_fd < 0 || owner_read(process_fd, &owner) < 0 ||
		    !lease_set_covers(find->leases, seen->tgid, owner_uid(&owner)))
			return;
	}
	target_set_load(find->targets, &load, NULL, NULL);
}

static void mapping_lost(void *data)
{
	struct daemon_find *find = data;

	find->must_look = true;
}

static void mappings_unlooked(int r)
{
	(void)log_warning(r, "libraries that no program loader tells of are found when a trace starts");
}

/* The second best way: a second late instead of a tenth. */
static void mappings_untold(struct daemon_find *find, int r)
{
	(void)log_info(
		"the kernel does not tell of mappings (%s): libraries that no program loader tells of are looked "
		"for once a second",
		strerror(-r));
	r = find->look ? 0 : mapping_look_new(find->probes, &find->look);
	if (r < 0)
		mappings_unlooked(r);
}

static void leases_changed(void *data)
{
	struct daemon_find *find = data;
	bool is_on = lease_set_count(find->leases) > 0;
	int r = mapping_watch_set(find->mappings, is_on);

	if (r < 0)
		mappings_untold(find, r);
	r = find->look ? mapping_look_set(find->look, is_on) : 0;
	if (r < 0)
		mappings_unlooked(r);
}

static bool mapping_changed(uint32_t tgid, uint32_t uid, void *data)
{
	struct daemon_find *find = data;
	bool is_covered = lease_set_covers(find->leases, tgid, uid);

	if (is_covered)
		(void)target_set_scan(find->targets, tgid, 0, NULL, NULL);
	return is_covered;
}

void daemon_find_prepare(struct daemon_find *find, uv_loop_t *loop)
{
	find->mappings_error = mapping_watch_open(loop, mapping_seen, mapping_lost, find, &find->mappings);
}

int daemon_find_open(struct daemon_find *find, struct probe_set *probes, struct target_set *targets,
		     struct lease_set *leases)
{
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	find->probes = probes;
	find->targets = targets;
	find->leases = leases;
	find->proc_fd = fd;
	if (!find->mappings)
		mappings_untold(find, find->mappings_error);
	lease_set_watch(leases, leases_changed, find);
	return 0;
}

/* Records that would have told of processes and their libraries were lost. */
static void processes_look(struct daemon_find *find)
{
	process_list list = { .items = NULL };

	find->must_look = false;
	(void)process_list_read(find->proc_fd, &list); /* what was found until it failed */
	for (size_t i = 0; i < list.n; i++)
		if (lease_set_covers(find->leases, list.items[i].pid, list.items[i].uid))
			(void)target_set_scan(find->targets, list.items[i].pid, 0, NULL, NULL);
	ARRAY_DONE(&list);
}

void daemon_find_second(struct daemon_find *find)
{
	uint64_t losses[LOSS_COUNT];

	if (!find->targets)
		return;
	probe_set_losses(find->probes, losses);
	find->must_look |= losses[LOSS_LIFE_FULL] != find->life_full;
	find->life_full = losses[LOSS_LIFE_FULL];
	if (find->must_look)
		processes_look(find);
	if (find->look)
		(void)mapping_look_again(find->look, clock_now_ns(), mapping_changed, find);
	target_set_second(find->targets);
}

void daemon_find_close(struct daemon_find *find)
{
	mapping_watch_close(find->mappings);
	find->mappings = NULL;
	mapping_look_free(find->look);
	find->look = NULL;
	if (!find->targets)
		return;
	lease_set_watch(find->leases, NULL, NULL);
	closep(&find->proc_fd);
	find->targets = NULL;
}
