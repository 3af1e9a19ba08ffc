// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "daemon"
#include "daemon_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "bpf/record.h"
#include "events/source.h"
#include "probes/target.h"
#include "procs/procfs.h"
#include "rpc/trace.h"

static struct held_process *held_find(struct daemon_hold *hold, uint32_t tgid)
{
	for (size_t i = 0; i < hold->held.n; i++)
		if (hold->held.items[i].tgid == tgid)
			return &hold->held.items[i];
	return NULL;
}

/* Its last record is on the ring by the time that it stands still: each asks for the stop and then comes. */
#define STOP_LOOK_MS 1
#define STOP_LOOKS_MAX 100 /* somebody else may have let it go on meanwhile */

static void held_continue(struct daemon_hold *hold, size_t i)
{
	uint32_t tgid = hold->held.items[i].tgid;

	ARRAY_REMOVE_SWAP(&hold->held, i);
	/* The service has no right to signal; whoever started the program has. */
	if (kill((pid_t)tgid, SIGCONT) < 0 && errno != ESRCH && !trace_hub_resume(hold->traces, tgid))
		(void)log_err(-errno, "cannot let process %u go on, continue it with 'kill -CONT %u'", tgid, tgid);
}

/* Return: whether it is still on its way to where it stops */
static bool is_on_its_way(const struct held_process *held)
{
	CLEANUP(closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(closep) int process_fd = proc_fd < 0 ? -1 : procfs_open_process(proc_fd, held->tgid);
	struct procfs_stat stat;

	return process_fd >= 0 && procfs_stat_read(process_fd, &stat) == 0 && stat.state != 'T' && stat.state != 't' &&
	       stat.state != 'Z' && stat.state != 'X';
}

/*
 * A process tells of several libraries in one go. When all that was heard of is attached, more may be
 * on the ring; to continue it then would be to let it run into what is not attached.
 */
static void hold_look(uv_timer_t *timer)
{
	struct daemon_hold *hold = timer->data;
	bool is_waited_for = false;

	for (size_t i = hold->held.n; i-- > 0;) {
		struct held_process *held = &hold->held.items[i];

		if (held->n)
			continue;
		if (held->n_looks++ < STOP_LOOKS_MAX && is_on_its_way(held)) {
			is_waited_for = true;
			continue;
		}
		held->is_still = true;
	}
	(*hold->source)->ops->drain(*hold->source);
	for (size_t i = hold->held.n; i-- > 0;)
		if (hold->held.items[i].is_still && !hold->held.items[i].n)
			held_continue(hold, i);
	if (is_waited_for)
		(void)uv_timer_start(&hold->timer, hold_look, STOP_LOOK_MS, 0);
}

static void held_scanned(uint32_t tgid, void *data)
{
	struct daemon_hold *hold = data;
	struct held_process *held = held_find(hold, tgid);

	if (held && !--held->n && !uv_is_active((uv_handle_t *)&hold->timer))
		(void)uv_timer_start(&hold->timer, hold_look, 0, 0);
}

void daemon_hold_open(struct daemon_hold *hold, uv_loop_t *loop, struct target_set *targets, struct source **source)
{
	hold->targets = targets;
	hold->source = source;
	(void)uv_timer_init(loop, &hold->timer);
	hold->timer.data = hold;
}

void daemon_hold_library(struct daemon_hold *hold, const struct life_record *life)
{
	const struct target_load load = {
		.tgid = life->tgid,
		.is_told = true,
		.is_held = life->is_held,
		.base = life->library_base,
		.time_ns = life->time_ns,
		.file = life->file,
	};
	struct held_process fresh = { .tgid = life->tgid };
	struct held_process *held;

	if (!life->is_held) {
		target_set_load(hold->targets, &load, NULL, NULL);
		return;
	}
	held = hold->source ? held_find(hold, life->tgid) : NULL;
	if (!held && hold->source && ARRAY_PUSH(&hold->held, fresh) == 0)
		held = &hold->held.items[hold->held.n - 1];
	if (!held) {
		(void)kill((pid_t)life->tgid, SIGCONT); /* without memory, or at the end, it goes on untraced */
		return;
	}
	held->n++;
	target_set_load(hold->targets, &load, held_scanned, hold);
}

void daemon_hold_release(struct daemon_hold *hold)
{
	while (hold->held.n)
		held_continue(hold, 0);
	if (hold->source)
		uv_close((uv_handle_t *)&hold->timer, NULL);
	hold->source = NULL;
}

void daemon_hold_done(struct daemon_hold *hold)
{
	ARRAY_DONE(&hold->held);
}
