// SPDX-License-Identifier: Apache-2.0
/*
 * Owners whose new data is not stored: they have most of a file that is full, and nothing of them can be deleted. What
 * is not stored is a gap of theirs. Rows of table process are written when they are stored again: later data refers to
 * them. Stacks of later calls get new rows.
 */
#include <string.h>

#include "archive/write/writer.h"

uint32_t stopped_owner(const struct writer *writer, uint32_t uid)
{
	const struct subordinate *together = &writer->options.together;

	return subordinate_has(together, uid) ? together->first : uid;
}

static enum owner_storing storing_of(const struct writer *writer, uint32_t uid)
{
	uid = stopped_owner(writer, uid);
	for (size_t i = 0; i < writer->owners.n; i++)
		if (writer->owners.items[i].uid == uid)
			return writer->owners.items[i].storing;
	return OWNER_STORED;
}

bool stopped_any(const struct writer *writer)
{
	for (size_t i = 0; i < writer->owners.n; i++)
		if (writer->owners.items[i].storing == OWNER_STOPPED)
			return true;
	return false;
}

bool stopped_is(const struct writer *writer, uint32_t uid)
{
	return storing_of(writer, uid) == OWNER_STOPPED;
}

void stopped_end(struct writer *writer)
{
	for (size_t i = 0; i < writer->owners.n; i++)
		if (writer->owners.items[i].storing == OWNER_STOPPED)
			writer->owners.items[i].storing = OWNER_RESUMES;
}

static void stopped_note(struct batch *batch, uint32_t uid, uint64_t t0_ns, uint64_t t1_ns, uint64_t n)
{
	struct batch_gap gap = { .t0_ns = t0_ns, .t1_ns = t1_ns, .count = n, .uid = uid, .reason = "size_limit" };

	(void)batch_add_gap(batch, &gap); /* fails only without memory */
}

void stopped_drop(struct writer *writer, struct batch *batch)
{
	if (!stopped_any(writer))
		return;
	for (size_t i = 0; i < batch->tails.n; i++) {
		struct batch_tail *t = &batch->tails.items[i];

		if (!t->n || !stopped_is(writer, t->uid))
			continue;
		stopped_note(batch, t->uid, t->t0_ns, t->t1_ns, t->n);
		writer->n_stopped += t->n;
		t->n = 0;
	}
	for (size_t i = 0; i < batch->figures.n; i++) {
		struct batch_figures *f = &batch->figures.items[i];

		for (size_t k = f->owners.n; k-- > 0;) {
			if (!stopped_is(writer, f->owners.items[k].uid))
				continue;
			stopped_note(batch, f->owners.items[k].uid, f->t0_ns, f->t1_ns, 0);
			figures_blob_done(&f->owners.items[k].blob);
			ARRAY_REMOVE_SWAP(&f->owners, k);
		}
	}
	for (size_t i = batch->stacks.n; i-- > 0;) {
		if (!stopped_is(writer, batch->stacks.items[i].uid))
			continue;
		free(batch->stacks.items[i].frames);
		ARRAY_REMOVE_SWAP(&batch->stacks, i);
	}
	for (size_t i = batch->findings.n; i-- > 0;) {
		struct batch_finding *f = &batch->findings.items[i];

		if (!stopped_is(writer, f->uid))
			continue;
		stopped_note(batch, f->uid, f->start_ns, MAX(f->end_ns, f->start_ns), 0);
		buf_done(&f->data);
		ARRAY_REMOVE_SWAP(&batch->findings, i);
	}
}

int stopped_put_ends(struct writer *writer, const struct batch_process *process)
{
	sqlite3_stmt *s = db_statement(&writer->db, DB_END_PROCESS);

	if (!process->gone_ns)
		return 0;
	SQL_INTS(s, 1, process->id, (int64_t)process->gone_ns);
	return sql_run(s);
}

int stopped_put_resumed(struct writer *writer)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < writer->names.items.n; i++) {
		const struct batch_process *p = &writer->names.items.items[i];

		if (!p->gone_ns && storing_of(writer, p->identity.uid) == OWNER_RESUMES)
			r = writer_put_process(writer, p);
	}
	return r;
}

void stopped_resumed(struct writer *writer)
{
	for (size_t i = 0; i < writer->owners.n; i++)
		if (writer->owners.items[i].storing == OWNER_RESUMES) {
			writer->owners.items[i].storing = OWNER_STORED;
			writer->stack_losses++; /* rows of its stacks were not stored */
		}
}
