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

/**
 * typedef mapping_changed_func - a process maps more or less than before, has another owner, or is new
 * @uid: UINT32_MAX: nobody's. Return: whether it was looked at closely
 */
typedef bool (*mapping_changed_func)(uint32_t tgid, uint32_t uid, void *data);

/** mapping_look_new() - nothing is known yet. @probes: borrowed. Return: 0 or -ENOMEM */
int mapping_look_new(struct probe_set *probes, struct mapping_look **ret_look);
void mapping_look_free(struct mapping_look *look);
/** mapping_look_set() - on: what is mapped now is known from here on; off: nothing is. Return: 0 or -errno */
int mapping_look_set(struct mapping_look *look, bool is_on);
/**
 * mapping_look_again() - tell of every process that changed since; nothing while it is off, nor within a second
 *
 * Who compiles while he runs changes all the time, and a close look takes as long as a process has mappings: after so
 * many of those the others wait for the next time, where they are first.
 *
 * Return: 0 or -errno
 */
int mapping_look_again(struct mapping_look *look, uint64_t now_ns, mapping_changed_func func, void *data);
