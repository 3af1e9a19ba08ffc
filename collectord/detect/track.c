// SPDX-License-Identifier: Apache-2.0
#include "detect/track.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "events/op.h"
#include "figures/wait_sites.h"
#include "procs/system_sample.h"

/* Time constant by which ticks lose weight, for the current severity and culprit. (Guess.) */
#define RECENT_NS (5 * NSEC_PER_SEC)
/* A long finding is reported again at intervals, a young one in every tick. */
#define TOLD_YOUNG_NS (60 * NSEC_PER_SEC)
#define TOLD_EVERY_NS (10 * NSEC_PER_SEC)
/* Weight of a tick without the condition in .steady_ns. (Guess.) */
#define PAUSE_WEIGHT (-0.25)
int track_new(enum detector_number number, const struct op *key, const struct cause *of, uint64_t from_ns,
	      struct track **ret_track)
{
	struct track *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->number = number;
	t->detector = detector_get(number);
	t->key = key;
	t->of = of;
	t->from_ns = t->last_ns = from_ns;
	t->sums.machine_cpu_ratio = -1;
	*ret_track = t;
	return 0;
}

void track_free(struct track *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->ops.n; i++)
		op_figures_done(&t->ops.items[i].figures);
	ARRAY_DONE(&t->ops);
	sites_done(&t->sites);
	track_share_give(t->share);
	free(t);
}

/* ---- sums ---- */

static int track_figures_add(struct op_figures *to, const struct op_figures *from)
{
	int r = op_figures_add(to, from);

	if (r == 0)
		to->max_ns = MAX(to->max_ns, from->max_ns);
	return r;
}

struct track_op *track_op(const struct track *t, const struct op *op)
{
	for (size_t i = 0; i < t->ops.n; i++)
		if (t->ops.items[i].op == op)
			return &t->ops.items[i];
	return NULL;
}

static struct track_op *track_op_take(struct track *t, const struct op *op)
{
	struct track_op *known = track_op(t, op);

	if (known)
		return known;
	if (ARRAY_PUSH(&t->ops, ((struct track_op){ .op = op })) < 0)
		return NULL;
	return &t->ops.items[t->ops.n - 1];
}

static int ops_add(struct track *t, const struct track_tick *tick)
{
	const struct detector_view *view = tick->view;

	for (size_t i = 0; i < tick->condition->n_ops; i++) {
		const struct condition_op *lost = &tick->condition->ops[i];
		struct track_op *mine;

		if (!lost->lost_ns)
			continue;
		mine = track_op_take(t, lost->op);
		if (!mine)
			return -ENOMEM;
		mine->lost_ns += lost->lost_ns;
		mine->recent_lost_ns += (double)lost->lost_ns;
	}
	/* A condition that is over has no figures in this tick. */
	for (size_t i = 0; i < view->n_ops && !tick->condition->end_ns; i++) {
		struct track_op *mine = view->ops[i].op ? track_op(t, view->ops[i].op) : NULL;
		int r = mine ? track_figures_add(&mine->figures, &view->ops[i].figures) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* @keep: this process is not replaced. Return: its entry; NULL: there is no room for it */
static struct track_culprit *culprits_add(struct track_culprits *list, const struct culprit *more, uint32_t keep)
{
	const struct behind_figures *who = &more->who;
	size_t least = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct culprit *here = &list->items[i].by;

		if (culprit_is(here, more)) {
			culprit_add(here, who->ns, more->tid, more->tid_ns);
			here->who.tgid = who->tgid;
			here->who.uid = who->uid;
			here->who.is_guarded = who->is_guarded;
			memcpy(here->who.comm, who->comm, sizeof(who->comm));
			list->items[i].recent_ns += (double)who->ns;
			return &list->items[i];
		}
		if (list->items[i].recent_ns < list->items[least].recent_ns)
			least = i;
	}
	if (list->n < TRACK_CULPRITS_MAX)
		least = list->n++;
	else if (list->items[least].recent_ns >= (double)who->ns || list->items[least].by.who.tgid == keep)
		return NULL;
	list->items[least] = (struct track_culprit){ .by = *more, .recent_ns = (double)who->ns };
	list->items[least].by.n = 0;
	return &list->items[least];
}

static bool culprits_has(const struct track_culprits *list, uint32_t tgid)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i].by.who.tgid == tgid)
			return true;
	return false;
}

/* Number of processes, @more included, of which the last one may be counted already; 0: it is one process alone. */
static uint32_t culprit_count(const struct track_culprit *here, const struct culprit *more, bool is_known)
{
	return more->n ? MAX(here->by.n + more->n - is_known, 1) : 0;
}

static void track_culprit_add(struct track *t, const struct culprit *more)
{
	bool is_known = culprits_has(&t->culprits, more->who.tgid);
	struct track_culprit *here;

	t->behind_ns += more->who.ns;
	t->recent_behind_ns += (double)more->who.ns;
	if (!more->who.tgid)
		return; /* several processes, none of which can be named */
	here = culprits_add(&t->culprits, more, track_culprit_pid(t));
	if (here)
		here->by.n = culprit_count(here, more, is_known);
}

/* A process that ran, of which a name may have many, each too short to be remembered. */
static void ran_add(struct track *t, const struct behind_figures *who, bool is_another, uint32_t victim)
{
	struct culprit named = { .who = *who, .n = who->tgid != victim };
	bool is_new = is_another && who->number > t->behind_number && !culprits_has(&t->culprits, who->tgid);
	struct track_culprit *here;

	track_culprit_add(t, &(struct culprit){ .who = *who });
	here = who->tgid ? culprits_add(&t->names, &named, /* keep= */ 0) : NULL;
	if (here)
		here->by.n = named.n ? MAX(here->by.n + is_new, 1) : 0;
}

/* Each process has two entries beside each other, at most: in calls and between them. */
static void behind_list_add(struct track *t, const struct behind_list *list, uint32_t victim)
{
	uint64_t number = t->behind_number;

	for (size_t i = 0; i < list->n; i++) {
		ran_add(t, &list->items[i], !i || list->items[i - 1].tgid != list->items[i].tgid, victim);
		number = MAX(number, list->items[i].number);
	}
	t->behind_number = number;
}

/* Without room, a thread that lost more replaces the one that lost least. */
static void track_thread_add(struct track *t, uint32_t tid, uint64_t lost_ns)
{
	size_t least = 0;

	if (!tid)
		return;
	for (size_t i = 0; i < t->n_threads; i++) {
		if (t->threads[i].tid == tid) {
			t->threads[i].lost_ns += lost_ns;
			return;
		}
		if (t->threads[i].lost_ns < t->threads[least].lost_ns)
			least = i;
	}
	t->has_late_threads |= t->n_threads == TRACK_THREADS_MAX;
	if (t->n_threads < TRACK_THREADS_MAX)
		least = t->n_threads++;
	else if (t->threads[least].lost_ns >= lost_ns)
		return;
	t->threads[least] = (struct track_thread){ .tid = tid, .lost_ns = lost_ns, .is_late = t->has_late_threads };
}

/* What each driving thread lost to the class of the detector; of other detectors the worst thread alone is known. */
static void track_threads_add(struct track *t, const struct track_tick *tick)
{
	const struct detector_view *view = tick->view;
	const struct condition *c = tick->condition;
	enum blame_class class = t->detector->takes;

	if (t->detector->check || !c->account) {
		track_thread_add(t, c->tid, c->lost_ns);
		return;
	}
	for (size_t i = 0; i < view->n_driving; i++) {
		struct driving one;

		driving_of(&view->accounts[i], &one);
		if (one.in_ns[class] + one.between_ns[class])
			track_thread_add(t, view->accounts[i].tid, one.in_ns[class] + one.between_ns[class]);
	}
}

static void recent_decay(struct track *t, uint64_t wall_ns)
{
	double keep = (double)RECENT_NS / (double)(RECENT_NS + wall_ns);

	t->recent_lost_ns *= keep;
	t->recent_time_ns *= keep;
	t->recent_calls_ns *= keep;
	t->recent_least_ns *= keep;
	for (size_t i = 0; i < t->ops.n; i++)
		t->ops.items[i].recent_lost_ns *= keep;
	t->recent_behind_ns *= keep;
	for (size_t i = 0; i < t->culprits.n; i++)
		t->culprits.items[i].recent_ns *= keep;
	for (size_t i = 0; i < t->names.n; i++)
		t->names.items[i].recent_ns *= keep;
}

/* The time base of the lost share: the time of one thread, or more if calls of several threads lose time. */
static uint64_t time_of(const struct track *t, const struct track_tick *tick)
{
	const struct detector_view *view = tick->view;

	if (tick->condition && tick->condition->account)
		return tick->condition->account->wall_ns;
	return t->detector->is_of_thread && view->n_driving ? view->wall_ns : MAX(view->wall_ns, view->calls_ns);
}

static void track_account_add(struct track *t, const struct condition *c, uint64_t earlier_ns)
{
	struct detector_sums *s = &t->sums;

	s->least_ns += c->account ? c->least_ns : c->lost_ns;
	t->recent_least_ns += (double)(c->account ? c->least_ns : c->lost_ns);
	if (!c->account)
		return;
	s->is_accounted = true;
	s->between_ns += c->between_ns;
	s->in_calls_ns += c->in_calls_ns;
	t->blame_ns[c->earlier] += earlier_ns;
	for (size_t i = 0; i < c->account->parts.n; i++) {
		const struct account_part *part = &c->account->parts.items[i];

		if (part->where != ACCOUNT_NOT_KNOWN && part->class < BLAME_COUNT)
			t->blame_ns[part->class] += part->ns;
	}
}

/* Time of this tick in which the process, or the thread that lost time, was there. */
static uint64_t lived_ns(const struct track_tick *tick)
{
	const struct detector_view *view = tick->view;
	const struct tick_process *in_tick = tick->process->in_tick;
	uint64_t ns = view->wall_ns;

	if (tick->condition->account)
		return MIN(ns, tick->condition->account->wall_ns);
	if (in_tick && in_tick->gone_ns > view->from_ns)
		ns = MIN(ns, in_tick->gone_ns - view->from_ns);
	return ns;
}

/* Where a condition that was not there before began. */
static uint64_t began_ns(const struct track_tick *tick)
{
	const struct detector_view *view = tick->view;
	const struct condition *c = tick->condition;
	uint64_t from_ns = view->from_ns;

	if (c->start_ns)
		return c->start_ns;
	if (c->account && !c->earlier_ns) /* the thread may have begun in this tick */
		from_ns = MAX(from_ns, view->to_ns - MIN(view->to_ns, c->account->wall_ns));
	return from_ns - MIN(from_ns, c->earlier_ns);
}

/* A thread waits once at a time. What it lost besides was a wait too short to be told before it ended. */
static void began_earlier(struct track *t)
{
	struct detector_sums *s = &t->sums;
	uint64_t earlier_ns = s->lost_ns - MIN(s->lost_ns, s->present_ns);

	t->from_ns -= MIN(t->from_ns, earlier_ns);
	s->present_ns += earlier_ns;
	s->time_ns = MAX(s->time_ns, s->lost_ns);
}

/* Where the waits of this tick were. */
static void track_site_add(struct track *t, const struct track_tick *tick)
{
	const struct condition *c = tick->condition;
	const struct sites *sites = c->waited && tick->view->wait_sites
					    ? wait_sites_find(tick->view->wait_sites, c->waited, /* is_tick= */ true)
					    : NULL;

	for (size_t i = 0; sites && i < sites->n; i++)
		sites_note(&t->sites, sites->items[i].stack, sites->items[i].ns);
}

static void extras_add(const struct detector *d, struct detector_sums *s, const uint64_t more[CONDITION_EXTRA])
{
	for (size_t i = 0; i < CONDITION_EXTRA; i++)
		s->extra[i] = d->extras_largest & (1u << i) ? MAX(s->extra[i], more[i]) : s->extra[i] + more[i];
}

/* @earlier_ns: time before this tick in which it was present, too, and which was not added yet */
static int sums_add(struct track *t, const struct track_tick *tick, uint64_t earlier_ns)
{
	const struct detector_view *view = tick->view;
	const struct condition *c = tick->condition;
	struct detector_sums *s = &t->sums;

	s->present_ns += c->end_ns ? c->end_ns - t->from_ns : lived_ns(tick) + earlier_ns;
	t->bounded_ns += c->most == FINDING_LOW ? lived_ns(tick) + earlier_ns : 0;
	s->time_ns += time_of(t, tick) + earlier_ns;
	s->calls_ns += view->calls_ns;
	s->calls += view->calls;
	if (c->lost_total_ns)
		s->lost_ns = MAX(s->lost_ns, t->base_lost_ns + c->lost_total_ns);
	else
		s->lost_ns += c->lost_ns;
	if (c->account)
		began_earlier(t);
	extras_add(t->detector, s, c->extra);
	if (view->system)
		s->machine_cpu_ratio = MAX(s->machine_cpu_ratio, view->system->cpu_ratio);
	t->confidence_ns += c->confidence * tick->quality * (double)c->lost_ns;
	t->weight_ns += (double)c->lost_ns;
	t->recent_lost_ns += (double)c->lost_ns;
	track_account_add(t, c, MIN(c->earlier_ns, earlier_ns));
	track_threads_add(t, tick);
	if (c->longest.ns > s->longest.ns)
		s->longest = c->longest;
	if (c->chain.ns > s->chain.ns)
		s->chain = c->chain;
	track_site_add(t, tick);
	for (size_t i = 0; i < c->n_who; i++)
		track_culprit_add(t, &c->who[i]);
	if (t->detector->has_culprits && !t->of && tick->process->in_tick)
		behind_list_add(t, &tick->process->in_tick->behind, view->process->tgid);
	return ops_add(t, tick);
}

/* ---- the finding ---- */

/*
 * Whoever knows the other numbers can compute each of them from an id: all must belong to the process of the finding,
 * not to its culprit.
 */
static uint64_t id_of(const struct finding *f, uint64_t number)
{
	const uint64_t numbers[] = { f->process.start_boot_ns, f->process.tgid, f->process.exec_gen,
				     f->op ? f->op->id : 0,    number,		f->start_ns };
	const unsigned char *bytes = (const unsigned char *)numbers;
	uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a, 64 bits */

	for (const char *c = f->kind; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3ull;
	for (const char *c = f->cause.kind; f->cause.kind != f->kind && *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3ull;
	for (size_t i = 0; i < sizeof(numbers); i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	return hash ? hash : 1;
}

void track_open(struct track *t, const struct track_tick *tick, uint64_t number)
{
	t->state = TRACK_OPEN;
	t->told_ns = tick->view->to_ns;
	t->finding.start_ns = t->from_ns;
	t->finding.id = id_of(&t->finding, number);
	track_fill(t, tick);
}

static void culprits_again(struct track_culprits *list, const struct track_culprits *again, uint32_t keep)
{
	for (size_t i = 0; i < list->n; i++)
		list->items[i].recent_ns = 0;
	for (size_t i = 0; i < again->n; i++) {
		const struct culprit *more = &again->items[i].by;
		bool is_known = culprits_has(list, more->who.tgid);
		struct track_culprit *here = culprits_add(list, more, keep);

		if (here)
			here->by.n = culprit_count(here, more, is_known);
	}
}

int track_reopen(struct track *t, const struct track *again, const struct track_tick *tick)
{
	for (size_t i = 0; i < again->ops.n; i++) {
		struct track_op *mine = track_op_take(t, again->ops.items[i].op);
		int r = mine ? track_figures_add(&mine->figures, &again->ops.items[i].figures) : -ENOMEM;

		if (r < 0)
			return r;
		mine->lost_ns += again->ops.items[i].lost_ns;
		mine->recent_lost_ns = again->ops.items[i].recent_lost_ns;
	}
	for (size_t i = 0; i < again->sites.n; i++)
		sites_note(&t->sites, again->sites.items[i].stack, again->sites.items[i].ns);
	t->has_late_threads |= again->has_late_threads;
	for (size_t i = 0; i < again->n_threads; i++)
		track_thread_add(t, again->threads[i].tid, again->threads[i].lost_ns);
	culprits_again(&t->culprits, &again->culprits, track_culprit_pid(t));
	culprits_again(&t->names, &again->names, /* keep= */ 0);
	t->behind_number = again->behind_number;
	t->behind_ns += again->behind_ns;
	t->recent_behind_ns = again->recent_behind_ns;
	t->base_lost_ns = t->sums.lost_ns;
	t->sums.present_ns += again->sums.present_ns;
	t->sums.time_ns += again->sums.time_ns;
	t->sums.calls_ns += again->sums.calls_ns;
	t->sums.calls += again->sums.calls;
	t->sums.lost_ns += again->sums.lost_ns;
	if (again->sums.longest.ns > t->sums.longest.ns)
		t->sums.longest = again->sums.longest;
	if (again->sums.chain.ns > t->sums.chain.ns)
		t->sums.chain = again->sums.chain;
	t->steady_ns = again->steady_ns;
	t->bounded_ns += again->bounded_ns;
	t->sums.is_accounted |= again->sums.is_accounted;
	t->sums.least_ns += again->sums.least_ns;
	t->sums.between_ns += again->sums.between_ns;
	t->sums.in_calls_ns += again->sums.in_calls_ns;
	for (int i = 0; i < BLAME_COUNT; i++)
		t->blame_ns[i] += again->blame_ns[i];
	t->sums.machine_cpu_ratio = MAX(t->sums.machine_cpu_ratio, again->sums.machine_cpu_ratio);
	extras_add(t->detector, &t->sums, again->sums.extra);
	t->confidence_ns += again->confidence_ns;
	t->weight_ns += again->weight_ns;
	t->recent_lost_ns = again->recent_lost_ns;
	t->recent_time_ns = again->recent_time_ns;
	t->recent_calls_ns = again->recent_calls_ns;
	t->recent_least_ns = again->recent_least_ns;
	t->bucket_ns = again->bucket_ns;
	t->last_ns = again->last_ns;
	t->quiet_lost_ns = again->quiet_lost_ns;
	t->told_ns = tick->view->to_ns;
	t->state = TRACK_OPEN;
	t->finding.end_ns = 0;
	t->finding.recurrence++;
	track_fill(t, tick);
	return 0;
}

void track_close(struct track *t, uint64_t end_ns, const struct detector_facts *facts)
{
	t->state = TRACK_CLOSED;
	t->finding.end_ns = MAX(end_ns, t->finding.start_ns);
	track_tell(t, facts);
}

/* ---- one tick ---- */

static bool is_full(const struct track *t)
{
	const struct detector *d = t->detector;
	const struct cause_levels *own = t->of ? t->of->levels : NULL;
	double open_ns = (double)(own ? own->open_lost_ns : d->open_lost_ns);

	if (t->bucket_ns < open_ns)
		return false;
	if (own)
		return t->sums.present_ns >= own->open_present_ns;
	return t->sums.present_ns >= d->open_present_ns || t->bucket_ns >= 4 * open_ns;
}

int track_advance(struct track *t, const struct track_tick *tick)
{
	const struct detector_view *view = tick->view;
	double time_ns = (double)time_of(t, tick);
	double noise_ns = (t->of && t->of->levels ? t->of->levels->noise_ratio : t->detector->noise_ratio) * time_ns;
	double lost_ns = tick->condition ? (double)tick->condition->lost_ns : 0;
	bool is_event = tick->condition && tick->condition->is_event;
	bool is_present = is_event || (tick->condition && lost_ns > noise_ns);
	enum finding_severity before = t->finding.severity;
	uint64_t earlier_ns;
	int r;

	if (view->calls)
		t->quiet_lost_ns = 0;
	recent_decay(t, view->wall_ns);
	t->recent_time_ns += time_ns;
	t->recent_calls_ns += (double)view->calls_ns;
	t->bucket_ns = MAX(0, t->bucket_ns + lost_ns - noise_ns);

	t->steady_ns = MAX(0, t->steady_ns + (is_present ? 1 : PAUSE_WEIGHT) * (double)view->wall_ns);
	if (!is_present) {
		if (t->state == TRACK_GATHERING)
			return t->bucket_ns <= 0 || view->to_ns - t->last_ns > t->detector->quiet_ns ? TRACK_DRAINED
												     : TRACK_NOTHING;
		return view->to_ns - t->last_ns >= t->detector->quiet_ns ? TRACK_CLOSES : TRACK_NOTHING;
	}

	if (!t->sums.present_ns)
		t->from_ns = t->last_ns = began_ns(tick);
	earlier_ns = view->from_ns - MIN(view->from_ns, t->last_ns);
	if (t->sums.present_ns)
		earlier_ns = MIN(earlier_ns, tick->condition->earlier_ns);
	t->last_ns = view->to_ns;
	t->quiet_lost_ns += view->calls ? 0 : tick->condition->lost_ns;
	r = sums_add(t, tick, earlier_ns);
	if (r < 0)
		return r;
	if (t->state == TRACK_GATHERING && (is_event || (is_full(t) && track_is_worth_telling(t))))
		return TRACK_OPENS;
	if (t->state == TRACK_GATHERING) /* a condition that is over does not grow when it is reported again */
		return tick->condition->end_ns ? TRACK_DRAINED : TRACK_NOTHING;
	if (track_blames_another(t))
		return TRACK_ANOTHER;

	track_fill(t, tick);
	if (t->finding.severity == before && t->sums.present_ns > TOLD_YOUNG_NS &&
	    view->to_ns - t->told_ns < TOLD_EVERY_NS)
		return TRACK_NOTHING;
	t->told_ns = view->to_ns;
	return TRACK_CHANGED;
}
