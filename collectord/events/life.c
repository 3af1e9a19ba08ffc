// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "events"
#include "events/life.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "bpf/record.h"
#include "procs/owner.h"
#include "procs/procfs.h"

static bool from_slot(struct life_record *life, const struct process_slot *slots)
{
	const struct process_slot *slot = &slots[life->slot % PROCESS_SLOTS];

	if (!life->slot || slot->tgid != life->tgid || slot->exec_gen != life->exec_gen)
		return false;
	life->uid = slot->uid;
	life->start_boot_ns = slot->start_boot_ns;
	life->flags |= slot->flags & PROCESS_GUARDED ? LIFE_GUARDED : 0;
	memcpy(life->comm, slot->comm, sizeof(life->comm));
	return true;
}

/* It has ended, but exists until its parent has waited for it. */
static bool from_proc(struct life_record *life)
{
	CLEANUP(closep) int process_fd = procfs_find(life->tgid);
	struct procfs_stat stat;
	struct owner owner;

	if (process_fd < 0 || owner_read(process_fd, &owner) < 0 || procfs_stat_read(process_fd, &stat) < 0)
		return false;
	life->uid = owner.uid;
	life->start_boot_ns = stat.start_ticks * procfs_tick_ns();
	if (owner.is_guarded)
		life->flags |= LIFE_GUARDED;
	(void)snprintf(life->comm, sizeof(life->comm), "%.*s", (int)sizeof(life->comm) - 1, stat.comm);
	return true;
}

int life_complete(struct life_record *life, const struct process_slot *slots)
{
	if (!from_slot(life, slots) && !from_proc(life))
		return log_warning(-ESRCH,
				   "process %u was killed for want of memory, and gone before its owner could be read",
				   life->tgid);
	life->flags &= (uint8_t)~LIFE_UNKNOWN;
	return 0;
}
