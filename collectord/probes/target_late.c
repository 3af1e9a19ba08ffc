// SPDX-License-Identifier: Apache-2.0
#include "probes/target_late.h"

#include <errno.h>
#include <signal.h>

#include "base/cleanup.h"
#include "clock.h"
#include "probes/target_file.h"
#include "procs/procfs.h"

/*
 * Longest time from the mapping of a library to the loader's report; guess: all mappings of one dlopen() are in
 * between.
 */
#define LOADER_LIMIT_NS (3 * NSEC_PER_SEC)

/* Longest distance from the start of a library to its code; guess: several times that of the largest library. */
#define LIBRARY_BYTES_MAX (1ull << 28)

static bool pair_equal(const struct target_late_pair *a, const struct target_late_pair *b)
{
	return a->tgid == b->tgid && a->inode == b->inode && a->device == b->device;
}

/* Pairs are kept in rings that overwrite the oldest. */
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

/* @to_ns: 0: now; @from_ns: 0: same as the end */
static void late_add(struct target_lates *lates, uint32_t tgid, const struct target_owner *owner, uint64_t from_ns,
		     uint64_t to_ns)
{
	struct target_late late = {
		.tgid = tgid,
		.owner = owner && owner->is_known ? *owner : owner_now(lates, tgid),
		.to_ns = to_ns ? to_ns : clock_now_ns(),
	};

	late.from_ns = from_ns ? MIN(from_ns, late.to_ns) : late.to_ns;
	lates->events[lates->n_events++ % TARGET_LATES_EVENTS] = late;
	probe_set_loss_add(lates->probes, LOSS_LATE_LOAD, 1);
}

void target_lates_count(struct target_lates *lates, uint32_t tgid, const struct target_owner *owner)
{
	late_add(lates, tgid, owner, 0, 0);
}

uint64_t target_lates_seen(const struct target_lates *lates, uint64_t from, target_sees_func sees, void *data)
{
	uint64_t oldest = lates->n_events - MIN(lates->n_events, (uint64_t)TARGET_LATES_EVENTS);
	uint64_t n = oldest - MIN(oldest, from);

	for (uint64_t i = MAX(from, oldest); i < lates->n_events; i++)
		n += sees(&lates->events[i % TARGET_LATES_EVENTS], data);
	return n;
}

/* @owner: NULL: read from /proc */
static void pair_count(struct target_lates *lates, const struct target_late_pair *pair,
		       const struct target_owner *owner, uint64_t from_ns, uint64_t to_ns)
{
	if (pairs_have(lates->counted, lates->n_counted, pair))
		return;
	pairs_add(lates->counted, &lates->n_counted, pair);
	late_add(lates, pair->tgid, owner, from_ns, to_ns);
}

/*
 * While our probes are being written into a process, the kernel half cannot identify the file of a load. The mapping of
 * the library is known nevertheless: of the load addresses reported by the loader, that of the library is the nearest
 * at or below the mapping.
 */
static bool told_is_nearer(const struct target_late_told *told, const struct target_suspect *suspect,
			   const struct target_late_told *nearest)
{
	return told->pair.tgid == suspect->pair.tgid && suspect->base >= told->base &&
	       suspect->base - told->base < LIBRARY_BYTES_MAX && (!nearest || told->base > nearest->base);
}

static struct target_late_told *told_below(struct target_lates *lates, const struct target_suspect *suspect)
{
	struct target_late_told *nearest = NULL;

	for (size_t i = 0; i < MIN(lates->n_told, (size_t)TARGET_LATES_TOLD); i++)
		if (told_is_nearer(&lates->told[i], suspect, nearest))
			nearest = &lates->told[i];
	return nearest;
}

/* Return: the last reported load at that address; NULL: none, or too long ago */
static struct target_late_told *told_at(struct target_lates *lates, uint32_t tgid, uint64_t base)
{
	for (size_t n = lates->n_told, i = n; base && i-- > 0 && n - i <= TARGET_LATES_TOLD;) {
		struct target_late_told *told = &lates->told[i % TARGET_LATES_TOLD];

		if (told->pair.tgid == tgid && told->base == base)
			return told;
	}
	return NULL;
}

static bool told_has(const struct target_lates *lates, const struct target_late_pair *pair)
{
	for (size_t i = 0; i < MIN(lates->n_told, (size_t)TARGET_LATES_TOLD); i++)
		if (pair_equal(&lates->told[i].pair, pair))
			return true;
	return false;
}

/* Note the file of a reported load. If the load was counted before, the pair of process and file counts as counted. */
static void told_identify(struct target_lates *lates, struct target_late_told *told,
			  const struct target_late_pair *pair)
{
	if (!told || told->pair.inode)
		return;
	told->pair = *pair;
	if (told->is_counted)
		pairs_add(lates->counted, &lates->n_counted, pair);
}

static void suspects_clear(struct target_lates *lates, const struct target_late_pair *pair)
{
	for (size_t i = lates->suspects.n; i-- > 0;)
		if (pair_equal(&lates->suspects.items[i].pair, pair))
			ARRAY_REMOVE_SWAP(&lates->suspects, i);
}

/* Count a suspect, whose file no loader has reported. */
static void suspect_count(struct target_lates *lates, size_t i)
{
	struct target_suspect suspect = lates->suspects.items[i];

	ARRAY_REMOVE_SWAP(&lates->suspects, i);
	told_identify(lates, told_below(lates, &suspect), &suspect.pair);
	pair_count(lates, &suspect.pair, NULL, suspect.loaded_ns, suspect.attached_ns);
}

void target_lates_turned_away(struct target_lates *lates, uint32_t tgid, const struct target_file *file)
{
	const struct target_late_pair pair = { file->id.device, file->id.inode, tgid };

	pair_count(lates, &pair, NULL, 0, 0);
}

void target_lates_missed(struct target_lates *lates, const struct target_load *load)
{
	const struct target_late_pair pair = { load->file.device, load->file.inode, load->tgid };
	struct target_late_told *told = pair.inode ? NULL : told_at(lates, load->tgid, load->base);

	if (pair.inode || (told && told->pair.inode)) {
		pair_count(lates, pair.inode ? &pair : &told->pair, &load->owner, load->time_ns, 0);
		return;
	}
	if (told && told->is_counted)
		return;
	if (told)
		told->is_counted = true;
	late_add(lates, load->tgid, &load->owner, load->time_ns, 0);
}

void target_lates_told(struct target_lates *lates, const struct target_load *load)
{
	const struct target_late_pair pair = { load->file.device, load->file.inode, load->tgid };
	const struct target_late_told *before = told_at(lates, load->tgid, load->base);

	if (!before || !pair_equal(&before->pair, &pair))
		lates->told[lates->n_told++ % TARGET_LATES_TOLD] = (struct target_late_told){ pair, load->base, false };
	if (pair.inode)
		suspects_clear(lates, &pair);
}

void target_lates_found(struct target_lates *lates, const struct target_load *load, const struct target_file *file)
{
	const struct target_late_pair pair = { file->id.device, file->id.inode, load->tgid };
	struct target_late_told *told = load->is_told ? told_at(lates, load->tgid, load->base) : NULL;

	if (!told)
		return;
	told_identify(lates, told, &pair);
	suspects_clear(lates, &pair);
}

void target_lates_judge(struct target_lates *lates, const struct target_load *load, struct target_file *file,
			bool has_loader)
{
	struct target_library *library = &file->library;
	struct target_suspect suspect = {
		.pair = { file->id.device, file->id.inode, load->tgid },
		.base = load->base,
		.loaded_ns = load->time_ns,
		.attached_ns = library->attached_ns,
		.seen_ns = clock_now_ns(),
	};

	target_lates_found(lates, load, file);
	if (file->is_retried) { /* it may be attached later; until then its calls are missed */
		pair_count(lates, &suspect.pair, &load->owner, load->time_ns, 0);
		return;
	}
	if (!library->probes || library->attached_ns <= load->time_ns)
		return;
	if (load->is_told || !has_loader) {
		library->late_ns = MAX(library->late_ns, library->attached_ns - load->time_ns);
		pair_count(lates, &suspect.pair, &load->owner, load->time_ns, library->attached_ns);
	} else if (!told_has(lates, &suspect.pair)) {
		(void)ARRAY_PUSH(&lates->suspects, suspect); /* without memory it is not counted */
	}
}

void target_lates_look(struct target_lates *lates)
{
	for (size_t i = lates->suspects.n; i-- > 0;)
		lates->suspects.items[i].is_gone =
			kill((pid_t)lates->suspects.items[i].pair.tgid, 0) < 0 && errno == ESRCH;
}

void target_lates_settle(struct target_lates *lates)
{
	for (size_t i = lates->suspects.n; i-- > 0;)
		if (lates->suspects.items[i].is_gone)
			suspect_count(lates, i);
}

void target_lates_second(struct target_lates *lates, uint64_t now_ns)
{
	for (size_t i = lates->suspects.n; i-- > 0;)
		if (now_ns - lates->suspects.items[i].seen_ns >= LOADER_LIMIT_NS)
			suspect_count(lates, i);
}
