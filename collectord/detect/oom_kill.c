// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel killed the process because memory was exhausted.
 */
#include "base/cleanup.h"
#include "detect/detector.h"

#include <string.h>

enum { EXTRA_RSS_BYTES, EXTRA_SCOPE, EXTRA_BY_ITSELF };

static size_t check(const struct detector_view *view, struct condition *ret, size_t room)
{
	const struct life_record *oom = view->oom;
	struct condition c = { .confidence = 1, .severity = FINDING_CRITICAL, .is_event = true };

	(void)room;
	if (!oom)
		return 0;
	c.start_ns = c.end_ns = oom->time_ns;
	c.extra[EXTRA_RSS_BYTES] = oom->oom.rss_bytes;
	c.extra[EXTRA_SCOPE] = oom->oom.scope;
	c.extra[EXTRA_BY_ITSELF] = oom->oom.by_tgid == 0;
	if (oom->oom.by_tgid) {
		c.cause.pid = oom->oom.by_tgid;
		c.cause.uid = oom->oom.by_uid;
		c.cause.is_guarded = oom->oom.is_by_guarded;
		memcpy(c.cause.comm, oom->oom.by_comm, sizeof(c.cause.comm));
	}
	*ret = c;
	return 1;
}

static void tell(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	(void)facts;
	switch (s->extra[EXTRA_SCOPE]) {
	case OOM_SCOPE_GROUP:
		(void)snprintf(f->title, sizeof(f->title), "killed: its control group was out of memory");
		detector_advise(f,
				"raise memory.max of its control group (kubernetes: limits.memory, docker: --memory)");
		detector_advise(
			f, "or use less memory: fewer or smaller data loader workers, less pinned and shared memory");
		break;
	case OOM_SCOPE_MACHINE:
		(void)snprintf(f->title, sizeof(f->title), "killed: the machine was out of memory");
		detector_advise(f, "see which processes use most memory: ps -eo pid,user,rss,comm --sort=-rss | head");
		detector_advise(f, "limit the memory of other processes (memory.max of their control groups), or add "
				   "memory or swap");
		break;
	default: /* not known */
		(void)snprintf(f->title, sizeof(f->title), "killed: out of memory");
		detector_advise(f, "the kernel's log says whose memory was full: dmesg | grep -i oom");
		break;
	}
	if (s->extra[EXTRA_RSS_BYTES])
		detector_evidence(f, "rss_bytes", (double)s->extra[EXTRA_RSS_BYTES], FINDING_UNIT_BYTES);
	detector_evidence(f, "by_itself", (double)s->extra[EXTRA_BY_ITSELF], FINDING_UNIT_COUNT);
}

const struct detector detector_oom_kill = {
	.name = "oom_kill",
	.words = {
		.behind = "through",
	},
	.is_once = true,
	.check = check,
	.tell = tell,
};
