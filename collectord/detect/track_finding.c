// SPDX-License-Identifier: Apache-2.0
/*
 * Turns a track into a finding: culprit, operation, severity, figures.
 */
#include "detect/track.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/examine.h"
#include "events/stack.h"

/*
 * Below this share of the time severity is LOW, whatever the share of the calls: up to 0.22 % was measured without
 * other load (docs/measurements/blame.md, "behind / wall, without a hog").
 */
#define SMALL_RATIO 0.01
/* One process is the culprit if it has half of the wait; otherwise several are. (Guess.) */
#define CULPRIT_RATIO 0.5
/* With an account, culprits are named if this share of the lost time is attributed to any process. (Guess.) */
#define KNOWN_RATIO 0.25
/* The culprit or operation changes if its share falls below this and another one has taken over. (Guess.) */
#define STALE_RATIO 0.2
/* A thread is named if it has half of its process's part of the wait, or of the time lost. (Guess.) */
#define THREAD_RATIO 0.5
/* Number of calls for full confidence; with fewer it is lower. (Guess.) */
#define FEW_CALLS 10
/*
 * A run that has ended: minimum of its examined time, and of that time the minimum share with the finding; minimum loss
 * that work of the device cannot hide, and its share. (Guesses: the first batches of an epoch take less.)
 */
#define RUN_LEAST_NS (2 * NSEC_PER_SEC)
#define RUN_PRESENT_RATIO 0.75
#define RUN_LOST_NS NSEC_PER_SEC
#define RUN_LOST_RATIO 0.25
/* A call is slow from this many usual durations on, as in figures.c for kept calls. */
#define SLOW_MEDIANS 2

/* ---- culprit and operation ---- */

/* Who is named where several are to blame: processes that ran by their names. */
static const struct track_culprits *several(const struct track *t)
{
	return t->names.n ? &t->names : &t->culprits;
}

/* Whether too little of the lost time is attributed to name a culprit. */
static bool is_nobody_known(const struct track *t)
{
	double all = 0;

	for (size_t i = 0; i < several(t)->n; i++)
		all += several(t)->items[i].recent_ns;
	return t->sums.is_accounted && all < KNOWN_RATIO * t->recent_lost_ns;
}

/* The process with most of the recent wait; NULL: several, or none. */
static const struct track_culprit *culprit_most(const struct track *t)
{
	const struct track_culprit *most = NULL;

	for (size_t i = 0; i < t->culprits.n; i++)
		if (!most || t->culprits.items[i].recent_ns > most->recent_ns)
			most = &t->culprits.items[i];
	if (is_nobody_known(t))
		return NULL;
	return most && most->recent_ns >= CULPRIT_RATIO * t->recent_behind_ns && t->recent_behind_ns > 0 ? most : NULL;
}

static const struct track_op *op_most(const struct track *t)
{
	const struct track_op *most = NULL;

	for (size_t i = 0; i < t->ops.n; i++)
		if (!most || t->ops.items[i].recent_lost_ns > most->recent_lost_ns)
			most = &t->ops.items[i];
	return most;
}

static void cause_name(struct finding_cause *cause, const struct culprit *by)
{
	cause->pid = by->who.tgid;
	cause->tid = by->n <= 1 && (double)by->tid_ns >= THREAD_RATIO * (double)by->who.ns ? by->tid : 0;
	cause->uid = by->who.uid;
	cause->is_guarded = by->who.is_guarded;
	memcpy(cause->comm, by->who.comm, sizeof(cause->comm));
}

uint32_t track_culprit_pid(const struct track *t)
{
	return t->blamed_pid;
}

void track_identify(struct track *t, const struct track_tick *tick)
{
	const struct track_culprit *culprit = culprit_most(t);
	const struct track_op *op = op_most(t);
	struct finding *f = &t->finding;

	f->kind = t->detector->name;
	f->cause.kind = t->of ? t->of->kind : f->kind;
	f->process = *tick->view->process;
	f->op = t->key ? t->key : op ? op->op : NULL;
	if (tick->condition && tick->condition->is_event) {
		f->cause.pid = tick->condition->cause.pid;
		f->cause.uid = tick->condition->cause.uid;
		f->cause.is_guarded = tick->condition->cause.is_guarded;
		memcpy(f->cause.comm, tick->condition->cause.comm, sizeof(f->cause.comm));
	}
	if (culprit)
		cause_name(&f->cause, &culprit->by);
	else
		f->cause.is_several = t->culprits.n > 0 && !is_nobody_known(t);
	t->blamed_pid = f->cause.is_several || t->of ? 0 : f->cause.pid;
}

bool track_is_same(const struct track *t, const struct track *earlier)
{
	return t->number == earlier->number && t->of == earlier->of && t->finding.op == earlier->finding.op &&
	       track_culprit_pid(t) == track_culprit_pid(earlier);
}

bool track_blames_another(const struct track *t)
{
	const struct track_culprit *most = culprit_most(t);
	const struct track_op *op = op_most(t), *mine = NULL;
	double all = t->recent_behind_ns, recent = 0, ops_all = 0;
	uint32_t pid = track_culprit_pid(t);

	for (size_t i = 0; i < t->culprits.n; i++)
		if (t->culprits.items[i].by.who.tgid == pid)
			recent = t->culprits.items[i].recent_ns;
	if (pid && recent < STALE_RATIO * all)
		return true;
	/* A group of culprits in which one now has nearly all of the wait. */
	if (t->detector->has_culprits && !t->of && !pid && most && most->recent_ns > (1 - STALE_RATIO) * all)
		return true;

	for (size_t i = 0; i < t->ops.n; i++) {
		ops_all += t->ops.items[i].recent_lost_ns;
		if (t->ops.items[i].op == t->finding.op)
			mine = &t->ops.items[i];
	}
	return op && mine && mine->recent_lost_ns < STALE_RATIO * ops_all &&
	       op->recent_lost_ns > CULPRIT_RATIO * ops_all;
}

/* ---- the finding ---- */

/*
 * The square of the share of time currently lost. The base is the time of one thread; without accounts the wall clock,
 * or the time in calls if several threads sum to more. A program that is seldom in a call waits for a CPU as often
 * between calls, which is unknown without accounts: the geometric mean with the share of the time in calls estimates
 * it.
 */
static double ratio_squared(const struct track *t, double recent_ns)
{
	double of_time = t->recent_time_ns > 0 ? recent_ns / t->recent_time_ns : 0;
	double of_calls = t->recent_calls_ns > 0 ? recent_ns / t->recent_calls_ns : 0;

	if (!t->detector->is_of_thread || t->sums.is_accounted || of_time < SMALL_RATIO || of_calls < of_time)
		of_calls = of_time;
	return MIN(of_time, 1) * MIN(of_calls, 1);
}

/* The worst band of which both values are reached: the share of time currently lost, and the total time lost. */
static int band_of(const struct track *t, double recent_ns, uint64_t lost_ns)
{
	const struct cause_levels *own = t->of ? t->of->levels : NULL;
	double squared = ratio_squared(t, recent_ns);
	int severity = FINDING_LOW;

	if (own)
		return squared >= own->medium_ratio * own->medium_ratio && lost_ns >= own->medium_lost_ns
			       ? FINDING_MEDIUM
			       : FINDING_LOW;
	for (int i = FINDING_MEDIUM; i <= FINDING_CRITICAL; i++) {
		const struct severity_band *band = &t->detector->bands[i];

		if (band->ratio > 0 && squared >= band->ratio * band->ratio && lost_ns >= band->lost_ns)
			severity = i;
	}
	return severity;
}

/* Whether the process waits for its own threads. */
static bool is_own_wait(const struct track *t)
{
	return t->sums.is_accounted && track_culprit_pid(t) && track_culprit_pid(t) == t->finding.process.tgid;
}

/*
 * Severity by the greatest loss, at most one above the severity of the least loss: a delay that work of the device may
 * hide completely is LOW. A process that waits for its own threads does its own work meanwhile.
 */
static enum finding_severity severity_now(const struct track *t)
{
	int severity = band_of(t, t->recent_lost_ns, t->sums.lost_ns);
	int least = band_of(t, t->recent_least_ns, t->sums.least_ns);

	if (t->recent_least_ns <= SMALL_RATIO * t->recent_time_ns)
		least = 0;
	if (is_own_wait(t))
		return FINDING_LOW;
	if (t->detector->steady_ns && t->steady_ns < (double)t->detector->steady_ns)
		return FINDING_LOW;
	return (enum finding_severity)MIN(severity, least + 1);
}

void track_judge_run(struct track *t, uint64_t run_ns)
{
	uint64_t examined_ns = run_ns - MIN(run_ns, EXAMINE_FROM_S * NSEC_PER_SEC);
	double ratio = MAX(t->detector->bands[FINDING_MEDIUM].ratio, RUN_LOST_RATIO);
	uint64_t present_ns = t->sums.present_ns, least_ns = t->sums.least_ns;

	if (!t->detector->steady_ns || is_own_wait(t) || examined_ns < RUN_LEAST_NS || least_ns < RUN_LOST_NS)
		return;
	if ((double)present_ns < RUN_PRESENT_RATIO * (double)examined_ns ||
	    (double)least_ns < ratio * (double)examined_ns || t->bounded_ns > present_ns / 2)
		return;
	t->finding.severity = MAX(t->finding.severity, FINDING_MEDIUM);
}

static void example_add(struct finding *f, const struct finding_call *call)
{
	size_t at = f->n_calls;

	for (size_t i = 0; i < f->n_calls; i++)
		if (f->call[i].start_ns == call->start_ns && f->call[i].tid == call->tid)
			at = i;
	if (at == f->n_calls && f->n_calls < FINDING_CALLS_MAX)
		f->n_calls++;
	else if (at == f->n_calls && f->call[--at].duration_ns >= call->duration_ns)
		return;
	f->call[at] = *call;
	for (; at && f->call[at].duration_ns > f->call[at - 1].duration_ns; at--) {
		struct finding_call longer = f->call[at];

		f->call[at] = f->call[at - 1];
		f->call[at - 1] = longer;
	}
}

static void track_examples_fill(struct track *t, const struct track_tick *tick)
{
	const struct examples *from = &tick->process->examples[t->number];

	if (tick->condition && tick->condition->example.start_ns)
		example_add(&t->finding, &tick->condition->example);
	for (size_t i = 0; i < from->n; i++)
		if (from->items[i].op == t->finding.op)
			example_add(&t->finding, &from->items[i].call);
}

static uint64_t slow_calls(const struct histogram *h, uint64_t usual_ns)
{
	uint64_t n = 0;

	for (uint32_t i = h->first; i < h->first + h->n; i++)
		if (histogram_bucket_low_ns(i) >= usual_ns * SLOW_MEDIANS)
			n += histogram_count(h, i);
	return n;
}

/* The thread with most of the time lost; NULL: none has enough of it. */
static const struct track_thread *thread_most(const struct track *t)
{
	const struct track_thread *most = NULL;

	for (size_t i = 0; i < t->n_threads; i++)
		if (!most || t->threads[i].lost_ns > most->lost_ns)
			most = &t->threads[i];
	return most && (double)most->lost_ns >= THREAD_RATIO * t->weight_ns ? most : NULL;
}

static void thread_fill(struct track *t)
{
	const struct track_thread *most = thread_most(t);
	struct finding *f = &t->finding;

	f->tid = most ? most->tid : 0;
	f->tid_lost_ns = 0;
	/* Of one alone it is all, also what was lost before the first tick. */
	if (most && (double)most->lost_ns >= t->weight_ns)
		f->tid_lost_ns = f->lost_ns;
	else if (most && !most->is_late)
		f->tid_lost_ns = MIN(most->lost_ns, f->lost_ns);
}

static void op_fill(struct track *t, const struct track_tick *tick)
{
	struct finding *f = &t->finding;
	const struct track_op *op = f->op ? track_op(t, f->op) : NULL;
	const struct op_memory *memory = f->op ? detector_view_memory(tick->view, f->op) : NULL;

	/* What a thread lost it lost in calls of several operations and between them: its account has all of it. */
	if (t->sums.is_accounted && (!op || t->detector->is_of_thread))
		memcpy(f->blame_ns, t->blame_ns, sizeof(f->blame_ns));
	else if (op)
		memcpy(f->blame_ns, op->figures.blame_ns, sizeof(f->blame_ns));
	if (memory)
		f->usual_ns = op_memory_usual(memory);
	t->sums.op_ns = op ? op->lost_ns : 0;
	if (!op)
		return;
	f->calls = op_figures_count(&op->figures);
	f->max_ns = op->figures.max_ns;
	f->p99_ns = histogram_quantile(&op->figures.durations, 0.99, f->max_ns ? f->max_ns : UINT64_MAX);
	f->slow_calls =
		slow_calls(&op->figures.durations,
			   f->usual_ns ? f->usual_ns : histogram_quantile(&op->figures.durations, 0.5, UINT64_MAX));
}

bool track_is_worth_telling(const struct track *t)
{
	return !t->detector->has_culprits || t->of || (t->culprits.n && !is_nobody_known(t)) ||
	       severity_now(t) > FINDING_LOW;
}

static double share_of(const struct track *t, uint64_t ns)
{
	/* The processes that ran are known for all threads, an account is of one thread. */
	uint64_t all_ns = t->sums.is_accounted ? MAX(t->sums.lost_ns, t->behind_ns) : t->sums.lost_ns;

	return all_ns ? MIN((double)ns / (double)all_ns, 1) : 0;
}

/* The process of a name with the most time, of those that are remembered. */
static uint32_t named_most(const struct track *t, const struct culprit *name)
{
	const struct culprit *most = NULL;

	for (size_t i = 0; i < t->culprits.n; i++) {
		struct culprit one = t->culprits.items[i].by;

		one.n = 1;
		if (culprit_is(&one, name) && (!most || one.who.ns > most->who.ns))
			most = &t->culprits.items[i].by;
	}
	return most ? most->who.tgid : name->who.tgid;
}

/* Number of processes of a name, where that is no single one. */
static uint32_t same_name(const struct track *t, const struct culprit *by)
{
	return t->names.n && by->n > 1 ? by->n : 0;
}

/* Names several culprits: the largest, and the next ones. */
static void several_name(struct track *t)
{
	const struct culprit *order[FINDING_OTHERS_MAX + 1] = { NULL };
	struct finding_cause *cause = &t->finding.cause;

	for (size_t i = 0; i < several(t)->n; i++) {
		const struct culprit *next = &several(t)->items[i].by;

		for (size_t k = 0; k < ARRAY_SIZE(order) && next; k++) {
			const struct culprit *here = order[k];

			if (!here || next->who.ns > here->who.ns) {
				order[k] = next;
				next = here;
			}
		}
	}
	memset(cause->others, 0, sizeof(cause->others));
	if (order[0]) {
		cause_name(cause, order[0]);
		cause->same_name = same_name(t, order[0]);
		cause->pid = cause->same_name ? named_most(t, order[0]) : cause->pid;
		t->sums.culprit_ns = order[0]->who.ns;
	}
	for (size_t i = 0; i < FINDING_OTHERS_MAX; i++) {
		const struct culprit *by = order[i + 1];
		const struct behind_figures *who = by ? &by->who : NULL;
		uint32_t n = by ? same_name(t, by) : 0;

		if (!who || (double)who->ns < CULPRIT_LEAST_RATIO * (double)t->behind_ns)
			break;
		cause->others[i] = (struct finding_other){ .pid = n ? named_most(t, by) : who->tgid,
							   .uid = who->uid,
							   .is_guarded = who->is_guarded,
							   .same_name = n,
							   .share = share_of(t, who->ns) };
		memcpy(cause->others[i].comm, who->comm, sizeof(who->comm));
	}
}

static bool is_worker(struct track_culprit *c, const struct track_tick *tick)
{
	const struct process_identity *victim = tick->view->process;
	const struct behind_figures *who = &c->by.who;

	if (c->kin == KIN_NOT_ASKED) {
		bool is_one = who->uid == victim->uid && !who->is_guarded && who->tgid != victim->tgid &&
			      (detector_view_is_child(tick->view, who->tgid) ||
			       advice_is_worker(who->tgid, victim->tgid, tick->facts->parent));

		c->kin = is_one ? KIN_WORKER : KIN_OTHER;
	}
	return c->kin == KIN_WORKER;
}

/* Whether the culprit works for the process that waits; of several, each with a notable share. */
static bool is_behind_workers(struct track *t, const struct track_tick *tick)
{
	bool is_found = false;

	for (size_t i = 0; i < t->culprits.n; i++) {
		struct track_culprit *c = &t->culprits.items[i];

		if (t->finding.cause.is_several ? (double)c->by.who.ns < CULPRIT_LEAST_RATIO * (double)t->behind_ns
						: c->by.who.tgid != t->finding.cause.pid)
			continue;
		if (!is_worker(c, tick))
			return false;
		is_found = true;
	}
	return is_found;
}

/* The process that is blamed, or several where it has too little of all. */
static void blamed_name(struct track *t)
{
	struct finding_cause *cause = &t->finding.cause;

	for (size_t i = 0; i < t->culprits.n && t->blamed_pid; i++) {
		const struct culprit *by = &t->culprits.items[i].by;

		if (by->who.tgid != t->blamed_pid)
			continue;
		memset(cause->others, 0, sizeof(cause->others));
		cause_name(cause, by);
		cause->same_name = 0;
		cause->is_several = (double)by->who.ns < CULPRIT_RATIO * (double)t->behind_ns;
		t->sums.culprit_ns = by->who.ns;
	}
}

static void culprits_count(struct track *t)
{
	struct finding *f = &t->finding;
	struct detector_sums *s = &t->sums;

	s->n_culprits = 0;
	for (size_t i = 0; i < several(t)->n && (f->cause.pid || f->cause.is_several); i++) {
		const struct culprit *by = &several(t)->items[i].by;

		if ((double)by->who.ns >= CULPRIT_LEAST_RATIO * (double)t->behind_ns)
			s->n_culprits += t->names.n ? 1 : MAX(by->n, 1);
	}
	/* Where none has a twentieth, as many as were seen. */
	f->cause.processes = s->n_culprits || !f->cause.is_several ? s->n_culprits : (uint32_t)several(t)->n;
}

static void track_cause_fill(struct track *t, const struct track_tick *tick)
{
	struct finding *f = &t->finding;
	struct detector_sums *s = &t->sums;

	f->cause.longest = s->longest;
	if (!t->detector->has_culprits || (t->of && !t->culprits.n)) {
		f->cause.share = 1;
		f->cause.processes = f->cause.pid != 0;
		return;
	}
	s->culprit_ns = 0;
	/* Workers come and go: name the one with most of the time so far, or the largest of several. */
	if (t->of) {
		const struct track_culprit *most = culprit_most(t);

		memset(f->cause.others, 0, sizeof(f->cause.others));
		f->cause.is_several = !most;
		if (most) {
			cause_name(&f->cause, &most->by);
			s->culprit_ns = most->by.who.ns;
		}
	} else {
		blamed_name(t);
	}
	if (f->cause.is_several)
		several_name(t);
	if (!t->of)
		f->cause.is_worker = is_behind_workers(t, tick);
	culprits_count(t);
	f->cause.share = share_of(t, s->culprit_ns);
	f->cause.chain = (struct finding_chain){ .ns = 0 };
	if (s->chain.n && s->chain.hop[0].pid == f->cause.pid)
		f->cause.chain = s->chain;
}

/* Whether most was lost between calls: computing there has no place, and a call's would be another one. */
static bool is_mostly_between(const struct track *t)
{
	return t->sums.between_ns > t->sums.lost_ns / 2;
}

/* What was lost in no single operation: most of it between calls, or in calls of several and between them. */
static void title_process(const struct track *t, struct finding *f)
{
	const char *title = t->detector->words.title;

	if (is_mostly_between(t))
		detector_title_between(f, title);
	else
		detector_title_process(f, title);
}

void track_tell(struct track *t, const struct detector_facts *facts)
{
	const struct detector_words *words = &t->detector->words;
	const char *remedy = advice_class(t->detector->takes);
	char advice[FINDING_ADVICE_MAX][FINDING_ADVICE_BYTES];
	struct finding *f = &t->finding;
	size_t lasting;

	f->n_evidence = 0;
	lasting = facts->is_ended && t->detector->has_lasting_advice ? f->n_advice : 0;
	memcpy(advice, f->advice, lasting * sizeof(advice[0]));
	f->n_advice = 0;
	if (words->title && !f->op && t->sums.is_accounted)
		title_process(t, f);
	else if (words->title)
		detector_title(f, words->title);
	if (remedy)
		detector_advise(f, "%s", remedy);
	for (size_t i = 0; i < ARRAY_SIZE(words->advice) && words->advice[i]; i++)
		detector_advise(f, "%s", words->advice[i]);
	t->detector->tell(&t->sums, facts, f);
	if (!lasting)
		return;
	memcpy(f->advice, advice, lasting * sizeof(advice[0]));
	f->n_advice = lasting;
}

static void text_cut(char *to, size_t room, const char *from, size_t n)
{
	n = MIN(n, room - 1);
	memcpy(to, from, n);
	to[n] = '\0';
}

/* The place in the program whose waits between calls, or calls, lost most, as this detector values them. */
static void from_fill(struct track *t, const struct process_memory *process)
{
	const struct stack_frame *place = sites_most(&t->sites);
	struct finding_site *from = &t->finding.from;

	memset(from, 0, sizeof(*from));
	if (!place && process->sites && !is_mostly_between(t))
		place = sites_most(&process->sites[t->number]);
	if (!place)
		return;
	text_cut(from->func, sizeof(from->func), place->symbol, stack_frame_func_bytes(place));
	text_cut(from->file, sizeof(from->file), place->file, strlen(place->file));
	from->line = place->line;
}

void track_fill(struct track *t, const struct track_tick *tick)
{
	struct finding *f = &t->finding;
	uint64_t n_calls;

	f->start_ns = t->from_ns;
	f->present_ns = t->sums.present_ns;
	f->lost_ns = t->sums.lost_ns;
	thread_fill(t);
	f->measured = tick->condition && tick->condition->end_ns ? 0 : tick->view->measured;
	op_fill(t, tick);
	track_cause_fill(t, tick);
	track_examples_fill(t, tick);
	from_fill(t, tick->process);
	if (tick->condition) {
		enum finding_severity severity =
			tick->condition->severity ? tick->condition->severity : severity_now(t);

		if (tick->condition->most)
			severity = MIN(severity, tick->condition->most);

		f->severity = MAX(f->severity, severity);
		if (tick->condition->has_blame)
			memcpy(f->blame_ns, tick->condition->blame_ns, sizeof(f->blame_ns));
	}
	/* An account is measured independently of the number of calls. */
	n_calls = t->detector->is_per_op || t->sums.is_accounted ? FEW_CALLS : t->sums.calls;
	f->confidence = t->weight_ns > 0 ? t->confidence_ns / t->weight_ns : 0;
	if (tick->condition && tick->condition->is_event)
		f->confidence = tick->condition->confidence; /* observed directly, not derived from calls */
	else if (n_calls < FEW_CALLS)
		f->confidence *= 0.5 + 0.5 * (double)n_calls / FEW_CALLS;
	f->confidence = MIN(f->confidence, 1);

	track_tell(t, tick->facts);
}
