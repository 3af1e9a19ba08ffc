// SPDX-License-Identifier: Apache-2.0
#include "probes/target_late.h"

#include <errno.h>
#include <signal.h>

#include "base/cleanup.h"
#include "clock.h"
#include "probes/target_file.h"

/* Between the mapping of a library and word of it by the loader; guess: all that one dlopen() maps comes in between. */
#define LOADER_LIMIT_NS (3 * NSEC_PER_SEC)

static bool pair_equal(const struct target_late_pair *a, const struct target_late_pair *b)
{
	return a->tgid == b->tgid && a->inode == b->inode && a->device == b->device;
}

/* Rings of pairs: the oldest is forgotten. */
static bool pairs_have(const struct target_late_pair *pairs, size_t n, const struct target_late_pair *pair)
{
	for (size_t i = 0; i < MIN(n, (size_t)TARGET_LATES_TOLD); i++)
		if (pair_equal(&pairs[i], pair))
			return true;
	return false;
}

static void pairs_add(struct target_late_pair *pairs, size_t *n, const struct target_late_pair *pair)
{
	if (!pairs_have(pairs, *n, pair))
		pairs[(*n)++ % TARGET_LATES_TOLD] = *pair;
}

void target_lates_done(struct target_lates *lates)
{
	ARRAY_DONE(&lates->suspects);
}

void target_lates_count(struct target_lates *lates)
{
	probe_set_loss_add(lates->probes, LOSS_LATE_LOAD, 1);
}

static void pair_count(struct target_lates *lates, const struct target_late_pair *pair)
{
	if (pairs_have(lates->counted, lates->n_counted, pair))
		return;
	pairs_add(lates->counted, &lates->n_counted, pair);
	target_lates_count(lates);
}

void target_lates_turned_away(struct target_lates *lates, uint32_t tgid, const struct target_file *file)
{
	const struct target_late_pair pair = { file->id.device, file->id.inode, tgid };

	pair_count(lates, &pair);
}

void target_lates_missed(struct target_lates *lates, const struct target_load *load)
{
	const struct target_late_pair pair = { load->file.device, load->file.inode, load->tgid };

	if (pair.inode)
		pair_count(lates, &pair);
	else
		target_lates_count(lates); /* the kernel does not say what file it was */
}

void target_lates_told(struct target_lates *lates, const struct target_load *load)
{
	const struct target_late_pair pair = { load->file.device, load->file.inode, load->tgid };

	pairs_add(lates->told, &lates->n_told, &pair);
	for (size_t i = lates->suspects.n; i-- > 0;)
		if (pair_equal(&lates->suspects.items[i].pair, &pair))
			ARRAY_REMOVE_SWAP(&lates->suspects, i);
}

void target_lates_judge(struct target_lates *lates, const struct target_load *load, struct target_file *file,
			bool has_loader)
{
	struct target_library *library = &file->library;
	struct target_suspect suspect = {
		.pair = { file->id.device, file->id.inode, load->tgid },
		.seen_ns = clock_now_ns(),
	};

	if (file->is_retried) { /* will be attached, perhaps; until then it runs unseen */
		pair_count(lates, &suspect.pair);
		return;
	}
	if (!library->probes || library->attached_ns <= load->time_ns)
		return;
	if (load->is_told || !has_loader) {
		library->late_ns = MAX(library->late_ns, library->attached_ns - load->time_ns);
		pair_count(lates, &suspect.pair);
	} else if (!pairs_have(lates->told, lates->n_told, &suspect.pair)) {
		(void)ARRAY_PUSH(&lates->suspects, suspect); /* without memory it is not counted */
	}
}

void target_lates_settle(struct target_lates *lates)
{
	for (size_t i = lates->suspects.n; i-- > 0;) {
		struct target_suspect suspect = lates->suspects.items[i];

		if (kill((pid_t)suspect.pair.tgid, 0) == 0 || errno != ESRCH)
			continue;
		ARRAY_REMOVE_SWAP(&lates->suspects, i);
		pair_count(lates, &suspect.pair);
	}
}

void target_lates_second(struct target_lates *lates, uint64_t now_ns)
{
	for (size_t i = lates->suspects.n; i-- > 0;) {
		struct target_suspect suspect = lates->suspects.items[i];

		if (now_ns - suspect.seen_ns < LOADER_LIMIT_NS)
			continue;
		ARRAY_REMOVE_SWAP(&lates->suspects, i);
		pair_count(lates, &suspect.pair);
	}
}
