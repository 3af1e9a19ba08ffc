// SPDX-License-Identifier: Apache-2.0
#include "archive/write/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "clock.h"

#define LOG_TOPIC "store"

#define ROOM_BYTES ((uint64_t)700 << 10) /* deleted at once for a full disk */

struct writer_owner *writer_owner(struct writer *writer, uint32_t uid)
{
	for (size_t i = 0; i < writer->owners.n; i++)
		if (writer->owners.items[i].uid == uid)
			return &writer->owners.items[i];
	if (ARRAY_PUSH(&writer->owners, ((struct writer_owner){ .uid = uid })) < 0)
		return NULL;
	return &writer->owners.items[writer->owners.n - 1];
}

int writer_unix_ns(struct writer *writer, int64_t boot, uint64_t mono_ns, uint64_t *ret_unix_ns)
{
	static const enum db_statement which[] = { DB_CLOCK_AT, DB_CLOCK_FIRST };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(which) && r == 0; i++) {
		CLEANUP(sql_resetp) sqlite3_stmt *s = db_statement(&writer->db, which[i]);

		(void)sqlite3_bind_int64(s, 1, boot);
		if (which[i] == DB_CLOCK_AT)
			(void)sqlite3_bind_int64(s, 2, (int64_t)mono_ns);
		r = sql_step(s);
		if (r > 0)
			*ret_unix_ns = mono_ns + (uint64_t)sqlite3_column_int64(s, 0);
	}
	return r > 0 ? 0 : r < 0 ? r : -ENODATA;
}

int writer_find_oldest(struct writer *writer)
{
	static const char *const texts[] = {
		"SELECT boot, min(t0) FROM block WHERE boot = (SELECT min(boot) FROM block)",
		"SELECT boot, min(t0) FROM tail WHERE boot = (SELECT min(boot) FROM tail)",
	};
	uint64_t oldest_ns = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++) {
		CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
		uint64_t unix_ns = 0;

		r = sql_prepare(writer->db.handle, texts[i], &s);
		r = r ? r : sql_step(s);
		if (r <= 0 || sqlite3_column_type(s, 1) == SQLITE_NULL) {
			r = MIN(r, 0);
			continue;
		}
		r = writer_unix_ns(writer, sqlite3_column_int64(s, 0), (uint64_t)sqlite3_column_int64(s, 1), &unix_ns);
		r = r == -ENODATA ? 0 : r;
		if (unix_ns && (!oldest_ns || unix_ns < oldest_ns))
			oldest_ns = unix_ns;
	}
	if (r == 0)
		writer->oldest_unix_ns = oldest_ns;
	return r;
}

static void gap_take(struct writer *writer, const struct batch_gap *gap, int *r)
{
	for (size_t i = 0; i < writer->gaps.n; i++) {
		struct writer_gap *g = &writer->gaps.items[i];

		if (g->gap.uid != gap->uid || strcmp(g->gap.reason, gap->reason) != 0 ||
		    gap->t0_ns > g->gap.t1_ns + BATCH_GAP_JOIN_NS)
			continue;
		g->gap.t0_ns = MIN(g->gap.t0_ns, gap->t0_ns);
		g->gap.t1_ns = MAX(g->gap.t1_ns, gap->t1_ns);
		g->gap.count += gap->count;
		g->is_dirty = true;
		return;
	}
	if (ARRAY_PUSH(&writer->gaps,
		       ((struct writer_gap){
			       .id = writer->next_gap, .boot = writer->boot, .is_dirty = true, .gap = *gap })) < 0)
		*r = -ENOMEM;
	else
		writer->next_gap++;
}

int writer_take(struct writer *writer, struct batch *batch)
{
	int r = 0;

	writer->batch = batch;
	writer->first_tail = writer->next_tail;
	writer->next_tail += (int64_t)batch->tails.n;
	writer->last_stack = MAX(writer->last_stack, batch->last_stack);
	stopped_drop(writer, batch);
	if (batch->now_ns) {
		writer->now_ns = batch->now_ns;
		writer->now_unix_ns = batch->now_unix_ns;
	}
	for (size_t i = 0; i < batch->figures.n; i++) {
		int one = buckets_add(&writer->buckets, &batch->figures.items[i]);

		if (one == 0)
			continue;
		r = one;
		gap_take(writer,
			 &(struct batch_gap){ .t0_ns = batch->figures.items[i].t0_ns,
					      .t1_ns = batch->figures.items[i].t1_ns,
					      .uid = UINT32_MAX,
					      .reason = "store_queue" },
			 &r);
	}
	for (size_t i = 0; i < batch->gaps.n; i++)
		gap_take(writer, &batch->gaps.items[i], &r);
	for (size_t i = 0; i < batch->ops.n; i++)
		if (ARRAY_PUSH(&writer->ops, batch->ops.items[i]) < 0)
			r = -ENOMEM;
	return r;
}

static int put_clocks(struct writer *writer)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < writer->batch->clocks.n; i++) {
		const struct batch_clock *c = &writer->batch->clocks.items[i];
		sqlite3_stmt *s = db_statement(&writer->db, DB_PUT_CLOCK);

		SQL_INTS(s, 1, writer->boot, (int64_t)c->mono_ns, (int64_t)c->unix_ns);
		r = sql_run(s);
	}
	return r;
}

int writer_put_op(struct writer *writer, const struct batch_op *op)
{
	sqlite3_stmt *s = db_statement(&writer->db, DB_PUT_OP);

	(void)sqlite3_bind_int64(s, 1, op->id);
	sql_text(s, 2, op->source);
	sql_text(s, 3, op->name);
	return sql_run(s);
}

static int put_ops(struct writer *writer)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < writer->batch->ops.n; i++)
		r = writer_put_op(writer, &writer->batch->ops.items[i]);
	return r;
}

/* Unknown values stay NULL, the initial value of a statement's parameters. */
static void bind_program(sqlite3_stmt *s, const struct program *program)
{
	const char *const texts[] = { program->script, program->executable, program->container };
	const struct program_number numbers[] = { program->rank, program->local_rank, program->world_size };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i][0])
			sql_text(s, 12 + (int)i, texts[i]);
	if (program->cgroup_id)
		(void)sqlite3_bind_int64(s, 15, (int64_t)program->cgroup_id);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (numbers[i].is_known)
			(void)sqlite3_bind_int64(s, 16 + (int)i, numbers[i].value);
}

int writer_put_process(struct writer *writer, const struct batch_process *p)
{
	sqlite3_stmt *s = db_statement(&writer->db, DB_PUT_PROCESS);

	SQL_INTS(s, 1, p->id, writer->boot, p->identity.tgid, (int64_t)p->identity.start_boot_ns,
		 (int64_t)p->identity.start_unix_ns, p->identity.exec_gen, p->identity.uid, p->identity.flags);
	(void)sqlite3_bind_text(s, 9, p->identity.comm, (int)strnlen(p->identity.comm, RECORD_COMM_BYTES),
				SQLITE_STATIC);
	(void)sqlite3_bind_int64(s, 10, (int64_t)p->first_ns);
	if (p->gone_ns)
		(void)sqlite3_bind_int64(s, 11, (int64_t)p->gone_ns);
	bind_program(s, &p->identity.program);
	return sql_run(s);
}

static int put_processes(struct writer *writer)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < writer->batch->processes.n; i++) {
		const struct batch_process *p = &writer->batch->processes.items[i];

		r = stopped_is(writer, p->identity.uid) ? stopped_put_ends(writer, p) : writer_put_process(writer, p);
	}
	return r;
}

static int put_tails(struct writer *writer)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < writer->batch->tails.n; i++) {
		const struct batch_tail *t = &writer->batch->tails.items[i];
		sqlite3_stmt *s = db_statement(&writer->db, DB_PUT_TAIL);

		if (!t->n)
			continue;
		SQL_INTS(s, 1, writer->first_tail + (int64_t)i, t->uid, writer->boot, (int64_t)t->t0_ns,
			 (int64_t)t->t1_ns, t->n, codec_crc(t->data.data, t->data.n));
		(void)sqlite3_bind_blob64(s, 8, t->data.data, t->data.n, SQLITE_STATIC);
		r = sql_run(s);
	}
	return r;
}

/* Deletes old parts, of which this row or an earlier one of its kind is the sum. */
static int parts_delete(struct writer *writer, int64_t boot, const struct bucket_row *row)
{
	sqlite3_stmt *s = db_statement(&writer->db, DB_DELETE_PARTS);
	uint64_t keep_ns = row->data.n > BUCKET_PARTS_BYTES ? 0 : BUCKET_PARTS_NS;
	uint64_t from_ns = row->t1_ns > keep_ns ? row->t1_ns - keep_ns : 0;

	SQL_INTS(s, 1, bucket_level_s[BUCKET_PARTS], row->uid, boot, (int64_t)from_ns);
	return sql_run(s);
}

int writer_put_figures(struct writer *writer, int64_t boot, struct bucket_row *row)
{
	sqlite3_stmt *s = db_statement(&writer->db, DB_PUT_FIGURES);
	int r;

	if (!row->id)
		row->id = writer->next_figures++;
	SQL_INTS(s, 1, row->id, row->level_s, row->uid, boot, (int64_t)row->t0_ns, (int64_t)row->t1_ns, row->n,
		 row->crc);
	(void)sqlite3_bind_blob64(s, 9, row->data.data, row->data.n, SQLITE_STATIC);
	r = sql_run(s);
	if (r == 0 && row->level_s == bucket_level_s[BUCKET_PARTS + 1])
		r = parts_delete(writer, boot, row);
	return r;
}

static int put_figures(struct writer *writer)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < writer->buckets.rows.n; i++)
		r = writer_put_figures(writer, writer->boot, &writer->buckets.rows.items[i]);
	return r;
}

int writer_put_finding(struct writer *writer, const struct batch_finding *f)
{
	sqlite3_stmt *s = db_statement(&writer->db, DB_PUT_FINDING);
	char id[24];

	(void)snprintf(id, sizeof(id), "%016" PRIx64, f->id);
	sql_text(s, 1, id);
	SQL_INTS(s, 2, f->uid, writer->boot, f->process);
	sql_text(s, 5, f->kind);
	SQL_INTS(s, 6, f->severity, (int64_t)f->start_ns);
	if (f->end_ns)
		(void)sqlite3_bind_int64(s, 8, (int64_t)f->end_ns);
	(void)sqlite3_bind_int64(s, 9, codec_crc(f->data.data, f->data.n));
	(void)sqlite3_bind_blob64(s, 10, f->data.data, f->data.n, SQLITE_STATIC);
	return sql_run(s);
}

static int put_findings(struct writer *writer)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < writer->batch->findings.n; i++)
		r = writer_put_finding(writer, &writer->batch->findings.items[i]);
	return r;
}

static int put_stacks(struct writer *writer)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < writer->batch->stacks.n; i++)
		r = writer_put_stack(writer, &writer->batch->stacks.items[i]);
	for (size_t i = 0; r == 0 && i < writer->batch->stack_uses.n; i++) {
		const struct batch_stack_use *use = &writer->batch->stack_uses.items[i];
		sqlite3_stmt *s = db_statement(&writer->db, DB_USE_STACK);

		SQL_INTS(s, 1, use->id, (int64_t)use->last_ns);
		r = sql_run(s);
	}
	return r;
}

int writer_put_sample(struct writer *writer, const struct system_sample *m)
{
	sqlite3_stmt *s = db_statement(&writer->db, DB_PUT_SNAPSHOT);

	SQL_INTS(s, 1, writer->boot, (int64_t)m->time_ns);
	(void)sqlite3_bind_double(s, 3, m->cpu_ratio);
	(void)sqlite3_bind_double(s, 4, m->load_1min);
	SQL_INTS(s, 5, (int64_t)m->memory_bytes, (int64_t)m->available_bytes, (int64_t)m->swap_used_bytes,
		 (int64_t)m->major_faults);
	if (m->has_pressure) {
		(void)sqlite3_bind_double(s, 9, m->pressure_cpu);
		(void)sqlite3_bind_double(s, 10, m->pressure_memory);
		(void)sqlite3_bind_double(s, 11, m->pressure_io);
	}
	return sql_run(s);
}

static int put_samples(struct writer *writer)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < writer->batch->samples.n; i++)
		r = writer_put_sample(writer, &writer->batch->samples.items[i]);
	return r;
}

int writer_put_gap(struct writer *writer, int64_t id, int64_t boot, const struct batch_gap *gap)
{
	sqlite3_stmt *s = db_statement(&writer->db, DB_PUT_GAP);

	SQL_INTS(s, 1, id, boot, (int64_t)gap->t0_ns, (int64_t)gap->t1_ns);
	sql_text(s, 5, gap->reason);
	(void)sqlite3_bind_int64(s, 6, (int64_t)gap->count);
	if (gap->uid != UINT32_MAX)
		(void)sqlite3_bind_int64(s, 7, gap->uid);
	return sql_run(s);
}

static int put_gaps(struct writer *writer)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < writer->gaps.n; i++)
		if (writer->gaps.items[i].is_dirty)
			r = writer_put_gap(writer, writer->gaps.items[i].id, writer->gaps.items[i].boot,
					   &writer->gaps.items[i].gap);
	return r;
}

static int put_session(struct writer *writer, enum db_statement which)
{
	sqlite3_stmt *s = db_statement(&writer->db, which);

	SQL_INTS(s, 1, writer->session, (int64_t)writer->now_ns, writer->last_stack);
	return sql_run(s);
}

static int put_cost(struct writer *writer)
{
	sqlite3_stmt *s = db_statement(&writer->db, DB_COST_SESSION);

	if (!writer->batch->cost.n)
		return 0;
	(void)sqlite3_bind_int64(s, 1, writer->session);
	(void)sqlite3_bind_blob64(s, 2, writer->batch->cost.data, writer->batch->cost.n, SQLITE_STATIC);
	return sql_run(s);
}

static int put_back_end(struct writer *writer)
{
	sqlite3_stmt *s = db_statement(&writer->db, DB_BACK_END_SESSION);

	if (!writer->batch->back_end)
		return 0;
	(void)sqlite3_bind_int64(s, 1, writer->session);
	sql_text(s, 2, writer->batch->back_end);
	return sql_run(s);
}

static void written(struct writer *writer)
{
	for (size_t i = 0; writer->batch && i < writer->batch->tails.n; i++) {
		const struct batch_tail *t = &writer->batch->tails.items[i];
		struct writer_owner *owner = writer_owner(writer, t->uid);

		writer->tail_events += t->n;
		if (owner)
			owner->tail_events += t->n; /* otherwise it is sealed when the file is closed */
		if (t->n && !writer->tail_since_ns)
			writer->tail_since_ns = writer->now_ns;
	}
	for (size_t i = 0; writer->batch && i < writer->batch->processes.n; i++)
		names_set(&writer->names, &writer->batch->processes.items[i]);
	stopped_resumed(writer);
	batch_free(writer->batch);
	writer->batch = NULL;
	buckets_written(&writer->buckets);
	for (size_t i = writer->gaps.n; i-- > 0;) {
		writer->gaps.items[i].is_dirty = false;
		if (writer->gaps.items[i].gap.t1_ns + BATCH_GAP_JOIN_NS < writer->now_ns)
			ARRAY_REMOVE_SWAP(&writer->gaps, i);
	}
}

static int tails_write(struct writer *writer)
{
	uint64_t from_ns = clock_spent_ns();
	int r = put_tails(writer);

	writer->records_ns += clock_spent_ns() - from_ns;
	return r;
}

int writer_write(struct writer *writer)
{
	int r = db_begin(&writer->db);

	if (r == 0 && writer->batch) {
		r = put_clocks(writer);
		r = r ? r : put_ops(writer);
		r = r ? r : stopped_put_resumed(writer); /* the batch has the newer rows */
		r = r ? r : put_processes(writer);
		r = r ? r : tails_write(writer);
		r = r ? r : put_stacks(writer);
		r = r ? r : put_findings(writer);
		r = r ? r : put_samples(writer);
		r = r ? r : put_cost(writer);
		r = r ? r : put_back_end(writer);
	}
	r = r ? r : put_figures(writer);
	r = r ? r : put_gaps(writer);
	r = r ? r : put_session(writer, DB_SEEN_SESSION);
	r = r ? r : db_commit(&writer->db);
	if (r < 0) {
		db_rollback(&writer->db);
		return r;
	}
	written(writer);
	return 0;
}

static int seal_due(struct writer *writer)
{
	int r = 0;

	if (writer->tail_events < SEAL_EVENTS &&
	    !(writer->tail_since_ns && writer->now_ns - writer->tail_since_ns >= SEAL_NS))
		return 0;
	for (size_t i = 0; r == 0 && i < writer->owners.n; i++)
		if (writer->owners.items[i].tail_events)
			r = seal_owner(writer, writer->owners.items[i].uid, writer->boot);
	if (r == 0) {
		writer->tail_events = 0;
		writer->tail_since_ns = 0;
	}
	return r;
}

static int tails_seal(struct writer *writer)
{
	uint64_t from_ns = clock_spent_ns();
	int r = seal_due(writer);

	writer->records_ns += clock_spent_ns() - from_ns;
	return r;
}

static int size_due(struct writer *writer)
{
	int r = db_begin(&writer->db);

	return retention_commit(writer, r ? r : retention_by_size(writer));
}

int writer_tidy(struct writer *writer)
{
	int r = tails_seal(writer), one = writer->options.max_bytes ? size_due(writer) : 0;

	r = r ? r : one;
	if (writer->now_ns - writer->retained_ns >= SEAL_NS) {
		one = retention_by_age(writer);
		r = r ? r : one;
	}
	if (!writer->oldest_unix_ns) {
		one = writer_find_oldest(writer);
		r = r ? r : one;
	}
	one = scrub_some(writer);
	r = r ? r : one;
	one = db_checkpoint(&writer->db);
	return r ? r : one;
}

int writer_make_room(struct writer *writer)
{
	int r;

	/* Deleting writes to the log: a checkpoint first, so that the space of its old pages is reused. */
	(void)sqlite3_wal_checkpoint_v2(writer->db.handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	r = retention_delete_some(writer, ROOM_BYTES);
	return r == -ENOENT ? 0 : r;
}

static int end_session(struct writer *writer)
{
	int r = seal_all(writer);
	int one = buckets_close(&writer->buckets);

	one = one ? one : db_begin(&writer->db);
	one = one ? one : put_figures(writer);
	one = one ? one : put_session(writer, DB_END_SESSION);
	one = one ? one : retention_by_size(writer);
	one = one ? one : db_commit(&writer->db);
	db_rollback(&writer->db);
	return r ? r : one;
}

int writer_close(struct writer *writer)
{
	int r = 0;

	if (writer->session)
		r = end_session(writer);
	batch_free(writer->batch);
	buckets_done(&writer->buckets);
	ARRAY_DONE(&writer->gaps);
	ARRAY_DONE(&writer->retention_gaps);
	ARRAY_DONE(&writer->owners);
	names_done(&writer->names);
	ARRAY_DONE(&writer->ops);
	block_encoder_free(writer->encoder);
	db_close(&writer->db);
	place_close(&writer->place);
	*writer = (struct writer)WRITER_INIT;
	return r;
}
