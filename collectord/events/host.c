// SPDX-License-Identifier: Apache-2.0
#include "events/host.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/ops.h"
#include "events/kin.h"

struct host {
	struct process_table *table;
	struct kin_table kin;
};

int host_new(struct process_table *table, struct host **ret_host)
{
	struct host *host = calloc(1, sizeof(*host));

	if (!host)
		return -ENOMEM;
	host->table = table;
	*ret_host = host;
	return 0;
}

void host_free(struct host *host)
{
	if (!host)
		return;
	host_clear(host);
	free(host);
}

void host_clear(struct host *host)
{
	kin_clear(&host->kin);
}

static bool has_ended(uint32_t tgid)
{
	return kill((pid_t)tgid, 0) < 0 && errno == ESRCH;
}

void host_look(struct host *host)
{
	kin_forget(&host->kin, has_ended);
}

/* Operation shown for each kind, 0: none. */
static const uint16_t events[RECORD_TYPE_COUNT] = {
#define KIND(kind, ring, event) [RECORD_##kind] = OP_EVENT_##event,
#include "bpf/kinds.def"
#undef KIND
};

bool host_life(struct host *host, const struct life_record *life, uint64_t start_unix_ns, struct host_event *ret_event)
{
	struct host_event event = { .op = events[life->type] };
	struct process_identity identity = {
		.start_boot_ns = life->start_boot_ns,
		.start_unix_ns = start_unix_ns,
		.tgid = life->tgid,
		.uid = life->uid,
		.exec_gen = life->exec_gen,
		.flags = life->flags & LIFE_GUARDED ? PROCESS_GUARDED : 0,
	};
	bool is_kin = life->slot || life->flags & LIFE_NAMED || kin_has(&host->kin, life->tgid);

	if (!event.op || (!is_kin && life->type != RECORD_OOM))
		return false;
	memcpy(identity.comm, life->comm, sizeof(identity.comm));
	event.process = process_table_take(host->table, &identity);
	/* A program that replaced a traced one stays of interest. */
	if (is_kin && life->type == RECORD_EXEC)
		kin_add(&host->kin, life->tgid);
	if (is_kin && life->type == RECORD_FORK)
		kin_add(&host->kin, life->fork.child);
	if (event.process || life->type == RECORD_EXIT)
		kin_follow(&host->kin, life->tgid, life->type == RECORD_EXIT ? NULL : event.process);
	*ret_event = event;
	return true;
}

struct host_values host_values(const struct life_record *life)
{
	switch ((enum record_type)life->type) {
	case RECORD_FORK:
		return (struct host_values){ .args[1] = life->fork.child };
	case RECORD_EXIT:
		return (struct host_values){ .ret = (int32_t)life->exit.code };
	case RECORD_OOM:
		return (struct host_values){ .args = { life->oom.rss_bytes, life->tgid }, .ret = life->oom.scope };
	default: /* the header has all its data */
		return (struct host_values){ 0 };
	}
}
