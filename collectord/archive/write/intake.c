// SPDX-License-Identifier: Apache-2.0
#include "archive/write/intake.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "detect/finding.h"
#include "detect/finding_message.h"
#include "events/host.h"
#include "events/op.h"
#include "figures/tick.h"

#define BUCKET_NS (10 * NSEC_PER_SEC)
#define CLOCK_MOVED_NS                                                                                                 \
	((int64_t)NSEC_PER_MSEC) /* not noticeable; a clock that is slewed exceeds it every few minutes                \
				  */

/* Fields of message Lost: the reasons of gaps. */
static const char *const loss_names[LOSS_COUNT] = {
#define LOSS(reason, field, kind, one, many) [LOSS_##reason] = #field,
#include "bpf/losses.def"
};

void intake_done(struct intake *intake)
{
	batch_free(intake->batch);
	intake->batch = NULL;
	known_done(&intake->known);
	known_stacks_done(&intake->stacks);
	ARRAY_DONE(&intake->host);
	ARRAY_DONE(&intake->life_shares.items);
}

/*
 * Writes the row of a known process with its current name; if the process was taken for ended (gone.c), as alive again.
 * Return: number of the row, 0 without memory
 */
static uint32_t known_again(struct intake *intake, struct known_process *known, const struct process_identity *identity,
			    uint64_t first_ns)
{
	struct batch_process row = { .id = known->id,
				     .identity = *identity,
				     .first_ns = known->first_ns,
				     .gone_ns = first_ns > known->gone_ns ? 0 : known->gone_ns };

	if (batch_set_process(intake->batch, &row) < 0)
		return 0;
	known->gone_ns = row.gone_ns;
	return known->id;
}

void intake_gone(struct intake *intake, const struct process_identity *identity, uint64_t gone_ns)
{
	struct known_process *known = known_find(&intake->known, identity);
	struct batch_process row = { .identity = *identity, .gone_ns = gone_ns };

	if (!known || known->gone_ns)
		return;
	row.id = known->id;
	row.first_ns = known->first_ns;
	if (batch_set_process(intake->batch, &row) == 0)
		known->gone_ns = gone_ns; /* otherwise retried with the next tick that reports the end */
}

/* Ends the former, unguarded entry of a process that became guarded. Return: whether it had one */
static bool former_end(struct intake *intake, const struct process_identity *identity, uint64_t now_ns)
{
	struct process_identity former = *identity;

	former.flags &= ~PROCESS_GUARDED;
	if (former.flags == identity->flags || !known_find(&intake->known, &former))
		return false;
	intake_gone(intake, &former, now_ns);
	return true;
}

/* Whether to leave a guarded process out of a user's own file; its former entry ends and stays in the file. */
static bool is_skipped(struct intake *intake, const struct process_identity *identity, uint64_t now_ns)
{
	if (!intake->skips_guarded || !(identity->flags & PROCESS_GUARDED))
		return false;
	(void)former_end(intake, identity, now_ns);
	return true;
}

/* Row number of a process that has data at now_ns, added if it is new; 0 without memory. */
static uint32_t identity_row(struct intake *intake, const struct process_identity *identity, uint64_t first_ns,
			     uint64_t now_ns)
{
	struct known_process *found = known_find(&intake->known, identity);
	struct known_process made = { .start_boot_ns = identity->start_boot_ns,
				      .first_ns = first_ns,
				      .tgid = identity->tgid,
				      .exec_gen = identity->exec_gen,
				      .flags = identity->flags,
				      .id = intake->known.next_id };

	if (found)
		return known_again(intake, found, identity, first_ns);
	if (former_end(intake, identity, now_ns))
		made.first_ns = now_ns;
	if (batch_set_process(
		    intake->batch,
		    &(struct batch_process){ .id = made.id, .identity = *identity, .first_ns = made.first_ns }) < 0)
		return 0;
	intake->known.next_id++; /* even if known_add() fails: its row is in the batch */
	(void)known_add(&intake->known, &made);
	return made.id;
}

static uint32_t process_row(struct intake *intake, struct process *process, uint64_t first_ns, uint64_t now_ns)
{
	if (!process->row)
		process->row = identity_row(intake, &process->identity, first_ns, now_ns);
	return process->row;
}

/* If more data of the process arrives, its row is looked up again, because the process has not ended. */
static void process_gone(struct intake *intake, struct process *process, uint64_t gone_ns)
{
	intake_gone(intake, &process->identity, gone_ns);
	process->row = 0;
}

void intake_gap(struct intake *intake, uint64_t from_ns, uint64_t to_ns, const char *reason, uint64_t count,
		uint32_t uid)
{
	struct batch_gap gap = { .t0_ns = from_ns, .t1_ns = to_ns, .count = count, .uid = uid };

	(void)snprintf(gap.reason, sizeof(gap.reason), "%s", reason);
	(void)batch_add_gap(intake->batch, &gap); /* fails only without memory; then its data is not stored either */
}

static void event_lost(struct intake *intake, const struct event *event)
{
	uint64_t start_ns = event_header(event)->start_ns, end_ns = start_ns + (event->call ? event->call->raw_ns : 0);

	intake->n_lost++;
	intake_gap(intake, start_ns, end_ns, intake->loss_reason, 1, event->process->identity.uid);
}

static int event_pack(struct batch *batch, const struct stored_event *stored, uint32_t uid)
{
	struct batch_tail *tail = batch_tail(batch, uid);
	size_t before;
	int r;

	if (!tail)
		return -ENOMEM;
	before = tail->data.n;
	r = tail_append(&tail->data, tail->n ? &tail->last : NULL, stored);
	if (r < 0) {
		tail->data.n = before;
		tail->data.failed = false;
		return r;
	}
	batch_grow(batch, uid, tail->data.n - before);
	tail->last = *stored;
	tail->n++;
	tail->t0_ns = MIN(tail->t0_ns, stored->call.start_ns);
	tail->t1_ns = MAX(tail->t1_ns, stored->call.start_ns + stored->call.duration_ns);
	batch->n_events++;
	return 0;
}

/* Fills the columns of a life record (exec, fork, exit, kill); columns that only calls have stay 0. */
static void host_fill(const struct life_record *life, struct stored_event *stored)
{
	const struct host_values values = host_values(life);

	stored->call.header = life->header;
	memcpy(stored->call.args, values.args, sizeof(values.args));
	stored->call.ret = values.ret;
}

/* Counts an event that is no call, until the next tick. Return: 0 or -ENOMEM */
static int host_count(struct intake *intake, const struct stored_event *stored, uint32_t uid)
{
	struct intake_host fresh = { .process = stored->process, .op = stored->op, .uid = uid, .n = 1 };

	/* A process that forks often does so repeatedly; other events are few in a second. */
	for (size_t i = intake->host.n; i-- > 0;)
		if (intake->host.items[i].process == fresh.process && intake->host.items[i].op == fresh.op) {
			intake->host.items[i].n++;
			return 0;
		}
	return ARRAY_PUSH(&intake->host, fresh);
}

/*
 * Whether there is room for an event: always, unless its process has no row yet and made no call. Kills for want of
 * memory are few, and matter.
 */
static bool event_has_room(struct intake *intake, const struct event *event)
{
	const struct process_identity *who = &event->process->identity;

	if (event->call || event->process->row || event->life->type == RECORD_OOM || known_find(&intake->known, who))
		return true;
	return life_share_take(&intake->life_shares, who->uid, event->life->time_ns);
}

void intake_event(struct intake *intake, const struct event *event)
{
	const struct process_identity *who = &event->process->identity;
	uint64_t start_ns = event_header(event)->start_ns;
	struct stored_event stored = { .measured = event->measured };

	if (is_skipped(intake, who, start_ns))
		return;
	if (!batch_has_room(intake->batch, who->uid, INTAKE_BYTES_MAX)) {
		event_lost(intake, event);
		return;
	}
	if (!event_has_room(intake, event)) {
		intake_gap(intake, start_ns, start_ns, loss_names[LOSS_LIFE_FULL], 1, who->uid);
		return;
	}
	if (event->life)
		host_fill(event->life, &stored);
	else
		stored.call = *event->call;
	stored.process = process_row(intake, event->process, start_ns, start_ns);
	stored.op = known_op(&intake->known, event->op, intake->batch);
	stored.stack = intake_stack_row(intake, event);
	if (stored.process && event->life && host_count(intake, &stored, who->uid) < 0)
		event_lost(intake, event);
	else if (!stored.process || event_pack(intake->batch, &stored, who->uid) < 0)
		event_lost(intake, event);
	if (stored.process && event->life && event->life->type == RECORD_EXIT)
		process_gone(intake, event->process, event->life->time_ns);
}

/* Row of an operation; 0 for 0, which in an account means no operation, or several. */
static uint32_t account_op(struct intake *intake, uint32_t op)
{
	const struct op *known = op ? op_get(op) : NULL;

	return known ? known_op(&intake->known, known, intake->batch) : 0;
}

/* Return: 0 or -ENOMEM */
static int accounts_add(struct intake *intake, struct figures_blob *blob, uint32_t row, const struct tick_process *p)
{
	int r = 0;

	for (size_t i = 0; i < p->accounts.n; i++) {
		const struct account *a = &p->accounts.items[i];

		for (size_t k = 0; r == 0 && k < a->parts.n; k++) {
			const struct account_part *part = &a->parts.items[k];
			struct stored_part stored = { .ns = part->ns,
						      .process = row,
						      .tid = a->tid,
						      .op = account_op(intake, part->op),
						      .where = part->where,
						      .class = part->class,
						      .is_driving = a->is_driving };

			r = figures_blob_add_part(blob, &stored);
		}
	}
	for (size_t i = 0; r == 0 && i < p->waits.n; i++) {
		struct stored_wait stored = { .process = row, .wait = p->waits.items[i] };

		stored.wait.op = account_op(intake, stored.wait.op);
		stored.wait.is_open = false;
		stored.wait.earlier_ns = 0;
		r = figures_blob_add_wait(blob, &stored);
	}
	return r;
}

/* Return: 0 or -ENOMEM */
static int batch_figures_add(struct intake *intake, struct batch_figures *bucket, const struct tick *tick,
			     const struct tick_process *p)
{
	const struct process_identity *who = &p->process->identity;
	uint32_t row = process_row(intake, p->process, p->first_call_ns, tick->from_ns);
	struct figures_blob *blob = row ? batch_owner(bucket, who->uid) : NULL;
	int r = 0;

	if (!blob)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < p->ops.n; i++) {
		const struct tick_op *o = &p->ops.items[i];
		struct stored_figures stored = {
			.process = row,
			.op = known_op(&intake->known, o->op, intake->batch),
			.measured = tick->measured,
			.figures = o->figures,
		};

		r = figures_blob_add(blob, &stored);
	}
	for (size_t i = 0; r == 0 && i < p->host.n; i++) {
		const struct tick_op *o = &p->host.items[i];
		struct stored_figures stored = { .process = row,
						 .op = o->op->id,
						 .measured = op_is_measured(o->op) ? tick->measured : 0,
						 .figures = o->figures };

		r = figures_blob_add(blob, &stored);
	}
	for (size_t i = 0; r == 0 && i < p->behind.n; i++) {
		const struct behind_figures *b = &p->behind.items[i];
		struct stored_behind stored = { .process = row,
						.tgid = b->tgid,
						.uid = b->uid,
						.ns = b->ns,
						.is_between = b->is_between,
						.is_guarded = b->is_guarded };

		memcpy(stored.comm, b->comm, sizeof(stored.comm));
		r = figures_blob_add_behind(blob, &stored);
	}
	return r ? r : accounts_add(intake, blob, row, p);
}

/* Return: 0 or -ENOMEM */
static int host_add(struct batch_figures *bucket, const struct intake_host *host)
{
	struct figures_blob *blob = batch_owner(bucket, host->uid);
	struct stored_figures stored = { .process = host->process, .op = host->op, .figures.untimed = host->n };

	return blob ? figures_blob_add(blob, &stored) : -ENOMEM;
}

static void clock_follow(struct intake *intake, uint64_t now_ns)
{
	uint64_t unix_ns = intake->clock.to_unix_ns(now_ns, intake->clock.data);
	int64_t offset_ns = (int64_t)(unix_ns - now_ns), moved_ns = offset_ns - intake->offset_ns;

	intake->batch->now_ns = now_ns;
	intake->batch->now_unix_ns = unix_ns;
	if (moved_ns >= -CLOCK_MOVED_NS && moved_ns <= CLOCK_MOVED_NS)
		return;
	if (ARRAY_PUSH(&intake->batch->clocks, ((struct batch_clock){ .mono_ns = now_ns, .unix_ns = unix_ns })) == 0)
		intake->offset_ns = offset_ns; /* otherwise with the next tick */
}

static bool tick_has_figures(const struct tick_process *p)
{
	return p->ops.n || p->host.n || p->behind.n || p->accounts.n || p->waits.n;
}

/*
 * Adds a gap for each library that was attached late. The gap belongs to the owner of the process, and ends at the
 * attach.
 *
 * Return: number of late loads that have an owner; the caller reports the others without one
 */
static uint64_t lates_gap(struct intake *intake, const struct tick *tick)
{
	for (size_t i = 0; i < tick->lates.n; i++) {
		const struct tick_late *late = &tick->lates.items[i];

		if (!late->is_guarded || !intake->skips_guarded)
			intake_gap(intake, late->from_ns, late->to_ns, loss_names[LOSS_LATE_LOAD], 1, late->uid);
	}
	return MIN(tick->lates.n, tick->losses[LOSS_LATE_LOAD]);
}

void intake_tick(struct intake *intake, const struct tick *tick)
{
	struct batch_figures *bucket;
	uint64_t middle_ns;
	bool is_kept = true;

	clock_follow(intake, tick->to_ns);
	/* A tick belongs to the bucket of its middle: the reading nearest to a bound of a bucket becomes the bound. */
	middle_ns = tick->from_ns + (tick->to_ns - tick->from_ns) / 2 + (uint64_t)intake->offset_ns;
	bucket = batch_figures(intake->batch, (int64_t)(middle_ns / BUCKET_NS), tick->from_ns, tick->to_ns);
	for (size_t i = 0; i < tick->processes.n; i++) {
		const struct tick_process *p = &tick->processes.items[i];

		if (is_skipped(intake, &p->process->identity, tick->from_ns))
			continue;
		if (tick_has_figures(p) && (!bucket || batch_figures_add(intake, bucket, tick, p) < 0))
			is_kept = false;
		if (p->gone_ns)
			process_gone(intake, p->process, p->gone_ns);
	}
	for (size_t i = 0; i < intake->host.n; i++)
		if (!bucket || host_add(bucket, &intake->host.items[i]) < 0)
			is_kept = false;
	intake->host.n = 0;
	if (!is_kept)
		intake_gap(intake, tick->from_ns, tick->to_ns, "store_queue", 0, UINT32_MAX);
	for (size_t i = 0; i < LOSS_COUNT; i++) {
		uint64_t n = tick->losses[i] - (i == LOSS_LATE_LOAD ? lates_gap(intake, tick) : 0);

		if (n)
			intake_gap(intake, tick->from_ns, tick->to_ns, loss_names[i], n, UINT32_MAX);
	}
	for (size_t i = 0; i < tick->user_losses.n; i++) {
		const struct tick_user_loss *loss = &tick->user_losses.items[i];

		intake_gap(intake, tick->from_ns, tick->to_ns, loss_names[loss->reason], loss->n, loss->uid);
	}
	if (tick->refused)
		intake_gap(intake, tick->from_ns, tick->to_ns, "decode", tick->refused, UINT32_MAX);
	if (tick->system)
		(void)batch_add_sample(intake->batch, tick->system); /* a loss is no gap: more will follow */
}

static uint64_t clock_map(uint64_t monotonic_ns, void *data)
{
	const struct intake *intake = data;

	return monotonic_ns + (uint64_t)intake->offset_ns;
}

static int finding_pack(struct intake *intake, const struct finding *finding, struct buf *out)
{
	struct arena arena = ARENA_INIT;
	Ingero__V1__Finding *message = finding_to_message(finding, intake->boot, clock_map, intake, &arena);
	size_t n = message ? ingero__v1__finding__get_packed_size(message) : 0;
	uint8_t *room = message ? buf_reserve(out, n) : NULL;

	if (room)
		out->n += ingero__v1__finding__pack(message, room);
	arena_done(&arena);
	return room ? 0 : -ENOMEM;
}

void intake_finding(struct intake *intake, const struct finding *finding)
{
	struct batch_finding row = { .id = finding->id,
				     .uid = finding->process.uid,
				     .severity = (int)finding->severity,
				     .start_ns = finding->start_ns,
				     .end_ns = finding->end_ns,
				     .data = BUF_INIT };

	if (is_skipped(intake, &finding->process, finding->start_ns))
		return;
	(void)snprintf(row.kind, sizeof(row.kind), "%s", finding->kind);
	row.process = identity_row(intake, &finding->process, finding->start_ns, finding->start_ns);
	if (!row.process || !batch_has_room(intake->batch, row.uid, INTAKE_BYTES_MAX) ||
	    finding_pack(intake, finding, &row.data) < 0 || batch_take_finding(intake->batch, &row) < 0) {
		buf_done(&row.data);
		intake_gap(intake, finding->start_ns, MAX(finding->end_ns, finding->start_ns), "store_queue", 0,
			   finding->process.uid);
	}
}
