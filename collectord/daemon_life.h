// SPDX-License-Identifier: Apache-2.0
/*
 * Records of life of which the kernel half could not tell everything.
 */
#pragma once

struct lease_set;
struct life_record;
struct source;

/**
 * daemon_life_complete() - owner, name and start of a process that the kernel names by its id alone (LIFE_UNKNOWN)
 * @life: changed in place
 * Return: 1 when it is known now, and a lease covers it; 0: none does; -ESRCH: it is gone, nobody knows whose it was
 */
int daemon_life_complete(struct life_record *life, const struct source *source, const struct lease_set *leases);
