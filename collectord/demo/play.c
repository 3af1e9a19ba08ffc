// SPDX-License-Identifier: Apache-2.0
#include "demo/play.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "events/op.h"
#include "figures/histogram.h"

#define DEMO_CELLS 16 /* more operations than any scenario has */

/* ---- random numbers ---- */

/* splitmix64 (Steele, Lea, Flood 2014): every seed is valid, also 0. */
static uint64_t random_next(struct demo_play *p)
{
	uint64_t z = p->random += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* Uniform random value, within this percentage around the mean. */
static uint64_t spread_ns(struct demo_play *p, uint64_t usual_ns, uint32_t percent)
{
	uint64_t width_ns = usual_ns / 100 * percent * 2;

	return usual_ns - width_ns / 2 + (width_ns ? random_next(p) % width_ns : 0);
}

/* ---- the next step ---- */

static uint64_t phase_end_ns(const struct demo_play *p, uint32_t phase)
{
	uint64_t end_ns = p->start_ns;

	for (uint32_t i = 0; i <= phase && i < p->scenario->n_phases; i++)
		end_ns += p->scenario->phases[i].length_ns;
	return end_ns;
}

/* Moves to the next step, or to the next phase; sleeping moves *at_ns. Return: whether there is one */
static bool step_next(const struct demo_play *p, struct demo_thread *t, uint64_t *at_ns)
{
	size_t thread = (size_t)(t - p->threads);

	t->call = t->repeat = 0;
	for (t->step++; t->phase < p->scenario->n_phases; t->phase++, t->step = 0) {
		const struct demo_phase *phase = &p->scenario->phases[t->phase];
		uint64_t end_ns = phase_end_ns(p, t->phase);

		if (*at_ns < end_ns && phase->steps[thread].calls && !(phase->once && t->step))
			return true;
		*at_ns = MAX(*at_ns, end_ns);
	}
	return false;
}

/* Moves to the next call, due at *at_ns or later. Return: it, or NULL at the end */
static const struct demo_call *call_next(const struct demo_play *p, struct demo_thread *t, uint64_t *at_ns)
{
	for (;;) {
		const struct demo_step *step = &p->scenario->phases[t->phase].steps[t - p->threads];

		for (; t->call < step->n_calls; t->call++, t->repeat = 0) {
			const struct demo_call *call = &step->calls[t->call];

			if (t->repeat < call->times && (!call->every || t->step % call->every == 0)) {
				t->repeat++;
				return call;
			}
		}
		if (!step_next(p, t, at_ns))
			return NULL;
	}
}

/* @work_ns: the program's own work after the previous call; asleep from then on */
static void between_fill(struct demo_turn *turn, const struct demo_turn *before, uint64_t work_ns)
{
	turn->between_ns = before->call ? before->end_ns : turn->start_ns;
	for (int i = BLAME_ON_CPU + 1; before->call && i < BLAME_COUNT; i++)
		turn->away_ns[i] = work_ns / 100 * before->call->away[i];
	if (before->call)
		turn->away_ns[BLAME_SLEEP] += turn->start_ns - before->end_ns - work_ns;
}

/* @work_ns: the program's own work before it, from @at_ns on */
static void turn_next(struct demo_play *p, struct demo_thread *t, uint64_t at_ns, uint64_t work_ns)
{
	uint64_t start_ns = at_ns + work_ns;
	const struct demo_call *call = call_next(p, t, &start_ns);
	const struct demo_turn before = t->turn;
	struct demo_turn *turn = &t->turn;
	uint64_t duration_ns;

	*turn = (struct demo_turn){ .call = call };
	if (!call) {
		t->end_ns = at_ns;
		return;
	}
	turn->op = op_find(call->op);
	duration_ns = spread_ns(p, call->usual_ns, call->spread);
	for (int i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++)
		turn->blame_ns[i] = duration_ns / 100 * call->percent[i];
	if (call->rare_every && random_next(p) % call->rare_every == 0) {
		uint64_t rare_ns = spread_ns(p, call->rare_ns, call->spread);

		turn->blame_ns[BLAME_RUNNABLE] += rare_ns;
		duration_ns += rare_ns;
	}
	turn->start_ns = start_ns;
	turn->end_ns = start_ns + duration_ns;
	between_fill(turn, &before, work_ns);
}

/* ---- a call that has ended ---- */

static struct figure_cell *cell_of(struct demo_play *p, const struct op *op)
{
	for (uint32_t i = 1; i < p->cells_used; i++)
		if (p->cells[i].slot == DEMO_SLOT && p->cells[i].op == op->id)
			return &p->cells[i];
	p->cells[p->cells_used].op = op->id;
	p->cells[p->cells_used].slot = DEMO_SLOT;
	return &p->cells[p->cells_used++];
}

static void arguments_fill(const struct demo_turn *turn, struct call_record *c)
{
	static const uint64_t values[OP_MEANING_COUNT] = {
		[OP_MEANING_POINTER] = 0x7f3a40000000,
		[OP_MEANING_FUNCTION] = 0x55d0c2a04710,
		[OP_MEANING_STREAM] = 0x55d0c4b1e2f0,
		[OP_MEANING_EVENT] = 0x55d0c4b20a80,
		[OP_MEANING_COPY_KIND] = 1, /* host to device */
	};

	for (size_t i = 0; i < ARRAY_SIZE(c->args); i++)
		c->args[i] =
			turn->op->meaning[i] == OP_MEANING_BYTES ? turn->call->bytes : values[turn->op->meaning[i]];
}

/* The rule of the kernel half: bpf/call.bpf.c. */
static uint32_t reason_of(const struct demo_play *p, struct demo_thread *t, const struct figure_cell *cell,
			  uint64_t duration_ns)
{
	const struct op *op = t->turn.op;
	uint32_t reason = 0;

	if (!p->records_any)
		return 0;
	if (cell->slow_ns && duration_ns > cell->slow_ns)
		reason |= RECORD_REASON_SLOW;
	if (op->traits & OP_SYNC)
		reason |= RECORD_REASON_SYNC;
	if (op->traits & OP_MEMORY)
		reason |= RECORD_REASON_ALLOC;
	if (p->records_all)
		reason |= RECORD_REASON_ALL;
	if (p->sample_every && ++t->sample >= p->sample_every) {
		t->sample = 0;
		reason |= RECORD_REASON_SAMPLE;
	}
	return reason;
}

/* Parts that add up to the whole: what rounding leaves is the first one's. */
static void hogs_add(const struct demo_play *p, uint64_t behind_ns[DEMO_HOGS], uint64_t runnable_ns)
{
	uint64_t left_ns = runnable_ns;

	for (int i = DEMO_HOGS - 1; i > 0; i--) {
		uint64_t part_ns = runnable_ns / 100 * p->scenario->hogs[i].percent;

		behind_ns[i] += part_ns;
		left_ns -= part_ns;
	}
	if (p->scenario->hogs[0].tgid)
		behind_ns[0] += left_ns;
}

/* The rule of the kernel half: bpf/record.h. */
static struct account_op *account_op_of(struct thread_account *a, uint32_t op)
{
	for (uint32_t i = 0; i < ACCOUNT_TRIES; i++) {
		struct account_op *at = &a->ops[(op + i) % ACCOUNT_OPS];

		if (!at->op)
			at->op = op;
		if (at->op == op)
			return at;
	}
	return &a->rest;
}

/* The resource of a wait of a class in these programs. */
static const struct demo_resource {
	uint64_t resource;
	enum resource_kind kind;
	const char *name;
} resources[BLAME_COUNT] = {
	[BLAME_DEVICE] = { 195ull << 20, RESOURCE_DEVICE, "nvidia0" },
	[BLAME_LOCK] = { 0x55d0c4c07a40, RESOURCE_FUTEX, "" },
	[BLAME_BLOCK_IO] = { 1310738, RESOURCE_INODE, "libcublasLt.so.12" },
};

/* @op: 0 between calls. The process's other thread releases a lock; an interrupt ends the other waits. */
static void demo_wait_add(struct demo_play *p, const struct demo_thread *t, uint32_t op, enum blame_class class,
			  uint64_t ns)
{
	struct wait_key key = {
		.resource = resources[class].resource,
		.tid = t->tid,
		.slot = DEMO_SLOT,
		.op = (uint16_t)op,
		.class = (uint8_t) class,
		.kind = (uint8_t)resources[class].kind,
	};
	struct wait_value *value;
	size_t i = 0;

	if (ns < WAIT_LEAST_NS || !key.kind)
		return;
	if (class == BLAME_LOCK) {
		key.waker_tgid = DEMO_TGID;
		key.waker_tid = DEMO_TGID + DEMO_THREADS - 1 - (t->tid - DEMO_TGID);
	}
	while (i < p->n_waits && memcmp(&p->waits[i].key, &key, sizeof(key)) != 0)
		i++;
	if (i == DEMO_WAITS)
		return;
	p->n_waits = MAX(p->n_waits, i + 1);
	p->waits[i].key = key;
	value = &p->waits[i].value;
	value->ns += ns;
	value->max_ns = MAX(value->max_ns, ns);
	value->count++;
	memcpy(value->name, resources[class].name, strlen(resources[class].name));
	if (key.waker_tgid) {
		value->waker_uid = p->slots[DEMO_SLOT].uid;
		memcpy(value->waker_comm, p->slots[DEMO_SLOT].comm, sizeof(value->waker_comm));
	}
}

static void account_add_turn(struct demo_play *p, struct demo_thread *t)
{
	const struct demo_turn *turn = &t->turn;
	struct account_op *op = account_op_of(&t->account, turn->op->id);

	op->ns += turn->end_ns - turn->start_ns;
	for (int i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++) {
		op->blame_ns[i] += turn->blame_ns[i];
		t->account.away_ns[i] += turn->away_ns[i];
		demo_wait_add(p, t, turn->op->id, (enum blame_class)i, turn->blame_ns[i]);
		demo_wait_add(p, t, 0, (enum blame_class)i, turn->away_ns[i]);
	}
	t->account.calls++;
	t->account.changes++;
}

static void turn_finish(struct demo_play *p, struct demo_thread *t)
{
	const struct process_slot *slot = &p->slots[DEMO_SLOT];
	const struct demo_turn *turn = &t->turn;
	struct figure_cell *cell = cell_of(p, turn->op);
	uint64_t duration_ns = turn->end_ns - turn->start_ns;
	uint32_t reason = reason_of(p, t, cell, duration_ns);
	struct call_record c = {
		.start_ns = turn->start_ns,
		.duration_ns = duration_ns,
		.raw_ns = duration_ns, /* nothing was traced, so nothing is subtracted */
		.tgid = slot->tgid,
		.tid = t->tid,
		.uid = slot->uid,
		.slot = DEMO_SLOT,
		.type = RECORD_CALL,
		.op = turn->op->id,
		.reason = (uint8_t)reason,
	};

	cell->total_ns += duration_ns;
	cell->raw_ns += duration_ns;
	cell->max_ns = MAX(cell->max_ns, duration_ns);
	if (turn->op->meaning[0] == OP_MEANING_BYTES)
		cell->bytes += turn->call->bytes;
	cell->buckets[histogram_bucket_of(duration_ns)]++;
	for (int i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++)
		cell->blame_ns[i - 1] += turn->blame_ns[i];
	hogs_add(p, p->behind_ns, turn->blame_ns[BLAME_RUNNABLE]);
	hogs_add(p, p->behind_between_ns, turn->away_ns[BLAME_RUNNABLE]);
	account_add_turn(p, t);

	if (reason) {
		arguments_fill(turn, &c);
		for (int i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++)
			c.blame_ns[i] = turn->blame_ns[i];
		memcpy(c.comm, slot->comm, sizeof(c.comm));
		p->on_call(&c, p->data);
	}
	turn_next(p, t, turn->end_ns, spread_ns(p, turn->call->after_ns, turn->call->spread));
}

/* ---- the play ---- */

static struct demo_thread *thread_earliest(struct demo_play *p)
{
	struct demo_thread *first = NULL;

	for (size_t i = 0; i < DEMO_THREADS; i++) {
		struct demo_thread *t = &p->threads[i];

		if (t->turn.call && (!first || t->turn.end_ns < first->turn.end_ns))
			first = t;
	}
	return first;
}

uint64_t demo_play_length_ns(const struct demo_scenario *scenario)
{
	uint64_t length_ns = 0;

	for (size_t i = 0; i < scenario->n_phases; i++)
		length_ns += scenario->phases[i].length_ns;
	return length_ns;
}

int demo_play_init(struct demo_play *p, const struct demo_scenario *scenario, uint64_t seed)
{
	*p = (struct demo_play){ .scenario = scenario, .random = seed, .cells_used = 1 };
	p->slots = calloc(PROCESS_SLOTS, sizeof(p->slots[0]));
	p->cells = calloc(DEMO_CELLS, sizeof(p->cells[0]));
	if (p->slots && p->cells)
		return 0;
	demo_play_done(p);
	return -ENOMEM;
}

void demo_play_done(struct demo_play *p)
{
	free(p->slots);
	free(p->cells);
	p->slots = NULL;
	p->cells = NULL;
}

void demo_play_begin(struct demo_play *p, uint64_t start_ns, uint64_t start_boot_ns, uint32_t uid)
{
	p->start_ns = p->now_ns = start_ns;
	p->slots[DEMO_SLOT] = (struct process_slot){
		.start_boot_ns = start_boot_ns,
		.first_call_ns = start_ns,
		.tgid = DEMO_TGID,
		.uid = uid,
		.state = PROCESS_SLOT_LIVE,
		.comm = "python",
	};
	for (uint32_t i = 0; i < DEMO_THREADS; i++) {
		p->threads[i].tid = DEMO_TGID + i;
		turn_next(p, &p->threads[i], start_ns, 0);
		p->threads[i].account.since_ns = p->threads[i].turn.start_ns;
	}
}

bool demo_play_until(struct demo_play *p, uint64_t until_ns)
{
	struct demo_thread *t;

	while ((t = thread_earliest(p)) && t->turn.end_ns <= until_ns) {
		p->now_ns = t->turn.end_ns;
		turn_finish(p, t);
	}
	if (t) {
		p->now_ns = until_ns;
		return true;
	}
	p->slots[DEMO_SLOT].gone_ns = p->now_ns;
	p->slots[DEMO_SLOT].state = PROCESS_SLOT_GONE;
	return false;
}

int demo_play_release(struct demo_play *p, uint32_t slot)
{
	if (slot != DEMO_SLOT || p->slots[slot].state != PROCESS_SLOT_GONE)
		return -EINVAL;
	p->slots[slot].state = PROCESS_SLOT_FREE;
	memset(p->cells, 0, DEMO_CELLS * sizeof(p->cells[0]));
	p->cells_used = 1;
	p->n_waits = 0;
	return 0;
}

/* Waits so far: every part is split in proportion to the whole. */
static struct in_flight_record in_flight_of(const struct demo_play *p, const struct demo_thread *t)
{
	const struct demo_turn *turn = &t->turn;
	double ratio = (double)(p->now_ns - turn->start_ns) / (double)(turn->end_ns - turn->start_ns);
	struct in_flight_record r = {
		.start_ns = turn->start_ns,
		.now_ns = p->now_ns,
		.tgid = DEMO_TGID,
		.tid = t->tid,
		.slot = DEMO_SLOT,
		.op = turn->op->id,
	};

	for (int i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++)
		r.blame_ns[i] = (uint64_t)((double)turn->blame_ns[i] * ratio);
	return r;
}

size_t demo_play_in_flight(const struct demo_play *p, struct in_flight_record *ret, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < DEMO_THREADS; i++) {
		const struct demo_thread *t = &p->threads[i];

		if (!t->turn.call || t->turn.start_ns >= p->now_ns)
			continue;
		if (n < room)
			ret[n] = in_flight_of(p, t);
		n++;
	}
	return n;
}

/* ---- accounts ---- */

/* The current activity: a call, or the time before the next one. */
static void account_open(const struct demo_play *p, const struct demo_turn *turn, struct account_record *r)
{
	bool is_in = p->now_ns >= turn->start_ns;
	uint64_t since_ns = is_in ? turn->start_ns : turn->between_ns, until_ns = is_in ? turn->end_ns : turn->start_ns;
	const uint64_t *away_ns = is_in ? turn->blame_ns : turn->away_ns;
	double ratio = until_ns > since_ns ? (double)(p->now_ns - since_ns) / (double)(until_ns - since_ns) : 0;

	r->open_since_ns = since_ns;
	r->open_op = is_in ? turn->op->id : 0;
	for (int i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++) {
		r->open_ns[i] = (uint64_t)((double)away_ns[i] * ratio);
		r->account.away_ns[i] += is_in ? turn->away_ns[i] : 0;
	}
}

/* CPU time of a thread, equal to that of its account. */
static uint64_t account_runtime_ns(const struct account_record *r)
{
	uint64_t ns = r->now_ns - r->account.since_ns;

	for (int i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++) {
		ns -= r->account.away_ns[i] + r->open_ns[i] + r->account.rest.blame_ns[i];
		for (size_t k = 0; k < ACCOUNT_OPS; k++)
			ns -= r->account.ops[k].blame_ns[i];
	}
	return ns;
}

bool demo_play_account(const struct demo_play *p, size_t i, struct account_record *ret)
{
	const struct demo_thread *t = &p->threads[i];

	*ret = (struct account_record){
		.now_ns = t->turn.call ? p->now_ns : t->end_ns,
		.tgid = DEMO_TGID,
		.tid = t->tid,
		.changes = t->account.changes,
		.slot = DEMO_SLOT,
		.account = t->account,
	};
	if (p->slots[DEMO_SLOT].state == PROCESS_SLOT_FREE || !t->account.since_ns ||
	    ret->now_ns <= t->account.since_ns)
		return false;
	if (t->turn.call)
		account_open(p, &t->turn, ret);
	memcpy(ret->comm, p->slots[DEMO_SLOT].comm, sizeof(ret->comm));
	ret->runtime_ns = account_runtime_ns(ret);
	return true;
}
