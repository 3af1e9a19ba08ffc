// SPDX-License-Identifier: Apache-2.0
/*
 * Records of life of which the kernel half could not tell everything.
 */
#pragma once

struct life_record;
struct process_slot;

/**
 * life_complete() - owner, name and start of a process that the kernel names by its id alone (LIFE_UNKNOWN)
 * @life: changed in place
 * @slots: PROCESS_SLOTS
 * Return: 0; -ESRCH: it is gone, nobody knows whose it was
 */
int life_complete(struct life_record *life, const struct process_slot *slots);
