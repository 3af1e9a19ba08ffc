// SPDX-License-Identifier: Apache-2.0
/*
 * Which processes have mapped executable files since the last check, by polling. Used if the kernel does not report
 * mappings as they are made (mapping_watch.h): the amount that each process maps is read once a second.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct mapping_look;
struct probe_set;

/**
 * typedef mapping_changed_func - a process maps more or less than before, has another owner, or is new
 * @uid: its owner; UINT32_MAX: none. Return: whether the process was scanned
 */
typedef bool (*mapping_changed_func)(uint32_t tgid, uint32_t uid, void *data);

/** mapping_look_new() - create it, without known processes. @probes: borrowed. Return: 0 or -ENOMEM */
int mapping_look_new(struct probe_set *probes, struct mapping_look **ret_look);
void mapping_look_free(struct mapping_look *look);
/** mapping_look_set() - on: note the present mappings as known; off: forget all. Return: 0 or -errno */
int mapping_look_set(struct mapping_look *look, bool is_on);
/**
 * mapping_look_again() - report each process that changed since; does nothing while off, or within a second
 *
 * A process with a just-in-time compiler changes all the time, and a scan takes time in proportion to the mappings. So
 * the number of scans is limited; the other processes are scanned first the next time.
 *
 * Return: 0 or -errno
 */
int mapping_look_again(struct mapping_look *look, uint64_t now_ns, mapping_changed_func func, void *data);
