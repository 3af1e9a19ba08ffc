// SPDX-License-Identifier: Apache-2.0
/*
 * What the kernel half needs to walk stacks, written by the daemon: the executable mappings of processes, and the rules
 * of unwinding of the files that they map (bpf/stack_record.h). The caller divides the two tables of rules among files.
 *
 * Order for a page: its rows and side rules, then its entry. Its mappings may be known before. A page without an entry
 * makes the kernel half send a copy of the stack.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/stack_record.h"

struct probe_set;

/* Of the memo of walks, since open. */
struct probe_stacks_memo {
	uint64_t n_hits, n_misses;
	uint64_t n_wrong; /* hits whose stack was another one */
};

/* What changes with the mappings of a process. */
struct probe_stacks_process {
	uint32_t exec_gen;
	uint32_t loader_changes;
};

/** probe_set_stacks_fd() - the ring map of stacks and code objects */
int probe_set_stacks_fd(const struct probe_set *set);

/**
 * probe_stacks_process() - to be read before the mappings of a process, and to be the same after
 * Return: 0; -ENOENT: the process made no traced call yet, or is gone; -errno
 */
int probe_stacks_process(const struct probe_set *set, uint32_t tgid, struct probe_stacks_process *ret_process);
/**
 * probe_stacks_maps_put() - set the executable mappings of a process, in place of those before
 * @maps: its tag is not 0, and was never used before. The kernel half uses the list while exec_gen, loader_changes and
 *        exec_vm are those of the process.
 * Return: 0; -ESTALE: they are not, and the process has no list now; -errno
 */
int probe_stacks_maps_put(struct probe_set *set, uint32_t tgid, const struct stack_maps *maps);
/** probe_stacks_maps_remove() - the process has no list; no error if it had none */
void probe_stacks_maps_remove(struct probe_set *set, uint32_t tgid);
/** probe_stacks_forget() - the stack is not known any more: the kernel half sends it again when it is met */
void probe_stacks_forget(struct probe_set *set, uint32_t tgid, uint32_t exec_gen, uint64_t id);

/** probe_stacks_page() - entry of a page of unwind_pages; UNWIND_PAGE_UNKNOWN: none, or no such page */
uint32_t probe_stacks_page(const struct probe_set *set, uint32_t page);
/** probe_stacks_page_put() - set the entry of a page; without memory it stays as it is */
void probe_stacks_page_put(struct probe_set *set, uint32_t page, uint32_t entry);
/** probe_stacks_rows() - the block of unwind_rows that has this row, borrowed; NULL: no row in it was ever set */
const uint32_t *probe_stacks_rows(const struct probe_set *set, uint32_t row);
/** probe_stacks_rows_put() - set n rows, from `first` on. Return: 0; -EINVAL: beyond the table; -errno */
int probe_stacks_rows_put(struct probe_set *set, uint32_t first, const uint32_t *rows, size_t n);
/** probe_stacks_side() - an element of unwind_sides, borrowed; NULL: there is none */
const struct unwind_side *probe_stacks_side(const struct probe_set *set, uint32_t idx);
/** probe_stacks_side_put() - set an element; one beyond the table is ignored */
void probe_stacks_side_put(struct probe_set *set, uint32_t idx, const struct unwind_side *side);
/** probe_stacks_reset() - forget all entries of pages and all mappings: rows and pages may be used for other files */
void probe_stacks_reset(struct probe_set *set);

/** probe_stacks_memo() - with checks_stacks, or built with INGERO_CHECK_STACKS: all hits are checked; else all are 0 */
void probe_stacks_memo(const struct probe_set *set, struct probe_stacks_memo *ret_memo);
