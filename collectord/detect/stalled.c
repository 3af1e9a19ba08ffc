// SPDX-License-Identifier: Apache-2.0
/*
 * A process has stopped making calls, and its driving threads wait.
 *
 * The counterpart of hung_call between calls. A thread that sleeps, polls or waits for a socket may have nothing to do.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "detect/detector.h"
#include "detect/wait_advice.h"

/* Minimum time without calls, absolute and as a multiple of the longest time without calls before. (Guesses.) */
#define QUIET_NS (10 * NSEC_PER_SEC)
#define QUIET_TIMES 20
/* Minimum share of its time that a stalled thread waits. (Guess.) */
#define WAITS_RATIO 0.9
/* A lock or a pipe may belong to an empty queue. (Guess.) */
#define DEMAND_CONFIDENCE 0.5
/* Minimum time without calls for each severity, as hung_call. (Guesses.) */
static const uint64_t sure_ages_ns[] = {
	[FINDING_MEDIUM] = 30 * NSEC_PER_SEC,
	[FINDING_HIGH] = 60 * NSEC_PER_SEC,
	[FINDING_CRITICAL] = 600 * NSEC_PER_SEC,
};

/* The longest wait of a thread between its calls, of one class; NULL: not known. */
static const struct account_wait *longest_wait(const struct detector_view *view, uint32_t tid, enum blame_class class)
{
	const struct account_wait *longest = NULL;

	for (size_t i = 0; i < view->n_waits; i++) {
		const struct account_wait *w = &view->waits[i];

		if (w->tid == tid && !w->op && w->class == class && (!longest || w->ns > longest->ns))
			longest = w;
	}
	return longest;
}

/* The cause that a wait suggests; CAUSE_COUNT: none. */
static enum cause_number known_cause(const struct account_wait *wait)
{
	switch (wait ? wait->kind : RESOURCE_NONE) {
	case RESOURCE_GIL:
		return CAUSE_GIL;
	case RESOURCE_INODE:
	case RESOURCE_WRITTEN:
		return CAUSE_DISK;
	case RESOURCE_PIPE:
		return CAUSE_LOADER;
	case RESOURCE_CHILD:
		return CAUSE_TOOL;
	case RESOURCE_FULL_PIPE:
	case RESOURCE_FULL_PEER:
		return CAUSE_READER;
	case RESOURCE_STOPPED:
		return CAUSE_STOPPED;
	default:
		return CAUSE_COUNT;
	}
}

/* A thread other than the main thread may wait for a lock because its queue is empty. */
static enum cause_number lock_cause(const struct detector_view *view, uint32_t tid, const struct account_wait *wait)
{
	if (known_cause(wait) == CAUSE_GIL)
		return CAUSE_GIL;
	return tid == view->process->tgid ? CAUSE_LOCK : CAUSE_COUNT;
}

/* The cause of a wait that ended. */
static enum cause_number ended_cause(const struct detector_view *view, const struct account_wait *wait)
{
	if (wait->class == BLAME_BLOCK_IO)
		return CAUSE_DISK;
	return wait->class == BLAME_LOCK ? lock_cause(view, wait->tid, wait) : known_cause(wait);
}

/* The cause that a thread waits for all the time; CAUSE_COUNT: it does something else, or the cause is not known. */
static enum cause_number stalled_cause(const struct detector_view *view, const struct driving *d)
{
	double most_ns = WAITS_RATIO * (double)d->account->wall_ns;
	uint32_t tid = d->account->tid;

	if ((double)d->between_ns[BLAME_BLOCK_IO] >= most_ns)
		return CAUSE_DISK;
	if ((double)d->between_ns[BLAME_OTHER] >= most_ns)
		return known_cause(longest_wait(view, tid, BLAME_OTHER));
	if ((double)d->between_ns[BLAME_NETWORK] >= most_ns)
		return known_cause(longest_wait(view, tid, BLAME_NETWORK));
	if ((double)d->between_ns[BLAME_LOCK] < most_ns)
		return CAUSE_COUNT;
	return lock_cause(view, tid, longest_wait(view, tid, BLAME_LOCK));
}

/* Adds the wait of that thread to the condition. */
static void waited_set(const struct detector_view *view, const struct driving *d, struct condition *c)
{
	static const enum blame_class classes[] = { BLAME_BLOCK_IO, BLAME_OTHER, BLAME_LOCK, BLAME_NETWORK };

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		const struct account_wait *wait = longest_wait(view, d->account->tid, classes[i]);

		if (wait && (!c->longest.ns || wait->max_ns > c->longest.max_ns))
			c->longest = *(c->waited = wait);
	}
}

/* @waits: "it waits for", or what it waits for of a pipe; @who: what the command names */
static void tell_pipe(const struct account_wait *wait, const struct detector_facts *facts, const char *waits,
		      const char *who, struct finding *f)
{
	char path[DETECTOR_PATH_BYTES];

	if (detector_path(wait, path))
		detector_advise(f, "%s the pipe %s: see %s: sudo fuser -v %s", waits, path, who, path);
	else if (wait->name[0] && !facts->is_ended) /* a name that no command may have */
		detector_advise(f, "%s a named pipe: see which one: sudo ls -l /proc/%" PRIu32 "/fd", waits,
				f->process.tgid);
	else if (!wait->name[0] && !facts->is_ended) /* no later pipe has its number */
		detector_advise(f,
				"%s pipe:[%" PRIu64 "]: see %s: sudo find /proc/[0-9]*/fd -lname 'pipe:\\[%" PRIu64
				"\\]' 2>/dev/null",
				waits, (uint64_t)wait->resource, who, (uint64_t)wait->resource);
}

static void tell_waited(const struct account_wait *wait, const struct detector_facts *facts, struct finding *f)
{
	char name[ACCOUNT_WAIT_NAME_BYTES], path[DETECTOR_PATH_BYTES], what[96];

	account_wait_name(wait, name);
	switch (wait->kind) {
	case RESOURCE_INODE:
	case RESOURCE_WRITTEN:
	case RESOURCE_DEVICE:
		if (detector_path(wait, path))
			detector_advise(f, "it waits for the file %s%s%s: see whether its disk answers", path,
					wait->device_name[0] ? " on " : "", wait->device_name);
		break;
	case RESOURCE_FILE_LOCK:
		if (detector_path(wait, path))
			detector_advise(
				f, "it waits for the lock of the file %s; see which process holds it: sudo lslocks",
				path);
		break;
	case RESOURCE_PIPE:
		tell_pipe(wait, facts, "it waits for", wait->name[0] ? "who has it open" : "who has its other end", f);
		break;
	case RESOURCE_FULL_PIPE:
		tell_pipe(wait, facts, "it waits for room in", "who should read it", f);
		break;
	case RESOURCE_FULL_PEER:
		detector_advise(f, "it waits for room in the socket %s: see who should read it: sudo ss -xtnpe", name);
		break;
	case RESOURCE_STOPPED:
		wait_advise_stopped(f, facts, wait);
		break;
	case RESOURCE_CHILD:
		if (wait->resource && !facts->is_ended) {
			(void)snprintf(what, sizeof(what),
				       "it waits for the end of process %" PRIu32 "; see what that process does",
				       (uint32_t)wait->resource);
			wait_advise_debugger(f, facts, what, (uint32_t)wait->resource, " -batch -ex bt");
		}
		break;
	default:
		break;
	}
}

/*
 * The wait of a driving thread that this finding is about, and which ended in this tick; NULL: none, or it is not
 * known.
 */
static const struct account_wait *ended_wait(const struct detector_view *view, struct driving *ret)
{
	const struct account_wait *longest = NULL;

	for (size_t i = 0; i < view->n_driving; i++)
		for (size_t k = 0; k < view->n_waits; k++) {
			const struct account_wait *w = &view->waits[k];

			if (w->tid != view->accounts[i].tid || w->op || w->is_meanwhile || !w->count ||
			    w->earlier_ns < QUIET_NS || (longest && w->max_ns <= longest->max_ns))
				continue;
			longest = w;
			driving_of(&view->accounts[i], ret);
		}
	return longest;
}

/* The last part of the wait, and who ended it. */
static size_t check_end(const struct detector_view *view, struct condition *ret)
{
	struct driving driving;
	const struct account_wait *wait = ended_wait(view, &driving);
	enum cause_number cause = wait ? ended_cause(view, wait) : CAUSE_COUNT;
	struct condition c = { .confidence = 1, .severity = FINDING_LOW };

	if (cause == CAUSE_COUNT || cause_get(cause) != view->stalled)
		return 0;
	if (cause != CAUSE_DISK)
		c.confidence = DEMAND_CONFIDENCE;
	condition_account(&c, &driving, 0, wait->ns);
	c.of = cause_get(cause);
	c.longest = *wait;
	c.waited = wait;
	c.longest.ns = account_wait_whole_ns(wait);
	if (wait->waker_tgid) {
		c.who[c.n_who++] = (struct culprit){ .who = { .ns = c.longest.ns,
							      .tgid = wait->waker_tgid,
							      .uid = wait->waker_uid,
							      .is_guarded = wait->is_waker_guarded },
						     .tid = wait->waker_tid,
						     .tid_ns = c.longest.ns };
		memcpy(c.who[0].who.comm, wait->waker_comm, sizeof(c.who[0].who.comm));
	}
	*ret = c;
	return 1;
}

static size_t check_on(const struct detector_view *view, struct condition *ret)
{
	uint64_t quiet_ns = view->to_ns - view->called_ns;
	enum cause_number cause = CAUSE_COUNT;
	struct driving first = { .account = NULL };
	struct condition c = { .confidence = 1 };

	if (!view->called_ns || view->calls || view->n_in_flight ||
	    quiet_ns <= MAX(QUIET_NS, QUIET_TIMES * view->gap_ns))
		return 0;
	for (size_t i = 0; i < view->n_driving; i++) {
		struct driving one;
		enum cause_number its;

		driving_of(&view->accounts[i], &one);
		its = stalled_cause(view, &one);
		if (its == CAUSE_COUNT)
			return 0;
		if (first.account)
			continue;
		first = one;
		cause = its;
	}
	if (!first.account)
		return 0;
	c.severity = FINDING_LOW;
	for (int i = FINDING_MEDIUM; i <= FINDING_CRITICAL && (cause == CAUSE_DISK || cause == CAUSE_STOPPED); i++)
		if (quiet_ns >= sure_ages_ns[i])
			c.severity = (enum finding_severity)i;
	if (cause != CAUSE_DISK && cause != CAUSE_STOPPED)
		c.confidence = DEMAND_CONFIDENCE;
	condition_account(&c, &first, 0, view->wall_ns);
	c.lost_total_ns = quiet_ns - MIN(quiet_ns, view->gap_ns + view->starved_ns);
	c.start_ns = view->called_ns + view->starved_ns;
	c.of = cause_get(cause);
	waited_set(view, &first, &c);
	c.earlier_ns = c.longest.max_ns;
	c.earlier = (enum blame_class)c.longest.class;
	*ret = c;
	return 1;
}

static size_t check(const struct detector_view *view, struct condition *ret, size_t room)
{
	size_t n = room ? check_on(view, ret) : 0;

	return n == 0 && room && view->stalled ? check_end(view, ret) : n;
}

static void tell(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	detector_title_process(f, f->end_ns ? "made no calls for a long time" : "has stopped making calls");
	detector_evidence(f, "quiet_ns", (double)s->lost_ns, FINDING_UNIT_NS);
	tell_waited(&s->longest, facts, f);
	wait_advise_debugger(f, facts, "see where its threads are", f->process.tgid,
			     " -batch -ex 'thread apply all bt'");
}

const struct detector detector_stalled = {
	.name = "stalled",
	.needs_all_calls = true,
	.is_of_thread = true,
	.is_of_cause = true,
	.is_disturbing = true,
	.has_culprits = true,
	.check = check,
	.tell = tell,
};
