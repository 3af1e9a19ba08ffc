// SPDX-License-Identifier: Apache-2.0
#include "probes/target_late.h"

#include <errno.h>
#include <signal.h>

#include "base/cleanup.h"
#include "clock.h"
#include "probes/target_file.h"
#include "procs/procfs.h"

/* Between the mapping of a library and word of it by the loader; guess: all that one dlopen() maps comes in between. */
#define LOADER_LIMIT_NS (3 * NSEC_PER_SEC)

/* From where a library begins to its code; guess: several times that of the largest. */
#define LIBRARY_BYTES_MAX (1ull << 28)

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

static struct target_owner owner_now(const struct target_lates *lates, uint32_t tgid)
{
	CLEANUP(closep) int process_fd = tgid ? procfs_open_process(lates->proc_fd, tgid) : -1;
	struct target_owner owner = { .is_known = false };

	owner.is_known = process_fd >= 0 && owner_read(process_fd, &owner.of) == 0;
	return owner;
}

void target_lates_count(struct target_lates *lates, uint32_t tgid, const struct target_owner *owner)
{
	lates->events[lates->n_events++ % TARGET_LATES_EVENTS] = (struct target_late_event){
		.tgid = tgid,
		.owner = owner && owner->is_known ? *owner : owner_now(lates, tgid),
	};
	probe_set_loss_add(lates->probes, LOSS_LATE_LOAD, 1);
}

uint64_t target_lates_seen(const struct target_lates *lates, uint64_t from, target_sees_func sees, void *data)
{
	uint64_t oldest = lates->n_events - MIN(lates->n_events, (uint64_t)TARGET_LATES_EVENTS);
	uint64_t n = oldest - MIN(oldest, from);

	for (uint64_t i = MAX(from, oldest); i < lates->n_events; i++) {
		const struct target_late_event *event = &lates->events[i % TARGET_LATES_EVENTS];

		n += sees(event->tgid, &event->owner, data);
	}
	return n;
}

/* @owner: NULL: as /proc says */
static void pair_count(struct target_lates *lates, const struct target_late_pair *pair,
		       const struct target_owner *owner)
{
	if (pairs_have(lates->counted, lates->n_counted, pair))
		return;
	pairs_add(lates->counted, &lates->n_counted, pair);
	target_lates_count(lates, pair->tgid, owner);
}

/*
 * The kernel half does not know the file of a load while our own probes are being put into that process. The mapping
 * of the same library is known all the same: the next one above the address that its loader tells.
 */
static bool place_is_of(const struct target_late_place *told, uint32_t tgid, uint64_t base)
{
	return told->tgid == tgid && tgid && base >= told->base && base - told->base < LIBRARY_BYTES_MAX;
}

/* Should this load have been counted before its file was known, it is known to be counted from now on. */
static void blind_take(struct target_lates *lates, const struct target_late_pair *pair, uint64_t base)
{
	struct target_late_place *nearest = NULL;

	for (size_t i = 0; i < MIN(lates->n_blind, (size_t)TARGET_LATES_TOLD); i++) {
		struct target_late_place *b = &lates->blind[i];

		if (place_is_of(b, pair->tgid, base) && (!nearest || b->base > nearest->base))
			nearest = b;
	}
	if (!nearest)
		return;
	nearest->tgid = 0;
	pairs_add(lates->counted, &lates->n_counted, pair);
}

/* A load of which only the place is known. */
static void place_count(struct target_lates *lates, const struct target_late_place *place,
			const struct target_owner *owner)
{
	struct target_suspect *nearest = NULL, found;

	for (size_t i = 0; i < lates->suspects.n; i++) {
		struct target_suspect *s = &lates->suspects.items[i];

		if (place_is_of(place, s->pair.tgid, s->base) && (!nearest || s->base < nearest->base))
			nearest = s;
	}
	if (nearest) {
		found = *nearest;
		ARRAY_REMOVE_SWAP(&lates->suspects, (size_t)(nearest - lates->suspects.items));
		pair_count(lates, &found.pair, owner);
		return;
	}
	lates->blind[lates->n_blind++ % TARGET_LATES_TOLD] = *place;
	target_lates_count(lates, place->tgid, owner);
}

void target_lates_turned_away(struct target_lates *lates, uint32_t tgid, const struct target_file *file)
{
	const struct target_late_pair pair = { file->id.device, file->id.inode, tgid };

	pair_count(lates, &pair, NULL);
}

void target_lates_missed(struct target_lates *lates, const struct target_load *load)
{
	const struct target_late_pair pair = { load->file.device, load->file.inode, load->tgid };
	const struct target_late_place place = { load->tgid, load->base };

	if (pair.inode)
		pair_count(lates, &pair, &load->owner);
	else
		place_count(lates, &place, &load->owner);
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
		.base = load->base,
		.seen_ns = clock_now_ns(),
	};

	blind_take(lates, &suspect.pair, load->base);
	if (file->is_retried) { /* will be attached, perhaps; until then it runs unseen */
		pair_count(lates, &suspect.pair, &load->owner);
		return;
	}
	if (!library->probes || library->attached_ns <= load->time_ns)
		return;
	if (load->is_told || !has_loader) {
		library->late_ns = MAX(library->late_ns, library->attached_ns - load->time_ns);
		pair_count(lates, &suspect.pair, &load->owner);
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
		pair_count(lates, &suspect.pair, NULL);
	}
}

void target_lates_second(struct target_lates *lates, uint64_t now_ns)
{
	for (size_t i = lates->suspects.n; i-- > 0;) {
		struct target_suspect suspect = lates->suspects.items[i];

		if (now_ns - suspect.seen_ns < LOADER_LIMIT_NS)
			continue;
		ARRAY_REMOVE_SWAP(&lates->suspects, i);
		pair_count(lates, &suspect.pair, NULL);
	}
}
