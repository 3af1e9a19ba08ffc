// SPDX-License-Identifier: Apache-2.0
#include "events/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "bpf/ops.h"

/* Descendants that live at once, at most; one more is shown only if it calls. */
#define KIN_MAX 65536

struct host {
	ARRAY(uint32_t) kin; /* tgids */
};

int host_new(struct host **ret_host)
{
	*ret_host = calloc(1, sizeof(**ret_host));
	return *ret_host ? 0 : -ENOMEM;
}

void host_free(struct host *host)
{
	if (!host)
		return;
	ARRAY_DONE(&host->kin);
	free(host);
}

void host_clear(struct host *host)
{
	host->kin.n = 0;
}

/* From the end: what came last asks most. Return: place, or kin.n */
static size_t kin_find(const struct host *host, uint32_t tgid)
{
	for (size_t i = host->kin.n; i-- > 0;)
		if (host->kin.items[i] == tgid)
			return i;
	return host->kin.n;
}

static void kin_add(struct host *host, uint32_t tgid)
{
	if (host->kin.n < KIN_MAX && kin_find(host, tgid) == host->kin.n)
		(void)ARRAY_PUSH(&host->kin, tgid); /* without memory as beyond KIN_MAX */
}

static void kin_remove(struct host *host, uint32_t tgid)
{
	size_t at = kin_find(host, tgid);

	if (at < host->kin.n)
		ARRAY_REMOVE_SWAP(&host->kin, at);
}

/* What people see of each kind, 0: nothing. */
static const uint16_t events[RECORD_TYPE_COUNT] = {
#define KIND(kind, ring, event) [RECORD_##kind] = OP_EVENT_##event,
#include "bpf/kinds.def"
#undef KIND
};

static bool is_shown(struct host *host, const struct life_record *life)
{
	bool is_kin = life->slot || life->flags & LIFE_NAMED || kin_find(host, life->tgid) < host->kin.n;

	/* A program that was a traced one stays of interest as the next. */
	if (is_kin && life->type == RECORD_EXEC)
		kin_add(host, life->tgid);
	if (is_kin && life->type == RECORD_FORK)
		kin_add(host, life->fork.child);
	if (life->type == RECORD_EXIT)
		kin_remove(host, life->tgid);
	return is_kin || life->type == RECORD_OOM;
}

bool host_life(struct host *host, const struct life_record *life, uint64_t start_unix_ns, struct host_event *ret_event)
{
	struct host_event event = {
		.call = {
			.start_ns = life->time_ns,
			.tgid = life->tgid,
			.tid = life->tid,
			.uid = life->uid,
			.exec_gen = life->exec_gen,
			.slot = life->slot,
			.type = RECORD_CALL,
			.op = events[life->type],
		},
		.process = {
			.start_boot_ns = life->start_boot_ns,
			.start_unix_ns = start_unix_ns,
			.tgid = life->tgid,
			.uid = life->uid,
			.exec_gen = life->exec_gen,
			.flags = life->flags & LIFE_GUARDED ? PROCESS_GUARDED : 0,
		},
	};

	if (!event.call.op || !is_shown(host, life))
		return false;
	memcpy(event.call.comm, life->comm, sizeof(event.call.comm));
	memcpy(event.process.comm, life->comm, sizeof(event.process.comm));
	switch ((enum record_type)life->type) {
	case RECORD_FORK:
		event.call.args[1] = life->fork.child;
		break;
	case RECORD_EXIT:
		event.call.ret = (int32_t)life->exit.code;
		break;
	case RECORD_OOM:
		event.call.args[0] = life->oom.rss_bytes;
		event.call.args[1] = life->tgid;
		event.call.ret = life->oom.scope;
		break;
	default: /* its header says all */
		break;
	}
	*ret_event = event;
	return true;
}
