// SPDX-License-Identifier: Apache-2.0
/*
 * The call probes of one library, in parts that are attached and detached by themselves to keep the budget: a part for
 * each group of operations (governor.h), or one for all.
 *
 * A detached part keeps its number, so that a return of a call from before finds what became of its probes. Counts stay
 * exact: every call whose entry was seen is counted once, with its time if its return was seen, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/governor.h"
#include "probes/probe_set.h"

struct probe_parts;

/** probe_group_of() - group of an operation */
enum probe_group probe_group_of(uint32_t op);

/**
 * probe_parts_open() - attach all sites of a library, or none
 * @is_split: one part for each group; otherwise one part, and probe_parts_set() does nothing
 * Return: 0; -errno with nothing attached
 */
int probe_parts_open(struct probe_set *set, int path_fd, const struct probe_site *sites, size_t n_sites, bool is_split,
		     struct probe_parts **ret_parts);
/** probe_parts_close() - detach for good; open calls are counted as never returned. NULL is allowed */
void probe_parts_close(struct probe_set *set, struct probe_parts *parts);
/**
 * probe_parts_set() - attach or detach parts so that these groups are attached
 * @groups: bits of enum probe_group; a part that is still being detached is attached at a later call
 * Return: 0; -EAGAIN: a later call has something left to do; -ESTALE: the file was written to, nothing is attached;
 * -errno of the first part that could not be attached
 */
int probe_parts_set(struct probe_set *set, struct probe_parts *parts, uint32_t groups);
/** probe_parts_attached() - groups that are attached now, among those that the library has */
uint32_t probe_parts_attached(const struct probe_parts *parts);
