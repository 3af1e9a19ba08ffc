// SPDX-License-Identifier: Apache-2.0
/*
 * Who has mapped something executable since the last look, where the kernel tells nobody of mappings as they are
 * made (mapping_watch.h): how much everybody maps, read once a second.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct mapping_look;
struct probe_set;

/** typedef mapping_changed_func - a process maps more or less than before, or is new; @uid: UINT32_MAX: nobody's */
typedef void (*mapping_changed_func)(uint32_t tgid, uint32_t uid, void *data);

/** mapping_look_new() - nothing is known yet. @probes: borrowed. Return: 0 or -ENOMEM */
int mapping_look_new(struct probe_set *probes, struct mapping_look **ret_look);
void mapping_look_free(struct mapping_look *look);
/** mapping_look_set() - on: what is mapped now is known from here on; off: nothing is. Return: 0 or -errno */
int mapping_look_set(struct mapping_look *look, bool is_on);
/** mapping_look_again() - tell of every process that changed since; nothing while it is off. Return: 0 or -errno */
int mapping_look_again(struct mapping_look *look, mapping_changed_func func, void *data);
