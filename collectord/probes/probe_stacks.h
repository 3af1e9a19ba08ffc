// SPDX-License-Identifier: Apache-2.0
/*
 * What the kernel half needs to walk stacks, written by the daemon: the executable mappings of processes, and the rules
 * of unwinding of the files that they map (bpf/stack_record.h).
 *
 * Order for a file: take pages, then put its mappings into the list of a process, then set pages as they are asked for.
 * A page that was not set makes the kernel half send a copy of the stack. When the room for rules is used up, all of
 * them are forgotten, mappings too, and everything is asked for again.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/stack_record.h"

struct probe_set;

/* What changes with the mappings of a process; 0 before its first traced call. */
struct probe_process_changes {
	uint32_t exec_gen;
	uint32_t loader_changes;
};

/** probe_set_stacks_fd() - the ring map of stacks and code objects */
int probe_set_stacks_fd(const struct probe_set *set);

/** probe_set_process_changes() - to be read before the mappings of a process. Return: 0; -ENOENT; -errno */
int probe_set_process_changes(const struct probe_set *set, uint32_t tgid, struct probe_process_changes *ret_changes);
/**
 * probe_set_stack_maps() - set the executable mappings of a process, in place of those before
 * @maps: tag: not 0, and never used before; exec_gen, loader_changes, exec_vm: as before the mappings were read. The
 *        kernel half uses the list while these are unchanged.
 * Return: 0; -ESTALE: the process has changed since, and has no list now; -errno
 */
int probe_set_stack_maps(struct probe_set *set, uint32_t tgid, const struct stack_maps *maps);
/** probe_set_stack_maps_remove() - the process has no list; no error if it had none */
void probe_set_stack_maps_remove(struct probe_set *set, uint32_t tgid);
/** probe_set_stack_forget() - the stack is not known any more: the kernel half sends it again when it is met */
void probe_set_stack_forget(struct probe_set *set, uint32_t tgid, uint32_t exec_gen, uint64_t id);

/**
 * probe_set_unwind_pages_take() - take n consecutive pages, for all code of a file
 * Return: the first; 0: no room
 */
uint32_t probe_set_unwind_pages_take(struct probe_set *set, uint32_t n);
/**
 * probe_set_unwind_page() - set the rules of a page that has none yet
 * @rows: n of them, ascending, the first at offset 0; 0: no rules are known for this page: UNWIND_PAGE_BARE
 * Return: 0; -EINVAL: no such page, or rows; -ENOSPC: no room; -errno
 */
int probe_set_unwind_page(struct probe_set *set, uint32_t page, const uint32_t *rows, size_t n);
/**
 * probe_set_unwind_side() - index of a side rule; equal ones share one
 * Return: 0; -ENOSPC: no room; -errno
 */
int probe_set_unwind_side(struct probe_set *set, const struct unwind_side *side, uint32_t *ret_idx);
/** probe_set_unwind_reset() - forget all pages, rules and mappings */
void probe_set_unwind_reset(struct probe_set *set);

/* For unwinding in the daemon. */

#define PROBE_RULE_UNKNOWN UINT32_MAX
/**
 * probe_set_unwind_rule() - the rule of an offset in a page
 * Return: the rule; UNWIND_ESCAPE(UNWIND_FRAME_POINTER, 0) where no rules are known; PROBE_RULE_UNKNOWN: the page was
 * not set
 */
uint32_t probe_set_unwind_rule(const struct probe_set *set, uint32_t page, uint32_t offset);
/** probe_set_unwind_side_get() - a side rule, borrowed; NULL: there is none */
const struct unwind_side *probe_set_unwind_side_get(const struct probe_set *set, uint32_t idx);
