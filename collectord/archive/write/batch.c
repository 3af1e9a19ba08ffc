// SPDX-License-Identifier: Apache-2.0
#include "archive/write/batch.h"

#include <errno.h>
#include <string.h>

/*
 * Maximum number of buckets in a batch: ten minutes, reached only if writing fails for long. Further figures are added
 * to the last bucket, whose bounds are extended.
 */
#define BATCH_BUCKETS_MAX 60
#define BATCH_SAMPLES_MAX 600 /* ten minutes, too */

int batch_new(struct batch **ret_batch)
{
	*ret_batch = calloc(1, sizeof(**ret_batch));
	return *ret_batch ? 0 : -ENOMEM;
}

void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	for (size_t i = 0; i < batch->tails.n; i++)
		buf_done(&batch->tails.items[i].data);
	ARRAY_DONE(&batch->tails);
	for (size_t i = 0; i < batch->figures.n; i++) {
		struct batch_figures *f = &batch->figures.items[i];

		for (size_t k = 0; k < f->owners.n; k++)
			figures_blob_done(&f->owners.items[k].blob);
		ARRAY_DONE(&f->owners);
	}
	ARRAY_DONE(&batch->figures);
	for (size_t i = 0; i < batch->findings.n; i++)
		buf_done(&batch->findings.items[i].data);
	ARRAY_DONE(&batch->findings);
	for (size_t i = 0; i < batch->stacks.n; i++)
		free(batch->stacks.items[i].frames);
	ARRAY_DONE(&batch->stacks);
	ARRAY_DONE(&batch->stack_uses);
	ARRAY_DONE(&batch->ops);
	ARRAY_DONE(&batch->processes);
	number_map_done(&batch->process_at);
	ARRAY_DONE(&batch->gaps);
	ARRAY_DONE(&batch->clocks);
	ARRAY_DONE(&batch->samples);
	ARRAY_DONE(&batch->shares);
	buf_done(&batch->cost);
	free(batch);
}

/* Index of the owner's share; their number: nothing of the owner is in the batch. */
static size_t owner_share_at(const struct batch *batch, uint32_t uid)
{
	size_t i = 0;

	while (i < batch->shares.n && batch->shares.items[i].uid != uid)
		i++;
	return i;
}

static uint32_t owner_of_share(const struct batch *batch, uint32_t uid)
{
	return subordinate_has(&batch->together, uid) ? batch->together.first : uid;
}

bool batch_has_room(const struct batch *batch, uint32_t uid, size_t most)
{
	size_t at = owner_share_at(batch, owner_of_share(batch, uid));
	size_t own = at < batch->shares.n ? batch->shares.items[at].bytes : 0;

	return batch->bytes < most && own < BATCH_SHARE_OF_FREE * (most - batch->bytes);
}

/* Without memory for a share the owner has none, and its data counts in the sum alone. */
void batch_grow(struct batch *batch, uint32_t uid, size_t n_bytes)
{
	const struct batch_share fresh = { .uid = owner_of_share(batch, uid) };
	size_t at = owner_share_at(batch, fresh.uid);

	batch->bytes += n_bytes;
	if (at < batch->shares.n || ARRAY_PUSH(&batch->shares, fresh) == 0)
		batch->shares.items[at].bytes += n_bytes;
}

/* Whether an owner has no calls. Its other figures, as of waiting threads, can be written some seconds later. */
static bool owner_is_idle(const struct figures_blob *blob)
{
	for (size_t i = 0; i < blob->figures.n; i++)
		if (op_is_call(op_get(blob->figures.items[i].op)))
			return false;
	return true;
}

bool batch_is_urgent(const struct batch *batch)
{
	if (batch->tails.n || batch->processes.n || batch->gaps.n || batch->findings.n || batch->stacks.n)
		return true;
	for (size_t i = 0; i < batch->figures.n; i++)
		for (size_t k = 0; k < batch->figures.items[i].owners.n; k++)
			if (!owner_is_idle(&batch->figures.items[i].owners.items[k].blob))
				return true;
	return false;
}

struct batch_tail *batch_tail(struct batch *batch, uint32_t uid)
{
	for (size_t i = 0; i < batch->tails.n; i++)
		if (batch->tails.items[i].uid == uid)
			return &batch->tails.items[i];
	if (ARRAY_PUSH(&batch->tails, ((struct batch_tail){ .uid = uid, .t0_ns = UINT64_MAX, .data = BUF_INIT })) < 0)
		return NULL;
	return &batch->tails.items[batch->tails.n - 1];
}

int batch_add_gap(struct batch *batch, const struct batch_gap *gap)
{
	for (size_t i = batch->gaps.n; i-- > 0;) {
		struct batch_gap *g = &batch->gaps.items[i];

		if (g->uid != gap->uid || strcmp(g->reason, gap->reason) != 0)
			continue;
		if (gap->t0_ns > g->t1_ns + BATCH_GAP_JOIN_NS)
			break;
		g->t0_ns = MIN(g->t0_ns, gap->t0_ns);
		g->t1_ns = MAX(g->t1_ns, gap->t1_ns);
		g->count += gap->count;
		return 0;
	}
	return ARRAY_PUSH(&batch->gaps, *gap);
}

int batch_set_process(struct batch *batch, const struct batch_process *process)
{
	uint32_t at = number_map_get(&batch->process_at, process->id);
	int r;

	if (at != NUMBER_NONE) {
		struct batch_process *row = &batch->processes.items[at];
		struct program program = row->identity.program;

		*row = *process;
		/* The program of a guarded process was not read again: keep what the entry has. */
		if (!row->identity.program.executable[0])
			row->identity.program = program;
		return 0;
	}
	r = ARRAY_PUSH(&batch->processes, *process);
	if (r == 0) {
		r = number_map_put(&batch->process_at, process->id, (uint32_t)batch->processes.n - 1);
		batch->processes.n -= r < 0;
	}
	return r;
}

int batch_take_finding(struct batch *batch, struct batch_finding *finding)
{
	for (size_t i = 0; i < batch->findings.n; i++) {
		struct batch_finding *f = &batch->findings.items[i];

		if (f->id != finding->id)
			continue;
		batch_grow(batch, finding->uid, finding->data.n - MIN(finding->data.n, f->data.n));
		buf_done(&f->data);
		*f = *finding;
		return 0;
	}
	batch_grow(batch, finding->uid, finding->data.n);
	return ARRAY_PUSH(&batch->findings, *finding);
}

int batch_add_stack(struct batch *batch, const struct batch_stack *row, const struct stack *stack)
{
	struct batch_stack fresh = *row;
	size_t n_bytes;

	fresh.is_complete = stack->is_complete;
	fresh.why = stack->why;
	fresh.frames = stack_frames_copy(stack->frames, stack->n_frames, &n_bytes);
	fresh.n_frames = stack->n_frames;
	if (!fresh.frames || ARRAY_PUSH(&batch->stacks, fresh) < 0) {
		free(fresh.frames);
		return -ENOMEM;
	}
	batch_grow(batch, row->uid, n_bytes);
	return 0;
}

struct batch_figures *batch_figures(struct batch *batch, int64_t bucket, uint64_t from_ns, uint64_t to_ns)
{
	struct batch_figures *last = batch->figures.n ? &batch->figures.items[batch->figures.n - 1] : NULL;

	if (last && (last->bucket == bucket || batch->figures.n >= BATCH_BUCKETS_MAX)) {
		last->t1_ns = to_ns;
		return last;
	}
	if (ARRAY_PUSH(&batch->figures,
		       ((struct batch_figures){ .bucket = bucket, .t0_ns = from_ns, .t1_ns = to_ns })) < 0)
		return NULL;
	return &batch->figures.items[batch->figures.n - 1];
}

struct figures_blob *batch_owner(struct batch_figures *figures, uint32_t uid)
{
	for (size_t i = 0; i < figures->owners.n; i++)
		if (figures->owners.items[i].uid == uid)
			return &figures->owners.items[i].blob;
	if (ARRAY_PUSH(&figures->owners, ((struct owner_figures){ .uid = uid })) < 0)
		return NULL;
	return &figures->owners.items[figures->owners.n - 1].blob;
}

int batch_add_sample(struct batch *batch, const struct system_sample *sample)
{
	if (batch->samples.n >= BATCH_SAMPLES_MAX)
		return 0;
	return ARRAY_PUSH(&batch->samples, *sample);
}
