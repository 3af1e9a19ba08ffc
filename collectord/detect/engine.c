// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "detect"
#include "detect/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "detect/memory.h"
#include "detect/track.h"
#include "detect/track_share.h"
#include "detect/view.h"
#include "events/op.h"

/* A problem that returns within this time continues its finding. (Guess.) */
#define RECURRENCE_NS (300 * NSEC_PER_SEC)
/* Number of slots of the kernel half. */
/* Tracks of one process, including those that are over and may recur. */
#define TRACKS_MAX 24
struct engine {
	engine_finding_func func;
	void *data;
	struct memory *memory;
	struct track_shares shares;
	struct detector_facts facts;
	struct engine_counts counts;
	const struct tick *tick;   /* the tick being processed */
	uint64_t counted;	   /* number of calls of all processes in the tick */
	int result;		   /* of the tick so far */
	struct condition_op *lost; /* operations of the current condition */
	size_t n_lost;		   /* capacity: enough for the operations of any process */
};

int engine_new(const struct process_table *table, engine_finding_func func, void *data, struct engine **ret_engine)
{
	struct engine *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->func = func;
	e->data = data;
	e->shares.together = subordinate_read();
	r = memory_new(table, &e->memory);
	if (r < 0) {
		free(e);
		return r;
	}
	*ret_engine = e;
	return 0;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	memory_free(e->memory);
	track_shares_done(&e->shares);
	free(e->lost);
	free(e);
}

void engine_set_facts(struct engine *e, const struct detector_facts *facts)
{
	e->facts = *facts;
}

void engine_counts(const struct engine *e, struct engine_counts *ret_counts)
{
	*ret_counts = e->counts;
	ret_counts->processes = memory_count(e->memory);
}

/* ---- calls ---- */

static void examples_add(struct examples *to, const struct event *event, uint64_t ns)
{
	size_t at = to->n;

	if (to->n < EXAMPLES_MAX)
		to->n++;
	else if (to->items[--at].ns >= ns)
		return;
	to->items[at].call = (struct finding_call){
		.start_ns = event->call->start_ns,
		.duration_ns = event->call->duration_ns,
		.tid = event->call->tid,
	};
	to->items[at].op = event->op;
	to->items[at].ns = ns;
	for (; at && to->items[at].ns > to->items[at - 1].ns; at--) {
		__typeof__(to->items[0]) more = to->items[at];

		to->items[at] = to->items[at - 1];
		to->items[at - 1] = more;
	}
}

void engine_call(struct engine *e, const struct event *event)
{
	struct process_memory *p;

	if (!event->op)
		return;
	p = memory_take(e->memory, event->process);
	if (!p)
		return; /* out of memory: only the examples of a finding are fewer */

	p->has_kept = true;
	failed_calls_note(&p->failed, event);
	longest_calls_note(&p->longest, event);
	for (int i = 0; i < DETECTOR_COUNT; i++) {
		const struct detector *d = detector_get((enum detector_number)i);
		uint64_t ns = d->is_once && (p->done & (1u << i)) ? 0 : detector_call_ns(d, event);

		if (!ns)
			continue;
		examples_add(&p->examples[i], event, ns);
		if (event->stack && (p->sites || (p->sites = calloc(DETECTOR_COUNT, sizeof(*p->sites)))))
			sites_note(&p->sites[i], event->stack, ns);
	}
}

void engine_host(struct engine *e, const struct event *event)
{
	struct process_memory *p;

	/* Workers may be forked before the first call. */
	if (event->life->type == RECORD_FORK && (p = memory_take(e->memory, event->process)))
		p->children[p->n_children++ % CHILDREN_MAX] = event->life->fork.child;
	/* A process without calls is in no tick, so its end is handled here. */
	p = event->process->memory;
	if (event->life->type == RECORD_EXIT && p && !p->first_call_ns && !p->has_oom && !p->has_kept)
		memory_forget(e->memory, p);
	if (event->life->type != RECORD_OOM)
		return;
	p = memory_take(e->memory, event->process);
	if (!p)
		return; /* the event itself is still stored and shown */
	p->oom = *event->life;
	p->has_oom = true;
}

/* ---- findings ---- */

static void tell(struct engine *e, const struct track *t, enum engine_change change)
{
	e->func(&t->finding, change, e->data);
}

static void track_end(struct engine *e, struct track *t, uint64_t end_ns)
{
	track_close(t, end_ns, &e->facts);
	tell(e, t, ENGINE_CLOSED);
	e->counts.open--;
}

static void track_remove(struct process_memory *p, struct track *t)
{
	for (size_t i = 0; i < p->tracks.n; i++)
		if (p->tracks.items[i] == t) {
			ARRAY_REMOVE_SWAP(&p->tracks, i);
			break;
		}
	track_free(t);
}

/* Finds the track of a condition that is gathering or open. */
static struct track *track_find(const struct process_memory *p, enum detector_number number, const struct condition *c)
{
	for (size_t i = 0; i < p->tracks.n; i++) {
		struct track *t = p->tracks.items[i];

		if (t->number == number && track_is_of(t, c) && t->state != TRACK_CLOSED)
			return t;
	}
	return NULL;
}

/* Removes the oldest track that is over. Return: whether there was one */
static bool track_forget(struct engine *e, struct process_memory *p)
{
	struct track *oldest = NULL;

	for (size_t i = 0; i < p->tracks.n; i++) {
		struct track *t = p->tracks.items[i];

		if (t->state == TRACK_CLOSED && (!oldest || t->last_ns < oldest->last_ns))
			oldest = t;
	}
	if (!oldest)
		return false;
	track_remove(p, oldest);
	e->counts.forgotten_findings++;
	return true;
}

/* Room for one more track, of the process and of its user. Return: NULL: there is none */
static struct track_share *make_room(struct engine *e, struct process_memory *p)
{
	uint32_t uid = p->process->identity.uid;
	struct track_share *share;

	if (p->tracks.n >= TRACKS_MAX && !track_forget(e, p))
		return NULL;
	share = track_share_take(&e->shares, uid);
	if (!share && track_forget(e, p))
		share = track_share_take(&e->shares, uid);
	return share;
}

static int track_begin(struct engine *e, struct process_memory *p, enum detector_number number,
		       const struct condition *c, uint64_t from_ns, struct track **ret_track)
{
	struct track_share *share = make_room(e, p);
	struct track *t;
	int r;

	*ret_track = NULL;
	if (!share) {
		e->counts.refused_findings++;
		return 0;
	}
	r = track_new(number, c->op, c->of, from_ns, &t);
	if (r < 0) {
		track_share_give(share);
		return r;
	}
	t->share = share;
	r = ARRAY_PUSH(&p->tracks, t);
	if (r < 0) {
		track_free(t);
		return r;
	}
	*ret_track = t;
	return 0;
}

/* A track becomes a finding: a recurrence of an earlier one, or a new one. */
static int opens(struct engine *e, struct process_memory *p, struct track *t, const struct track_tick *tick)
{
	struct track *back = NULL;
	int r = 0;

	track_identify(t, tick);
	for (size_t i = 0; i < p->tracks.n && !back; i++) {
		struct track *closed = p->tracks.items[i];

		if (closed->state == TRACK_CLOSED && track_is_same(t, closed) &&
		    t->from_ns < closed->finding.end_ns + RECURRENCE_NS)
			back = closed;
	}
	if (back) {
		r = track_reopen(back, t, tick);
		if (r < 0)
			return r;
		track_remove(p, t);
		t = back;
	} else {
		track_open(t, tick, ++p->n_findings);
		e->counts.found++;
	}
	e->counts.open++;
	tell(e, t, ENGINE_OPENED);
	if (t->detector->is_once)
		p->done |= 1u << t->number;
	if (tick->condition->end_ns)
		track_end(e, t, tick->condition->end_ns);
	return 0;
}

static int advance(struct engine *e, struct process_memory *p, struct track *t, const struct track_tick *tick)
{
	int r = track_advance(t, tick);

	if (r < 0)
		return r;
	switch ((enum track_step)r) {
	case TRACK_NOTHING:
		break;
	case TRACK_DRAINED:
		track_remove(p, t);
		break;
	case TRACK_OPENS:
		return opens(e, p, t, tick);
	case TRACK_CHANGED:
		tell(e, t, ENGINE_UPDATED);
		break;
	case TRACK_CLOSES:
		track_end(e, t, t->last_ns);
		break;
	case TRACK_ANOTHER: {
		enum detector_number number = t->number;
		struct track *next;

		track_end(e, t, tick->view->from_ns);
		r = track_begin(e, p, number, tick->condition, tick->view->from_ns, &next);
		if (r < 0 || !next)
			return r;
		return advance(e, p, next, tick);
	}
	}
	return 0;
}

/* ---- one process in one tick ---- */

/* Runs one detector and updates its tracks. */
static int detector_look(struct engine *e, struct process_memory *p, enum detector_number number,
			 struct track_tick *tick, double quality)
{
	const struct detector *d = detector_get(number);
	struct condition conditions[CONDITIONS_MAX];
	size_t n = 0, n_tracks;
	int r = 0;

	if (d->is_once && (p->done & (1u << number)))
		return 0;
	if ((tick->view->measured & d->needs) == d->needs && !(d->needs_all_calls && tick->view->is_thinned) &&
	    !(d->needs_tier_always && tick->view->is_always_thinned))
		n = detector_check(d, tick->view, conditions, ARRAY_SIZE(conditions));
	if (d->yields)
		n = view_yield(p, d, conditions, n);
	tick->quality = quality * view_sharpness(tick->view, d);

	/* First the tracks whose condition no longer holds: new ones may need their room. */
	for (size_t i = p->tracks.n; i-- > 0 && r == 0;) {
		struct track *t = p->tracks.items[i];
		bool holds = false;

		if (t->number != number || t->state == TRACK_CLOSED)
			continue;
		for (size_t k = 0; k < n; k++)
			holds = holds || track_is_of(t, &conditions[k]);
		tick->condition = NULL;
		if (!holds)
			r = advance(e, p, t, tick);
	}
	n_tracks = n;
	for (size_t k = 0; k < n_tracks && r == 0; k++) {
		struct track *t = track_find(p, number, &conditions[k]);

		tick->condition = &conditions[k];
		if (!t) {
			r = track_begin(e, p, number, &conditions[k], tick->view->from_ns, &t);
			if (r < 0 || !t)
				continue;
		}
		r = advance(e, p, t, tick);
	}
	return r;
}

/* What findings have of the time without calls, so that no other one counts it again. */
static void view_told(struct process_memory *p, struct detector_view *view)
{
	uint64_t starved_ns = 0;

	for (size_t i = 0; i < p->tracks.n; i++) {
		const struct track *t = p->tracks.items[i];

		if (t->number == DETECTOR_NUMBER_stalled)
			view->stalled = t->state == TRACK_OPEN ? t->of : view->stalled;
		if (t->number == DETECTOR_NUMBER_starved && t->state != TRACK_GATHERING && t->last_ns > view->called_ns)
			starved_ns += t->quiet_lost_ns;
	}
	/* A finding that ended long ago is forgotten. */
	p->starved_ns = view->calls ? 0 : MAX(p->starved_ns, starved_ns);
	view->starved_ns = p->starved_ns;
}

static bool is_disturbed(const struct process_memory *p)
{
	for (size_t i = 0; i < p->tracks.n; i++)
		if (p->tracks.items[i]->detector->is_disturbing && p->tracks.items[i]->state != TRACK_CLOSED)
			return true;
	return false;
}

/* Removes findings that ended too long ago to recur. */
static void tracks_expire(struct process_memory *p, uint64_t now_ns)
{
	for (size_t i = p->tracks.n; i-- > 0;) {
		struct track *t = p->tracks.items[i];

		if (t->state == TRACK_CLOSED && now_ns > t->finding.end_ns + RECURRENCE_NS)
			track_remove(p, t);
	}
}

/* @has_ended: the process, and not what is known of it alone */
static void process_end(struct engine *e, struct process_memory *p, uint64_t end_ns, bool has_ended)
{
	for (size_t i = 0; i < p->tracks.n; i++) {
		struct track *t = p->tracks.items[i];

		if (t->state == TRACK_OPEN && has_ended)
			track_judge_run(t, end_ns - MIN(end_ns, p->first_call_ns));
		if (t->state == TRACK_OPEN)
			track_end(e, t, MIN(t->last_ns, end_ns));
	}
}

static void engine_process_look(struct process_memory *p, void *data)
{
	struct engine *e = data;
	const struct tick *tick = e->tick;
	bool was_disturbed = is_disturbed(p);
	bool has_news = p->in_tick || p->in_flight.n || p->has_oom;
	struct detector_view view;
	struct track_tick step;
	double quality;

	if (has_news)
		p->seen_ns = tick->to_ns;
	if (!has_news && !p->tracks.n)
		return;

	e->facts.is_ended = p->in_tick && p->in_tick->gone_ns;
	process_memory_waits(p);
	view = view_of(p, tick);
	view.lost = e->lost;
	view_told(p, &view);
	quality = view_quality(&view, tick, e->counted);
	step = (struct track_tick){ .view = &view, .process = p, .facts = &e->facts };
	for (int i = 0; i < DETECTOR_COUNT; i++) {
		int r = detector_look(e, p, (enum detector_number)i, &step, quality);

		if (r < 0)
			e->result = r;
		if (!detector_get((enum detector_number)i)->is_once)
			p->examples[i].n = 0;
	}
	process_memory_learn(p, tick, !was_disturbed && !is_disturbed(p));
	tracks_expire(p, tick->to_ns);

	if (p->in_tick && p->in_tick->gone_ns) {
		process_end(e, p, p->in_tick->gone_ns, /* has_ended= */ true);
		memory_forget(e->memory, p);
		return;
	}
	/* A process without calls is in no tick, so its end is handled here. */
	if (p->has_oom && !p->first_call_ns) {
		memory_forget(e->memory, p);
		return;
	}
	p->has_oom = false;
	failed_calls_pass(&p->failed);
	p->longest.n = 0;
	p->in_tick = NULL;
	p->in_flight.n = 0;
}

/* ---- ticks ---- */

static void process_clear(struct process_memory *p, void *data)
{
	(void)data;
	p->in_tick = NULL;
	p->in_flight.n = 0;
}

/* Return: 0; -ENOMEM: the capacity is unchanged */
static int lost_reserve(struct engine *e, size_t n)
{
	struct condition_op *lost;

	if (n <= e->n_lost)
		return 0;
	lost = reallocarray(e->lost, n, sizeof(*lost));
	if (!lost)
		return -ENOMEM;
	e->lost = lost;
	e->n_lost = n;
	return 0;
}

/* Maximum number of parts of an account in the tick. */
static size_t parts_most(const struct tick_process *in_tick)
{
	size_t most = 0;

	for (size_t i = 0; i < in_tick->accounts.n; i++)
		most = MAX(most, in_tick->accounts.items[i].parts.n);
	return most + 1;
}

/* Allocates all memory for the tick, before any detector runs. */
static int tick_place(struct engine *e, const struct tick *tick)
{
	for (size_t i = 0; i < tick->processes.n; i++) {
		const struct tick_process *in_tick = &tick->processes.items[i];
		struct process_memory *p = memory_take(e->memory, in_tick->process);
		int r;

		if (!p)
			return -ENOMEM;
		p->first_call_ns = in_tick->first_call_ns;
		if (in_tick->ops.n) {
			if (p->called_ns && tick->from_ns > p->called_ns)
				p->gap_ns = MAX(p->gap_ns, tick->from_ns - p->called_ns);
			p->called_ns = tick->to_ns;
		}
		p->seen_ns = tick->to_ns;
		p->in_tick = in_tick;
		r = process_memory_early(p, tick);
		if (r == 0)
			r = lost_reserve(e,
					 MAX(p->ops.n, parts_most(in_tick))); /* .ops has all operations of the tick */
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < tick->n_in_flight; i++) {
		const struct in_flight_record *record = &tick->in_flight[i];
		struct process_memory *p = record->depth == 0 ? memory_find_pid(e->memory, record->tgid) : NULL;

		if (p && ARRAY_PUSH(&p->in_flight, record) < 0)
			return -ENOMEM;
	}
	return 0;
}

int engine_tick(struct engine *e, const struct tick *tick)
{
	int r = tick_place(e, tick);

	if (r < 0) {
		memory_each(e->memory, process_clear, NULL);
		return r;
	}
	e->tick = tick;
	e->result = 0;
	e->counted = 0;
	for (size_t i = 0; i < tick->processes.n; i++)
		for (size_t k = 0; k < tick->processes.items[i].ops.n; k++)
			e->counted += op_figures_count(&tick->processes.items[i].ops.items[k].figures);
	memory_each(e->memory, engine_process_look, e);
	e->tick = NULL;
	e->facts.is_ended = false;

	while (memory_count(e->memory) > PROCESS_SLOTS) {
		struct process_memory *quietest = memory_quietest(e->memory);

		process_end(e, quietest, tick->to_ns, /* has_ended= */ false);
		memory_forget(e->memory, quietest);
		e->counts.forgotten_processes++;
	}
	return e->result;
}

struct ending {
	struct engine *engine;
	uint64_t now_ns;
};

static void process_finish(struct process_memory *p, void *data)
{
	const struct ending *ending = data;

	process_end(ending->engine, p, ending->now_ns, /* has_ended= */ false);
}

void engine_finish(struct engine *e, uint64_t now_ns)
{
	struct ending ending = { .engine = e, .now_ns = now_ns };

	memory_each(e->memory, process_finish, &ending);
}

/* ---- as a sink ---- */

static void sink_event(const struct event *event, void *data)
{
	if (event->life)
		engine_host(data, event);
	else
		engine_call(data, event);
}

static void sink_tick(const struct tick *tick, bool is_last, void *data)
{
	int r = engine_tick(data, tick);

	if (r < 0)
		(void)log_warning(r, "cannot run the detectors for the last second");
	if (is_last)
		engine_finish(data, tick->to_ns);
}

struct sink engine_sink(struct engine *e)
{
	static const struct sink_ops ops = { .event = sink_event, .tick = sink_tick };

	return (struct sink){ &ops, e };
}
