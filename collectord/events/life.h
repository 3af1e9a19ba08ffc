// SPDX-License-Identifier: Apache-2.0
/* Records of life that the kernel half could not complete. */
#pragma once

struct life_record;
struct process_slot;

/**
 * life_complete() - add owner, name and start of a process that the kernel names by its id alone (LIFE_UNKNOWN)
 * @life: changed in place
 * @slots: PROCESS_SLOTS
 * Return: 0; -ESRCH: the process is gone and its owner unknown
 */
int life_complete(struct life_record *life, const struct process_slot *slots);
