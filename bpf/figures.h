// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Counts and histograms per process and operation, kept in cells that all CPUs share.
 *
 * Every update is an atomic add (5 ns): plain adds lose calls between CPUs, and per-CPU maps lose calls on preemptible
 * kernels (docs/measurements/preempt-full.md). Free slots and cells come from pools that the daemon fills; a cell is
 * taken at first use, and the daemon returns it after the process is gone and its figures were read. Each user has a
 * share of the cells, and of the spare ones (shares.h).
 */
#pragma once

#include "policy.h"
#include "shares.h"

#define CAS_TRIES 16
#define CELLS_MAX (PROCESS_CELLS - CELLS_SPARE - 1) /* cell 0 is never used */

static __always_inline struct figure_cell *cell_at(__u32 idx)
{
	return bpf_map_lookup_elem(&cells, &idx);
}

/*
 * row_put() - give an operation a place in the row, unless it has one
 * Return: index of the operation's cell: `idx`, or the cell that another CPU put first; 0: other operations have all
 * places
 */
static __always_inline __u32 row_put(struct slot_row *row, __u32 op, __u32 idx)
{
	__u32 fresh = SLOT_ROW_ENTRY(op, idx), before, i;

	for (i = 0; i < SLOT_ROW_TRIES; i++) {
		before = __sync_val_compare_and_swap(&row->entries[(op + i) & (SLOT_ROW_ENTRIES - 1)], 0, fresh);
		if (!before)
			return idx;
		if (SLOT_ROW_OP(before) == op)
			return SLOT_ROW_CELL(before);
	}
	return 0;
}

/* Return: index of the cell in the row: `idx`, the cell that another CPU put first, or 0 without a free place */
static __always_inline __u32 cell_install(struct slot_row *row, __u32 idx, __u32 slot, __u32 op)
{
	struct figure_cell *cell = cell_at(idx);
	__u32 there = idx, high;
	__u32 i;

	if (!cell)
		return 0;
	cell->slot = slot;
	cell->op = op;
	cell->slow_ns = RECORD_LONG_NS;
	if (op)
		there = row_put(row, op, idx);
	else if (__sync_val_compare_and_swap(&row->overflow, 0, idx))
		there = READ_ONCE(row->overflow);
	if (there != idx) {
		cell->slot = 0;
		cell->op = 0;
		cell->slow_ns = 0;
		return there;
	}
	for (i = 0; i < CAS_TRIES; i++) {
		high = READ_ONCE(cells_high);
		if (idx <= high || __sync_val_compare_and_swap(&cells_high, high, idx) == high)
			break;
	}
	return idx;
}

/* Return: index of the operation's own cell, 0 if there is none for its user */
static __always_inline __u32 cell_take(struct slot_row *row, __u32 slot, __u32 op)
{
	__u32 idx = slot_row_find(row, op), share = slot_taker(slot), got = 0;

	if (idx)
		return idx;
	if (!share_take(&cells_of[share], &n_cells, CELLS_MAX))
		return 0;
	if (bpf_map_pop_elem(&free_cells, &idx) == 0) {
		WRITE_ONCE(cell_takers[idx & (PROCESS_CELLS - 1)], share);
		got = cell_install(row, idx, slot, op);
		if (got == idx)
			return got;
		bpf_map_push_elem(&free_cells, &idx, BPF_ANY);
	}
	share_untake(&cells_of[share], &n_cells);
	return got;
}

/* The same of the overflow cell of a process. */
static __always_inline __u32 cell_take_spare(struct slot_row *row, __u32 slot)
{
	__u32 idx = 0, share = slot_taker(slot), got = 0;

	if (row->overflow)
		return row->overflow;
	if (!share_take(&spares_of[share], &n_spares, CELLS_SPARE))
		return 0;
	if (bpf_map_pop_elem(&spare_cells, &idx) == 0) {
		WRITE_ONCE(cell_takers[idx & (PROCESS_CELLS - 1)], share);
		got = cell_install(row, idx, slot, 0);
		if (got == idx)
			return got;
		bpf_map_push_elem(&spare_cells, &idx, BPF_ANY);
	}
	share_untake(&spares_of[share], &n_spares);
	return got;
}

/*
 * Finds the cell of an operation that is not at its first place. Return: index of its cell or of the process's overflow
 * cell, 0 if there is neither
 */
VERIFIED_ALONE __u32 cell_claim(__u32 slot, __u32 op)
{
	struct slot_row *row = bpf_map_lookup_elem(&slot_rows, &slot);
	__u32 got;

	if (!row)
		return 0;
	got = cell_take(row, slot, op);
	if (got)
		return got;
	__sync_fetch_and_add(&share_losses_of(slot)->cells, 1);
	return cell_take_spare(row, slot);
}

/* Cell of an event. Without a free cell the caller counts a loss: the overflow cell is for calls only. */
VERIFIED_ALONE __u32 cell_claim_event(__u32 slot, __u32 op)
{
	struct slot_row *row = bpf_map_lookup_elem(&slot_rows, &slot);

	return row ? cell_take(row, slot, op) : 0;
}

static __always_inline struct figure_cell *cell_find(__u32 slot, __u32 op, bool is_call)
{
	struct slot_row *row = bpf_map_lookup_elem(&slot_rows, &slot);
	__u32 entry, idx;

	if (!row)
		return NULL;
	entry = row->entries[op & (SLOT_ROW_ENTRIES - 1)];
	idx = SLOT_ROW_CELL(entry);
	if (SLOT_ROW_OP(entry) != op)
		idx = is_call ? cell_claim(slot, op) : cell_claim_event(slot, op);
	return idx ? cell_at(idx) : NULL;
}

static __always_inline struct figure_cell *cell_of(__u32 slot, __u32 op)
{
	return cell_find(slot, op, true);
}

static __always_inline struct figure_cell *cell_of_event(__u32 slot, __u32 op)
{
	return cell_find(slot, op, false);
}

/* log2 of 1 to 255. */
#define LOG_2(n) n, n
#define LOG_4(n) LOG_2(n), LOG_2(n)
#define LOG_8(n) LOG_4(n), LOG_4(n)
#define LOG_16(n) LOG_8(n), LOG_8(n)
#define LOG_32(n) LOG_16(n), LOG_16(n)
#define LOG_64(n) LOG_32(n), LOG_32(n)
#define LOG_128(n) LOG_64(n), LOG_64(n)
static const volatile __u8 log2_table[256] = { 0,	  0,	     LOG_2(1),	LOG_4(2),  LOG_8(3),
					       LOG_16(4), LOG_32(5), LOG_64(6), LOG_128(7) };

static __always_inline __u32 bucket_of(__u64 ns)
{
	__u64 units = ns >> HISTOGRAM_FIRST_OCTAVE; /* of 64 ns */
	__u32 octave = 0;
	__u64 top;

	if (!units)
		return 0;
	if (units >> HISTOGRAM_OCTAVES)
		return HISTOGRAM_BUCKETS - 1;
	top = units;
	if (top >> 16) {
		octave = 16;
		top >>= 16;
	}
	if (top >> 8) {
		octave += 8;
		top >>= 8;
	}
	octave += log2_table[top & 0xff];
	return (octave << HISTOGRAM_SUB_BITS) |
	       ((ns >> (octave + HISTOGRAM_FIRST_OCTAVE - HISTOGRAM_SUB_BITS)) & ((1u << HISTOGRAM_SUB_BITS) - 1));
}

VERIFIED_ALONE int cell_max(struct figure_cell *cell, __u64 ns)
{
	__u64 max;
	__u32 i;

	if (!cell)
		return 0;
	/* After this many lost races the maximum misses one call; this was never observed. */
	for (i = 0; i < CAS_TRIES; i++) {
		max = READ_ONCE(cell->max_ns);
		if (ns <= max || __sync_val_compare_and_swap(&cell->max_ns, max, ns) == max)
			break;
	}
	return 0;
}

static __always_inline void cell_add(struct figure_cell *cell, __u64 duration_ns, __u64 raw_ns)
{
	__u64 bucket =
		bucket_of(duration_ns); /* 64 bits wide: the verifier of 6.1 tracks bounds of whole registers only */

	keep(bucket); /* the compiler must check this value, not an input of it */
	if (bucket < HISTOGRAM_BUCKETS)
		__sync_fetch_and_add(&cell->buckets[bucket], 1);
	__sync_fetch_and_add(&cell->total_ns, duration_ns);
	__sync_fetch_and_add(&cell->raw_ns, raw_ns);
	if (duration_ns > cell->max_ns)
		cell_max(cell, duration_ns);
}
