// SPDX-License-Identifier: Apache-2.0
/*
 * A driving thread waits between its calls, and the device gets no work meanwhile.
 *
 * A wait is a loss only if its resource is known, and the thread that ends it: an idle program waits, too.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "detect/detector.h"
#include "detect/holder.h"
#include "detect/starved_advice.h"
#include "figures/wait_chain.h"

/* A child with another name that causes single waits of this length is a tool, not a loader. (Guess.) */
#define TOOL_NS (100 * NSEC_PER_MSEC)
/*
 * Confidence, all guesses: the fork was not seen; the waiting process may be the server; the other thread may compute
 * for this one.
 */
#define FAMILY_CONFIDENCE 0.8
#define DEMAND_CONFIDENCE 0.4
#define OWN_THREAD_CONFIDENCE 0.5
/* The same: if several threads release a lock, another one than the waker may have been waited for. */
#define SHARED_LOCK_CONFIDENCE 0.7

#define WAITS_LOOKED_AT                                                                                                \
	(MEASURED(BLAME_LOCK) | MEASURED(BLAME_BLOCK_IO) | MEASURED(BLAME_MEMORY) | MEASURED(BLAME_NETWORK) |          \
	 MEASURED(BLAME_OTHER))

enum extra {
	EXTRA_WAITS,
	EXTRA_WAITED_NS, /* of these; the others are too short to be told singly */
};

/* Result for one wait. */
struct verdict {
	enum cause_number cause; /* CAUSE_COUNT: no loss */
	double confidence;
	enum finding_severity most; /* 0: no bound */
};

/* Time that a thread lost to one cause. */
struct starving {
	uint64_t ns;
	uint64_t earlier_ns; /* of .ns, before this tick */
	uint64_t count;
	double confidence_ns; /* sum of confidence * ns; weight_ns is the sum of the ns */
	uint64_t weight_ns;
	enum finding_severity most; /* the highest bound of its waits */
	struct account_wait longest;
	struct culprit who[CONDITION_CULPRITS];
	size_t n_who;
	const struct account_wait *most_wait;  /* the wait with the most time; NULL: none */
	const struct account_wait *most_first; /* likewise, of this thread: the wait that led to it */
	uint64_t most_ns;
};

#define NO_LOSS ((struct verdict){ .cause = CAUSE_COUNT })

static bool is_between(const struct account_wait *w, uint32_t tid)
{
	return w->tid == tid && !w->op && w->class < BLAME_COUNT && (WAITS_LOOKED_AT & MEASURED(w->class));
}

static struct verdict of_child(const struct detector_view *view, const struct account_wait *w)
{
	bool is_tool = w->count && account_wait_whole_ns(w) / w->count >= TOOL_NS &&
		       strncmp(w->waker_comm, view->process->comm, RECORD_COMM_BYTES) != 0;

	return (struct verdict){ .cause = is_tool ? CAUSE_TOOL : CAUSE_LOADER, .confidence = 1 };
}

/* Result for a wait that another process ended. */
static struct verdict of_writer(const struct detector_view *view, const struct account_wait *w)
{
	bool is_later = w->waker_uid == view->process->uid && w->waker_tgid > view->process->tgid;

	if (detector_view_is_child(view, w->waker_tgid))
		return of_child(view, w);
	/*
	 * A pipe is inherited from the parent: a process with a larger id was probably forked before the trace began.
	 */
	if (w->kind == RESOURCE_PIPE && is_later)
		return (struct verdict){ .cause = CAUSE_LOADER, .confidence = FAMILY_CONFIDENCE };
	/* The other process may be its server or its client. */
	return (struct verdict){ .cause = w->kind == RESOURCE_PEER || w->class == BLAME_NETWORK ? CAUSE_NETWORK
												: CAUSE_LOADER,
				 .confidence = DEMAND_CONFIDENCE,
				 .most = FINDING_LOW };
}

static struct verdict of_lock(const struct detector_view *view, const struct account_wait *w)
{
	if (!w->waker_tgid)
		return NO_LOSS; /* ended by a timer, or not ended yet */
	if (detector_view_is_child(view, w->waker_tgid))
		return of_child(view, w);
	if (w->waker_tgid == view->process->tgid)
		return (struct verdict){ .cause = CAUSE_LOCK,
					 .confidence = OWN_THREAD_CONFIDENCE,
					 .most = holder_waits(view, w->waker_tid) ? FINDING_HIGH : FINDING_MEDIUM };
	return (struct verdict){ .cause = CAUSE_LOCK, .confidence = DEMAND_CONFIDENCE, .most = FINDING_LOW };
}

/* The holder of a file's lock keeps others out: unlike a futex, it is not how threads wait for work. */
static struct verdict of_file_lock(const struct account_wait *w)
{
	return w->waker_tgid ? (struct verdict){ .cause = CAUSE_LOCK, .confidence = 1 } : NO_LOSS;
}

/* Who writes into a full pipe has work to do. The pace of a socket's client may be intended. */
static struct verdict of_reader(const struct detector_view *view, const struct account_wait *w)
{
	if (w->waker_tgid == view->process->tgid)
		return (struct verdict){ CAUSE_READER, OWN_THREAD_CONFIDENCE, FINDING_MEDIUM };
	if (w->kind == RESOURCE_FULL_PEER && !detector_view_is_child(view, w->waker_tgid))
		return (struct verdict){ CAUSE_READER, DEMAND_CONFIDENCE, FINDING_LOW };
	return (struct verdict){ .cause = CAUSE_READER, .confidence = 1 };
}

/* Result for one wait, without following other threads of the process. */
static struct verdict wait_judge(const struct detector_view *view, const struct account_wait *w)
{
	switch (w->kind) {
	case RESOURCE_GIL:
		return (struct verdict){ .cause = CAUSE_GIL, .confidence = 1 };
	case RESOURCE_CHILD:
		return (struct verdict){ .cause = CAUSE_TOOL, .confidence = 1 };
	case RESOURCE_FUTEX:
		return of_lock(view, w);
	case RESOURCE_FILE_LOCK:
		return of_file_lock(w);
	case RESOURCE_INODE:
		return (struct verdict){ .cause = CAUSE_DISK, .confidence = 1 };
	case RESOURCE_WRITTEN:
		return (struct verdict){ .cause = CAUSE_CHECKPOINT, .confidence = 1 };
	case RESOURCE_STOPPED:
		return (struct verdict){ .cause = CAUSE_STOPPED, .confidence = 1 };
	case RESOURCE_CGROUP:
		return NO_LOSS; /* a quota */
	default:
		break;
	}
	if (w->kind == RESOURCE_FULL_PIPE || w->kind == RESOURCE_FULL_PEER)
		return of_reader(view, w);
	switch (w->class) {
	case BLAME_BLOCK_IO:
		return (struct verdict){ .cause = CAUSE_DISK, .confidence = 1 };
	case BLAME_MEMORY:
		return (struct verdict){ .cause = CAUSE_MEMORY, .confidence = 1 };
	case BLAME_LOCK:
		return of_lock(view, w);
	default:
		break;
	}
	if (!w->waker_tgid || w->waker_tgid == view->process->tgid)
		return NO_LOSS; /* no known process would have to provide anything: idle */
	return of_writer(view, w);
}

static bool is_of_own(const struct detector_view *view, const struct account_wait *w)
{
	return w->waker_tgid && w->waker_tgid == view->process->tgid && w->waker_tid != w->tid &&
	       w->kind != RESOURCE_GIL && w->kind != RESOURCE_STOPPED;
}

/*
 * The wait with the most time of a thread: between its calls or, for a thread without calls, while another waited for
 * it (figures/wait_chain.h). NULL: none, or too little
 * @wait_ns: of the other thread
 * @is_own: only waits that other threads of the process ended; otherwise only waits that are a loss and not for a lock
 */
static const struct account_wait *wait_most(const struct detector_view *view, uint32_t tid, uint64_t wait_ns,
					    bool is_own)
{
	bool has_meanwhile = wait_has_meanwhile(view->waits, view->n_waits, tid);
	const struct account_wait *most = NULL;

	for (size_t i = 0; i < view->n_waits; i++) {
		const struct account_wait *w = &view->waits[i];
		struct verdict verdict;

		if (!is_between(w, tid) || w->is_meanwhile != has_meanwhile)
			continue;
		verdict = wait_judge(view, w);
		if (is_own ? is_of_own(view, w) : verdict.cause != CAUSE_COUNT && verdict.cause != CAUSE_LOCK)
			most = !most || account_wait_whole_ns(w) > account_wait_whole_ns(most) ? w : most;
	}
	return most && wait_is_most(account_wait_whole_ns(most), wait_ns) ? most : NULL;
}

/*
 * Follows waits for other threads of the same process to their cause. @ns: reduced to the wait of the last of these
 * threads. Return: NULL: no loss
 */
static const struct account_wait *look_through(const struct detector_view *view, const struct account_wait *w,
					       uint64_t *ns)
{
	const struct account_wait *at = w;

	for (int hop = 0; hop < WAIT_HOPS_MOST && is_of_own(view, at); hop++) {
		uint32_t tid = at->waker_tid;
		const struct account_wait *next = wait_most(view, tid, *ns, /* is_own= */ false);

		if (next) {
			*ns = MIN(*ns, account_wait_whole_ns(next));
			return next;
		}
		next = wait_most(view, tid, *ns, /* is_own= */ true);
		if (!next)
			return !holder_paces(view, at) && holder_stands(view, tid, ns) ? w : NULL;
		*ns = MIN(*ns, account_wait_whole_ns(next));
		at = next;
	}
	return w;
}

/* Whether several threads are recorded as having released the lock. */
static bool is_shared_lock(const struct detector_view *view, const struct account_wait *w)
{
	for (size_t i = 0; i < view->n_waits && w->kind == RESOURCE_FUTEX; i++) {
		const struct account_wait *other = &view->waits[i];

		if (other->kind == w->kind && other->tid == w->tid && other->resource == w->resource &&
		    other->waker_tid != w->waker_tid && other->waker_tid && other->ns >= w->ns / 10)
			return true;
	}
	return false;
}

/* Whether an earlier wait of the tick that the same thread was in was ended by the same process. */
static bool is_again(const struct detector_view *view, const struct account_wait *w)
{
	for (const struct account_wait *other = view->waits; other < w; other++)
		if (other->waker_tgid == w->waker_tgid && other->tid == w->tid && !other->is_meanwhile)
			return true;
	return false;
}

/* @is_by_name: processes come and go, each for one wait: those of one name are one culprit */
static void who_add(const struct detector_view *view, struct starving *s, const struct account_wait *w, uint64_t ns,
		    bool is_by_name)
{
	struct culprit who = { .who = { .tgid = w->waker_tgid, .uid = w->waker_uid, .is_guarded = w->is_waker_guarded },
			       .n = is_by_name };
	size_t at = 0;

	if (!w->waker_tgid)
		return;
	memcpy(who.who.comm, w->waker_comm, sizeof(who.who.comm));
	while (at < s->n_who && !culprit_is(&s->who[at], &who))
		at++;
	if (at == CONDITION_CULPRITS)
		return;
	if (at == s->n_who)
		s->who[s->n_who++] = who;
	else if (is_by_name && !is_again(view, w))
		s->who[at].n++;
	culprit_add(&s->who[at], ns, w->waker_tid, ns);
}

/* Whether the account gives the time of this cause, including short waits and waits in progress. */
static bool is_of_class(const struct account_wait *w, uint32_t tid)
{
	return w->tid == tid && w->kind != RESOURCE_WRITTEN && (w->class == BLAME_BLOCK_IO || w->class == BLAME_MEMORY);
}

static void starved_wait_add(const struct detector_view *view, const struct account_wait *w,
			     struct starving all[CAUSE_COUNT])
{
	const struct account_wait *first = w;
	uint32_t tid = w->tid;
	uint64_t ns = account_wait_whole_ns(w);
	struct verdict verdict;
	struct starving *s;

	w = look_through(view, w, &ns);
	if (!w)
		return;
	verdict = wait_judge(view, w);
	if (verdict.cause == CAUSE_COUNT)
		return;
	if (is_shared_lock(view, first))
		verdict.confidence *= SHARED_LOCK_CONFIDENCE;
	s = &all[verdict.cause];
	if (ns > s->most_ns) {
		s->most_ns = ns;
		s->most_wait = w;
		s->most_first = first;
	}
	if (!is_of_class(w, tid)) {
		s->ns += ns;
		s->earlier_ns += MIN(first->earlier_ns, ns);
	}
	s->count += w->count;
	s->confidence_ns += verdict.confidence * (double)ns;
	s->weight_ns += ns;
	s->most = MAX(s->most, verdict.most ? verdict.most : FINDING_CRITICAL);
	if (w->max_ns > s->longest.max_ns || !s->longest.ns) {
		s->longest = *w;
		s->longest.ns = MAX(account_wait_whole_ns(w), 1);
	}
	who_add(view, s, w, ns, verdict.cause == CAUSE_TOOL);
}

/* Return: total time lost */
static uint64_t thread_look(const struct detector_view *view, const struct driving *d, struct starving all[CAUSE_COUNT])
{
	uint64_t lost_ns = 0, read_ns = 0, written_ns = 0, disk_ns = d->between_ns[BLAME_BLOCK_IO];

	memset(all, 0, CAUSE_COUNT * sizeof(*all));
	for (size_t i = 0; i < view->n_waits; i++) {
		const struct account_wait *w = &view->waits[i];

		/* A wait in progress counts when it ends; the time of disks comes from the account. */
		if (w->is_meanwhile || !is_between(w, d->account->tid) ||
		    (w->is_open && !is_of_class(w, d->account->tid)))
			continue;
		if (view->stalled && w->earlier_ns) { /* a finding of stalled has all of it */
			disk_ns -= w->class == BLAME_BLOCK_IO ? MIN(disk_ns, w->ns) : 0;
			continue;
		}
		starved_wait_add(view, w, all);
		if (w->class == BLAME_BLOCK_IO)
			*(w->kind == RESOURCE_WRITTEN ? &written_ns : &read_ns) += w->ns;
	}
	/* Short waits, whose resource is not known, count for the kind of most of the long ones. */
	disk_ns -= MIN(disk_ns, written_ns);
	if (written_ns > read_ns) {
		all[CAUSE_CHECKPOINT].ns += disk_ns - MIN(disk_ns, read_ns);
		disk_ns = MIN(disk_ns, read_ns);
	}
	all[CAUSE_DISK].ns += disk_ns;
	all[CAUSE_MEMORY].ns += d->between_ns[BLAME_MEMORY];
	for (int i = 0; i < CAUSE_COUNT; i++)
		lost_ns += all[i].ns;
	return lost_ns;
}

/* The chain from the waker of the wait with the most time. */
static void chain_of(const struct detector_view *view, const struct account_wait *wait, struct finding_chain *chain)
{
	struct wait_hop hops[WAIT_HOPS_MOST];
	size_t n = wait ? wait_chain(view->waits, view->n_waits, wait, hops) : 0;

	if (!n || !hops[0].did)
		return;
	chain->ns = wait->ns;
	chain->n = n;
	for (size_t i = 0; i < n; i++) {
		const struct account_wait *ended = hops[i].ended, *did = hops[i].did;
		struct finding_hop *hop = &chain->hop[i];

		*hop = (struct finding_hop){ .pid = ended->waker_tgid,
					     .tid = ended->waker_tid,
					     .uid = ended->waker_uid,
					     .is_guarded = ended->is_waker_guarded,
					     .is_known = did != NULL,
					     .ns = hops[i].ns };
		memcpy(hop->comm, ended->waker_comm, sizeof(hop->comm));
		if (!did)
			continue;
		hop->class = did->class;
		hop->kind = did->kind;
		if (hops[i].is_one)
			account_wait_name(did, hop->name);
	}
}

/* The longest wait of a thread for a disk or for memory so far; NULL: not known, or another cause. */
static const struct account_wait *known_wait(const struct detector_view *view, uint32_t tid, const struct cause *cause)
{
	const struct account_wait *known = cause == cause_get(CAUSE_DISK)     ? &view->known[KNOWN_READ]
					   : cause == cause_get(CAUSE_MEMORY) ? &view->known[KNOWN_FAULTED]
									      : NULL;

	return known && known->ns && known->tid == tid ? known : NULL;
}

static void starved_condition(const struct detector_view *view, struct condition *c, const struct driving *d,
			      const struct starving *s, const struct cause *cause)
{
	*c = (struct condition){
		.confidence = s->weight_ns ? s->confidence_ns / (double)s->weight_ns : 1,
		.of = cause,
		.longest = s->longest,
		.most = s->most,
		.n_who = s->n_who,
		.extra[EXTRA_WAITS] = s->count,
		.extra[EXTRA_WAITED_NS] = s->weight_ns,
	};
	const struct account_wait *known = s->longest.ns ? NULL : known_wait(view, d->account->tid, cause);

	if (known) {
		c->longest = *known;
		c->longest.ns = 1; /* the longest of this tick, if there is any, is preferred */
	}
	if (s->most_wait) {
		c->earlier_ns = s->earlier_ns;
		c->earlier = (enum blame_class)s->most_first->class;
		c->waited = s->most_first;
	}
	memcpy(c->who, s->who, sizeof(c->who));
	chain_of(view, s->most_wait, &c->chain);
	condition_account(c, d, 0, s->ns);
}

static size_t check(const struct detector_view *view, struct condition *ret, size_t room)
{
	struct starving all[CAUSE_COUNT], most[CAUSE_COUNT];
	uint64_t most_ns = 0;
	struct driving worst;
	size_t n = 0;

	if (!detector_view_is_examined(view) || !detector_view_is_busy(view))
		return 0;
	for (size_t i = 0; i < view->n_driving; i++) {
		struct driving one;
		uint64_t lost_ns;

		driving_of(&view->accounts[i], &one);
		lost_ns = thread_look(view, &one, all);
		if (lost_ns <= most_ns)
			continue;
		most_ns = lost_ns;
		worst = one;
		memcpy(most, all, sizeof(most));
	}
	for (int i = 0; i < CAUSE_COUNT && n < room && most_ns; i++)
		if (most[i].ns)
			starved_condition(view, &ret[n++], &worst, &most[i], cause_get((enum cause_number)i));
	return n;
}

static void tell(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	const struct cause *cause = cause_find(f->cause.kind);
	int number = 0;

	while (number < CAUSE_COUNT && cause_get((enum cause_number)number) != cause)
		number++;
	if (!cause)
		return;
	detector_title_between(f, cause->title);
	detector_evidence(f, "waited_ns", (double)s->lost_ns, FINDING_UNIT_NS);
	detector_evidence_time(f, s);
	if (wait_is_most(s->extra[EXTRA_WAITED_NS], s->lost_ns)) {
		detector_evidence(f, "waits", (double)s->extra[EXTRA_WAITS], FINDING_UNIT_COUNT);
		detector_evidence(f, "longest_wait_ns", (double)s->longest.max_ns, FINDING_UNIT_NS);
	}
	if (s->n_culprits) {
		detector_evidence(f, "culprit_ns", (double)s->culprit_ns, FINDING_UNIT_NS);
		detector_evidence(f, "culprits", s->n_culprits, FINDING_UNIT_COUNT);
	}
	starved_advise(s, facts, (enum cause_number)number, f);
}

const struct detector detector_starved = {
	.name = "starved",
	.is_of_thread = true,
	.is_of_cause = true,
	.has_culprits = true,
	.noise_ratio = 0.1,			 /* guess: of the driving thread's clock */
	.open_lost_ns = 200 * NSEC_PER_MSEC,	 /* guess */
	.open_present_ns = 1500 * NSEC_PER_MSEC, /* guess: more than one tick */
	.steady_ns = 4 * NSEC_PER_SEC,		 /* guess: the first batches of an epoch take less */
	.quiet_ns = 10 * NSEC_PER_SEC,		 /* guess */
	.bands = {				 /* as cpu_contention: the same time is lost */
		[FINDING_MEDIUM] = { 0.075, 500 * NSEC_PER_MSEC },
		[FINDING_HIGH] = { 0.25, 1500 * NSEC_PER_MSEC },
		[FINDING_CRITICAL] = { 0.6, 10 * NSEC_PER_SEC },
	},
	.needs_tier_always = true,
	.check = check,
	.tell = tell,
};
