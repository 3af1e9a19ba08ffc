// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "hold"
#include "probes/hold.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "bpf/record.h"
#include "probes/lease.h"
#include "probes/target.h"
#include "procs/procfs.h"

/* One scan of a stopped process's mappings. `stop` tells whether the process was resumed and stopped again since. */
struct hold_scan {
	struct hold *hold;
	uint64_t stop;
};

static struct held_process *held_find(struct hold *hold, uint32_t tgid)
{
	for (size_t i = 0; i < hold->held.n; i++)
		if (hold->held.items[i].tgid == tgid)
			return &hold->held.items[i];
	return NULL;
}

/*
 * Interval of checks whether the process has stopped. By then its last record is on the ring: it sends each before it
 * stops.
 */
#define STOP_LOOK_MS 1
#define STOP_LOOKS_MAX 100 /* another process may have resumed it meanwhile */

/*
 * Longest hold. Attaching normally takes less; after this time the program is resumed whatever went wrong, and its
 * missed calls are counted, so that no program stays stopped for good. The timer's ticks are counted: while the loop
 * attaches, slowly, none comes.
 */
#define HELD_SECONDS_MAX 10
#define SECOND_MS 1000

enum standing { ON_ITS_WAY, STILL, GONE };

/*
 * State of a process. If /proc cannot be read (hidepid), it is GONE only if kill() confirms it, else STILL. The pid may
 * belong to another process by now.
 * @start_boot_ns: 0: not known
 */
static enum standing process_standing(uint32_t tgid, uint64_t start_boot_ns)
{
	CLEANUP(closep) int process_fd = procfs_find(tgid);
	struct procfs_stat stat;

	if (process_fd < 0 || procfs_stat_read(process_fd, &stat) < 0)
		return kill((pid_t)tgid, 0) < 0 && errno == ESRCH ? GONE : STILL;
	if (stat.state == 'Z' || stat.state == 'X' ||
	    (start_boot_ns && stat.start_ticks != start_boot_ns / procfs_tick_ns()))
		return GONE;
	return stat.state == 'T' || stat.state == 't' ? STILL : ON_ITS_WAY;
}

/*
 * Resume a process. The service may not signal it; the client that started it may. Return: whether it was resumed or
 * asked for
 */
static bool process_continue(struct hold *hold, uint32_t tgid, uint64_t start_boot_ns)
{
	CLEANUP(closep) int pidfd = (int)syscall(SYS_pidfd_open, tgid, 0); /* before the check below */

	if (process_standing(tgid, start_boot_ns) == GONE)
		return true;
	return syscall(SYS_pidfd_send_signal, pidfd, SIGCONT, NULL, 0) == 0 || errno == ESRCH ||
	       hold->events.ask(tgid, hold->data);
}

/* Resume a held process. Only /proc proves that it runs; a sent or requested signal does not. */
static void held_let_go(struct hold *hold, struct held_process *held)
{
	held->is_told = process_continue(hold, held->tgid, held->start_boot_ns);
	if (!held->is_told && !held->is_let_go)
		(void)log_warning(0, "cannot resume process %u yet; 'kill -CONT %u' resumes it", held->tgid,
				  held->tgid);
	held->is_let_go = true;
	held->n_looks = 0;
}

static enum standing held_standing(const struct held_process *held)
{
	return process_standing(held->tgid, held->start_boot_ns);
}

/* Check a resumed process; forget it if it runs. Return: whether to check again soon */
static bool let_go_look(struct hold *hold, size_t i)
{
	struct held_process *held = &hold->held.items[i];

	if (held_standing(held) != STILL) {
		ARRAY_REMOVE_SWAP(&hold->held, i);
		return false;
	}
	return held->n_looks++ < STOP_LOOKS_MAX; /* after that once a second */
}

/* Check whether a held process has stopped. Return: whether to check again soon */
static bool held_look(struct held_process *held)
{
	if (held->n)
		return false;
	held->is_still = held->n_looks++ >= STOP_LOOKS_MAX || held_standing(held) != ON_ITS_WAY;
	return !held->is_still;
}

/*
 * A process reports several libraries in a row. When all reported ones are attached, more reports may be on the ring:
 * resuming the process before they are read would let it run code without probes.
 */
static void hold_look(uv_timer_t *timer)
{
	struct hold *hold = timer->data;
	bool is_waited_for = false;

	for (size_t i = hold->held.n; i-- > 0;)
		is_waited_for |= hold->held.items[i].is_let_go ? let_go_look(hold, i) : held_look(&hold->held.items[i]);
	hold->events.drain(hold->data);
	for (size_t i = hold->held.n; i-- > 0;) {
		struct held_process *held = &hold->held.items[i];

		if (!held->is_still || held->n || held->is_let_go)
			continue;
		held_let_go(hold, held);
		is_waited_for = true;
	}
	if (is_waited_for)
		(void)uv_timer_start(&hold->timer, hold_look, STOP_LOOK_MS, 0);
}

static void held_scanned(uint32_t tgid, void *data)
{
	CLEANUP(freep) struct hold_scan *scan = data;
	struct hold *hold = scan->hold;
	struct held_process *held = held_find(hold, tgid);

	if (!held || held->stop != scan->stop)
		return;
	if (!--held->n && !uv_is_active((uv_handle_t *)&hold->timer))
		(void)uv_timer_start(&hold->timer, hold_look, 0, 0);
}

/*
 * A process that stands still after it was let go may have stopped again, and nobody has read of that: it is let go
 * again only if the ring, read after the look, does not tell of another stop.
 */
static void let_go_again(struct hold *hold)
{
	for (size_t i = hold->held.n; i-- > 0;)
		if (hold->held.items[i].is_let_go && held_standing(&hold->held.items[i]) != STILL)
			ARRAY_REMOVE_SWAP(&hold->held, i);
	if (hold->held.n)
		hold->events.drain(hold->data);
	for (size_t i = hold->held.n; i-- > 0;)
		if (hold->held.items[i].is_let_go)
			held_let_go(hold, &hold->held.items[i]);
}

void hold_second(struct hold *hold)
{
	let_go_again(hold);
	for (size_t i = hold->held.n; i-- > 0;) {
		struct held_process *held = &hold->held.items[i];

		if (held->is_let_go)
			continue;
		if (++held->n_seconds < HELD_SECONDS_MAX)
			continue;
		if (held->n) {
			(void)log_warning(
				0, "process %u was held for %d s and is resumed before all its libraries are attached",
				held->tgid, HELD_SECONDS_MAX);
			target_set_let_go(hold->targets, held->tgid);
		}
		held_let_go(hold, held);
	}
	if (!hold->held.n)
		(void)uv_timer_stop(&hold->second_timer);
	else if (!uv_is_active((uv_handle_t *)&hold->timer))
		(void)uv_timer_start(&hold->timer, hold_look, 0, 0);
}

static void second_fired(uv_timer_t *timer)
{
	hold_second(timer->data);
}

void hold_open(struct hold *hold, uv_loop_t *loop, struct target_set *targets, const struct hold_events *events,
	       void *data)
{
	hold->targets = targets;
	hold->events = *events;
	hold->data = data;
	hold->is_open = true;
	(void)uv_timer_init(loop, &hold->timer);
	(void)uv_timer_init(loop, &hold->second_timer);
	hold->timer.data = hold->second_timer.data = hold;
}

/* Entry of a process that has stopped, added if new. Return: NULL without memory, or after hold_release() */
static struct held_process *held_take(struct hold *hold, uint32_t tgid, uint64_t start_boot_ns)
{
	struct held_process *held = hold->is_open ? held_find(hold, tgid) : NULL;
	struct held_process fresh = { .tgid = tgid, .start_boot_ns = start_boot_ns };

	if (!held && hold->is_open && ARRAY_PUSH(&hold->held, fresh) == 0)
		held = &hold->held.items[hold->held.n - 1];
	if (!held)
		return NULL;
	/* It was resumed meanwhile and stops again, or another process has got its pid. */
	if (held->is_let_go || held->start_boot_ns != start_boot_ns)
		*held = fresh;
	if (!held->stop)
		held->stop = ++hold->n_stops;
	if (!uv_is_active((uv_handle_t *)&hold->second_timer))
		(void)uv_timer_start(&hold->second_timer, second_fired, SECOND_MS, SECOND_MS);
	return held;
}

void hold_library(struct hold *hold, const struct life_record *life)
{
	const struct target_load load = {
		.tgid = life->tgid,
		.is_told = true,
		.is_held = life->library.is_held,
		.base = life->library.base,
		.time_ns = life->time_ns,
		.file = life->library.file,
	};
	CLEANUP(freep) struct hold_scan *scan = NULL;
	struct held_process *held;

	if (!life->library.is_held) {
		target_set_load(hold->targets, &load, NULL, NULL);
		return;
	}
	scan = malloc(sizeof(*scan));
	held = scan ? held_take(hold, life->tgid, life->start_boot_ns) : held_find(hold, life->tgid);
	if (!held)
		(void)process_continue(hold, life->tgid, life->start_boot_ns); /* untraced */
	if (!held || !scan)
		return; /* if other scans of the process are running, it is resumed when they end */
	held->n++;
	*scan = (struct hold_scan){ .hold = hold, .stop = held->stop };
	target_set_load(hold->targets, &load, held_scanned, TAKE_PTR(scan));
}

bool hold_end(struct hold *hold, const struct lease *lease)
{
	bool are_told = true;

	for (size_t i = hold->held.n; i-- > 0;) {
		struct held_process *held = &hold->held.items[i];

		if (!lease_holds(lease, held->tgid))
			continue;
		if (!held->is_told)
			held_let_go(hold, held);
		are_told &= held->is_told;
	}
	if (hold->held.n && !uv_is_active((uv_handle_t *)&hold->timer))
		(void)uv_timer_start(&hold->timer, hold_look, STOP_LOOK_MS, 0);
	return are_told;
}

void hold_release(struct hold *hold)
{
	/* No lease asks for stops any more: the ring has the records of all processes stopped so far. */
	if (hold->is_open)
		hold->events.drain(hold->data);
	for (size_t i = hold->held.n; i-- > 0;)
		held_let_go(hold, &hold->held.items[i]);
	hold->held.n = 0;
	if (hold->is_open) {
		uv_close((uv_handle_t *)&hold->timer, NULL);
		uv_close((uv_handle_t *)&hold->second_timer, NULL);
	}
	hold->is_open = false;
}

void hold_done(struct hold *hold)
{
	ARRAY_DONE(&hold->held);
}
